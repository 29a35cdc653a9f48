"""Refusals of which traces tell little: learned where the error names what it compares, and then only guessed."""

from __future__ import annotations

import json
from random import Random

import pytest

from worldline.domains.tools.collections import CollectionsSpec
from worldline.kernels.tools.collections.server import CollectionServer
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec
from worldline.worlds.learning import learn_collections


def bill(seed: int, looked_up: bool) -> Trajectory:
    """A session in which a bill is paid, wrongly at first; the price is only known where it was looked up."""
    rng = Random(seed)
    item, price, count = f"item_{seed}", rng.randint(3, 90), rng.randint(2, 9)
    turns = []

    def call(name: str, answer: str, error: bool = False, **arguments: object) -> None:
        turns.append(
            Turn(action=Action(name=name, arguments=arguments), observation=Observation(text=answer, is_error=error))
        )

    if looked_up:
        call("get_item", json.dumps({"item_id": item, "price": price}), item_id=item)
    total, paid = price * count, price * count - rng.randint(1, 3)
    wrong = {"item_id": item, "count": count, "paid": paid}
    call("pay_bill", f"Error: the total is {total}, but paid {paid}", True, **wrong)
    call("pay_bill", json.dumps({"item_id": item, "paid": total}), **{**wrong, "paid": total})
    return Trajectory(world=WorldSpec(domain="mcp", name=item), turns=tuple(turns), family=item, source=Source.OBSERVED)


def learned(share: float) -> CollectionsSpec:
    return learn_collections([bill(seed, seed < 20 * share) for seed in range(20)])


@pytest.mark.parametrize(("share", "guess"), [(0.9, False), (0.45, True)])
def test_a_refusal_that_names_its_numbers_is_learned_from_few_calls(share: float, guess: bool) -> None:
    refusal, success = learned(share).tools["pay_bill"].cases
    assert refusal.error and "args.count" in str(refusal.answer) and "price" in refusal.when
    assert (refusal.guess, success.guess) == (guess, guess)
    server = CollectionServer(learned(share))
    server.observe("get_item", {"item_id": "new"}, Observation(text='{"item_id": "new", "price": 7}', is_error=False))
    said = server.call("pay_bill", {"item_id": "new", "count": 3, "paid": 20})
    assert said.observation.text == "Error: the total is 21, but paid 20" and said.known is not guess


def test_too_few_calls_tell_nothing() -> None:
    assert not any(case.error for case in learned(0.2).tools["pay_bill"].cases)


@pytest.mark.parametrize(
    ("text", "arguments", "again"),
    [
        ("Error: room r17 is taken", {"room": "r17", "pay": "card_2"}, True),
        ("Error: room r17 is taken", {"room": "r18", "pay": "card_1"}, False),
        ("Error: this card cannot be used", {"room": "r18", "pay": "card_1"}, True),
        ("Error: this card cannot be used", {"room": "r17", "pay": "cash_2"}, False),
        ("Error: no", {"room": "r18", "pay": "cash_2"}, True),
    ],
)
def test_a_refusal_is_expected_again_while_what_it_is_about_stays(
    text: str, arguments: dict[str, str], again: bool
) -> None:
    server = CollectionServer(CollectionsSpec())
    server.observe("book", {"room": "r17", "pay": "card_1"}, Observation(text=text, is_error=True))
    said = server.call("book", arguments)
    assert not said.known
    assert (said.observation.text == text) is again and bool(said.observation.is_error) is again
