"""Agents that act in worlds: a language model behind the same protocol as the scripted explorers."""

from __future__ import annotations

from worldline.agents.caller import ModelAgent

__all__ = ["ModelAgent"]
