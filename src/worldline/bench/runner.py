"""Teacher-forced runs: each turn is predicted after the true history, compared, and then absorbed as it was."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence

from worldline.bench.journal import Journal
from worldline.bench.metrics import TurnScore
from worldline.domains import get_domain
from worldline.domains.base import Comparison, Rereading
from worldline.engines import Engine
from worldline.errors import WorldlineError
from worldline.formats.agentworldbench import EVALUATED
from worldline.memory import Memory
from worldline.types import Observation, Prediction, Trajectory, Turn, WorldSpec

__all__ = ["PASSING", "EngineFactory", "model_failure", "run", "score_trajectory", "scored_turns"]

EngineFactory = Callable[[WorldSpec], Engine]

PASSING = {"EndpointError", "RateLimitError", "ModelTimeoutError"}
"""Failures that another run may not meet."""
_WORST = Comparison(exact=False, error_agrees=False, rouge_l=0.0, structured=False)


def run(
    trajectories: Iterable[Trajectory],
    factory: EngineFactory,
    *,
    memory: Memory | None = None,
    journal: Journal[TurnScore] | None = None,
    on_done: Callable[[Trajectory], None] | None = None,
) -> list[TurnScore]:
    """Score an engine on trajectories, one after the other.

    Args:
        trajectories: Observed trajectories; see :func:`scored_turns` for what is scored.
        factory: Builds the engine for a trajectory's world.
        memory: What is recorded, to tell the knowable slice.
        journal: Where finished trajectories are kept; those already in it are not run again. One in which a
            model's endpoint failed is not kept, so that the next run asks again.
        on_done: Called after each trajectory, for progress.
    """
    scores: list[TurnScore] = []
    with asyncio.Runner() as runner:
        for trajectory in trajectories:
            done = journal.get(trajectory.id) if journal is not None else None
            if done is None:
                done = runner.run(score_trajectory(trajectory, factory, memory))
                if journal is not None and not any(score.failure in PASSING for score in done):
                    journal.add(trajectory.id, done)
            scores.extend(done)
            if on_done is not None:
                on_done(trajectory)
    return scores


def scored_turns(trajectory: Trajectory) -> range | frozenset[int]:
    """Positions (from 0) of the turns that count: those a benchmark's rows evaluate, all where none is marked."""
    marked = frozenset(n for n, turn in enumerate(trajectory.turns) if turn.extra.get(EVALUATED) is True)
    return marked or range(len(trajectory.turns))


async def score_trajectory(
    trajectory: Trajectory, factory: EngineFactory, memory: Memory | None = None
) -> list[TurnScore]:
    """Predict and score the turns of one trajectory, teacher-forced; those that are not scored are absorbed."""
    domain = get_domain(trajectory.world.domain)
    scored = scored_turns(trajectory)
    engine = factory(trajectory.world)
    scores = []
    try:
        for number, turn in enumerate(trajectory.turns):
            if number not in scored:
                engine.absorb(turn)
                continue
            history = trajectory.turns[:number]
            began = time.perf_counter()
            prediction, failure = await _predict(engine, turn, history)
            middle = time.perf_counter()
            compared = domain.compare(prediction.observation, turn.observation) if prediction else _WORST
            after = time.perf_counter()
            engine.absorb(turn)
            seconds = (middle - began) + (time.perf_counter() - after)
            knowable = _knowable(trajectory, number, prediction, memory)
            score = _score(trajectory, number, prediction, compared, failure, seconds, knowable)
            again = None
            if isinstance(domain, Rereading):
                told = prediction.observation if prediction else Observation()
                again = domain.read_again(trajectory.world, history, turn, told)
            scores.append(score if again is None else score.model_copy(update={"read_again": again}))
    finally:
        engine.close()
    return scores


async def _predict(
    engine: Engine, turn: Turn, history: Sequence[Turn]
) -> tuple[Prediction | None, WorldlineError | None]:
    """A failed prediction is data: it counts as wrong and is shown apart."""
    try:
        return await engine.predict(turn.action, history), None
    except WorldlineError as error:
        return None, error


def _knowable(trajectory: Trajectory, number: int, prediction: Prediction | None, memory: Memory | None) -> bool:
    """Design section 8: same action recorded or earlier in the session, or computable by the kernel."""
    action = trajectory.turns[number].action
    if any(turn.action.render() == action.render() for turn in trajectory.turns[:number]):
        return True
    if memory is not None and memory.recall(trajectory.world, action, None) is not None:
        return True
    return prediction is not None and prediction.origin == "computed" and not prediction.abstained


def _score(
    trajectory: Trajectory,
    number: int,
    prediction: Prediction | None,
    compared: Comparison,
    failure: WorldlineError | None,
    seconds: float,
    knowable: bool,
) -> TurnScore:
    turn = trajectory.turns[number]
    return TurnScore(
        trajectory=trajectory.id,
        turn=number,
        cluster=trajectory.family or trajectory.id,
        exact=compared.exact,
        error_agrees=compared.error_agrees,
        structured=compared.structured,
        rouge_l=compared.rouge_l,
        confidence=prediction.confidence if prediction else 0.0,
        abstained=prediction.abstained if prediction else True,
        origin=str(prediction.origin) if prediction else "none",
        determined=turn.determined,
        knowable=knowable,
        silent=_silent(turn.observation),
        seconds=seconds,
        classes=tuple(prediction.extra.get("classes", ())) if prediction else (),
        tool=turn.action.name,
        failure=_failure(prediction, failure),
    )


def _failure(prediction: Prediction | None, error: WorldlineError | None) -> str | None:
    """What kept the engine, or the model inside it, from answering."""
    return type(error).__name__ if error is not None else model_failure(prediction)


def model_failure(prediction: Prediction | None) -> str | None:
    """Return the type of the error that kept an engine's model from answering, where the engine went on without it."""
    inside = prediction.extra.get("model_error") if prediction is not None else None
    return str(inside["type"]) if inside else None


def _silent(truth: Observation) -> bool:
    return truth.text == "" and not truth.exit_code and not truth.is_error
