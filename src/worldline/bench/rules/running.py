"""Answering the turns of rule checks, teacher-forced, and summing verdicts up by axis."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from worldline.bench.agentworld.extraction import extract_prediction, observed_text
from worldline.bench.agentworld.records import EvalRow, Generation
from worldline.bench.agentworld.statistics import Figure, Value, macro, micro
from worldline.bench.rules.checks import verdict
from worldline.bench.rules.records import AXES, RuleCheck, anchor, varied
from worldline.bench.runner import EngineFactory
from worldline.errors import ConfigError, WorldlineError
from worldline.formats.agentworld_text import parse_action, split_prompt
from worldline.types import Action, Frozen, Observation, Trajectory

__all__ = ["RuleResult", "RuleTable", "answers", "check_engine", "check_rows", "row_anchor", "summed"]


class RuleResult(Frozen):
    """The verdict on one prediction."""

    rule: str
    axis: str
    kind: str
    domain: str
    cluster: str
    passed: bool
    why: str = ""
    """What does not hold."""
    failure: str | None = None
    """Type of the error that kept the engine from answering, or the outcome of a generation without a prediction."""


class RuleTable(Frozen):
    """Pass rates, 0..1, with 95% intervals resampled by cluster; a failure counts as not passed."""

    name: str
    axes: dict[str, Figure]
    all: Figure
    """Plain mean over all rules."""
    macro: Figure
    """Plain mean of the axes that have rules, as in the paper's table."""
    per_domain: dict[str, dict[str, float | None]]
    n: int
    n_failed: int
    n_without_row: int = 0
    """Rules that no generation of the run answers."""
    seed: int


async def answers(
    trajectory: Trajectory, rules: Sequence[RuleCheck], factory: EngineFactory
) -> dict[str, Observation | WorldlineError]:
    """Predict the turns that rules of one trajectory ask about, each after the history of its rule.

    Rules that change the world alike share a run; in it every other turn is absorbed as it was.
    """
    found: dict[str, Observation | WorldlineError] = {}
    groups: dict[str, list[RuleCheck]] = {}
    for rule in rules:
        groups.setdefault(rule.variation, []).append(rule)
    for group in groups.values():
        world, turns = varied(trajectory, max(group, key=lambda rule: rule.turn))
        engine = factory(world)
        try:
            for number, turn in enumerate(turns, 1):
                here = [rule.key for rule in group if rule.turn == number]
                if here:
                    try:
                        answer: Observation | WorldlineError = (
                            await engine.predict(turn.action, turns[: number - 1])
                        ).observation
                    except WorldlineError as error:
                        answer = error
                    found.update(dict.fromkeys(here, answer))
                engine.absorb(turn)
        finally:
            engine.close()
    return found


def check_engine(
    rules: Iterable[RuleCheck],
    trajectories: Mapping[str, Trajectory],
    factory: EngineFactory,
    *,
    on_done: Callable[[], None] = lambda: None,
) -> list[RuleResult]:
    """Check an engine's predictions.

    Args:
        rules: What is demanded.
        trajectories: By id: what the rules were made of.
        factory: Builds the engine for a world.
        on_done: Called after each trajectory.

    Raises:
        ConfigError: A rule's trajectory is not there.
    """
    by_trajectory: dict[str, list[RuleCheck]] = {}
    for rule in rules:
        by_trajectory.setdefault(rule.trajectory, []).append(rule)
    results: list[RuleResult] = []
    with asyncio.Runner() as runner:
        for id, group in by_trajectory.items():
            if id not in trajectories:
                raise ConfigError(
                    f"the rules ask about trajectory {id}, which is not there", hint="give it with --data"
                )
            found = runner.run(answers(trajectories[id], group, factory))
            results.extend(_result(rule, found[rule.key]) for rule in group)
            on_done()
    return results


def _result(rule: RuleCheck, answer: Observation | WorldlineError, *, status_shown: bool = True) -> RuleResult:
    told = {"rule": rule.key, "axis": rule.axis, "kind": rule.kind, "domain": rule.domain, "cluster": rule.cluster}
    if isinstance(answer, WorldlineError):
        return RuleResult(**told, passed=False, failure=type(answer).__name__)
    came = verdict(rule.check, answer, status_shown=status_shown)
    return RuleResult(**told, passed=came.passed, why=came.why)


def row_anchor(row: EvalRow) -> str:
    """The anchor of the turn that a row asks about."""
    pairs = zip((*row.prompts[:-1], row.action), (*row.responses, row.truth), strict=True)
    turns = [(_action(row.domain, prompt), observed_text(answer)) for prompt, answer in pairs]
    return anchor(row.domain, turns)


def _action(domain: str, prompt: str) -> Action:
    return parse_action(domain, split_prompt(prompt).body)


def check_rows(
    rules: Iterable[RuleCheck], generations: Iterable[tuple[EvalRow, Generation]]
) -> tuple[list[RuleResult], int]:
    """Check the predictions of a run.

    Rules that change the world ask what no row asks and are passed over; so are demands on the status, which rows do
    not show.

    Returns:
        The results, and how many rules no generation answers.
    """
    waiting: dict[str, list[RuleCheck]] = {}
    for rule in rules:
        waiting.setdefault("" if rule.variation else rule.anchor, []).append(rule)
    results: list[RuleResult] = []
    answered: set[str] = set()
    for row, generation in generations:
        for rule in waiting.get(row_anchor(row), ()):
            answered.add(rule.key)
            results.append(_row_result(rule, generation))
    return results, sum(rule.key not in answered for group in waiting.values() for rule in group)


def _row_result(rule: RuleCheck, generation: Generation) -> RuleResult:
    found = extract_prediction(generation)
    if found is not None:
        return _result(rule, Observation.from_text(found.text), status_shown=False)
    told = {"rule": rule.key, "axis": rule.axis, "kind": rule.kind, "domain": rule.domain, "cluster": rule.cluster}
    return RuleResult(**told, passed=False, failure=generation.outcome if generation.outcome != "ok" else "empty")


def summed(name: str, results: Sequence[RuleResult], *, seed: int = 0, without_row: int = 0) -> RuleTable:
    """Sum verdicts up."""
    by_axis = {axis: list(_values(results, axis)) for axis in AXES}
    domains = sorted({result.domain for result in results})
    of_axes = [
        Value(value.row, axis, value.trajectory, value.value) for axis, values in by_axis.items() for value in values
    ]
    return RuleTable(
        name=name,
        axes={axis: micro(values, seed) for axis, values in by_axis.items()},
        all=micro(of_axes, seed),
        macro=macro(of_axes, seed),
        per_domain={
            domain: {
                axis: micro([v for v in values if v.domain == domain], seed).value for axis, values in by_axis.items()
            }
            for domain in domains
        },
        n=len(results),
        n_failed=sum(result.failure is not None for result in results),
        n_without_row=without_row,
        seed=seed,
    )


def _values(results: Iterable[RuleResult], axis: str) -> Iterator[Value]:
    for result in results:
        if result.axis == axis:
            yield Value(result.rule, result.domain, result.cluster, float(result.passed))
