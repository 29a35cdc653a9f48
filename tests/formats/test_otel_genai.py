"""OpenTelemetry spans: copied context, parallel calls, sub-agents, the dialects, cycles and damage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from goldens import DATA, check_golden, golden_files, read_golden

from worldline.formats import detect_format
from worldline.types import Trajectory

OTEL = DATA / "otel_genai"


@pytest.mark.parametrize("path", golden_files("otel_genai"), ids=lambda path: path.name)
def test_golden(path: Path, tmp_path: Path) -> None:
    check_golden(path, tmp_path)
    assert detect_format(path).name == "otel_genai"


def test_repeated_history_counts_once() -> None:
    main, helper = read_golden(OTEL / "otlp.json")[0]
    assert [(turn.action.call_id, turn.observation.text) for turn in main.turns] == [
        ("w1", "rainy, 57°F"),
        ("w2", '{"t":19}'),
        ("d1", "helper says ok"),
    ]
    paris, rome, delegated = main.turns
    assert paris.thought == "Two cities.\nLooking."
    assert (paris.extra["batch"], rome.extra["batch"]["index"]) == ({"index": 0, "size": 2}, 1)
    assert rome.action.arguments == {"city": "Rome"}, "arguments may be JSON text"
    assert (paris.observation.is_error, rome.observation.is_error) == (False, None), "the tool's span knows"
    assert paris.timestamp == "2026-01-05T08:00:02+00:00"
    assert delegated.thought is None
    assert (main.world.task, main.world.extra) == ("Weather in Paris?", {"system": "Be brief."})
    assert main.world.tools[0].name == "get_weather"
    assert (main.origin["agent"], helper.origin["agent"]) == ("main", "helper")


def test_sub_agent_is_a_trajectory_of_its_own() -> None:
    helper = read_golden(OTEL / "otlp.json")[0][1]
    (turn,) = helper.turns
    assert turn.action.name == "ping"
    assert turn.observation.text == "no route"
    assert turn.observation.is_error is True
    assert helper.world.task == "Check the helper."


def test_spans_may_stand_a_line_each() -> None:
    (found,) = read_golden(OTEL / "otlp-lines.jsonl")[0]
    assert [turn.action.call_id for turn in found.turns] == ["w1", "w2", "d1"]


def test_flattened_keys_events_and_cycles() -> None:
    (found,) = read_golden(OTEL / "console-spans.jsonl")[0]
    assert [(turn.action.arguments, turn.observation.text) for turn in found.turns] == [
        ({"to": 2}, "1 2"),
        ({"to": 1}, "1"),
    ], "two traces of one conversation, with the same call id, whose spans name each other as parents"


def test_openinference() -> None:
    (found,) = read_golden(OTEL / "openinference.json")[0]
    assert [(turn.action.command, turn.observation.text) for turn in found.turns] == [
        ("ls", "a.txt\n"),
        ("pwd", "/w\n"),
    ]
    assert (found.world.domain, found.world.task) == ("terminal", "Fix it")
    assert found.world.tools[0].name == "bash"


def test_unknown_attributes_are_kept_and_messages_are_not_kept_twice() -> None:
    main = read_golden(OTEL / "otlp.json")[0][0]
    kept = json.dumps(main.extra)
    assert "gen_ai.usage.input_tokens" in kept
    assert "rainy" not in kept


def chat(number: int, messages: list[Any], answer: list[Any]) -> dict[str, Any]:
    return {
        "traceId": "t",
        "spanId": str(number),
        "startTimeUnixNano": number,
        "attributes": {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": messages,
            "gen_ai.output.messages": answer,
        },
    }


def read(spans: list[Any], tmp_path: Path) -> Trajectory:
    path = tmp_path / "spans.jsonl"
    path.write_text("\n".join(map(json.dumps, spans)), "utf-8")
    from worldline.formats import read_trajectories

    (found,) = read_trajectories(path)
    return found


def call(call_id: str | None, **arguments: Any) -> dict[str, Any]:
    part = {"type": "tool_call", "id": call_id, "name": "f", "arguments": arguments}
    return {"role": "assistant", "parts": [part]}


def result(call_id: str | None, text: str) -> dict[str, Any]:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": text}]}


def test_equal_calls_without_ids_count_as_often_as_they_were_made(tmp_path: Path) -> None:
    history: list[Any] = []
    spans = []
    for number in range(3):
        spans.append(chat(number + 1, list(history), [call(None, x=1)]))
        history += [call(None, x=1), result(None, "same")]
    spans.append(chat(9, list(history), []))
    assert len(read(spans, tmp_path).turns) == 3


def test_a_shortened_history_does_not_change_what_was_told(tmp_path: Path) -> None:
    spans = [
        chat(1, [], [call("a", x=1)]),
        chat(2, [call("a", x=1), result("a", "long answer")], [call("b", x=2)]),
        chat(3, [call("a", x=1), result("a", "[cleared]"), call("b", x=2), result("b", "second")], []),
    ]
    assert [turn.observation.text for turn in read(spans, tmp_path).turns] == ["long answer", "second"]


def test_only_the_news_in_each_span(tmp_path: Path) -> None:
    spans = [
        chat(1, [], [call("a", x=1)]),
        chat(2, [result("a", "one")], [call("b")]),
        chat(3, [result("b", "two")], []),
    ]
    assert [turn.observation.text for turn in read(spans, tmp_path).turns] == ["one", "two"]
