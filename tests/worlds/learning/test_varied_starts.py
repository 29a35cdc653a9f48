"""Tasks that start from different states, and what is guessed after a call of which nothing is known."""

from __future__ import annotations

import json

import pytest

from worldline.domains.tools.collections import CollectionsSpec, StoreSpec, ToolRule
from worldline.domains.tools.names import looks_only, reads_by_name
from worldline.errors import KernelError
from worldline.kernels.tools.collections.server import CollectionServer
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec
from worldline.worlds.learning import learn_collections

LAMPS = CollectionsSpec(
    stores={"lamps": StoreSpec(key=("lamp_id",), records=({"lamp_id": "l1", "lit": True},))},
    tools={"get_lamp": ToolRule(operation="read", store="lamps", changes=False)},
    check_arguments=False,
)


def looked(task: str, lamp: str, lit: bool) -> Trajectory:
    answer = Observation(text=json.dumps({"lamp_id": lamp, "lit": lit}), is_error=False)
    turn = Turn(action=Action(name="get_lamp", arguments={"lamp_id": lamp}), observation=answer)
    return Trajectory(world=WorldSpec(domain="mcp", name=task), turns=(turn,), family=task, source=Source.OBSERVED)


def test_each_task_has_one_vote_on_how_a_record_is_at_the_start() -> None:
    """One task was tried ten times, and its lamp was off; in two others it was lit."""
    tried = [looked("often", "l1", False) for _ in range(10)]
    others = [looked(task, lamp, True) for task in ("one", "two") for lamp in ("l1", "l2", "l3")]
    server = CollectionServer(learn_collections([*tried, *others]))
    said = server.call("get_lamp", {"lamp_id": "l1"})
    assert said.known and json.loads(said.observation.text) == {"lamp_id": "l1", "lit": True}


def test_what_is_doubted_is_guessed_to_be_as_it_was() -> None:
    server = CollectionServer(LAMPS)
    server.observe("swap_everything", {}, Observation(text="ok", is_error=False))
    server.call("swap_everything", {})
    said = server.call("get_lamp", {"lamp_id": "l1"})
    assert not said.known and json.loads(said.observation.text) == {"lamp_id": "l1", "lit": True}
    assert not server.call("get_lamp", {"lamp_id": "l2"}).observation.text


def test_a_doubted_record_is_doubted_after_a_dump_too() -> None:
    server = CollectionServer(LAMPS)
    server.call("swap_everything", {})
    twin = CollectionServer(LAMPS)
    twin.load(json.loads(json.dumps(server.dump())))
    assert twin.call("get_lamp", {"lamp_id": "l1"}) == server.call("get_lamp", {"lamp_id": "l1"})
    with pytest.raises(KernelError):
        twin.load({**server.dump(), "version": 1})


def test_a_tool_that_is_called_like_one_that_looks_leaves_everything_as_it_is() -> None:
    server = CollectionServer(LAMPS)
    server.call("get_socket", {"socket_id": "s1"})
    assert server.call("get_lamp", {"lamp_id": "l1"}).known


def test_records_that_went_or_were_never_seen_stay_so_when_doubts_are_put_aside() -> None:
    store = CollectionServer(LAMPS).state.stores["lamps"]
    gone = store.drop(("l1",)).doubt().doubt()
    assert gone.trusted().get(("l1",)) is store.drop(("l1",)).get(("l1",))
    assert store.doubt().doubt(("l1",)).trusted().get(("l1",)) == {"lamp_id": "l1", "lit": True}
    assert type(store.doubt(("l9",)).trusted().get(("l9",))) is type(store.get(("l9",)))


@pytest.mark.parametrize(
    ("name", "reads", "looks"),
    [
        ("getUserDetails", True, True),
        ("run_speed_test", True, False),
        ("order-list", False, False),
        ("cancel_order", False, False),
        ("account_info", True, False),
        ("frobnicate", None, False),
    ],
)
def test_verbs_tell_what_a_tool_does(name: str, reads: bool | None, looks: bool) -> None:
    assert (reads_by_name(name), looks_only(name)) == (reads, looks)
