"""Recording planned keystroke sessions."""

import os
from pathlib import Path

import pytest
from recorder_plans import world

from worldline.formats import read_trajectories
from worldline.record.plan import KeystrokePlan, PlannedKeys
from worldline.record.recording import RecordingSettings, record_session
from worldline.record.store import record_plans
from worldline.types import Source


def typed_plan(*texts: str, seconds: float = 0.2, **state: object) -> KeystrokePlan:
    turns = tuple(PlannedKeys(keys=({"keystrokes": text, "duration": seconds},)) for text in texts)
    return KeystrokePlan(family="tests/typed", world=world(screen={}, **state), turns=turns)


def test_a_session_is_recorded_with_what_is_volatile():
    done = record_session(typed_plan("echo same\n", "sleep 9 &\n", "cat\n", "C-c"))
    assert done.source is Source.OBSERVED and done.family == "tests/typed"
    assert [turn.action.name for turn in done.turns] == ["keystrokes"] * 4
    assert not done.turns[0].observation.volatile
    (span,) = done.turns[1].observation.volatile
    assert done.turns[1].observation.text[span.start : span.end].isdigit() and span.pattern == "\\d+"
    assert done.turns[2].extra["foreground"] == "cat" and "foreground" not in done.turns[3].extra
    assert done.turns[3].timestamp == "2026-01-01T00:00:00+00:00"


def test_a_session_ends_with_its_shell():
    done = record_session(typed_plan("exit\n", "ls\n"))
    assert len(done.turns) == 1 and done.turns[0].extra["ended"]
    assert done.extra["commands_after_the_end"] == 1


@pytest.mark.full
@pytest.mark.skipif("WORLDLINE_VARIANT_ROOT" not in os.environ, reason="no variant root")
def test_what_the_session_determines():
    root = Path(os.environ["WORLDLINE_VARIANT_ROOT"])
    done = record_session(typed_plan("echo a\n", "python3 --version\n"), RecordingSettings(variant_root=root))
    assert [turn.determined for turn in done.turns] == [True, False]


def test_a_run_goes_on_where_it_stopped(tmp_path: Path):
    plans = [typed_plan("echo a\n"), typed_plan("echo b\n")]
    out = tmp_path / "typed.jsonl"
    record_plans(plans[:1], out)
    summary = record_plans(plans, out, jobs=2)
    assert (summary.sessions, summary.resumed, summary.failures) == (2, 1, [])
    assert [t.turns[0].observation.text.split("\n")[1] for t in read_trajectories(out)] == ["a", "b"]
