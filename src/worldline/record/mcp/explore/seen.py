"""What results and calls showed: values by the name they stood under, to be used where such a name is asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from worldline.types import Turn

__all__ = ["QUOTED", "Seen", "words_of"]

_MOST = 30
"""Values kept of each name, the latest."""
_MOST_GIVEN = 3
"""Of the values that calls were given."""
_MOST_NODES = 2000
_MOST_TEXT, _MOST_READ = 100_000, 4000
"""Characters of a text that are parsed as JSON, and that are searched."""
QUOTED = re.compile(r"[\"'`]([\w./:-]{1,30})[\"'`]")
"""Values that a description or an error names."""
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_NUMBERED = re.compile(r"\b(?:ids?|number|no\.?|#)[\s:=#]*(\d{1,9})\b|#(\d{1,9})\b", re.IGNORECASE)
_NAMED = re.compile(r"\b(id|key|name|path|title)[\"']?\s*[:=]\s*[\"']?([\w./-]{1,60})", re.IGNORECASE)


_FAILED = re.compile(r"\s*(?:\{\s*\"(?:ok|success)\": *false|\{\s*\"error\"|error\b|failed\b|invalid\b)", re.IGNORECASE)
"""How an answer begins that says by its text alone that the call failed."""


_Store = dict[tuple[str, ...], list[Any]]


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name as programs write it: `taskId` and `task_id` are `task`, `id`."""
    return tuple(part.lower() for part in _PARTS.findall(name)) or (name.lower(),)


class Seen:
    """Values by name."""

    def __init__(self) -> None:
        self._shown: _Store = {}
        self._given: _Store = {}

    def values(self, name: str) -> list[Any]:
        """The values seen under a name, else those under one that ends in the same word (`taskId`, `id`).

        They are those of results, and the latest few that calls were given.
        """
        words = words_of(name)
        exact = self._shown.get(words, []) + self._given.get(words, [])[-_MOST_GIVEN:]
        if exact:
            return exact
        return [
            value
            for store, most in ((self._shown, _MOST), (self._given, _MOST_GIVEN))
            for key, values in store.items()
            if key[-1] == words[-1]
            for value in values[-most:]
        ]

    def learn(self, turn: Turn) -> None:
        """Keep what a call was given and what it answered; of one that failed only the values that it asks for."""
        text = turn.observation.text[:_MOST_TEXT]
        if turn.observation.is_error or _FAILED.match(text):
            self._told(turn.action.arguments, text[:_MOST_READ])
            return
        self._walk(turn.action.arguments, self._given)
        data = turn.observation.data
        structured = data.get("structuredContent") if isinstance(data, dict) else None
        try:
            self._walk(json.loads(text) if structured is None else structured, self._shown)
        except (ValueError, RecursionError):
            self._read(text[:_MOST_READ])

    def _told(self, arguments: Mapping[str, Any], text: str) -> None:
        """Values that an error names for an argument: `status must be one of 'open', 'done', got 'x'`."""
        for name, value in arguments.items():
            if isinstance(value, str) and re.search(rf"\b{re.escape(name)}\b", text):
                for option in QUOTED.findall(text):
                    if option not in (name, value):
                        _keep(self._shown, name, option)

    def _walk(self, value: Any, store: _Store) -> None:
        todo = [("", value)]
        for _ in range(_MOST_NODES):
            if not todo:
                return
            name, value = todo.pop()
            if isinstance(value, Mapping):
                todo += [(str(key), item) for key, item in value.items()]
            elif isinstance(value, list):
                todo += [(name.removesuffix("s"), item) for item in value]
            else:
                _keep(store, name, value)

    def _read(self, text: str) -> None:
        for one, other in _NUMBERED.findall(text):
            _keep(self._shown, "id", int(one or other))
            _keep(self._shown, "id", one or other)
        for name, value in _NAMED.findall(text):
            _keep(self._shown, name, value)


def _keep(store: _Store, name: str, value: Any) -> None:
    if not isinstance(value, str | int | float) or isinstance(value, bool) or not name:
        return
    if isinstance(value, str) and not 0 < len(value) <= 120:
        return
    kept = store.setdefault(words_of(name), [])
    if value in kept:
        kept.remove(value)
    kept.append(value)
    del kept[:-_MOST]
