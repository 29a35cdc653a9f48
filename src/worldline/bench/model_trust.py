"""Measuring how far a model can be trusted: how often it is exact where the guess of the others says nothing."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

from worldline.bench.calibration import lower_bound
from worldline.domains import get_domain
from worldline.engines import Calibration, EngineOptions, EngineParts, build_engine
from worldline.engines.calibration import Trust, shipped_calibration
from worldline.memory import Memory
from worldline.models.base import ChatModel, Sampling
from worldline.types import JsonDict, Trajectory

__all__ = ["asked_turns", "model_trust"]

Place = tuple[str, int]
"""A trajectory's id and a turn of it, from 0."""


async def asked_turns(trajectories: Sequence[Trajectory], memory: Memory, turns: int | None, seed: int) -> list[Place]:
    """Find the turns with a mute guess, on which a model is asked, or so many of them drawn by a seed."""
    found: list[Place] = []
    for trajectory in trajectories:
        engine = build_engine("grounded", trajectory.world, EngineOptions(), EngineParts(memory=memory))
        try:
            for number, turn in enumerate(trajectory.turns):
                prediction = await engine.predict(turn.action, trajectory.turns[:number])
                if prediction.abstained and prediction.extra.get("mute"):
                    found.append((trajectory.id, number))
                engine.absorb(turn)
        finally:
            engine.close()
    if turns is None or turns >= len(found):
        return found
    return sorted(random.Random(seed).sample(found, turns))


async def model_trust(
    domain: str,
    trajectories: Sequence[Trajectory],
    memory: Memory,
    model: ChatModel,
    places: Sequence[Place],
    *,
    data: JsonDict,
    sampling: Sampling | None = None,
    prompts: Path | None = None,
    options: EngineOptions | None = None,
    on_turn: Callable[[int, int], None] = lambda done, total: None,
) -> Calibration:
    """Ask a model on turns of the dev split, each after the true history.

    Args:
        domain: Which domain.
        trajectories: The dev split.
        memory: The train split, for evidence.
        model: The model; what is measured is kept under its name.
        places: The turns, as :func:`asked_turns` finds them.
        data: What the counts come from, stored with them.
        sampling: How to sample.
        prompts: Folder whose prompt templates replace the domain's own.
        options: Of the engine: how much it tells the model, its seed.
        on_turn: Called after each turn with those done and those to do.

    Raises:
        ModelError: It gave no usable answer.
    """
    before = shipped_calibration(domain)
    unmeasured = before.model_copy(update={"trust": {k: v for k, v in before.trust.items() if k != "generated"}})
    parts = EngineParts(model=model, memory=memory, sampling=sampling, prompts=prompts, calibration=unmeasured)
    compare, exact, done = get_domain(domain).compare, 0, 0
    for trajectory in trajectories:
        wanted = {turn for name, turn in places if name == trajectory.id}
        if not wanted:
            continue
        engine = build_engine("grounded", trajectory.world, options or EngineOptions(), parts)
        try:
            for number, turn in enumerate(trajectory.turns):
                if number in wanted:
                    prediction = await engine.predict(turn.action, trajectory.turns[:number])
                    exact += compare(prediction.observation, turn.observation).exact
                    done += 1
                    on_turn(done, len(places))
                engine.absorb(turn)
        finally:
            engine.close()
    # No benefit of the doubt: the prior is the model's own rate, so one that was never right is not trusted at all.
    prior = exact / done if done else 0.0
    trust = Trust(n=done, exact=exact, lower=round(lower_bound(done, exact, prior), 4))
    return Calibration(domain=domain, data={**data, "asked": done}, trust={"generated": {model.name: trust}})
