"""Programs that own the terminal, by the name they are called by."""

from __future__ import annotations

from collections.abc import Mapping

from worldline.kernels.screen.programs.base import Host, Program, Run, Shown, Starter

__all__ = ["PROGRAMS", "Host", "Program", "Run", "Shown", "Starter"]

PROGRAMS: Mapping[str, Starter] = {}
"""By the first word of the command."""
