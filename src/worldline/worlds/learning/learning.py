"""Learning a world from traces: stores and reads first, then the rules of each tool, each checked by replay."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from worldline.domains.tools.collections import CaseSpec, CollectionsSpec, SupportSpec, ToolRule
from worldline.kernels.tools.collections.server import CollectionServer
from worldline.kernels.tools.collections.stores import StoreView
from worldline.types import Observation, Trajectory
from worldline.worlds.learning.reading import Reading, read_traces
from worldline.worlds.learning.rules import Example, learn_rule
from worldline.worlds.learning.traces import TracedCall, traced

__all__ = ["learn_collections"]

_TRUSTED = 0.8
"""Share of the traces in which a case must have been right for its answer to count as known."""


def learn_collections(trajectories: Iterable[Trajectory]) -> CollectionsSpec:
    """Learn stores, records and rules from observed trajectories."""
    sessions = traced(trajectories)
    reading, spec = read_traces(sessions)
    examples = _examples(sessions, spec)
    keys = {name: store.key for name, store in spec.stores.items()}
    rules = dict(spec.tools)
    for tool, calls in examples.items():
        if rules[tool].operation is None and not _listed(rules[tool], tool, reading):
            rules[tool] = learn_rule(calls, rules[tool], keys, _answered_stores(rules[tool], reading))
    spec = _replaced(spec, rules, reading)
    return _supported(sessions, spec)


def _listed(rule: ToolRule, tool: str, reading: Reading) -> bool:
    """Whether the tool lists records: what it answers depends on all there are."""
    return tool in reading.readers and any("*" in harvest.path for harvest in rule.harvest)


def _answered_stores(rule: ToolRule, reading: Reading) -> list[str]:
    return [harvest.store for harvest in rule.harvest if not harvest.path][:1]


def _replaced(spec: CollectionsSpec, rules: dict[str, ToolRule], reading: Reading) -> CollectionsSpec:
    return spec.model_copy(update={"tools": rules, "reads": reading.recorded(rules)})


def _examples(sessions: Sequence[Sequence[TracedCall]], spec: CollectionsSpec) -> dict[str, list[Example]]:
    """Let a world without rules follow the traces, and note what it knew before each call."""
    found: dict[str, list[Example]] = defaultdict(list)
    for session in sessions:
        server = CollectionServer(spec)
        for call in session:
            names: dict[str, Any] = {name: StoreView(store) for name, store in server.state.stores.items()}
            made = server.state.made.get(call.tool, 0)
            found[call.tool].append(Example(call, {**names, "args": call.arguments, "made": made}))
            server.observe(call.tool, call.arguments, _observation(call))
    return found


def _observation(call: TracedCall) -> Observation:
    return Observation.from_text(call.text, is_error=call.error)


def _supported(sessions: Sequence[Sequence[TracedCall]], spec: CollectionsSpec) -> CollectionsSpec:
    """Replay the traces under the rules: note how often each case was right; rarely right ones are only guesses."""
    told: Counter[tuple[str, int]] = Counter()
    right: Counter[tuple[str, int]] = Counter()
    for session in sessions:
        server = CollectionServer(spec)
        for call in session:
            trial = server.fork()
            proposal = trial.call(call.tool, call.arguments)
            agrees = proposal.observation.text == call.text and bool(proposal.observation.is_error) == call.error
            case = proposal.details.get("case")
            if case is not None:
                told[call.tool, case] += 1
                right[call.tool, case] += agrees
            if agrees and proposal.known:
                server = trial
            else:
                server.observe(call.tool, call.arguments, _observation(call))
    rules = {}
    for tool, rule in spec.tools.items():
        cases = [_judged(case, told[tool, n], right[tool, n]) for n, case in enumerate(rule.cases)]
        rules[tool] = rule.model_copy(update={"cases": tuple(cases)})
    return spec.model_copy(update={"tools": rules})


def _judged(case: CaseSpec, told: int, right: int) -> CaseSpec:
    support = SupportSpec(n=told, exact=right)
    return case.model_copy(update={"support": support, "guess": told == 0 or right < _TRUSTED * told})
