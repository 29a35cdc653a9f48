"""Rules learned from traces of a real environment hold in sessions that were not seen."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from worldline.domains.tools.collections import CollectionsSpec
from worldline.kernels.tools.collections.kernel import collection_kernel
from worldline.types import Trajectory, WorldSpec
from worldline.worlds import dump_world, parse_world
from worldline.worlds.learning import learn_collections, learn_world

sys.path.insert(0, str(Path(__file__).parent))

from library_desk import session


@pytest.fixture(scope="module")
def traces() -> list[Trajectory]:
    return [session(seed) for seed in range(30)]


@pytest.fixture(scope="module")
def learned(traces: list[Trajectory]) -> CollectionsSpec:
    return learn_collections(traces)


def replayed(spec: CollectionsSpec, trajectory: Trajectory) -> list[tuple[str, bool, bool]]:
    """Tool, whether the answer was known, and whether it was right, of each turn, following reality."""
    state = {"collections": spec.model_dump(mode="json", exclude_defaults=True)}
    kernel = collection_kernel(WorldSpec(domain="mcp", initial_state=state))
    found = []
    for turn in trajectory.turns:
        told = kernel.propose(turn.action)
        right = told.observation.text == turn.observation.text
        found.append((turn.action.name, told.known, right and told.observation.is_error == turn.observation.is_error))
        kernel.absorb(turn)
    return found


def test_records_and_readers_are_found(learned: CollectionsSpec) -> None:
    assert {"books", "members", "loans"} <= set(learned.stores)
    assert learned.tools["get_book"].operation == "read"
    assert learned.tools["get_member"].key == "{{ args.member_id }}"
    assert learned.stores["members"].keyed, "the key of a member stands in the call, not in the record"


def test_what_calls_change_is_learned(learned: CollectionsSpec) -> None:
    extended = learned.tools["extend_loan"].cases[-1].answer
    assert extended["$base"] == "{{ loan }}"
    assert set(extended) == {"$base", "days", "history"}
    assert learned.tools["return_book"].cases[-1].answer == {"$base": "{{ loan }}", "status": "returned"}


def test_refusals_are_learned_with_their_words(learned: CollectionsSpec) -> None:
    refusals = [case for case in learned.tools["lend_book"].cases if case.error]
    assert {str(case.answer)[:24] for case in refusals} == {"Error: no copy of {{ arg", "Error: the loan costs {{"}
    assert all(case.support and case.support.exact == case.support.n for case in refusals)


def test_unseen_sessions_are_answered(learned: CollectionsSpec) -> None:
    rows = [row for seed in range(1000, 1020) for row in replayed(learned, session(seed))]
    known = [row for row in rows if row[1]]
    assert len(known) > 0.85 * len(rows)
    assert sum(right for _, _, right in known) > 0.97 * len(known)
    for tool in ("lend_book", "extend_loan", "return_book", "get_loan", "quote"):
        own = [row for row in known if row[0] == tool]
        assert own, tool
        assert sum(right for _, _, right in own) >= 0.9 * len(own), tool


def test_a_learned_world_can_be_written_and_read_back(traces: list[Trajectory]) -> None:
    world = learn_world(traces, name="desk")
    again = parse_world(dump_world(world))
    assert again == world
    assert {tool.name for tool in world.tools} >= {"lend_book", "get_member"}
    assert len(world.demonstrations) == 2


def test_nothing_is_claimed_of_a_tool_that_makes_no_sense() -> None:
    """Answers that follow from nothing give no rule that claims to know them."""
    import random

    from worldline.types import Action, Observation, Source, Turn

    rng = random.Random(3)
    made = []
    for number in range(12):
        turns = [
            Turn(
                action=Action(name="roll_dice", arguments={"sides": rng.randint(2, 20)}),
                observation=Observation.from_text(f"rolled {rng.randint(0, 10**6)}", is_error=False),
            )
            for _ in range(6)
        ]
        made.append(
            Trajectory(source=Source.OBSERVED, world=WorldSpec(domain="mcp"), turns=tuple(turns), family=f"f{number}")
        )
    spec = learn_collections(made[:10])
    assert not [row for t in made[10:] for row in replayed(spec, t) if row[1] and not row[2]]
