"""Words that undeclared things are made of."""

from __future__ import annotations

__all__ = ["CHANCE_WORDS"]

CHANCE_WORDS = (
    *("amber", "basalt", "cedar", "delta", "ember", "fjord"),
    *("garnet", "harbor", "indigo", "juniper", "kelp", "onyx"),
)
