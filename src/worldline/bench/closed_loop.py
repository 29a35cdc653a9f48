"""The closed loop: act in the simulation, then take the same actions in reality. Does what happened survive?

A scripted agent acts on what the simulation answers. Its actions are then taken twice in fresh real environments, so
that what reality leaves to chance is compared by shape. In the end its successful reads are asked again in both.
A verifier made of them says whether the end state is what the agent believes: success that survives reality (for plans,
that is Word2World's W2R).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from worldline import __version__
from worldline.bench.journal import Journal
from worldline.bench.metrics import Interval, rate_interval, ratio_interval
from worldline.bench.runner import PASSING, model_failure
from worldline.bench.suite import code_fingerprint
from worldline.domains import get_domain
from worldline.engines import EngineOptions, EngineParts, build_engine
from worldline.errors import ConfigError
from worldline.kernels.base import GUESSED
from worldline.record.environment import build_environment, build_explorer
from worldline.record.sandbox import Surroundings
from worldline.record.volatile import volatile_spans
from worldline.types import Action, Frozen, Observation, Turn, WorldSpec, content_id

__all__ = ["ClosedLoopRow", "LoopScore", "closed_loop", "closed_loop_row"]

_PROBES = 3
"""Reads that are asked again in the end."""


class LoopScore(Frozen):
    """One session that was simulated and then taken in reality."""

    family: str
    steps: int
    agreeing: int
    """Steps whose simulated answer is the real one, to the byte after volatile masks."""
    first_difference: int | None
    """First step, from 1, at which they differ."""
    simulated_errors: int
    real_errors: int
    wrongly_allowed: int
    """Steps that reality refused and the simulation did not."""
    wrongly_refused: int
    abstained: int
    probes: int
    verified: bool | None
    """The reads asked again in the end say the same in both; None where there was none to ask."""
    failure: str | None = None
    """Type of the error that kept the engine's model from answering in some step; its guess counts."""


class ClosedLoopRow(Frozen):
    """Many sessions of one length. Shares are 0..1; None where nothing was counted."""

    domain: str
    engine: str
    turns: int
    """Most steps of a session."""
    sessions: int
    steps: int
    agreement: float | None
    agreement_ci: Interval | None
    """95 %, resampling whole families."""
    verified: float | None
    """Share of the sessions with probes whose verifier says the same in both."""
    verified_ci: Interval | None
    probed: int
    unbroken: float | None
    """Share of sessions without any difference."""
    simulated_errors: float | None
    real_errors: float | None
    wrongly_allowed: float | None
    """Share of really refused steps that the simulation let pass: optimism."""
    abstained: float | None
    seed: int
    refusal_gap: float | None = None
    """How much more often the simulation refuses than reality does: difference of the two shares, -1..1."""
    refusal_gap_ci: Interval | None = None
    wrongly_allowed_ci: Interval | None = None


@dataclass(frozen=True, slots=True)
class _Step:
    turn: Turn
    abstained: bool
    failure: str | None


def closed_loop(
    family: str,
    world: WorldSpec,
    turns: int,
    *,
    engine: str = "grounded",
    seed: int = 0,
    options: EngineOptions | None = None,
    parts: EngineParts | None = None,
) -> LoopScore:
    """Simulate a session with the domain's scripted agent and take its actions in reality.

    Args:
        family: Cluster of the score.
        world: Where to act; its domain needs a real environment.
        turns: Most steps.
        engine: What simulates.
        seed: Of the agent.
        options: Thresholds of the engine.
        parts: Its memory and model.

    Raises:
        SandboxError: The real environment cannot be set up here.
        ConfigError: The domain has none.
    """
    steps, probes = asyncio.run(_simulate(world, turns, engine, seed, options, parts))
    actions = [step.turn.action for step in steps] + [probe.turn.action for probe in probes]
    real = _really(world, actions)
    same = [_agree(world, step.turn.observation, truth) for step, truth in zip([*steps, *probes], real, strict=True)]
    mine = [bool(step.turn.observation.is_error) for step in steps]
    true = [bool(truth.is_error) for truth in real[: len(steps)]]
    differing = [number for number, agrees in enumerate(same[: len(steps)], 1) if not agrees]
    return LoopScore(
        family=family,
        steps=len(steps),
        agreeing=sum(same[: len(steps)]),
        first_difference=differing[0] if differing else None,
        simulated_errors=sum(mine),
        real_errors=sum(true),
        wrongly_allowed=sum(real and not told for told, real in zip(mine, true, strict=True)),
        wrongly_refused=sum(told and not real for told, real in zip(mine, true, strict=True)),
        abstained=sum(step.abstained for step in steps),
        probes=len(probes),
        verified=all(same[len(steps) :]) if probes else None,
        failure=_worst(step.failure for step in [*steps, *probes]),
    )


def _worst(failures: Iterable[str | None]) -> str | None:
    """One that another run may not meet, where there is any; otherwise the first."""
    met = [failure for failure in failures if failure is not None]
    return next((failure for failure in met if failure in PASSING), met[0] if met else None)


async def _simulate(
    world: WorldSpec, turns: int, name: str, seed: int, options: EngineOptions | None, parts: EngineParts | None
) -> tuple[list[_Step], list[_Step]]:
    explorer = build_explorer(world, seed)
    engine = build_engine(name, world, options or EngineOptions(seed=seed), parts or EngineParts())
    steps: list[_Step] = []
    try:

        async def take(action: Action) -> _Step:
            history = [step.turn for step in steps]
            prediction = await engine.predict(action, history)
            extra = {GUESSED: True} if prediction.abstained else {}
            turn = Turn(action=action, observation=prediction.observation, extra=extra)
            engine.absorb(turn)
            return _Step(turn, prediction.abstained, model_failure(prediction))

        while len(steps) < turns:
            action = explorer.next([step.turn for step in steps])
            if action is None:
                break
            steps.append(await take(action))
        probes = [await take(action) for action in _reads([step.turn for step in steps])]
    finally:
        engine.close()
    return steps, probes


def _reads(turns: Sequence[Turn]) -> list[Action]:
    """The last distinct calls that told something: taking them again shows the end state."""
    found: dict[str, Action] = {}
    for turn in reversed(turns):
        if not turn.observation.is_error and turn.observation.text and len(found) < _PROBES:
            found.setdefault(turn.action.render(), turn.action)
    return list(found.values())


def _really(world: WorldSpec, actions: Sequence[Action]) -> list[Observation]:
    """What reality answers, with what differs from one run to the next marked."""
    # process numbers are chance: the second run begins elsewhere, so that they differ
    first, second = (_run(world, actions, Surroundings(first_pid=number)) for number in (0, 137))
    return [
        one.model_copy(update={"volatile": volatile_spans(one, other)})
        for one, other in zip(first, second, strict=True)
    ]


def _run(world: WorldSpec, actions: Sequence[Action], surroundings: Surroundings) -> list[Observation]:
    with build_environment(world, surroundings) as environment:
        return [Observation() if environment.ended else environment.step(action) for action in actions]


def _agree(world: WorldSpec, told: Observation, truth: Observation) -> bool:
    compared = get_domain(world.domain).compare(told, truth)
    return compared.exact and bool(told.is_error) == bool(truth.is_error)


def closed_loop_row(
    worlds: Iterable[tuple[str, WorldSpec]],
    turns: int,
    *,
    engine: str = "grounded",
    seed: int = 0,
    options: EngineOptions | None = None,
    parts: EngineParts | None = None,
    journal: Path | None = None,
    on_done: Callable[[LoopScore], None] | None = None,
) -> ClosedLoopRow:
    """Run many sessions and sum them up.

    Args:
        worlds: Family and world of each session.
        turns: Most steps of a session.
        engine: What simulates.
        seed: Of the agents and the bootstrap; each session's agent gets another one.
        options: Thresholds of the engine.
        parts: Its memory and model.
        journal: Stem of the journal files. With it, finished sessions are kept, so that a killed run goes on where it
            was; one in which a model's endpoint failed is not, so that the next run asks again.
        on_done: Called after each session.

    Raises:
        ConfigError: There is no session.
    """
    options, parts = options or EngineOptions(seed=seed), parts or EngineParts()
    scores: list[LoopScore] = []
    domain = ""
    with _journal(journal, engine, turns, options, parts) if journal is not None else nullcontext() as kept:
        for number, (family, world) in enumerate(worlds):
            domain, agent = world.domain, 1000 * seed + number
            session = content_id([family, agent, world.model_dump(mode="json")])
            done = kept.get(session) if kept is not None else None
            if done is None:
                done = [closed_loop(family, world, turns, engine=engine, seed=agent, options=options, parts=parts)]
                if kept is not None and done[0].failure not in PASSING:
                    kept.add(session, done)
            scores += done
            if on_done is not None:
                on_done(done[0])
    if not scores:
        raise ConfigError("there is no session to run")
    return _summed(scores, domain, engine, turns, seed)


def _journal(stem: Path, engine: str, turns: int, options: EngineOptions, parts: EngineParts) -> Journal[LoopScore]:
    model = parts.model
    asked = [model.name, str(parts.sampling), str(parts.prompts)] if model is not None else None
    recorded = len(parts.memory) if parts.memory is not None else None
    run = [__version__, engine, turns, asked, recorded, options.model_dump(mode="json"), code_fingerprint()]
    return Journal(stem.with_name(f"{stem.name}.{engine}-{turns}.journal"), content_id(run), LoopScore)


def _summed(scores: Sequence[LoopScore], domain: str, engine: str, turns: int, seed: int) -> ClosedLoopRow:
    steps = sum(score.steps for score in scores)
    trials = [(s.family, number < s.agreeing) for s in scores for number in range(s.steps)]
    verified = [(s.family, s.verified) for s in scores if s.verified is not None]
    refused = sum(s.real_errors for s in scores)
    return ClosedLoopRow(
        domain=domain,
        engine=engine,
        turns=turns,
        sessions=len(scores),
        steps=steps,
        agreement=_share(sum(s.agreeing for s in scores), steps),
        agreement_ci=rate_interval(trials, seed),
        verified=_share(sum(success for _, success in verified), len(verified)),
        verified_ci=rate_interval(verified, seed),
        probed=len(verified),
        unbroken=_share(sum(s.first_difference is None for s in scores), len(scores)),
        simulated_errors=_share(sum(s.simulated_errors for s in scores), steps),
        real_errors=_share(refused, steps),
        wrongly_allowed=_share(sum(s.wrongly_allowed for s in scores), refused),
        abstained=_share(sum(s.abstained for s in scores), steps),
        seed=seed,
        refusal_gap=_share(sum(s.simulated_errors for s in scores) - refused, steps),
        refusal_gap_ci=ratio_interval(
            ((s.family, s.simulated_errors - s.real_errors, s.steps) for s in scores if s.steps), seed
        ),
        wrongly_allowed_ci=_allowed_interval(scores, seed),
    )


def _allowed_interval(scores: Sequence[LoopScore], seed: int) -> Interval | None:
    """Families in which reality refused nothing say nothing about what was let pass."""
    refusing = {score.family for score in scores if score.real_errors}
    return ratio_interval(((s.family, s.wrongly_allowed, s.real_errors) for s in scores if s.family in refusing), seed)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
