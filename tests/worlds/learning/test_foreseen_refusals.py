"""Refusals that few calls tell: by the words of the error, by what was never seen, by the clock, by another tool."""

from __future__ import annotations

import json
from random import Random

import pytest

from worldline.domains.tools.collections import CaseSpec, CollectionsSpec, StoreSpec, ToolRule
from worldline.kernels.tools.collections.server import CollectionServer
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec
from worldline.worlds.learning import learn_collections
from worldline.worlds.learning.traces import traced
from worldline.worlds.learning.wording import speaks_of_absence, speaks_of_shortage

MADE_AT = "2031-03-04T09:00:00"


class Shop:
    """A shop with a stock of each thing in two places: what is taken or sent must be there, on a day to come."""

    def __init__(self, seed: int, looks: bool = True) -> None:
        self.rng = Random(seed)
        self.thing = f"thing_{seed}"
        self.stock = {"north": self.rng.randint(4, 9), "south": self.rng.randint(4, 9)}
        self.turns: list[Turn] = []
        self.task = f"task_{seed}"
        if looks:
            record = {"thing_id": self.thing, "stock": self.stock, "price": self.rng.randint(20, 40)}
            self.call("get_thing", record, thing_id=self.thing)

    def call(self, name: str, answer: object, error: bool = False, **arguments: object) -> None:
        text = answer if isinstance(answer, str) else json.dumps(answer)
        seen = Observation(text=text, is_error=error)
        self.turns.append(Turn(action=Action(name=name, arguments=arguments), observation=seen))

    def order(self, tool: str, place: str = "north", **given: object) -> None:
        """Take or send something; what is asked for decides how it ends."""
        call = {"thing_id": self.thing, "place": place, "count": 2, "day": "2031-03-12", **given}
        if call["thing_id"] != self.thing:
            self.call(tool, "Error: thing not found", True, **call)
        elif str(call["day"]) < MADE_AT[:10]:
            self.call(tool, f"Error: day {call['day']} not available", True, **call)
        elif int(str(call["count"])) > self.stock[place]:
            self.call(tool, "Error: not enough stock", True, **call)
        else:
            self.call(tool, {**call, "made_at": MADE_AT}, **call)

    def done(self) -> Trajectory:
        world = WorldSpec(domain="mcp", name=self.task)
        return Trajectory(world=world, turns=tuple(self.turns), family=self.task, source=Source.OBSERVED)


def usual(n: int = 16) -> list[Trajectory]:
    """Sessions in which everything goes well, with one tool or the other."""
    made = []
    for seed in range(n):
        shop = Shop(seed)
        tool, place = ("take_thing", "send_thing")[seed % 2], ("north", "south")[seed % 3 % 2]
        shop.order(tool, place, count=1 + seed % 4, day=f"2031-03-{10 + seed}")
        made.append(shop.done())
    return made


def learned(tool: str, **wrong: object) -> CollectionServer:
    """A world from sessions that went well, and one in which a tool refused once."""
    shop = Shop(50)
    shop.order(tool, **wrong)
    return CollectionServer(learn_collections([*usual(), shop.done()]))


def asked(server: CollectionServer, tool: str, **given: object) -> tuple[bool, bool]:
    """Whether a call is refused in a world that knows another thing, and whether that is known."""
    shop = Shop(60)
    answer = shop.turns[0]
    server.observe("get_thing", answer.action.arguments, answer.observation)
    call = {"thing_id": shop.thing, "place": "north", "count": 1, "day": "2031-03-20", **given}
    said = server.call(tool, call)
    return bool(said.observation.is_error), said.known


def test_one_call_tells_that_there_was_less_than_was_asked_for() -> None:
    server = learned("take_thing", count=30)
    assert asked(server, "take_thing", count=29)[0]
    assert asked(server, "take_thing", count=3) == (False, True)


def test_what_one_tool_refuses_is_expected_of_another() -> None:
    server = learned("take_thing", count=30)
    assert asked(server, "send_thing", count=29) == (True, False)
    assert asked(server, "send_thing", count=3) == (False, True)


def test_a_borrowed_refusal_that_cannot_be_told_leaves_no_doubt() -> None:
    server = learned("take_thing", count=30)
    call = {"thing_id": "thing_unheard_of", "place": "north", "count": 29, "day": "2031-03-20"}
    assert server.call("send_thing", call).known
    assert not server.call("take_thing", call).known


def test_an_id_that_was_never_seen_is_not_found() -> None:
    server = learned("take_thing", thing_id="thing_999")
    assert asked(server, "take_thing", thing_id="thing_998") == (True, False)
    assert asked(server, "take_thing") == (False, True)
    twin = server.fork()
    twin.load(json.loads(json.dumps(server.dump())))
    assert asked(twin, "take_thing") == (False, True)


def test_days_past_are_told_by_the_clock_of_the_world() -> None:
    server = learned("take_thing", day="2031-02-11")
    assert asked(server, "take_thing", day="2031-03-03")[0]
    assert asked(server, "take_thing", day="2031-03-04") == (False, True)


def test_the_clock_stands_still_only_where_all_tasks_tell_the_same_time() -> None:
    assert learn_collections(usual()).now == MADE_AT
    other = Shop(70)
    other.call("take_thing", {"thing_id": other.thing, "made_at": "2031-03-05T10:00:00"}, thing_id=other.thing)
    assert learn_collections([*usual(), other.done()]).now in ("", MADE_AT)
    assert traced(usual())[0][1].family == "task_0"


def test_an_error_that_most_unexplained_calls_did_not_give_is_no_guess() -> None:
    """One task was refused ten times for a reason that no other knows: the other tasks went well."""
    shop = Shop(80, looks=False)
    for _ in range(10):
        shop.call("take_thing", "Error: closed", True, thing_id="x", place="west", count=1, day="2031-03-20")
    rule = learn_collections([*usual(6), shop.done()]).tools["take_thing"]
    assert rule.otherwise is None


@pytest.mark.parametrize(
    ("text", "absence", "shortage"),
    [
        ("Error: user u7 not found", True, False),
        ("No such file", True, False),
        ("Insufficient funds", False, True),
        ("quantity exceeds the stock", False, True),
        ("Error: closed on Sundays", False, False),
    ],
)
def test_words_of_errors(text: str, absence: bool, shortage: bool) -> None:
    assert (speaks_of_absence([text]), speaks_of_shortage([text])) == (absence, shortage)


def test_expressions_tell_what_is_known_and_what_was_seen() -> None:
    spec = CollectionsSpec(
        stores={"users": StoreSpec(key=("id",), records=({"id": "u1", "pets": ["p1"]},))},
        tools={
            "adopt": ToolRule(
                let={"user": "{{ users[args.user] }}"},
                cases=(
                    CaseSpec(when="{{ user is not told }}", answer="who?", error=True),
                    CaseSpec(when="{{ args.pet not in seen }}", answer="which?", error=True),
                    CaseSpec(answer="done"),
                ),
            )
        },
        check_arguments=False,
    )
    server = CollectionServer(spec)

    def said(user: str, pet: str) -> str:
        return server.fork().call("adopt", {"user": user, "pet": pet}).observation.text

    assert [said("u9", "p1"), said("u1", "p2"), said("u1", "p1")] == ["who?", "which?", "done"]
    server.observe("list_pets", {}, Observation(text='[{"pet": "p2"}]', is_error=False))
    assert said("u1", "p2") == "done"
