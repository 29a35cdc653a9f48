"""What a world file of the domain `search` declares."""

from __future__ import annotations

from pydantic import Field

from worldline.types import Frozen

__all__ = ["DocumentSpec", "SearchState"]


class DocumentSpec(Frozen):
    """A page that the search engine knows."""

    url: str = Field(min_length=1)
    title: str
    text: str
    date: str = "N/A"
    """As results show it (`Jun 18, 2024`)."""


class SearchState(Frozen):
    """`initial_state` of a search world."""

    documents: tuple[DocumentSpec, ...] = ()
    """Pages that are there."""
    closed: bool = False
    """There are no other pages than the declared ones: what is found follows from them."""
    corpus: str = ""
    """Name of the collection behind the engine, where there is more than is declared (`dictionaries`)."""
    results: int = Field(default=10, ge=1, le=50)
    """Most results of one query."""
    memory: dict[str, str] = Field(default_factory=dict)
    """What the agent's notes (`dict_memory`) hold at the start."""
