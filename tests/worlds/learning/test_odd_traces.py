"""Traces with numbers that JSON does not have, and texts with many slots, are learned from all the same."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec
from worldline.worlds import dump_world, parse_world
from worldline.worlds.learning import learn_world
from worldline.worlds.learning.quoting import fillings, skeleton


def traces_of(answers: list[tuple[dict[str, Any], str]]) -> list[Trajectory]:
    """Sessions of one call each, of a tool that works something out."""
    found = []
    for number, (arguments, answer) in enumerate(answers):
        action = Action(name="work_out", arguments=arguments)
        turn = Turn(action=action, observation=Observation.from_text(answer, is_error=False))
        found.append(
            Trajectory(source=Source.OBSERVED, world=WorldSpec(domain="mcp"), family=f"f{number}", turns=(turn,))
        )
    return found


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", "1e999", "1" + "0" * 400])
@pytest.mark.parametrize("everywhere", [True, False])
def test_numbers_that_are_none_are_learned_from(number: str, everywhere: bool) -> None:
    answers = [
        (
            {"a": n, "b": 1e300},
            f'{{"ratio": {number if everywhere or n % 3 else n * 2}, "text": "{n * 3} of {number}"}}',
        )
        for n in range(1, 12)
    ]
    answers += [({"a": 10**400, "b": float("inf")}, '{"ratio": 4, "text": "12 of 3"}')]
    world = learn_world(traces_of(answers))
    assert parse_world(dump_world(world)).tools == world.tools


def test_a_text_that_does_not_fit_is_told_quickly() -> None:
    texts = [" ".join(f"w{n} v{n}x{number}" for n in range(30)) + " END." for number in range(40)]
    odd = " ".join(f"w{n} v{n}x{n}" for n in range(60))
    started = time.process_time()
    learn_world(traces_of([({"a": number}, text) for number, text in enumerate([*texts, odd])]))
    pieces = skeleton(texts)
    assert pieces is not None
    assert fillings(odd, pieces) is None
    assert time.process_time() - started < 30


@given(
    st.text("ab ", max_size=14),
    st.lists(st.text("ab", min_size=1, max_size=2), max_size=5),
    st.booleans(),
    st.booleans(),
)
def test_slots_are_filled_as_by_a_pattern(text: str, literals: list[str], first: bool, last: bool) -> None:
    pieces: list[str | None] = [None] if first else []
    for literal in literals:
        pieces += [literal, None]
    pieces = pieces if last or not literals else pieces[:-1]
    pattern = re.compile("".join("(.*?)" if piece is None else re.escape(piece) for piece in pieces), re.DOTALL)
    match = pattern.fullmatch(text)
    assert fillings(text, pieces) == (list(match.groups()) if match else None)


def test_json_keeps_its_form() -> None:
    answers = [({"a": n}, json.dumps({"twice": n * 2, "half": n / 2})) for n in range(1, 12)]
    world = learn_world(traces_of(answers))
    case = world.initial_state["collections"]["tools"]["work_out"]["cases"][-1]
    assert case["answer"]["twice"] == "{{ (2 * args.a) }}"
