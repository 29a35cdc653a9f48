"""The agent that keeps a notebook while it searches: it writes, has writes refused, and reads what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from worldline.kernels.search.tools import read_hits
from worldline.record.search.explorer import SearchExplorer
from worldline.types import Action, Turn, WorldSpec

__all__ = ["NotebookExplorer"]

_AT_ONCE = 2
"""Chains that are under way side by side."""
_SUMMARY = "\nSummary:\n"


class NotebookExplorer(SearchExplorer):
    """Satisfies :class:`worldline.record.environment.Explorer`.

    It follows chains of calls about its notes, two at a time and between searches. Each chain writes and then reads,
    where the write may be refused, be a second one, or take something away.

    Args:
        world: Its task names, after a colon, what to search for.
        seed: Of all choices.
    """

    def __init__(self, world: WorldSpec, seed: int) -> None:
        super().__init__(world, seed)
        self._texts: list[str] = []
        """What results and pages said."""
        self._used = set(self._notes)
        self._chains: list[Iterator[Action]] = []
        self._kinds = [
            self._changed,
            self._refused_add,
            self._refused_update,
            self._taken_away,
            self._half_right,
            self._half_removed,
            self._started_again,
            self._badly_written,
            self._several,
            self._odd_texts,
            self._from_a_page,
            self._continued,
        ]
        self._random.shuffle(self._kinds)

    def next(self, turns: Sequence[Turn]) -> Action | None:
        """Choose a call (see the protocol)."""
        if turns:
            self._learn(turns[-1])
        if not self._urls:
            return self._search()
        if self._random.random() < 0.36:
            errands = (self._search, self._search, self._search_again, self._open, self._open_again, self._open_wrong)
            return self._random.choice((*errands, self._mistake))()
        while True:
            while len(self._chains) < _AT_ONCE:
                self._chains.append(self._kinds[0]())
                self._kinds.append(self._kinds.pop(0))
            chain = self._random.choice(self._chains)
            action = next(chain, None)
            if action is not None:
                return action
            self._chains.remove(chain)

    def _learn(self, turn: Turn) -> None:
        super()._learn(turn)
        if turn.observation.is_error:
            return
        if turn.action.name == "web_search":
            self._texts += [hit.snippet for hit in read_hits(turn.observation.text) or [] if hit.snippet]
        elif turn.action.name == "web_extractor":
            self._texts += [turn.observation.text.rpartition(_SUMMARY)[2][:300]]

    def _text(self) -> str:
        """Something worth a note."""
        return self._random.choice(self._random.choice((self._texts, self._titles)) or self._words)

    def _new_key(self) -> str:
        """A key that the notebook never had."""
        word = self._random.choice(self._words)
        forms = [word.replace(" ", "_"), f"{word.replace(' ', '_')}_note", f"about {word}", word.upper()]
        free = [form for form in forms if form not in self._used]
        key = self._random.choice(free) if free else f"{word} {len(self._used)}"
        self._used.add(key)
        return key

    def _notebook(self, operation: str, **arguments: Any) -> Action:
        return self._call("dict_memory", operation=operation, **arguments)

    def _look(self, *keys: str) -> Action:
        """Read notes, or now and then all of them."""
        if self._random.random() < 0.25:
            return self._everything()
        return self._notebook("retrieve", keys=[*keys])

    def _changed(self) -> Iterator[Action]:
        """A note is read before and after it is written over."""
        key = self._new_key()
        yield self._notebook("add", items={key: self._text()})
        yield self._look(key)
        yield self._notebook("update", items={key: self._text()})
        yield self._look(key)

    def _refused_add(self) -> Iterator[Action]:
        """A note that is there cannot be added; it stays as it was, until it is updated."""
        key = self._new_key()
        yield self._notebook("add", items={key: self._text()})
        yield self._notebook("add", items={key: self._text()})
        yield self._look(key)
        yield self._notebook("update", items={key: self._text()})
        yield self._look(key)

    def _refused_update(self) -> Iterator[Action]:
        """A note that is not there cannot be updated, nor read, until it is added."""
        key, text = self._new_key(), self._text()
        yield self._notebook("update", items={key: text})
        yield self._notebook("retrieve", keys=[key])
        yield self._notebook("add", items={key: text})
        yield self._look(key)

    def _taken_away(self) -> Iterator[Action]:
        """A note is removed, missed, and written anew, behind all others."""
        key, other = self._new_key(), self._new_key()
        yield self._notebook("add", items={key: self._text(), other: self._text()})
        yield self._notebook("remove", keys=[key])
        yield self._notebook("retrieve", keys=[other, key])
        yield self._notebook("add", items={key: self._text()})
        yield self._everything()

    def _half_right(self) -> Iterator[Action]:
        """Of two notes one is there already: none is written."""
        key, other = self._new_key(), self._new_key()
        yield self._notebook("add", items={key: self._text()})
        yield self._notebook("add", items={other: self._text(), key: self._text()})
        yield self._look(key)
        yield self._notebook("retrieve", keys=[other])
        yield self._notebook("update", items={key: self._text(), other: self._text()})
        yield self._look(key)

    def _half_removed(self) -> Iterator[Action]:
        """Of two notes to remove one is not there: the other one stays."""
        key = self._new_key()
        yield self._notebook("add", items={key: self._text()})
        yield self._notebook("remove", keys=[key, self._new_key()])
        yield self._look(key)
        yield self._notebook("remove", keys=[key])
        yield self._notebook("retrieve", keys=[key])

    def _started_again(self) -> Iterator[Action]:
        """All notes go, and the notebook is begun anew."""
        key = self._new_key()
        yield self._notebook("add", items={key: self._text()})
        yield self._everything()
        yield self._notebook("remove_all")
        yield self._everything()
        yield self._notebook("update", items={key: self._text()})
        yield self._notebook("add", items={self._new_key(): self._text(), key: self._text()})
        yield self._everything()

    def _badly_written(self) -> Iterator[Action]:
        """Writes in a wrong form leave nothing behind."""
        key, text = self._new_key(), self._text()
        wrong: list[dict[str, Any]] = [
            {"operation": "add", "items": {key: len(text)}},
            {"operation": "add", "items": {key: [text]}},
            {"operation": "add", "items": {key: text, f"{key}_2": None}},
            {"operation": "add", "items": {}},
            {"operation": "update", "items": text},
            {"operation": "append", "items": {key: text}},
            {"operation": "add", "keys": [key]},
        ]
        yield self._notebook("add", items={key: text})
        yield self._call("dict_memory", **self._random.choice(wrong))
        yield self._look(key)
        yield self._notebook("remove", keys=key)
        yield self._look(key)

    def _several(self) -> Iterator[Action]:
        """Notes are read in another order than they were written in, one of them twice."""
        first, second, third = self._new_key(), self._new_key(), self._new_key()
        yield self._notebook("add", items={first: self._text(), second: self._text()})
        yield self._notebook("add", items={third: self._text()})
        yield self._notebook("retrieve", keys=[third, first])
        yield self._notebook("update", items={first: self._text(), third: self._text()})
        yield self._notebook("retrieve", keys=[first, second, first])

    def _odd_texts(self) -> Iterator[Action]:
        """Empty, long and several-line notes, and keys that differ in little."""
        key, text = self._new_key(), self._text()
        odd = ["", "  ", f"{text}\n{self._text()}", f"- {text}\n\n- {key}: see above", f'"{text}" – «{key}»']
        yield self._notebook("add", items={key: self._random.choice(odd)})
        yield self._look(key)
        yield self._notebook("retrieve", keys=[f"{key} "])
        yield self._notebook("add", items={f"{key} ": text})
        yield self._notebook("retrieve", keys=[key, f"{key} "])

    def _from_a_page(self) -> Iterator[Action]:
        """What a page says is noted under its address, and corrected after it was opened for another goal."""
        yield self._open()
        url, text = self._opened[-1], self._text()
        operation = "update" if url in self._notes else "add"
        yield self._notebook(operation, items={url: self._texts[-1] if self._texts else text})
        yield self._look(url)
        yield self._call("web_extractor", url=url, goal=self._goal())
        yield self._notebook("update", items={url: self._texts[-1] if self._texts else text})
        yield self._look(url)

    def _continued(self) -> Iterator[Action]:
        """A note is read, and written again with more at its end."""
        key = self._new_key()
        yield self._notebook("add", items={key: self._text()})
        yield self._notebook("retrieve", keys=[key])
        yield self._notebook("update", items={key: f"{self._notes.get(key, key)}; {self._text()}"})
        yield self._notebook("retrieve", keys=[key])
