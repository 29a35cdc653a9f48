"""Learning a world from traces: stores and reads first, then the rules of each tool, each checked by replay."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worldline.domains.tools.collections import CaseSpec, CollectionsSpec, SupportSpec, ToolRule
from worldline.kernels.tools.collections.seen import words_in, words_of_answer
from worldline.kernels.tools.collections.server import CollectionServer, answer_value
from worldline.kernels.tools.collections.stores import StoreView
from worldline.types import Demonstration, Observation, ToolSpec, Trajectory, Turn, WorldSpec
from worldline.worlds.learning.borrowing import borrow
from worldline.worlds.learning.complaints import find_complaints
from worldline.worlds.learning.kept import with_kept_answers
from worldline.worlds.learning.likeness import guessed_by_likeness
from worldline.worlds.learning.reading import Reading, read_traces, usual_refusal
from worldline.worlds.learning.refusals import Example
from worldline.worlds.learning.rules import learn_tool, rule_of
from worldline.worlds.learning.tools import declared_tools, shown_tools
from worldline.worlds.learning.traces import TracedCall, traced

__all__ = ["learn_collections", "learn_world"]

_DEMONSTRATED_TURNS = 12
"""Turns of a trajectory that a demonstration shows."""

_MANY_TASKS = 5
"""Tasks from which on examples of one task count once as evidence of a condition."""
_TRUSTED = 0.8
"""Share of the traces in which a case must have been right for its answer to count as known."""


def learn_collections(trajectories: Iterable[Trajectory], tools: Sequence[ToolSpec] = ()) -> CollectionsSpec:
    """Learn stores, records and rules from observed trajectories.

    Args:
        trajectories: What was observed.
        tools: Definitions of the tools, where there are any: what calls have against them is learned apart.
    """
    told = traced(trajectories)
    complaints = find_complaints([call for session in told for call in session], tools)
    sessions = [[call for call in session if (call.session, call.position) not in complaints.about] for session in told]
    spec = _learned(sessions, complaints.odd)
    if not complaints.checks:
        return spec
    rules = dict(spec.tools)
    for tool, names in (complaints.unchecked or {}).items():
        rules[tool] = rules.get(tool, ToolRule()).model_copy(update={"unchecked": names})
    return spec.model_copy(update={"messages": complaints.messages, "check_arguments": True, "tools": rules})


def _learned(sessions: Sequence[Sequence[TracedCall]], odd: frozenset[tuple[int, int]]) -> CollectionsSpec:
    reading, spec = read_traces(sessions)
    spec = with_kept_answers(sessions, spec, reading.readers)
    examples = _examples(sessions, spec, odd)
    keys = {name: store.key for name, store in spec.stores.items()}
    alike = guessed_by_likeness(sessions)
    rules = {tool: rule.model_copy(update={"alike": tool in alike}) for tool, rule in spec.tools.items()}
    lessons = {
        tool: learn_tool(calls, keys)
        for tool, calls in examples.items()
        if rules[tool].operation is None and not _listed(rules[tool], tool, reading)
    }
    borrow(lessons)
    for tool, lesson in lessons.items():
        # Where a rule tells what good calls answer, it is refusals that are left to guess, and these are not alike.
        base = rules[tool].model_copy(update={"alike": rules[tool].alike and lesson.success is None})
        rules[tool] = rule_of(lesson, base, _answered_stores(base, reading))
    guesses = {(tool, case.when) for tool, rule in rules.items() for case in rule.cases if case.guess}
    spec = _supported(sessions, _replaced(spec, rules, reading))
    kept = {
        tool: rule.model_copy(update={"cases": tuple(filter(_stands, rule.cases))}) for tool, rule in spec.tools.items()
    }
    spec = _supported(sessions, _replaced(spec, kept, reading))
    kept = {
        tool: rule.model_copy(
            update={"cases": tuple(_doubted(case, (tool, case.when) in guesses) for case in rule.cases)}
        )
        for tool, rule in spec.tools.items()
    }
    return _replaced(spec, kept, reading)


def _doubted(case: CaseSpec, guess: bool) -> CaseSpec:
    return case.model_copy(update={"guess": True}) if guess else case


def learn_world(
    trajectories: Sequence[Trajectory],
    *,
    tools: Sequence[ToolSpec] = (),
    name: str = "",
    task: str = "",
    domain: str = "mcp",
    demonstrations: int = 2,
) -> WorldSpec:
    """Learn a playable world from trajectories.

    Args:
        trajectories: What was observed.
        tools: Definitions of the tools; by default those that the trajectories' worlds declare. Where there are none,
            the calls themselves show which tools and arguments there are, and nothing is refused for them.
        name: Name of the world.
        task: Its task.
        domain: Its domain.
        demonstrations: How many trajectories a model is shown, those with the most different tools.
    """
    known = {tool.name: tool for tool in tools or declared_tools(trajectories)}
    spec = learn_collections(trajectories, tuple(known.values()))
    calls = [call for session in traced(trajectories) for call in session]
    if known:
        # A call of no declared tool that was refused shows no further one.
        calls = [call for call in calls if not call.error or call.tool in known]
    shown = [tool for tool in shown_tools(calls, known) if tool.name not in known]
    state = {"collections": spec.model_dump(mode="json", exclude_defaults=True)}
    return WorldSpec(
        domain=domain,
        name=name,
        task=task,
        tools=(*known.values(), *shown),
        initial_state=state,
        demonstrations=tuple(_demonstrations(trajectories, demonstrations)),
    )


def _demonstrations(trajectories: Sequence[Trajectory], count: int) -> Iterator[Demonstration]:
    """Choose trajectories that each show tools which those before it did not."""
    left, seen = list(trajectories), set[str]()
    for _ in range(min(count, len(left))):
        best = max(left, key=lambda t: len({u.action.name for u in t.turns[:_DEMONSTRATED_TURNS]} - seen))
        left.remove(best)
        seen |= {turn.action.name for turn in best.turns[:_DEMONSTRATED_TURNS]}
        plain = [Turn(action=turn.action, observation=turn.observation) for turn in best.turns[:_DEMONSTRATED_TURNS]]
        yield Demonstration(turns=tuple(plain))


def _listed(rule: ToolRule, tool: str, reading: Reading) -> bool:
    """Whether the tool lists records: what it answers depends on all there are."""
    return tool in reading.readers and any("*" in harvest.path for harvest in rule.harvest)


def _answered_stores(rule: ToolRule, reading: Reading) -> list[str]:
    return [harvest.store for harvest in rule.harvest if not harvest.path][:1]


def _replaced(spec: CollectionsSpec, rules: dict[str, ToolRule], reading: Reading) -> CollectionsSpec:
    return spec.model_copy(update={"tools": rules, "reads": reading.recorded(rules)})


def _examples(
    sessions: Sequence[Sequence[TracedCall]], spec: CollectionsSpec, odd: frozenset[tuple[int, int]]
) -> dict[str, list[Example]]:
    """Let a world without rules follow the traces, and note what it knew before each call."""
    found: dict[str, list[Example]] = defaultdict(list)
    many = len({call.family for session in sessions for call in session}) >= _MANY_TASKS
    start = CollectionServer(spec)
    elsewhere = _places(sessions, many)
    for session in sessions:
        server, here, last = start.fork(), set[str](), dict[str, Any]()
        for call in session:
            names: dict[str, Any] = {name: StoreView(store) for name, store in server.state.stores.items()}
            made = server.state.made.get(call.tool, 0)
            group = _group(call, many)
            seen = SeenBefore(frozenset(here), elsewhere, group)
            names.update(args=call.arguments, made=made, seen=seen, now=spec.now)
            names["last"] = last.get(call.tool, {})
            found[call.tool].append(Example(call, names, group, (call.session, call.position) in odd))
            server.observe(call.tool, call.arguments, _observation(call))
            here |= _words(call)
            if not call.error:
                last[call.tool] = answer_value(call.text)
    return found


def _group(call: TracedCall, many: bool) -> str:
    return call.family if many else str(call.session)


def _words(call: TracedCall) -> set[str]:
    return set() if call.error else {*words_in(call.arguments), *words_of_answer(call.text)}


def _places(sessions: Sequence[Sequence[TracedCall]], many: bool) -> dict[str, set[str]]:
    """In which tasks each text and number was seen."""
    places: dict[str, set[str]] = defaultdict(set)
    for session in sessions:
        for call in session:
            for word in _words(call):
                places[word].add(_group(call, many))
    return places


@dataclass(frozen=True, slots=True)
class SeenBefore:
    """What was seen before a call, as if the world had been learned from the other tasks."""

    here: frozenset[str]
    elsewhere: Mapping[str, set[str]]
    group: str

    def __contains__(self, value: Any) -> bool:
        return str(value) in self.here or bool(self.elsewhere.get(str(value), set()) - {self.group})


def _observation(call: TracedCall) -> Observation:
    return Observation.from_text(call.text, is_error=call.error)


def _supported(sessions: Sequence[Sequence[TracedCall]], spec: CollectionsSpec) -> CollectionsSpec:
    """Replay the traces under the rules: note how often each case was right; rarely right ones are only guesses."""
    told: Counter[tuple[str, int]] = Counter()
    right: Counter[tuple[str, int]] = Counter()
    untold: dict[str, list[TracedCall]] = defaultdict(list)
    start = CollectionServer(spec)
    for session in sessions:
        server = start.fork()
        for call in session:
            trial = server.fork()
            proposal = trial.call(call.tool, call.arguments)
            agrees = proposal.observation.text == call.text and bool(proposal.observation.is_error) == call.error
            case = proposal.details.get("case")
            if case is not None:
                told[call.tool, case] += 1
                right[call.tool, case] += agrees
            # What is known here of the very task will not be known of another: all that no rule refuses counts.
            if not proposal.observation.is_error or (case is None and not proposal.known):
                untold[call.tool].append(call)
            if agrees and proposal.known:
                server = trial
            else:
                server.observe(call.tool, call.arguments, _observation(call))
    rules = {}
    for tool, rule in spec.tools.items():
        cases = [_judged(case, told[tool, n], right[tool, n]) for n, case in enumerate(rule.cases)]
        rules[tool] = rule.model_copy(update={"cases": tuple(cases), "otherwise": usual_refusal(untold[tool])})
    return spec.model_copy(update={"tools": rules})


def _stands(case: CaseSpec) -> bool:
    """Whether a case is worth keeping: an error that was told wrongly as often as rightly only hides what follows."""
    support = case.support
    if case.hearsay and support is not None and support.n == 0:
        return True  # it was held against good calls already
    return not case.error or (support is not None and support.exact > 0.5 * support.n)


def _judged(case: CaseSpec, told: int, right: int) -> CaseSpec:
    support = SupportSpec(n=told, exact=right)
    return case.model_copy(update={"support": support, "guess": told == 0 or right < _TRUSTED * told})
