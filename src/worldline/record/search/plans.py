"""What is recorded of the search engine: sessions of each topic, over the whole collection and over a few pages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files

import yaml

from worldline.domains.search import TOOLS, DocumentSpec
from worldline.record.plan import ToolPlan
from worldline.record.search.corpus import CORPUS, open_corpus
from worldline.types import JsonDict, WorldSpec

__all__ = ["plans", "topics"]

_SESSIONS = 3
"""Sessions of a topic: two over the collection, one over its own pages."""
_TURNS = (10, 12, 14)
_PAGES = 6
"""Own pages for each of a topic's words."""


@cache
def topics() -> dict[str, list[str]]:
    """Words to search with, by topic."""
    text = (files("worldline.record.search") / "resources" / "topics.yaml").read_text(encoding="utf-8")
    found: dict[str, list[str]] = yaml.safe_load(text)
    return found


def plans(seed: int) -> Iterator[ToolPlan]:
    """Compose the sessions.

    Raises:
        SandboxError: The collection is not there, and its packages are not installed.
    """
    for number, (topic, words) in enumerate(topics().items()):
        for session in range(_SESSIONS):
            closed = session == 2
            state: JsonDict = {"results": 5 if session else 10}
            if closed:
                state |= {"closed": True, "documents": [page.model_dump() for page in _own_pages(words)]}
            else:
                state["corpus"] = CORPUS
            if session == 1:
                state["memory"] = {"topic": topic.replace("-", " ")}
            task = f"Find out what matters about {topic.replace('-', ' ')}: {', '.join(words)}. Keep notes."
            world = WorldSpec(domain="search", name=topic, task=task, tools=TOOLS, initial_state=state)
            yield ToolPlan(
                family=topic,
                world=world,
                seed=seed * 10_000 + number * 10 + session,
                turns=_TURNS[session],
            )


def _own_pages(words: list[str]) -> list[DocumentSpec]:
    """The first pages that the collection gives to each word."""
    corpus = open_corpus()
    found: dict[str, DocumentSpec] = {}
    for word in words:
        for hit in corpus.search(word, _PAGES):
            page = corpus.page(hit.url)
            if page is not None and len(page.text) < 4000:
                found.setdefault(hit.url, page)
    return list(found.values())
