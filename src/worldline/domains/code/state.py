"""What a world file of the domain `code` declares."""

from __future__ import annotations

from worldline.types import Frozen

__all__ = ["CodeState"]


class CodeState(Frozen):
    """`initial_state` of a world of this domain."""
