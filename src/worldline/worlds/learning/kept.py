"""Which tools give what was written before: whole answers by what was asked for, and what other calls make of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from worldline.domains.tools.collections import CollectionsSpec, EffectSpec, StoreSpec, ToolRule
from worldline.domains.tools.names import words_of
from worldline.worlds.learning.reading import path_text
from worldline.worlds.learning.traces import TracedCall

__all__ = ["with_kept_answers"]

_SURE = 0.8
"""Share of the later reads that must show what a call is taken to have made."""
_LEAST = 2
"""Later reads that this must rest on."""

Sessions = Sequence[Sequence[TracedCall]]


@dataclass(slots=True)
class _Shelf:
    """Answers of tools that give the same for the same argument."""

    name: str
    readers: dict[str, str] = field(default_factory=dict)
    """The argument that says what is asked for, by tool."""

    def asked(self, call: TracedCall) -> str | None:
        """What a call asks for, if for nothing else."""
        argument = self.readers.get(call.tool)
        if argument is None or list(call.arguments) != [argument]:
            return None
        value = call.arguments[argument]
        return value if isinstance(value, str) else None


@dataclass(slots=True)
class _Trail:
    """How what is asked for stood before a call, what the call gave, and what was read next."""

    call: TracedCall
    before: Mapping[str, str]
    text: str | None
    """What was read; None: it was refused."""
    key: str


def with_kept_answers(sessions: Sessions, spec: CollectionsSpec, readers: set[str]) -> CollectionsSpec:
    """Let tools whose answers other calls write give what was written.

    A tool counts if it only reads and every call names by one argument what it wants. A call that names the same is
    then taken to have put one of its arguments there, to have moved what another argument names, to have taken it
    away, or to have left it: what nearly all later reads agree with. Where they do not agree, it is in doubt.

    Args:
        sessions: Calls by trajectory.
        spec: What was read off the answers so far.
        readers: Tools that change nothing.
    """
    stores, rules = dict(spec.stores), dict(spec.tools)
    for shelf in _shelves(sessions, spec, readers):
        effects = {
            tool: found
            for tool in rules
            if tool not in readers and (found := list(_effects(shelf, tool, sessions, rules)))
        }
        if not any(not effect.doubt for found in effects.values() for effect in found):
            continue
        name = shelf.name
        while name in stores:
            name += "_kept"
        shelf.name, stores[name] = name, StoreSpec(key=("asked",))
        for tool, argument in shelf.readers.items():
            key = f"{{{{ {path_text('args', argument)} }}}}"
            rules[tool] = rules[tool].model_copy(update={"keeps": name, "key": key})
        for tool, found in effects.items():
            named = tuple(effect.model_copy(update=_named(effect, name)) for effect in found)
            rules[tool] = rules[tool].model_copy(update={"effects": (*rules[tool].effects, *named)})
    return spec.model_copy(update={"stores": stores, "tools": rules})


def _named(effect: EffectSpec, store: str) -> dict[str, Any]:
    value = effect.value
    return {"store": store, "value": value.replace(_SHELF, store) if isinstance(value, str) else value}


_SHELF = "shelf_"


def _shelves(sessions: Sessions, spec: CollectionsSpec, readers: set[str]) -> Iterator[_Shelf]:
    """Tools that give answers by one argument, those that give the same ones together."""
    found: list[_Shelf] = []
    for tool in sorted(readers):
        calls = [call for session in sessions for call in session if call.tool == tool and not call.error]
        always = set.intersection(*({*call.arguments} for call in calls)) if calls else set()
        named = [name for name in always if all(isinstance(call.arguments[name], str) for call in calls)]
        if len(named) != 1 or spec.tools[tool].operation is not None:
            continue
        shelf = _Shelf("kept_" + "_".join(words_of(tool)), {tool: named[0]})
        twin = next((other for other in found if _same(shelf, other, sessions, readers)), None)
        if twin is None:
            found.append(shelf)
        else:
            twin.readers |= shelf.readers
    yield from found


def _same(one: _Shelf, other: _Shelf, sessions: Sessions, readers: set[str]) -> bool:
    """Whether both gave the same answer for the same thing, each time that nothing lay between."""
    agreed = 0
    for session in sessions:
        here: dict[str, tuple[str, str]] = {}
        for call in session:
            if call.tool not in readers:
                here.clear()
            for shelf in (one, other):
                key = shelf.asked(call)
                if key is None or call.error:
                    continue
                there = here.setdefault(key, (shelf.name, call.text))
                if there[0] != shelf.name:
                    if there[1] != call.text:
                        return False
                    agreed += 1
    return agreed > 0


def _effects(shelf: _Shelf, tool: str, sessions: Sessions, rules: Mapping[str, ToolRule]) -> Iterator[EffectSpec]:
    """What good calls of a tool make of what they name."""
    trails = [trail for trail in _trails(shelf, sessions) if trail.call.tool == tool]
    names = {name for session in sessions for c in session if c.tool == tool for name in c.arguments}
    deletes: list[EffectSpec] = []
    for name in sorted(names):
        mine = [trail for trail in trails if trail.call.arguments.get(name) == trail.key]
        if not mine:
            continue
        key = f"{{{{ {path_text('args', name)} }}}}"
        told = _told(mine, name, sorted(names))
        if told == "same":
            continue
        effect = EffectSpec(store=shelf.name, key=key, doubt=told is None, delete=told == "gone")
        if told is not None and told.startswith("put:"):
            yield effect.model_copy(update={"value": {"text": f"{{{{ {path_text('args', told[4:])} }}}}"}})
        elif told is not None and told.startswith("copy:"):
            yield effect.model_copy(update={"value": f"{{{{ {_SHELF}[{path_text('args', told[5:])}] }}}}"})
        else:
            deletes.append(effect)
    yield from deletes


def _told(trails: Sequence[_Trail], name: str, names: Sequence[str]) -> str | None:
    """The one thing that nearly all later reads agree with."""
    right: Counter[str] = Counter()
    trials: Counter[str] = Counter()
    for trail in trails:
        given = trail.call.arguments
        for other in names:
            if other != name and isinstance(given.get(other), str):
                trials[f"put:{other}"] += 1
                right[f"put:{other}"] += given[other] == trail.text
                if given[other] in trail.before:
                    trials[f"copy:{other}"] += 1
                    right[f"copy:{other}"] += trail.before[given[other]] == trail.text
        trials["gone"] += 1
        right["gone"] += trail.text is None
        if trail.key in trail.before:
            trials["same"] += 1
            right["same"] += trail.before[trail.key] == trail.text
    sure = [way for way, count in right.items() if count >= max(_LEAST, _SURE * trials[way])]
    return max(sure, key=lambda way: (right[way], way == "same")) if sure else None


def _trails(shelf: _Shelf, sessions: Sessions) -> Iterator[_Trail]:
    """Each good call that names a thing, with the next read of it; calls between that name it too count alone."""
    for session in sessions:
        known: dict[str, str] = {}
        last: dict[str, tuple[TracedCall, dict[str, str]]] = {}
        for call in session:
            key = shelf.asked(call)
            if key is not None:
                if key in last:
                    yield _Trail(*last.pop(key), None if call.error else call.text, key)
                if not call.error:
                    known[key] = call.text
                continue
            if call.error or call.tool in shelf.readers:
                continue
            before = dict(known)
            for value in {value for value in call.arguments.values() if isinstance(value, str)}:
                last[value] = call, before
                known.pop(value, None)
