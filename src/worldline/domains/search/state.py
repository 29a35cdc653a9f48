"""What a world file of the domain `search` declares."""

from __future__ import annotations

from worldline.types import Frozen

__all__ = ["SearchState"]


class SearchState(Frozen):
    """`initial_state` of a world of this domain."""
