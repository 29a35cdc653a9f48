"""Each real server, end to end: a session explored and recorded afresh, which the kernel then answers turn by turn."""

import json

import pytest

from worldline.bench.runner import run
from worldline.engines import EngineOptions, EngineParts, build_engine
from worldline.record.mcp import plans
from worldline.record.mcp.settings import PACKAGES
from worldline.record.recording import record_session
from worldline.recordings import path

TURNS = 12
SEED = 90
"""None of the shipped recordings."""


def plan_of(kind):
    """A new session in a family that kernels are tuned on, with one server of the kind and a clock that stands."""
    families = json.loads(path("mcp", "train").with_name("SPLITS.json").read_text())["families"]
    return next(
        plan
        for plan in plans(SEED)
        if families.get(plan.family) == "train"
        and [server["kind"] for server in plan.world.initial_state["servers"].values()] == [kind]
        and "clock" in plan.world.initial_state
    )


def kernel(world):
    return build_engine("kernel", world, EngineOptions(), EngineParts())


@pytest.mark.parametrize("kind", PACKAGES)
def test_a_fresh_session_is_answered_as_the_server_answered(kind, installed):
    settings = installed.need(kind)
    recorded = record_session(plan_of(kind).model_copy(update={"turns": TURNS}))
    assert len(recorded.turns) == TURNS
    _, package = PACKAGES[kind]
    assert recorded.origin["programs"] == {package: settings.version(kind)}
    determined = [score for score in run([recorded], kernel) if score.determined]
    wrong = [recorded.turns[score.turn].action.render() for score in determined if not score.exact]
    assert wrong == []
    assert len(determined) >= TURNS / 2
    assert sum(score.abstained for score in determined) <= TURNS / 4
