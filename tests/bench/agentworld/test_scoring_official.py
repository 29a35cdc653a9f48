"""Protocol `official`, pinned case by case: expectations are by hand, from the rules of the released code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.bench.agentworld.official import (
    OfficialJudgement,
    OfficialRow,
    domain_figures,
    has_generation,
    official_prediction,
    official_row,
    overall,
    read_judge_answer,
    without_marker,
)
from worldline.bench.agentworld.records import DIMENSIONS, Generation

CASES: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parent / "data" / "official_cases.json").read_text(encoding="utf-8")
)


def _why(case: dict[str, Any]) -> str:
    return str(case["why"])


@pytest.mark.parametrize("case", CASES["predictions"], ids=_why)
def test_a_prediction_is_taken_out_as_the_released_code_does(case: dict[str, Any]) -> None:
    assert official_prediction(case["raw"]) == case["expected"]


@pytest.mark.parametrize("case", CASES["markers"], ids=_why)
def test_the_heading_is_taken_off_as_the_released_code_does(case: dict[str, Any]) -> None:
    assert without_marker(case["raw"]) == case["expected"]


@pytest.mark.parametrize("case", CASES["judge_answers"], ids=_why)
def test_a_judges_answer_is_read_as_the_released_code_does(case: dict[str, Any]) -> None:
    read = read_judge_answer(case["raw"])
    assert (dict(read.scores) if read.error is None else None) == case["scores"]
    assert read.total == pytest.approx(case["total"], abs=1e-12)


def test_reasons_are_kept_where_the_answer_is_whole_and_lost_where_only_its_scores_are_found() -> None:
    scores = '"scores": {"format": 5}'
    whole = read_judge_answer('{"strengths": ["a", 1], "weaknesses": "w", ' + scores + "}")
    assert (whole.strengths, whole.weaknesses) == (("a", "1"), ("w",))
    lost = read_judge_answer('{"strengths": ["at 12, note: x"], ' + scores + "}")
    assert (lost.strengths, lost.error) == ((), None)


def _read(**scores: int) -> OfficialJudgement:
    return OfficialJudgement({**dict.fromkeys(DIMENSIONS, 0), **scores})


def test_the_first_readable_answer_of_three_counts() -> None:
    bad = OfficialJudgement(dict.fromkeys(DIMENSIONS, 0), error="no JSON object")
    assert official_row("mcp", True, [None, bad, _read(format=4)]).total == 4
    assert official_row("mcp", True, [None, bad, bad, _read(format=4)]).failed
    assert official_row("mcp", True, [_read(), _read(format=4)]).total == 0
    assert official_row("mcp", False, [_read(format=4)]).error == "no model generation"


def test_only_a_failed_or_empty_generation_is_not_judged() -> None:
    def generation(**fields: Any) -> Generation:
        return Generation(key="g", row="r", model="m", **fields)

    assert has_generation(generation(outcome="ok", content=" "))
    assert has_generation(generation(outcome="truncated", content="<think>"))
    assert not has_generation(generation(outcome="empty"))
    assert not has_generation(generation(outcome="error", content="half"))


def test_means_leave_out_failed_rows_and_zeros_and_keep_what_is_below_zero() -> None:
    rows = [
        OfficialRow("mcp", {**dict.fromkeys(DIMENSIONS, 3), "format": -1}, 3.0),
        OfficialRow("mcp", {**dict.fromkeys(DIMENSIONS, 5), "quality": 0}, 5.0),
        OfficialRow("mcp", dict.fromkeys(DIMENSIONS, 0), 0.0),
        OfficialRow("mcp", error="judge scoring failed"),
    ]
    assert domain_figures(rows) == {
        "format": 25.0,  # (-1 + 5) / 2 = 2
        "factuality": 75.0,
        "consistency": 75.0,
        "realism": 75.0,
        "quality": 50.0,
        "total_score": 75.0,
    }
    assert overall([*rows, OfficialRow("os", dict.fromkeys(DIMENSIONS, 1), 1.0)]) == 50.0  # rows, not domains


def test_a_domain_whose_rows_have_no_scores_is_printed_as_minus_25_and_one_that_failed_not_at_all() -> None:
    nothing = OfficialRow("mcp", dict.fromkeys(DIMENSIONS, 0), 0.0)
    assert domain_figures([nothing]) == dict.fromkeys([*DIMENSIONS, "total_score"], -25.0)
    assert domain_figures([OfficialRow("mcp", error="x")]) is None
    assert overall([nothing]) is None


@given(st.text(alphabet='{}[]":,\\ a1<>/think`\n'))
def test_no_answer_of_a_judge_stops_a_run(raw: str) -> None:
    read = read_judge_answer(raw)
    assert set(read.scores) == set(DIMENSIONS)
    assert read.error is None or read.total == 0
    assert all(score <= 5 for score in read.scores.values())


@pytest.mark.parametrize("raw", ['{"scores": ' * 5000, '{"scores": {"format": ' + "9" * 5000 + "}}", "{" * 3000])
def test_answers_that_no_parser_can_hold_are_failures(raw: str) -> None:
    assert read_judge_answer(raw).error is not None
