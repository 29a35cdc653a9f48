"""A composed session in the real sandbox answers as the shipped recording does."""

from __future__ import annotations

import shutil

import pytest

from worldline import recordings
from worldline.formats import read_trajectories
from worldline.record.plans import generate
from worldline.record.recording import record_session

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


def test_a_planned_session_is_recorded_again_alike() -> None:
    shipped = {item.origin["plan"]: item for item in read_trajectories(recordings.path("terminal", "train"))}
    plan = next(plan for plan in generate(480, 1) if plan.family == "files/links")
    again, before = record_session(plan), shipped[plan.id]
    assert [turn.action for turn in again.turns] == [turn.action for turn in before.turns]
    assert again.family == plan.family
    determined = [(new, old) for new, old in zip(again.turns, before.turns, strict=True) if old.determined]
    assert len(determined) >= 8
    for new, old in determined:
        assert new.observation.text == old.observation.text, old.action.command
        assert new.observation.exit_code == old.observation.exit_code
