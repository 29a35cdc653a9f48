"""What a world file of the domain `database` declares."""

from __future__ import annotations

from worldline.types import Frozen

__all__ = ["DatabaseState"]


class DatabaseState(Frozen):
    """`initial_state` of a world of this domain."""
