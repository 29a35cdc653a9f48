"""What a world file of the domain `swe` declares."""

from __future__ import annotations

from worldline.types import Frozen

__all__ = ["SweState"]


class SweState(Frozen):
    """`initial_state` of a world of this domain."""
