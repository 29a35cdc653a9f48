"""The agent that explores a search world: it searches, opens what it found, keeps notes, and errs now and then."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from worldline.domains.search import SearchState
from worldline.kernels.search.tools import read_hits
from worldline.types import Action, Turn, WorldSpec

__all__ = ["SearchExplorer"]


class SearchExplorer:
    """Satisfies :class:`worldline.record.environment.Explorer`.

    Args:
        world: Its task names, after a colon, what to search for.
        seed: Of all choices.
    """

    def __init__(self, world: WorldSpec, seed: int) -> None:
        self._random = random.Random(f"search:{seed}")
        told = re.search(r": ([^.]+)\.", world.task)
        self._words: list[str] = told[1].split(", ") if told else [world.task or world.name or "history"]
        self._notes = dict(SearchState.model_validate(world.initial_state).memory)
        self._urls: list[str] = []
        self._titles: list[str] = []
        self._searched: list[dict[str, Any]] = []
        self._opened: list[str] = []

    def next(self, turns: Sequence[Turn]) -> Action | None:
        """Choose a call (see the protocol)."""
        if turns:
            self._learn(turns[-1])
        if not self._urls:
            return self._search()
        choices: list[tuple[int, Callable[[], Action]]] = [
            (5, self._search),
            (4, self._search_again),
            (7, self._open),
            (3, self._open_again),
            (3, self._open_wrong),
            (6, self._write),
            (6, self._read),
            (2, self._everything),
            (2, self._remove),
            (4, self._mistake),
        ]
        return self._random.choices([call for _, call in choices], [weight for weight, _ in choices])[0]()

    def _learn(self, turn: Turn) -> None:
        if turn.action.name == "web_search" and not turn.observation.is_error:
            hits = read_hits(turn.observation.text) or []
            self._urls += [hit.url for hit in hits]
            self._titles += [hit.title for hit in hits]
        if turn.action.name == "dict_memory" and not turn.observation.is_error:
            operation, items = turn.action.arguments["operation"], turn.action.arguments.get("items", {})
            if operation in ("add", "update"):
                self._notes.update(items)
            elif operation == "remove_all":
                self._notes.clear()
            elif operation == "remove":
                for key in turn.action.arguments["keys"]:
                    self._notes.pop(key, None)

    def _call(self, name: str, **arguments: Any) -> Action:
        if name == "web_search" and arguments not in self._searched:
            self._searched.append(arguments)
        return Action(name=name, arguments=arguments)

    def _query(self) -> str:
        word = self._random.choice(self._words)
        forms = [word, f"what is {word}", f"{word} {self._random.choice(self._words)}", f"history of {word}"]
        if self._titles:
            forms.append(self._random.choice(self._titles)[:60])
        return self._random.choice(forms)

    def _search(self) -> Action:
        if self._random.random() < 0.3:
            queries = list(dict.fromkeys(self._query() for _ in range(self._random.randint(2, 3))))
            return self._call("web_search", queries=queries)
        return self._call("web_search", query=self._query())

    def _search_again(self) -> Action:
        return self._call("web_search", **self._random.choice(self._searched)) if self._searched else self._search()

    def _goal(self) -> str:
        word = self._random.choice(self._words)
        return self._random.choice([f"meaning of {word}", f"facts about {word}", f"how {word} came about"])

    def _open(self) -> Action:
        url = self._random.choice(self._urls)
        self._opened.append(url)
        return self._call("web_extractor", url=url, goal=self._goal())

    def _open_again(self) -> Action:
        if not self._opened:
            return self._open()
        return self._call("web_extractor", url=self._random.choice(self._opened), goal=self._goal())

    def _open_wrong(self) -> Action:
        url = self._random.choice(self._urls)
        wrong = [
            f"{url}-{self._random.randint(2, 99)}",
            url.replace("https://", "htp:/"),
            url.rsplit("/", 1)[0] + "/index",
        ]
        return self._call("web_extractor", url=self._random.choice(wrong), goal=self._goal())

    def _key(self) -> str:
        return self._random.choice(self._words).replace(" ", "_")

    def _write(self) -> Action:
        items = {
            self._key(): self._random.choice(self._titles or self._words) for _ in range(self._random.randint(1, 2))
        }
        kinds = {key in self._notes for key in items}
        right = "update" if kinds == {True} else "add"
        if self._random.random() < 0.15:
            right = "add" if right == "update" else "update"
        return self._call("dict_memory", operation=right, items=items)

    def _read(self) -> Action:
        keys = list(self._notes) or [self._key()]
        chosen = [self._random.choice(keys)] if self._random.random() < 0.75 else [self._key()]
        return self._call("dict_memory", operation="retrieve", keys=chosen)

    def _everything(self) -> Action:
        return self._call("dict_memory", operation="retrieve_all")

    def _remove(self) -> Action:
        if self._random.random() < 0.2:
            return self._call("dict_memory", operation="remove_all")
        return self._call("dict_memory", operation="remove", keys=[self._random.choice([*self._notes, self._key()])])

    def _mistake(self) -> Action:
        word = self._random.choice(self._words)
        wrong: list[tuple[str, dict[str, Any]]] = [
            ("web_search", {}),
            ("web_search", {"query": ""}),
            ("web_search", {"query": word, "queries": [word]}),
            ("web_search", {"queries": word}),
            ("web_search", {"query": word, "limit": 3}),
            ("web_search", {"queries": [word, 7]}),
            ("web_extractor", {"goal": word}),
            ("web_extractor", {"url": word}),
            ("dict_memory", {"operation": "save", "items": {word: word}}),
            ("dict_memory", {"operation": "add", "items": [word]}),
            ("dict_memory", {"operation": "retrieve"}),
            ("dict_memory", {"keys": [word]}),
            ("open_page", {"url": self._random.choice(self._urls)}),
        ]
        name, arguments = self._random.choice(wrong)
        return Action(name=name, arguments=arguments)
