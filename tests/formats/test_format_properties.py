"""Whatever a trajectory holds comes back equal; whatever a file holds ends in trajectories or a typed error."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from worldline.errors import FormatError
from worldline.formats import (
    SkippedRecord,
    detect_format,
    format_names,
    get_format,
    read_trajectories,
    write_trajectories,
)
from worldline.formats.jsontext import JsonTextError, load_json
from worldline.formats.secrets import SecretMasker
from worldline.types import Action, Observation, Source, ToolSpec, Trajectory, Turn, VolatileSpan, WorldSpec, decode

GOLDEN = Path(__file__).parent / "golden"
SAMPLES = [path for path in sorted(GOLDEN.iterdir()) if not path.name.endswith(".expected.jsonl")]

awkward = st.sampled_from(
    ["", "\0", "\u2028", "\ufeff", "\U0001f600", "</think>", "\r\n", "\x1b[0m", "\ufffd", " x\n", "$turn"]
)
texts = st.one_of(awkward, st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False), texts
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
objects = st.dictionaries(texts, values, max_size=3)
maybe_bool = st.sampled_from([None, True, False])


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    if draw(st.booleans()):
        base = Observation.from_streams(
            draw(st.binary(max_size=20)), draw(st.binary(max_size=20)), draw(st.integers(0, 255))
        )
    else:
        base = Observation.from_text(draw(st.one_of(st.binary(max_size=20), texts)), is_error=draw(maybe_bool))
    spans = draw(
        st.lists(st.builds(VolatileSpan, start=st.integers(0, 5), end=st.integers(5, 9), pattern=texts), max_size=2)
    )
    return base.model_copy(
        update={"volatile": tuple(spans), "truncated": draw(st.booleans()), "data": draw(st.none() | values)}
    )


actions = st.one_of(
    st.builds(Action, name=texts, arguments=objects, call_id=st.none() | texts),
    st.builds(Action, text=texts, name=texts),
)
turns = st.builds(
    Turn,
    action=actions,
    observation=observations(),
    state_before=st.none() | texts,
    thought=st.none() | texts,
    train=st.floats(0, 10),
    reward=st.none() | st.floats(-10, 10),
    done=maybe_bool,
    timestamp=st.sampled_from([None, "2026-01-01T00:00:00Z", "noon"]),
    determined=maybe_bool,
    extra=objects,
)
worlds = st.builds(
    WorldSpec,
    domain=texts,
    name=texts,
    task=texts,
    tools=st.lists(st.builds(ToolSpec, name=texts, description=texts), max_size=2).map(tuple),
    initial_state=objects,
    hidden_state=st.one_of(st.none(), texts, objects),
    control=objects,
    verifier=st.none() | objects,
    extra=objects,
)
trajectories = st.builds(
    Trajectory,
    source=st.sampled_from(Source),
    world=worlds,
    turns=st.lists(turns, max_size=3).map(tuple),
    family=texts,
    origin=objects,
    extra=objects,
)
relaxed = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def back(items: list[Trajectory], name: str, format: str) -> list[Trajectory]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        write_trajectories(path, items, format=format)
        return list(read_trajectories(path, format=format))


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.zst"])
@relaxed
@given(items=st.lists(trajectories, max_size=3))
def test_own_format_keeps_everything(name: str, items: list[Trajectory]) -> None:
    again = back(items, name, "worldline")
    assert again == items
    assert [get_format("worldline").line(item) for item in again] == [  # type: ignore[attr-defined]
        get_format("worldline").line(item)
        for item in items  # type: ignore[attr-defined]
    ]


@relaxed
@given(item=trajectories)
def test_atif_keeps_everything(item: Trajectory) -> None:
    assert back([item], "t.jsonl", "atif") == [item]


@relaxed
@given(item=trajectories)
def test_openai_is_written_for_everything(item: Trajectory) -> None:
    (again,) = back([item], "t.jsonl", "openai")
    assert again.source == item.source


@relaxed
@given(item=trajectories, place=texts)
def test_masking_keeps_all_but_the_secret(item: Trajectory, place: str) -> None:
    secret = "ghp_" + "Ab1" * 12
    assert SecretMasker().mask(item) == item
    turn = Turn(action=Action(text=f"{place} {secret}"), observation=Observation(text=f"{secret} {place}"))
    leaky = Trajectory(source=item.source, world=item.world, turns=(*item.turns, turn), extra=item.extra)
    masked = SecretMasker().mask(leaky)
    assert masked.world == item.world
    assert masked.turns[:-1] == item.turns
    word = masked.turns[-1].observation.text.removesuffix(f" {place}")
    assert masked.turns[-1].action.text == f"{place} {word}"
    assert word.startswith("<secret:")


calls = st.builds(
    lambda id, arguments, extra: {
        "id": id,
        "type": "function",
        "function": {"name": "f", "arguments": arguments, **extra},
    },
    st.sampled_from("abc"),
    st.one_of(objects.map(json.dumps), texts, objects, st.none()),
    st.sampled_from([{}, {"strict": True}]),
)
contents = st.one_of(
    st.none(), texts, st.lists(st.builds(lambda text: {"type": "text", "text": text}, texts), max_size=2)
)
messages = st.one_of(
    st.builds(lambda role, content: {"role": role, "content": content}, st.sampled_from(["user", "system"]), contents),
    st.builds(
        lambda content, calls: {"role": "assistant", "content": content, "tool_calls": calls},
        contents,
        st.lists(calls, max_size=3),
    ),
    st.builds(
        lambda id, content: {"role": "tool", "tool_call_id": id, "content": content}, st.sampled_from("abc"), contents
    ),
    st.just({"role": "tool", "tool_call_id": "a"}),
)


@settings(relaxed, max_examples=200)
@given(conversation=st.lists(messages, max_size=8), rest=st.sampled_from([{}, {"tools": []}, {"id": 1}]))
def test_any_conversation_comes_out_as_it_went_in(conversation: list[Any], rest: dict[str, Any]) -> None:
    record = {"messages": conversation, **rest}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.json")
        path.write_text(json.dumps(record), "utf-8")
        write_trajectories(path, list(read_trajectories(path)), format="openai")
        assert json.loads(path.read_text("utf-8")) == record


def read_all(data: bytes) -> None:
    """Read bytes in every format; anything but trajectories, notices and FormatError is a failure."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t")
        path.write_bytes(data)
        for name in [None, *format_names()]:
            skipped: list[SkippedRecord] = []
            try:
                list(read_trajectories(path, format=name, skip_bad=True, on_skip=skipped.append))
            except FormatError as error:
                assert error.path == str(path)
            assert all(item.reason for item in skipped)
        try:
            assert detect_format(path).name in format_names()
        except FormatError as error:
            assert error.path == str(path)


@settings(relaxed, max_examples=100)
@given(data=st.binary(max_size=300))
@example(data=b"\x28\xb5\x2f\xfd")
@example(data=b"[" * 5000)
@example(data=b'{"messages":[{"role":"user","content":"\\ud800"}]}')
def test_any_bytes(data: bytes) -> None:
    read_all(data)


@settings(relaxed, max_examples=150)
@given(data=st.data())
def test_any_damage_to_a_good_file(data: st.DataObject) -> None:
    sample = data.draw(st.sampled_from(SAMPLES)).read_bytes()
    start = data.draw(st.integers(0, len(sample)))
    end = data.draw(st.integers(start, min(len(sample), start + 40)))
    read_all(sample[:start] + data.draw(st.binary(max_size=4)) + sample[end:])


@settings(relaxed, max_examples=150)
@given(data=st.data())
def test_any_wrong_value_in_a_good_record(data: st.DataObject) -> None:
    """One value anywhere in a good record is replaced by some other JSON value."""
    path = data.draw(st.sampled_from(SAMPLES))
    text = path.read_text("utf-8")
    try:
        record = json.loads(text)
    except ValueError:
        record = json.loads(text.split("\n")[0])
    place, key = record, None
    holder: Any = None
    while isinstance(place, dict | list) and place and data.draw(st.integers(0, 4)):
        holder = place
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        place = place[key]
    if holder is not None:
        holder[key] = data.draw(values)
    read_all(json.dumps(record).encode())


@relaxed
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_json_text_is_parsed_or_refused(text: str) -> None:
    try:
        load_json(text)
    except JsonTextError as error:
        assert str(error)
    assert load_json(json.dumps(text)) == text


@relaxed
@given(data=st.binary())
def test_bytes_come_back(data: bytes) -> None:
    text, raw = decode(data)
    item = Trajectory(
        source=Source.OBSERVED,
        world=WorldSpec(domain="d"),
        turns=(Turn(action=Action(text="x"), observation=Observation(text=text, raw=raw and {"text": raw})),),
    )
    assert back([item], "t", "worldline") == [item]
