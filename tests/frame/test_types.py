import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from worldline.types import (
    Action,
    Observation,
    Origin,
    Prediction,
    Source,
    Span,
    Trajectory,
    Turn,
    WorldSpec,
    decode,
    encode,
)

TURN = Turn(action=Action(name="bash", arguments={"command": "ls"}), observation=Observation(text="a\n"))
WORLD = WorldSpec(domain="terminal")


@given(st.binary())
def test_bytes_survive_as_text_and_raw(data: bytes):
    text, raw = decode(data)
    assert encode(text, raw) == data
    json.dumps(text).encode("utf-8")


def test_streams_keep_their_exact_bytes():
    observation = Observation.from_streams(b"ok\n", b"\xff\n", 3)
    assert (observation.text, observation.exit_code, observation.is_error) == ("ok\n\ufffd\n", 3, True)
    assert observation.raw is not None and encode(observation.stderr or "", observation.raw["stderr"]) == b"\xff\n"
    assert not observation.merged and Observation.from_text("x").merged


def test_ids_are_content_hashes():
    one = Trajectory(source=Source.OBSERVED, world=WORLD, turns=(TURN,))
    two = Trajectory(source=Source.OBSERVED, world=WORLD, turns=(TURN,), family="other")
    three = Trajectory(source=Source.OBSERVED, world=WORLD, turns=(TURN, TURN))
    assert one.id == two.id != three.id
    assert Trajectory.model_validate_json(one.model_dump_json()).id == one.id


def test_unknown_fields_and_other_versions_are_refused():
    with pytest.raises(ValidationError):
        Action.model_validate({"name": "x", "nonsense": 1})
    with pytest.raises(ValidationError):
        WorldSpec.model_validate({"domain": "terminal", "schema_version": 2})


def test_wire_types_are_frozen():
    with pytest.raises(ValidationError):
        TURN.reward = 1.0  # type: ignore[misc]


@pytest.mark.parametrize("bounds", [[(0, 2)], [(0, 2), (3, 5)], [(0, 3), (2, 5)], [(0, 6)], [(1, 5)]])
def test_spans_must_cover_the_text_exactly_once(bounds):
    spans = tuple(Span(start=a, end=b, origin=Origin.COMPUTED, confidence=1) for a, b in bounds)
    with pytest.raises(ValidationError):
        Prediction(observation=Observation(text="12345"), origin=Origin.COMPUTED, confidence=1, spans=spans)


def test_spans_that_cover_are_accepted():
    spans = tuple(Span(start=a, end=b, origin=Origin.COMPUTED, confidence=1) for a, b in [(0, 2), (2, 5)])
    Prediction(observation=Observation(text="12345"), origin=Origin.MIXED, confidence=1, spans=spans)
