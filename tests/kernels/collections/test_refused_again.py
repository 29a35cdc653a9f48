"""Whether a refusal comes again for other arguments, by its own words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.domains.tools.collections import CaseSpec, CollectionsSpec, ToolRule
from worldline.kernels.tools.collections.refused import refused_again
from worldline.kernels.tools.collections.server import CollectionServer
from worldline.types import Observation

_SUM = "Error: the parts do not add up, the price is 375, but 299 was paid"


def paid(*amounts: float, **more: Any) -> dict[str, Any]:
    return {"item": "lamp", "parts": [{"card": f"c{n}", "amount": amount} for n, amount in enumerate(amounts)], **more}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (paid(299), _SUM),
        (paid(200, 99), _SUM),
        (paid(374), _SUM.replace("299", "374")),
        (paid(100.5), _SUM.replace("299", "100.5")),
        (paid(375), None),
        (paid(299, 76), None),
        (paid(400), None),
        (paid(374, item="chair"), _SUM.replace("299", "374")),
    ],
)
def test_a_sum_is_held_against_what_the_refusal_compared_it_with(arguments: dict[str, Any], said: str | None) -> None:
    assert refused_again(_SUM, paid(299), arguments) == said


def test_a_number_alone_or_in_a_date_compares_nothing() -> None:
    text = "Error: nothing free on 2024-05-17 before 9:30"
    assert refused_again(text, {"day": "2024-05-17", "hour": 17}, {"day": "2024-05-17", "hour": 5}) == text
    assert refused_again("Error: room 12 is taken", {"room": 12}, {"room": 13}) is None


@given(st.text("abc 0123456789", max_size=30), st.dictionaries(st.sampled_from("pqr"), st.integers(0, 99) | st.text()))
def test_the_same_call_is_refused_in_the_same_words(text: str, arguments: dict[str, Any]) -> None:
    assert refused_again(text, arguments, arguments) == text


def test_a_refusal_that_was_foretold_is_not_expected_of_another_cause() -> None:
    """The cause is compared with the call that was refused, whether the refusal was foretold or observed."""
    no_cash = CaseSpec(when="{{ args.pay.startswith('cash') }}", answer="Error: cash cannot be used", error=True)
    unknown = CaseSpec(when="{{ stock[args.room].free }}", answer="booked")
    spec = CollectionsSpec(
        stores={"stock": {"key": ["room"], "closed": False}},  # type: ignore[dict-item]
        tools={"book": ToolRule(cases=(no_cash, unknown), changes=True)},
    )
    server = CollectionServer(spec)
    assert server.call("book", {"room": "r1", "pay": "cash_1"}).observation.is_error
    server.observe("look", {}, Observation(text="ok", is_error=False))
    said = server.call("book", {"room": "r1", "pay": "card_1"})
    assert not said.known and not said.observation.is_error
