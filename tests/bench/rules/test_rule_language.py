"""The language of rule checks: what holds, what does not, and what is refused."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from worldline.bench.rules.checks import MOST_PARTS, SECONDS, read_check, verdict
from worldline.types import Observation

ANSWER = Observation.from_streams(b"one\n  two\nthree\n", b"oops: denied\n", 3)
YES = [
    {"op": "contains", "text": "two\nthree"},
    {"op": "contains", "text": "two", "line": True},
    {"op": "contains", "text": "denied", "field": "stderr"},
    {"op": "regex", "pattern": r"^three$"},
    {"op": "exit_code", "code": 3},
    {"op": "exit_code", "code": 0, "differs": True},
    {"op": "line_count", "least": 3, "most": 3, "field": "stdout"},
    {"op": "order", "texts": ["one", "three", "oops"]},
    {"op": "equals", "text": "one\n  two\nthree\noops: denied\n"},
    {
        "op": "equals",
        "text": "one\n  222\nthree\noops: denied\n",
        "volatile": [{"start": 6, "end": 9, "pattern": r"\w+"}],
    },
]
NO = [
    {"op": "contains", "text": "Two"},
    {"op": "contains", "text": "tw", "line": True},
    {"op": "contains", "text": "denied", "field": "stdout"},
    {"op": "regex", "pattern": r"^two$"},
    {"op": "exit_code", "code": 0},
    {"op": "exit_code", "code": 3, "differs": True},
    {"op": "line_count", "most": 2, "field": "stdout"},
    {"op": "order", "texts": ["three", "one"]},
    {"op": "order", "texts": ["two", "two"]},
    {"op": "equals", "text": "one\ntwo\nthree\noops: denied\n"},
]


@pytest.mark.parametrize("check", YES)
def test_it_holds(check: dict):
    assert verdict(read_check(check), ANSWER).passed
    assert not verdict(read_check({"op": "not", "of": check}), ANSWER).passed


@pytest.mark.parametrize("check", NO)
def test_it_does_not_hold_and_says_why(check: dict):
    came = verdict(read_check(check), ANSWER)
    assert not came.passed and came.why


def test_all_and_any():
    assert verdict(read_check({"op": "all", "of": YES}), ANSWER).passed
    assert not verdict(read_check({"op": "all", "of": [*YES, NO[0]]}), ANSWER).passed
    assert verdict(read_check({"op": "any", "of": [*NO, YES[0]]}), ANSWER).passed
    assert not verdict(read_check({"op": "any", "of": NO}), ANSWER).passed


@pytest.mark.parametrize(
    ("path", "more", "passed"),
    [
        (["error", "code"], {"equals": 404}, True),
        (["error", "code"], {"equals": "404"}, False),
        (["items", 1], {"equals": {"a": None}}, True),
        (["items", 7], {"exists": False}, True),
        (["items"], {"exists": True}, True),
        (["flag"], {"equals": 1}, False),
        (["error", "code", "deep"], {"equals": None}, False),
    ],
)
def test_paths_of_json(path: list, more: dict, passed: bool):
    answer = Observation(text='{"error": {"code": 404}, "items": [1, {"a": null}], "flag": true}')
    assert verdict(read_check({"op": "json_path", "path": path, **more}), answer).passed is passed
    assert not verdict(read_check({"op": "json_path", "path": path, **more}), Observation(text="<html>")).passed


def test_a_pattern_that_runs_away_is_stopped_and_does_not_hold():
    check = read_check({"op": "regex", "pattern": r"(\w+\s?)+\1\1$"})
    began = time.perf_counter()
    assert not verdict(check, Observation(text="ab " * 4000 + "!")).passed
    assert time.perf_counter() - began < 10 * SECONDS


@pytest.mark.parametrize(
    "wrong",
    [
        {"op": "python", "code": "1"},
        {"op": "contains", "text": "x", "command": "rm"},
        {"op": "contains", "text": ""},
        {"op": "regex", "pattern": "("},
        {"op": "all", "of": []},
        {"op": "all", "of": [{"op": "contains", "text": "x"}] * MOST_PARTS},
        {"text": "x"},
    ],
)
def test_what_is_no_check_is_refused(wrong: dict):
    with pytest.raises((ValidationError, ValueError)):
        read_check(wrong)


def test_a_deep_tree_is_refused_before_it_is_walked():
    check: dict = {"op": "contains", "text": "x"}
    for _ in range(5000):
        check = {"op": "not", "of": check}
    with pytest.raises(ValueError, match="parts"):
        read_check(check)


def test_a_status_is_passed_over_where_answers_cannot_show_one():
    check = read_check({"op": "all", "of": [{"op": "exit_code", "code": 1}, {"op": "contains", "text": "x"}]})
    assert verdict(check, Observation(text="x"), status_shown=False).passed
    assert not verdict(check, Observation(text="x")).passed
    assert not verdict(check, Observation(text="y"), status_shown=False).passed


@given(st.text(min_size=1), st.text())
def test_contains_is_what_python_says(text: str, answer: str):
    assert verdict(read_check({"op": "contains", "text": text}), Observation(text=answer)).passed is (text in answer)
