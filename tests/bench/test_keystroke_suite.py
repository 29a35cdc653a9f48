"""Measuring in the keystroke dialect."""

import pytest

from worldline.bench.reality import Reality
from worldline.bench.suite import default_engines, load_suite
from worldline.domains.terminal.keystrokes import keystroke_action
from worldline.record.sandbox import find_bubblewrap
from worldline.types import WorldSpec


def test_each_dialect_has_recordings_of_its_own():
    typed = load_suite("terminal", "dev", dialect="keystrokes", limit=3)
    assert typed.title.startswith("terminal keystrokes dev: ")
    assert all(turn.action.name == "keystrokes" for t in typed.trajectories for turn in t.turns)
    plain = load_suite("terminal", "dev", limit=3)
    assert all(turn.action.command is not None for t in plain.trajectories for turn in t.turns)


def test_the_bare_shell_is_no_baseline_for_screens():
    assert "bare-shell" in default_engines("terminal", None)
    assert "bare-shell" not in default_engines("terminal", "keystrokes")
    assert "kernel" in default_engines("database", None)


async def test_reality_types_where_the_world_has_a_screen():
    pytest.importorskip("pexpect")
    find_bubblewrap()
    real = Reality(WorldSpec(domain="terminal", initial_state={"screen": {}}))
    try:
        seen = await real.predict(keystroke_action([{"keystrokes": "echo hi\n", "duration": 0.1}]), [])
    finally:
        real.close()
    assert seen.observation.text == "user@box:~$ echo hi\nhi\nuser@box:~$"
