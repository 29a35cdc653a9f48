"""asciinema's recordings: screens, keys, and what is known of the input."""

from __future__ import annotations

import json
import os
import pty
import select
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from goldens import check_golden, golden_files, read_golden
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from worldline.domains.terminal.keystrokes import MAX_DURATION, NAMED_KEYS, Keystrokes, typed
from worldline.domains.terminal.state import TerminalState
from worldline.formats import detect_format, read_trajectories
from worldline.formats.cast_keys import key_entries
from worldline.formats.cast_screen import CastScreen, TextJoiner
from worldline.formats.jsontext import load_json
from worldline.types import Trajectory

FILES = {path.name: path for path in golden_files("asciinema")}
relaxed = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("path", FILES.values(), ids=lambda path: path.name)
def test_golden(path: Path, tmp_path: Path) -> None:
    check_golden(path, tmp_path)
    assert detect_format(path).name == "asciinema"


@pytest.mark.parametrize("path", FILES.values(), ids=lambda path: path.name)
def test_actions_are_of_the_dialect(path: Path) -> None:
    for trajectory in read_golden(path)[0]:
        assert trajectory.world.domain == "terminal"
        for turn in trajectory.turns:
            assert typed(turn.action), "a list of keystrokes with something in it"
            unknown = turn.extra.get("input") == "unknown"
            assert unknown == (turn.train == 0.0), "what is unknown counts nothing in training"
            assert not unknown or {entry.text for entry in typed(turn.action) or ()} == {""}


def entries(trajectory: Trajectory) -> list[list[str]]:
    return [[entry.text for entry in typed(turn.action) or ()] for turn in trajectory.turns]


def test_recorded_input() -> None:
    (cast,), skipped = read_golden(FILES["recorded-v2.cast"])
    assert not skipped
    assert cast.origin["input"] == "recorded"
    assert cast.world.extra["screen"] == "user@box:~$"
    screen = TerminalState.model_validate(cast.world.initial_state).screen
    assert screen is not None
    assert (screen.columns, screen.lines, screen.term) == (60, 10, "xterm-256color")
    assert entries(cast) == [
        ["ls\n"],
        ["sleeep", "BSpace", "BSpace"],
        ["C-c", "Up", "\n"],
        ["vi x\n"],
        ["iEnd", "Escape"],
        [":q!\n"],
        ["C-d"],
    ]
    vi, after = cast.turns[3], cast.turns[5]
    assert vi.observation.text == '~\n~\n\n\n\n\n\n\n\n"x" [New]'
    assert vi.extra["notes"] == [["report", "\x1b[?62;c"]], "the terminal's own answer is no input"
    assert after.observation.text.endswith("user@box:~$ vi x\nuser@box:~$"), "the screen before vi comes back"
    assert cast.turns[-1].done
    assert cast.turns[0].timestamp == "2026-01-01T00:00:01+00:00"


def test_recovered_input() -> None:
    (cast,), skipped = read_golden(FILES["recovered-v3.cast"])
    assert not skipped
    assert cast.origin["input"] == "recovered"
    assert [turn.extra["input"] for turn in cast.turns] == [
        *["recovered"] * 3,
        "unknown",
        "recovered",
        *["unknown"] * 3,
        "recovered",
    ]
    assert entries(cast)[:3] == [["cat no\n"], ["echo hi\n"], ["/usr/local/bin\n"]]
    assert cast.turns[0].observation.text == "user@box:~$ cat no\none\ntwo\nuser@box:~$"
    assert cast.turns[5].observation.text == "page two\n:"


def test_programs_that_look_like_prompts_are_unknown() -> None:
    (cast,), _ = read_golden(FILES["unknown-v2.cast"])
    assert cast.origin["input"] == "unknown"
    assert entries(cast) == [[""], [""]]


def test_broken_recordings() -> None:
    (first, second), skipped = read_golden(FILES["broken-v2.cast"])
    assert "after a long time" in first.turns[0].observation.text
    assert "\u20ac \U0001f600 \ufffdx" in first.turns[-1].observation.text, "split characters are put together"
    assert second.turns[0].observation.text == "second recording"
    assert all(item.line for item in skipped)
    durations = [
        entry.duration for item in (first, second) for turn in item.turns for entry in typed(turn.action) or ()
    ]
    assert all(0 <= duration <= MAX_DURATION for duration in durations)


def cast_of(folder: str | Path, events: list[Any], **header: Any) -> list[Trajectory]:
    path = Path(folder, "r.cast")
    lines = [{"version": 2, "width": 40, "height": 10, **header}, *events]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return list(read_trajectories(path))


pieces = st.one_of(
    st.sampled_from([*NAMED_KEYS, *NAMED_KEYS.values(), "\r", "\x1b", "\x1bOA", "\x1b[200~", "\x1bx", "é", "Up", "日"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)


@relaxed
@given(typed_in=st.lists(pieces, max_size=12))
@example(typed_in=["End"])
@example(typed_in=["C-c", "\x03"])
def test_entries_send_what_was_typed(typed_in: list[str]) -> None:
    texts = key_entries(typed_in)
    assert "".join(Keystrokes(text, 0.0).keys for text in texts) == "".join(typed_in)


@relaxed
@given(
    events=st.lists(
        st.tuples(st.floats(0, 4), st.sampled_from(["i", "o", "m"]), st.sampled_from(["a", "ls\r", "\x03"]))
    )
)
def test_recorded_keys_are_all_there(events: list[tuple[float, str, str]]) -> None:
    now, lines = 0.0, []
    for wait, code, data in events:
        now += wait
        lines.append([now, code, data])
    sent = "".join(data for _, code, data in events if code == "i")
    if not sent:
        return
    with tempfile.TemporaryDirectory() as folder:
        (cast,) = cast_of(folder, lines)
    assert "".join(entry.keys for turn in cast.turns for entry in typed(turn.action) or ()) == sent
    assert cast.origin["input"] == "recorded"


sequences = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.builds(
        lambda mark, numbers, end: f"\x1b[{mark}{';'.join(map(str, numbers))}{end}",
        st.sampled_from(["", "?", ">", "="]),
        st.lists(st.integers(0, 10_000), max_size=4),
        st.sampled_from("ABCDEFGHIJKLMPSTXZ@`abcdefghlmnpqrstu"),
    ),
    st.sampled_from(["\x1b7", "\x1b8", "\x1bM", "\x1bc", "\x1b#8", "\x1b(0", "\x1b%G", "\x1b]0;t\x07", "\x1bPx\x1b\\"]),
    st.sampled_from(["\r\n", "\n", "\t", "\b", "\x0e", "日本", "e\u0301", "\x1b[²m", "\x1b", "\x1b[", "\x9b1A"]),
)


@relaxed
@given(output=st.lists(sequences, max_size=12).map("".join), data=st.data())
@example(output="\x1b[1;2;3;4;5A\x1b[?3h\x1b[?3l\x1b[99999999L", data=None)
def test_any_output_can_be_played(output: str, data: st.DataObject | None) -> None:
    """No output stops the screen, and it does not matter in what pieces it comes."""
    whole, split = CastScreen(20, 5), CastScreen(20, 5)
    whole.feed(output)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(output)), max_size=3))) if data is not None else []
    for start, end in zip([0, *cuts], [*cuts, len(output)], strict=True):
        split.feed(output[start:end])
        split.play()
    assert len(whole.text().split("\n")) <= 5
    if "²" not in output:  # what is wrong inside a sequence may be left out in other pieces
        assert split.text() == whole.text()


@relaxed
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=12), data=st.data())
def test_split_characters_are_joined(text: str, data: st.DataObject) -> None:
    """Bytes that were cut anywhere, each half decoded with surrogates in place of what is no UTF-8."""
    raw = text.encode("utf-8")
    cut = data.draw(st.integers(0, len(raw)))
    joiner = TextJoiner()
    halves = [json.dumps(part.decode("utf-8", "surrogateescape")) for part in (raw[:cut], raw[cut:])]
    assert "".join(joiner.join(load_json(half)) for half in halves) == text


def test_a_flood_is_cut_and_said_to_be(tmp_path: Path) -> None:
    flood = [[1.0 + number / 1000, "o", f"{number:08d}\r\n" * 10_000] for number in range(80)]
    started = time.monotonic()
    (cast,) = cast_of(tmp_path, [[0.5, "i", "x"], *flood, [9.0, "i", "y"], [9.1, "o", "quiet"]])
    first, second = cast.turns
    assert first.observation.truncated
    assert first.observation.text.split("\n")[-1] == "00000079"
    assert not second.observation.truncated
    assert time.monotonic() - started < 60


def test_huge_gaps_and_resizes(tmp_path: Path) -> None:
    (cast,) = cast_of(tmp_path, [[0, "i", "a"], [1, "o", "a"], [1e12, "r", "20x4"], [1e12, "i", "b"], [1e13, "o", "b"]])
    assert [entry.duration for turn in cast.turns for entry in typed(turn.action) or ()] == [MAX_DURATION, MAX_DURATION]
    assert cast.turns[-1].observation.text == "ab"


def test_what_is_typed_at_a_password_prompt_is_left_out(tmp_path: Path) -> None:
    login = [
        [0.1, "o", "$ "],
        [1, "i", "su\r"],
        [1.1, "o", "su\r\nPassword: "],
        [2, "i", "hun"],
        [2.1, "i", "ter\x7f2\r"],
    ]
    (cast,) = cast_of(tmp_path, [*login, [3, "o", "\r\n# "], [4, "i", "id\r"], [5, "o", "id\r\n"]])
    assert entries(cast) == [["su\n"], ["<hidden>", "BSpace", "<hidden>\n"], ["id\n"]]
    assert "hunter" not in cast.model_dump_json()
    assert cast.turns[1].extra == {"hidden": True}


def test_nothing_but_a_header(tmp_path: Path) -> None:
    (cast,) = cast_of(tmp_path, [])
    assert cast.turns == ()


def test_a_real_shell(tmp_path: Path) -> None:
    """A real bash on a real terminal, recorded with and without input: both say the same."""
    with_input = _record(["echo one two\r", "seq 3\r", "exit\r"])
    (recorded,) = cast_of(tmp_path, with_input)
    (recovered,) = cast_of(tmp_path, [event for event in with_input if event[1] == "o"])
    assert entries(recorded) == [["echo one two\n"], ["seq 3\n"], ["exit\n"]]
    assert recovered.origin["input"] == "recovered"
    assert entries(recovered) == entries(recorded)
    assert recorded.turns[0].observation.text == "test$ echo one two\none two\ntest$"
    assert [turn.observation.text for turn in recovered.turns] == [turn.observation.text for turn in recorded.turns]


def _record(lines: list[str]) -> list[list[Any]]:
    pid, terminal = pty.fork()
    if pid == 0:
        environment = {"PATH": "/usr/bin:/bin", "PS1": "test$ ", "TERM": "xterm-256color", "HISTFILE": ""}
        os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"], environment)
    events: list[list[Any]] = []
    start = time.monotonic()

    def drain(quiet: float, until: bytes = b"") -> None:
        seen, deadline = b"", time.monotonic() + 20
        while time.monotonic() < deadline:
            if not select.select([terminal], [], [], quiet)[0]:
                if until in seen:
                    return
                continue
            try:
                data = os.read(terminal, 65536)
            except OSError:
                return
            if not data:
                return
            seen += data
            events.append([time.monotonic() - start, "o", data.decode()])

    drain(0.2, b"test$ ")
    for line in lines:
        for key in line:
            events.append([time.monotonic() - start, "i", key])
            os.write(terminal, key.encode())
            drain(0.02)
        drain(0.2, b"test$ " if line != lines[-1] else b"")
    os.waitpid(pid, 0)
    os.close(terminal)
    return events
