"""`worldline record terminal --generate N` records N sessions, in either dialect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from worldline.cli import cli
from worldline.errors import ConfigError
from worldline.record import store
from worldline.record.keystroke_plans import generate as generate_typed
from worldline.record.keystroke_plans import split_of as typed_split_of
from worldline.record.plan import KeystrokePlan, SessionPlan
from worldline.record.plans import recorded_lines, split_of


class RecordedError(Exception):
    """Stands for the recording itself, which comes after the plans."""


@pytest.mark.parametrize("count", [1, 7, 98])
@pytest.mark.parametrize(("dialect", "kind"), [("commands", SessionPlan), ("keystrokes", KeystrokePlan)])
def test_as_many_sessions_as_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dialect: str, kind: type, count: int
) -> None:
    asked: list[Any] = []

    def recording(plans: list[Any], *args: Any, **options: Any) -> None:
        asked.extend(plans)
        raise RecordedError

    monkeypatch.setattr(store, "record_plans", recording)
    command = ["record", "terminal", "--out", str(tmp_path / "out.jsonl"), "--dialect", dialect, "--seed", "5"]
    for _ in range(2):
        done = CliRunner().invoke(cli, [*command, "--generate", str(count)])
        assert isinstance(done.exception, RecordedError), done.output
    first, second = asked[:count], asked[count:]
    assert len(second) == count and [plan.id for plan in first] == [plan.id for plan in second]
    assert all(type(plan) is kind for plan in asked)
    assert len({plan.id for plan in first}) == count
    assert len({plan.family for plan in first}) >= min(count, 40)


@pytest.mark.parametrize("dialect", ["commands", "keystrokes"])
def test_a_split_gives_its_own_families_and_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dialect: str
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(store, "record_plans", lambda plans, *args, **options: asked.extend(plans) or 1 / 0)
    command = ["record", "terminal", "--out", str(tmp_path / "o"), "--dialect", dialect, "--seed", "77"]
    CliRunner().invoke(cli, [*command, "--generate", "120", "--split", "train"])
    assert len(asked) == 120
    if dialect == "keystrokes":
        assert {typed_split_of(plan.family) for plan in asked} == {"train"}
        return
    assert {split_of(plan.family) for plan in asked} == {"train"}
    held_out = {line for line, split in recorded_lines().items() if split != "train"}
    assert len(held_out) > 500
    assert not held_out & {entry.command for plan in asked for entry in plan.commands}


def test_a_split_goes_with_composed_sessions_alone(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("ls\n", encoding="utf-8")
    command = ["record", "terminal", "--out", str(tmp_path / "o"), "--script", str(script), "--split", "train"]
    done = CliRunner().invoke(cli, command)
    assert isinstance(done.exception, ConfigError) and "--split" in str(done.exception)


def test_without_a_number_every_planned_keystroke_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(store, "record_plans", lambda plans, *args, **options: asked.extend(plans) or 1 / 0)
    CliRunner().invoke(cli, ["record", "terminal", "--out", str(tmp_path / "o"), "--dialect", "keystrokes"])
    assert [plan.id for plan in asked] == [plan.id for plan in generate_typed(0)]
