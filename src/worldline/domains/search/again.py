"""Does an answer agree with what the session showed before? Pages and results stay what they are while an agent reads.

Three calls read again: a query that was answered before, alone or in a batch; a page that was opened before; a page of
which a result showed a snippet. The shape of answers is read here apart from the kernel, which is judged by it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from worldline.domains.search.state import SearchState
from worldline.types import Action, Observation, Turn, WorldSpec

__all__ = ["read_again"]

_HIT = re.compile(r"^\[\d+\] (\S+)\nTitle: (.*)\nSnippet: (.*)\nDate: (.*)$", re.MULTILINE)
_EVIDENCE = re.compile(r"\nEvidence in page:\n(.*)\n\nSummary:\n", re.DOTALL)
_GAP = "[...]"

Hits = tuple[tuple[str, ...], ...]
"""Address, title, snippet and date of each result."""


@dataclass
class _Shown:
    """What a session has shown."""

    results: dict[tuple[str, ...], Hits] = field(default_factory=dict)
    """By queries asked together; by one alone, where its part of a batch can be told."""
    pages: dict[str, list[str]] = field(default_factory=dict)
    """Titles, snippets and passages by address."""
    answers: dict[tuple[str, str], str] = field(default_factory=dict)
    """Of opened pages, by address and goal."""
    refused: set[str] = field(default_factory=set)
    """Addresses that could not be opened."""


def read_again(world: WorldSpec, history: Sequence[Turn], turn: Turn, told: Observation) -> bool | None:
    """Judge an answer to a search or to the opening of a page (see :class:`worldline.domains.base.Rereading`).

    Results must be those of before, each one in its place. The same page for the same goal must have the same text,
    one that could not be opened must be refused again. A page that is opened for another goal, or for the first time
    after a result showed it, must hold what was shown of it (title, snippet, passages) and what reality shows again.
    """
    queries, opened = _queries(turn.action), _opened(turn.action)
    if queries is None and opened is None:
        return None
    shown = _shown(history, SearchState.model_validate(world.initial_state).results)
    if queries is not None:
        return _same_results(shown, queries, told)
    assert opened is not None
    return _same_page(shown, *opened, turn.observation, told)


def _same_results(shown: _Shown, queries: tuple[str, ...], told: Observation) -> bool | None:
    parts = [shown.results.get((query,)) for query in queries]
    known = [part for part in parts if part is not None]
    whole = shown.results.get(queries)
    if whole is None and len(known) == len(parts):
        whole = tuple(hit for part in known for hit in part)
    if whole is None and not known:
        return None
    hits = _hits(told.text)
    if told.is_error:
        return False
    return hits == whole if whole is not None else all(_holds(hits, part) for part in known)


def _same_page(shown: _Shown, url: str, goal: str, truth: Observation, told: Observation) -> bool | None:
    if url in shown.refused:
        return bool(told.is_error)
    if url not in shown.pages:
        return None
    if told.is_error:
        return bool(truth.is_error)
    if (url, goal) in shown.answers:
        return told.text == shown.answers[url, goal]
    real, text = _plain(truth.text), _plain(told.text)
    return all(piece in text for piece in map(_plain, shown.pages[url]) if piece in real)


def _shown(history: Sequence[Turn], limit: int) -> _Shown:
    shown = _Shown()
    for turn in history:
        queries, opened, text = _queries(turn.action), _opened(turn.action), turn.observation.text
        if queries is not None and not turn.observation.is_error:
            _note_results(shown, queries, _hits(text), limit)
        elif opened is not None and turn.observation.is_error:
            shown.refused.add(opened[0])
        elif opened is not None:
            shown.answers[opened] = text
            evidence = _EVIDENCE.search(text)
            passages = evidence[1].split("\n\n") if evidence else [text]
            shown.pages.setdefault(opened[0], []).extend(passage for passage in passages if passage != _GAP)
    return shown


def _note_results(shown: _Shown, queries: tuple[str, ...], hits: Hits, limit: int) -> None:
    shown.results[queries] = hits
    for url, title, snippet, _ in hits:
        shown.pages.setdefault(url, []).extend([title, snippet])
    if not hits or len(hits) == limit * len(queries):
        for number, query in enumerate(queries):
            shown.results[query,] = hits[number * limit : (number + 1) * limit]


def _queries(action: Action) -> tuple[str, ...] | None:
    """What a search asks; None where the call is none, or a wrong one."""
    if action.name != "web_search" or len(action.arguments) != 1:
        return None
    query, queries = action.arguments.get("query"), action.arguments.get("queries")
    asked: list[Any] = queries if isinstance(queries, list) else [query]
    return tuple(asked) if asked and all(isinstance(one, str) for one in asked) else None


def _opened(action: Action) -> tuple[str, str] | None:
    """The address that is opened, and for what; None where the call opens none, or is a wrong one."""
    if action.name != "web_extractor" or not set(action.arguments) <= {"url", "goal"}:
        return None
    url, goal = action.arguments.get("url"), action.arguments.get("goal", "")
    return (url, goal) if isinstance(url, str) and isinstance(goal, str) else None


def _hits(text: str) -> Hits:
    return tuple(_HIT.findall(text))


def _holds(hits: Hits, part: Hits) -> bool:
    return any(hits[start : start + len(part)] == part for start in range(len(hits) - len(part) + 1))


def _plain(text: str) -> str:
    return " ".join(text.split())
