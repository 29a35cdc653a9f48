"""The server of a collection world: records and rules, declared by hand or learned from traces."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from worldline.domains.comparing import as_json
from worldline.domains.tools.collections import CaseSpec, CollectionsSpec, JsonStyle, ToolRule
from worldline.domains.tools.names import looks_only
from worldline.errors import KernelError
from worldline.kernels.base import Proposal
from worldline.kernels.tools.base import Arguments
from worldline.kernels.tools.collections import kept
from worldline.kernels.tools.collections.checking import refusal, relaxed
from worldline.kernels.tools.collections.expressions import (
    BrokenError,
    Missing,
    UnknownError,
    holds,
    plain,
    render,
    with_lets,
)
from worldline.kernels.tools.collections.machine import Machine
from worldline.kernels.tools.collections.nearest import Told, nearest
from worldline.kernels.tools.collections.operations import Call, Outcome, key_of, operate
from worldline.kernels.tools.collections.refused import refused_again
from worldline.kernels.tools.collections.seen import Seen, declared_words, words_in, words_of_answer
from worldline.kernels.tools.collections.state import State, read_key
from worldline.kernels.tools.collections.stores import Key, StoreView, as_key
from worldline.kernels.tools.collections.templates import check_declaration
from worldline.types import JsonDict, Observation, ToolSpec, WorldSpec

__all__ = ["CollectionServer", "answer_value", "collection_server", "style_text"]

_VERSION = 4
_DESCRIBED = 20
"""Records of a store that a description shows."""
_KEPT = 32
"""Calls of a session that are kept to guess others by."""
_STRONG = 8
"""Traces that a learned rule must have reproduced to count as well supported."""
_NOTHING, _LOOKS = ToolRule(), ToolRule(changes=False)


def collection_server(world: WorldSpec) -> CollectionServer | None:
    """Build the server of a world that declares collections; None for one that does not.

    Raises:
        KernelError: A template of the declaration is wrong.
    """
    declared = world.initial_state.get("collections")
    if declared is None:
        return None
    return CollectionServer(CollectionsSpec.model_validate(declared), world.tools)


class CollectionServer:
    """Satisfies :class:`worldline.kernels.tools.base.ServerKernel`.

    Args:
        spec: Stores, rules and recorded answers.
        tools: The tools the world declares; calls are checked against their schemas.

    Raises:
        KernelError: A template of the declaration is wrong.
    """

    def __init__(self, spec: CollectionsSpec, tools: Sequence[ToolSpec] = ()) -> None:
        self._spec = spec
        unchecked = {name: rule.unchecked for name, rule in spec.tools.items()}
        self._tools = {tool.name: relaxed(tool, unchecked.get(tool.name, ())) for tool in tools}
        self._state = State.of(spec)
        self._latest: Mapping[str, tuple[Told, ...]] = {}
        self._good: Mapping[str, str] = {}
        self._machine = Machine.of(spec.terminal) if spec.terminal is not None else None
        check_declaration(spec)
        # Remembering every word of the session is only worth its while where an expression asks for it.
        self._remembers = any(_asks_for_seen(rule) for rule in spec.tools.values())
        self._declared_words = declared_words(spec) if self._remembers else frozenset()
        self._recalling = frozenset(tool for tool, rule in spec.tools.items() if _asks_for_last(rule))

    def serves(self, tool: str) -> bool:
        """Whether there is a rule for the tool, or the world declares it."""
        return tool in self._spec.tools or tool in self._tools

    def call(self, tool: str, arguments: Arguments) -> Proposal:
        """Answer a call; see :class:`worldline.kernels.tools.base.ServerKernel`."""
        rule = self._rule(tool)
        outcome, text, why = None, "", ""
        try:
            outcome = self._outcome(tool, arguments, rule)
            text = self._written(outcome.answer, rule)
        except (UnknownError, BrokenError) as exc:
            outcome, why = None, str(exc)
        if (said := self._recorded(tool, arguments, rule, outcome)) is not None:
            return said
        if outcome is None:
            self._state = self._doubted(rule, tool, arguments).ticked()
            return Proposal(self._guess(tool, arguments, rule), known=False, classes=("unknown",), why=why)
        names = self._names(arguments, rule, tool) if rule.effects else {}
        self._state = outcome.state.ticked("" if outcome.error else tool)
        self._note(tool, arguments, text, outcome.error)
        if not outcome.error:
            self._state = self._after(rule, self._state, names)
        return Proposal(
            Observation.from_text(text, is_error=outcome.error),
            known=not outcome.guess,
            classes=(outcome.kind,),
            why=outcome.why,
            writes=outcome.writes,
            details=outcome.extra,
        )

    def _recorded(self, tool: str, arguments: Arguments, rule: ToolRule, outcome: Outcome | None) -> Proposal | None:
        """What was seen of the same call: a refusal since which nothing changed, or an answer of a tool that reads."""
        refused = self._state.refusals.get(read_key(tool, arguments))
        if refused is not None:
            self._state = self._state.ticked()
            seen = Observation.from_text(refused, is_error=True)
            return Proposal(seen, known=True, classes=("refused again",), why="the same call was refused before")
        read = self._state.read(tool, arguments)
        if read is None or rule.changes or (outcome is not None and not outcome.guess):
            return None
        if rule.keeps and not kept.untouched(self._state, rule, self._names(arguments, rule, tool)):
            return None
        self._state = self._state.ticked("" if read.error else tool)
        seen = Observation.from_text(read.answer, is_error=read.error)
        return Proposal(seen, known=True, classes=("recorded",), why="the same call was recorded")

    def observe(self, tool: str, arguments: Arguments, observation: Observation) -> None:
        """Follow a call whose answer was another one."""
        rule = self._rule(tool)
        error = bool(observation.is_error)
        if rule.operation == "shell" and self._machine is not None:
            self._observe_run(tool, rule, arguments, observation)
            return
        self._note(tool, arguments, observation.text, error)
        if not error:
            self._follow(tool, arguments, rule, as_json(observation.text), observation.text)
            if self._may_change(rule):
                self._state = self._state.after_change()
        else:
            if rule.operation in ("read", "update", "delete"):
                self._follow_refusal(tool, arguments, rule, observation.text)
            self._state = self._state.with_refusal(tool, arguments, observation.text)
        if not rule.changes and self._plain(rule):
            self._state = self._state.with_read(tool, arguments, observation.text, error)
        self._state = self._state.ticked("" if error else tool)

    def _note(self, tool: str, arguments: Arguments, text: str, error: bool) -> None:
        """Remember an answer, and what was seen in it."""
        kept = _KEPT if self._rule(tool).alike else 1
        told = (Told(text, error, dict(arguments)), *self._latest.get(tool, ()))[:kept]
        self._latest = {**self._latest, tool: told}
        if not error and tool in self._recalling:
            self._good = {**self._good, tool: text}
        if self._remembers and not error:
            self._state = self._state.with_seen([*words_in(dict(arguments)), *words_of_answer(text)])

    def _observe_run(self, tool: str, rule: ToolRule, arguments: Arguments, observation: Observation) -> None:
        assert self._machine is not None
        try:
            command = render(rule.command, self._names(arguments, rule, tool))
        except (UnknownError, BrokenError):
            return
        if isinstance(command, str):
            self._machine.follow(command, observation, plain=rule.answer is None)
        self._state = self._state.ticked()

    def footprint(self, tool: str, arguments: Arguments) -> Mapping[str, str] | None:
        """The record that an operation reads; None for cases, which may read anything."""
        rule = self._spec.tools.get(tool)
        if rule is None or rule.cases or rule.operation not in ("read", "update", "delete") or rule.where:
            return None
        names = self._names(arguments, rule, tool)
        found = {}
        for name in (rule.store,) if isinstance(rule.store, str) else rule.store:
            store = self._state.stores[name]
            try:
                key = key_of(rule, store, names, arguments)
            except (UnknownError, BrokenError):
                return None
            if key is not None:
                found["/".join([name, *map(str, key)])] = store.hash_of(key)
        return found

    def fork(self) -> CollectionServer:
        """Share the immutable state."""
        twin = object.__new__(CollectionServer)
        twin._spec, twin._tools, twin._state, twin._latest = self._spec, self._tools, self._state, self._latest
        twin._remembers, twin._declared_words = self._remembers, self._declared_words
        twin._recalling, twin._good = self._recalling, self._good
        twin._machine = self._machine.fork() if self._machine is not None else None
        return twin

    def dump(self) -> JsonDict:
        """Write down what changed since the start."""
        machine = self._machine.dump() if self._machine is not None else None
        latest = {tool: [list(one) for one in said] for tool, said in self._latest.items()}
        return {
            "version": _VERSION,
            "state": self._state.dump(),
            "latest": latest,
            "good": dict(self._good),
            "machine": machine,
        }

    def load(self, data: JsonDict) -> None:
        """Replace the state.

        Raises:
            KernelError: `data` is damaged or from another version.
        """
        if not isinstance(data, dict) or data.get("version") != _VERSION:
            raise KernelError("the state of a collection world of another version")
        try:
            self._state = State.of(self._spec).loaded(data["state"])
            if self._machine is not None:
                self._machine.load(data["machine"])
            self._good = {str(tool): str(text) for tool, text in data["good"].items()}
            self._latest = {
                str(tool): tuple(Told(str(text), bool(error), dict(arguments)) for text, error, arguments in said)
                for tool, said in data["latest"].items()
            }
        except (KeyError, ValueError, TypeError, AttributeError, ValidationError) as exc:
            raise KernelError("damaged state of a collection world") from exc

    def describe(self) -> JsonDict:
        """The first records of each store."""
        described = {name: store.describe(_DESCRIBED) for name, store in self._state.stores.items()}
        return described if self._machine is None else {**described, "terminal": self._machine.describe()}

    def close(self) -> None:
        """Free the machine."""
        if self._machine is not None:
            self._machine.close()

    @property
    def state(self) -> State:
        """What the session knows now."""
        return self._state

    def _rule(self, tool: str) -> ToolRule:
        """What is known of a tool; of one that is called like those that only look, that it changes nothing."""
        return self._spec.tools.get(tool) or (_LOOKS if looks_only(tool) else _NOTHING)

    def _names(self, arguments: Arguments, rule: ToolRule, tool: str) -> dict[str, Any]:
        names: dict[str, Any] = {name: StoreView(store) for name, store in self._state.stores.items()}
        made = self._state.made.get(tool, 0)
        seen = Seen(self._declared_words, self._state.seen)
        names.update(args=dict(arguments), now=self._state.now(self._spec), made=made, seen=seen)
        if tool in self._recalling:
            names["last"] = answer_value(self._good[tool]) if tool in self._good else {}
        return with_lets(names, rule.let)

    def _outcome(self, tool: str, arguments: Arguments, rule: ToolRule) -> Outcome:
        known = self._tools.get(tool)
        if known is None and tool not in self._spec.tools:
            if not self._tools or not self._spec.check_arguments:
                raise UnknownError(f"nothing is known of a tool {tool}")
            refused = render(self._spec.messages.unknown_tool, {"tool": tool, "args": dict(arguments)})
            fails = self._spec.messages.unknown_tool_fails
            return Outcome(refused, self._state, error=fails, kind="refused", why="there is no such tool")
        if known is not None and self._spec.check_arguments:
            refused = refusal(known, arguments, self._spec.messages)
            if refused is not None:
                return Outcome(refused, self._state, error=True, kind="refused", why="the schema refuses the arguments")
        names = self._names(arguments, rule, tool)
        doubt = ""
        for number, case in enumerate(rule.cases):
            inner = with_lets(names, case.let)
            try:
                if not holds(case.when, inner):
                    continue
            except (UnknownError, BrokenError) as exc:
                if not case.error:
                    raise
                # Whether the call is refused is not known: what it would answer otherwise is a guess.
                doubt = doubt if case.hearsay else doubt or str(exc)
                continue
            return _doubtful(self._case(case, number, inner), doubt)
        if rule.operation == "shell":
            return _doubtful(self._run(tool, rule, names), doubt)
        if rule.keeps and (key := kept.asked_key(rule, names)) is not None:
            answer = plain(self._state.stores[rule.keeps].get(key))["text"]
            return _doubtful(Outcome(answer, self._state, kind="kept", why=f"read of {rule.keeps}"), doubt)
        if rule.operation is None:
            raise UnknownError(doubt or f"no rule says what {tool} answers here")
        return _doubtful(operate(Call(tool, arguments, rule, names, self._spec.messages), self._state), doubt)

    def _run(self, tool: str, rule: ToolRule, names: Mapping[str, Any]) -> Outcome:
        assert self._machine is not None
        command = render(rule.command, names)
        if not isinstance(command, str) or "\0" in command:
            raise BrokenError(f"the command of {tool} is no text")
        done = self._machine.run(command)
        answer: Any = done.output
        if rule.answer is not None:
            answer = render(rule.answer, {**names, **done.streams})
        return Outcome(answer, self._state, done.failed, "shell", done.why, done.writes, guess=not done.known)

    def _case(self, case: CaseSpec, number: int, names: Mapping[str, Any]) -> Outcome:
        answer = render(case.answer, names)
        if isinstance(answer, Missing):
            raise BrokenError("the answer is not there")
        state, writes = _applied(self._state, case, {**names, "answer": answer})
        support = case.support
        kind = "case" if support is None else "strong" if support.n >= _STRONG else "weak"
        why = f"case {number + 1}" + (f", right in {support.exact} of {support.n} traces" if support else "")
        return Outcome(answer, state, case.error, kind, why, writes, case.guess, {"case": number})

    def _after(self, rule: ToolRule, state: State, names: Mapping[str, Any]) -> State:
        """What stands after a call that went well."""
        state = kept.followed(state, rule, names)
        state = state.doubting(rule.doubts) if rule.doubts else state
        return state.after_change() if self._may_change(rule) else state

    def _doubted(self, rule: ToolRule, tool: str, arguments: Arguments) -> State:
        """What stands after a call of which nothing could be told."""
        if not self._may_change(rule):
            return self._state
        if rule.effects:
            return kept.doubted(self._state, rule, self._names(arguments, rule, tool)).doubting(rule.doubts)
        if rule.changes is None and not rule.cases and rule.operation is None and not rule.doubts:
            return self._state.doubting(None)
        touched = {effect.store for case in rule.cases for effect in case.effects}
        named = (rule.store,) if isinstance(rule.store, str) else rule.store
        return self._state.doubting((*rule.doubts, *touched, *(n for n in named if n)))

    def _may_change(self, rule: ToolRule) -> bool:
        return rule.changes is not False and not self._reads_only(rule)

    @staticmethod
    def _reads_only(rule: ToolRule) -> bool:
        return rule.operation in ("read", "list", "search") and not any(case.effects for case in rule.cases)

    @staticmethod
    def _plain(rule: ToolRule) -> bool:
        """Whether an observed answer may be given again to the same call: nothing tells more of it."""
        return rule.changes is False and rule.operation is None and not rule.keeps

    def _guess(self, tool: str, arguments: Arguments, rule: ToolRule) -> Observation:
        """What the same call gave, what the tool answered last, what the rule says, or anything it ever answered."""
        same = self._state.declared_reads.get(read_key(tool, arguments))
        if same is not None:
            return Observation.from_text(same.answer, is_error=same.error)
        unchanged = self._unless_changed(tool, arguments, rule)
        if unchanged is not None:
            return unchanged
        if rule.alike and (told := nearest([*self._latest.get(tool, ()), *self._recorded_of(tool)], arguments)):
            return Observation.from_text(told.text, is_error=told.error)
        if tool in self._latest:
            (last, *_) = self._latest[tool]
            text = refused_again(last.text, last.arguments, arguments) if last.error else last.text
            if text is not None:
                return Observation.from_text(text, is_error=last.error)
        if rule.otherwise is not None:
            return Observation.from_text(rule.otherwise.answer, is_error=rule.otherwise.error)
        found = next((read for read in self._spec.reads if read.tool == tool and not read.error), None)
        return Observation.from_text(found.answer if found else "", is_error=False)

    def _recorded_of(self, tool: str) -> Iterator[Told]:
        return (Told(read.answer, read.error, read.arguments) for read in self._spec.reads if read.tool == tool)

    def _unless_changed(self, tool: str, arguments: Arguments, rule: ToolRule) -> Observation | None:
        """What the rule says if all that is doubted is as it was before."""
        trusted = self._state.trusting()
        if trusted is self._state:
            return None
        twin = self.fork()
        twin._state = trusted
        try:
            outcome = twin._outcome(tool, arguments, rule)
            return Observation.from_text(self._written(outcome.answer, rule), is_error=outcome.error)
        except (UnknownError, BrokenError):
            return None

    def _written(self, answer: Any, rule: ToolRule) -> str:
        """Write an answer down.

        Raises:
            UnknownError: Something in it is unknown.
            BrokenError: It is no JSON data.
        """
        return (
            answer if isinstance(answer, str) else style_text(plain(answer), rule.json_style or self._spec.json_style)
        )

    def _follow(self, tool: str, arguments: Arguments, rule: ToolRule, value: Any, text: str) -> None:
        names = self._names(arguments, rule, tool)
        before = self._state
        if rule.keeps:
            self._state = kept.with_answer(self._state, rule, names, text)
        if self._may_change(rule):
            self._state = self._followed_change(rule, names, value if value is not None else text, tool)
        plain = rule.answer is None and not rule.harvest
        if rule.operation in ("read", "create", "update") and plain and isinstance(value, dict):
            self._learn_record(arguments, rule, names, value)
        elif rule.operation == "delete":
            self._learn_deletion(arguments, rule, names, before)
        elif rule.operation in ("list", "search") and plain and isinstance(value, list):
            (store, *_) = (rule.store,) if isinstance(rule.store, str) else rule.store
            for item in value:
                self._keep(store, item, None, names)
        for harvest in rule.harvest:
            found = _along(value, harvest.path.split(".") if harvest.path else [])
            for item in (item for item in found if isinstance(item, dict)):
                if all(name in item for name in harvest.has):
                    self._keep(harvest.store, item, harvest.key, names)

    def _followed_change(self, rule: ToolRule, names: Mapping[str, Any], answer: Any, tool: str) -> State:
        """Apply the effects of the case that ends well; what cannot be told of them is doubted."""
        case = next((case for case in reversed(rule.cases) if not case.error), None)
        if case is None:
            changes = rule.changes or rule.effects
            return self._after(rule, self._state, names) if changes else self._doubted(rule, tool, names["args"])
        inner = {**with_lets(names, case.let), "answer": answer}
        state = self._state
        for effect in case.effects:
            single = case.model_copy(update={"effects": (effect,)})
            try:
                state, _ = _applied(state, single, inner)
            except (UnknownError, BrokenError):
                state = state.doubting((effect.store,))
        return self._after(rule, state, names)

    def _learn_record(self, arguments: Arguments, rule: ToolRule, names: Mapping[str, Any], value: JsonDict) -> None:
        for name in (rule.store,) if isinstance(rule.store, str) else rule.store:
            store = self._state.stores[name]
            key = as_key([value.get(part) for part in store.spec.key])
            if key is None:
                try:
                    key = key_of(rule, store, names, arguments)
                except (UnknownError, BrokenError):
                    key = None
            if key is not None:
                self._merge(name, key, value)
                return

    def _learn_deletion(self, arguments: Arguments, rule: ToolRule, names: Mapping[str, Any], before: State) -> None:
        for name in (rule.store,) if isinstance(rule.store, str) else rule.store:
            try:
                key = key_of(rule, before.stores[name], names, arguments)
            except (UnknownError, BrokenError):
                self._state = self._state.doubting((name,))  # one of its records went, nobody knows which
                continue
            if key is not None:
                self._state = before.with_store(before.stores[name].drop(key))

    def _follow_refusal(self, tool: str, arguments: Arguments, rule: ToolRule, text: str) -> None:
        """A refusal in the words for a missing record says that there is none."""
        for name in (rule.store,) if isinstance(rule.store, str) else rule.store:
            store = self._state.stores[name]
            names = self._names(arguments, rule, tool)
            try:
                key = key_of(rule, store, names, arguments)
                template = rule.missing if rule.missing is not None else self._spec.messages.missing_record
                said = render(template, {**names, "tool": tool, "key": [str(part) for part in key or ()]})
                said = self._written(said, rule)
            except (UnknownError, BrokenError):
                continue
            if key is not None and text == said:
                self._state = self._state.with_store(store.drop(key))

    def _keep(self, name: str, item: Any, template: Any, names: Mapping[str, Any]) -> None:
        store = self._state.stores[name]
        if not isinstance(item, Mapping):
            return
        try:
            if template is not None:
                key = as_key(render(template, {**names, "item": item}))
            else:
                key = as_key([item.get(part) for part in store.spec.key])
        except (UnknownError, BrokenError):
            return
        if key is not None:
            self._merge(name, key, item)

    def _merge(self, name: str, key: Key, seen: Mapping[str, Any]) -> None:
        """Keep what was seen of a record; fields that this view does not show stay as they were."""
        store = self._state.stores[name]
        known = store.get(key)
        whole = isinstance(known, Mapping)
        lacking = [field for field in known if field not in seen] if whole else []
        record = {**known, **seen} if lacking else dict(seen)
        if not whole or known != record:
            self._state = self._state.put(name, key, record)


def _asks_for_seen(rule: ToolRule) -> bool:
    return "seen" in rule.model_dump_json()


def _asks_for_last(rule: ToolRule) -> bool:
    return re.search(r"\blast\b", rule.model_dump_json(exclude={"otherwise"})) is not None


def answer_value(text: str) -> Any:
    """Return an answer as templates see it: data where it is JSON, else the text."""
    value = as_json(text)
    return value if isinstance(value, dict | list) else text


def _doubtful(outcome: Outcome, doubt: str) -> Outcome:
    """What a call answers if it is not refused, where that cannot be told."""
    return replace(outcome, guess=True, why=doubt, extra={}) if doubt else outcome


def _applied(state: State, case: CaseSpec, names: Mapping[str, Any]) -> tuple[State, tuple[str, ...]]:
    written = []
    for effect in case.effects:
        store = state.stores[effect.store]
        if effect.key is None:
            answer = names["answer"]
            key = as_key([answer.get(part) for part in store.spec.key]) if isinstance(answer, Mapping) else None
        else:
            key = as_key(render(effect.key, names))
        if key is None:
            raise BrokenError(f"no key for {effect.store}")
        if effect.delete:
            store = store.drop(key)
        elif effect.doubt:
            store = store.doubt(key)
        else:
            store = store.put(key, render(effect.value if effect.value is not None else "{{ answer }}", names))
        state = state.with_store(store)
        written.append("/".join([effect.store, *map(str, key)]))
    return state, tuple(written)


def style_text(value: Any, style: JsonStyle) -> str:
    """Write JSON as the environment does."""
    separators = (",", ":") if style.compact else None
    return json.dumps(
        value, indent=style.indent, separators=separators, ensure_ascii=style.ascii, sort_keys=style.sort_keys
    )


def _along(value: Any, steps: Sequence[str]) -> list[Any]:
    found = [value]
    for step in steps:
        inner: list[Any] = []
        for item in found:
            if step == "*":
                inner += item if isinstance(item, list) else item.values() if isinstance(item, dict) else []
            elif isinstance(item, dict) and step in item:
                inner.append(item[step])
        found = inner
    return found
