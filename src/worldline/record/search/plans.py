"""What is recorded of the search engine: sessions of each topic, over the whole collection and over a few pages.

Topics of `topics.yaml` stand in all splits; those of `notebooks.yaml`, whose sessions are about notes that are written
and read, stand in train alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files

import yaml

from worldline.domains.search import TOOLS, DocumentSpec
from worldline.record.plan import ToolPlan
from worldline.record.search.corpus import CORPUS, open_corpus
from worldline.types import JsonDict, WorldSpec

__all__ = ["NOTEBOOK", "notebooks", "plans", "topics"]

NOTEBOOK = "Keep a notebook"
"""How the task of a session about notes begins."""

_SESSIONS = 3
"""Sessions of a topic: two over the collection, one over its own pages."""
_TURNS = (10, 12, 14)
_NOTEBOOK_TURNS = (14, 15, 16)
_PAGES = 6
"""Own pages for each of a topic's words."""


@cache
def _words(name: str) -> dict[str, list[str]]:
    text = (files("worldline.record.search") / "resources" / name).read_text(encoding="utf-8")
    found: dict[str, list[str]] = yaml.safe_load(text)
    return found


def topics() -> dict[str, list[str]]:
    """Words to search with, by topic."""
    return _words("topics.yaml")


def notebooks() -> dict[str, list[str]]:
    """The same for the topics that notebooks are kept on."""
    return _words("notebooks.yaml")


def plans(seed: int) -> Iterator[ToolPlan]:
    """Compose the sessions.

    Raises:
        SandboxError: The collection is not there, and its packages are not installed.
    """
    for number, (topic, words) in enumerate(topics().items()):
        about = f"Find out what matters about {topic.replace('-', ' ')}: {', '.join(words)}. Keep notes."
        for session in range(_SESSIONS):
            yield ToolPlan(
                family=topic,
                world=_world(topic, topic, words, session, about),
                seed=seed * 10_000 + number * 10 + session,
                turns=_TURNS[session],
            )
    for number, (topic, words) in enumerate(notebooks().items()):
        about = f"{NOTEBOOK} on {topic.replace('-', ' ')}: {', '.join(words)}."
        for session in range(_SESSIONS):
            yield ToolPlan(
                family=f"notebook/{topic}",
                world=_world(f"notebook-{topic}", topic, words, session, about),
                seed=seed * 10_000 + 5_000 + number * 10 + session,
                turns=_NOTEBOOK_TURNS[session],
                split="train",
            )


def _world(name: str, topic: str, words: list[str], session: int, task: str) -> WorldSpec:
    state: JsonDict = {"results": 5 if session else 10}
    if session == 2:
        state |= {"closed": True, "documents": [page.model_dump() for page in _own_pages(words)]}
    else:
        state["corpus"] = CORPUS
    if session == 1:
        state["memory"] = {"topic": topic.replace("-", " ")}
    return WorldSpec(domain="search", name=name, task=task, tools=TOOLS, initial_state=state)


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
