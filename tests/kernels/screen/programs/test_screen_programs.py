"""Interactive programs of the screen kernel against the screens of the real ones."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import zstandard
from mini_terminal import PROMPT, KernelHost, MiniTerminal

from worldline.kernels.screen.programs import Operator, Run, find_program
from worldline.kernels.screen.programs.replay import Tape, timed
from worldline.kernels.screen.programs.rows import Layout, lay_out

PLACE = Path(__file__).parent


def read_cases() -> dict[str, dict[str, Any]]:
    found = json.loads((PLACE / "cases.json").read_text("utf-8"))
    for case in found["cases"]:
        files = case["files"]
        case["files"] = {name: found["texts"].get(text.removeprefix("@"), text) for name, text in files.items()}
    return {case["name"]: case for case in found["cases"]}


CASES = read_cases()


def recorded() -> dict[str, list[str]]:
    data = zstandard.ZstdDecompressor().decompressobj().decompress((PLACE / "screens.jsonl.zst").read_bytes())
    return {row["name"]: row["screens"] for row in map(json.loads, data.decode().split("\n")[:-1])}


SCREENS = recorded()
TUNED = [name for name, case in CASES.items() if case["part"] == "tuned"]
HELD_OUT = [name for name, case in CASES.items() if case["part"] == "held out"]
LEAST = {"filters": 0.95, "bash": 0.95, "python script": 0.9, "python3": 0.85, "bc": 0.9, "sqlite3": 0.95, "less": 0.9,
         "more": 0.5, "nano": 0.85, "vim": 0.75}  # fmt: skip
"""Share of the screens of each program that the kernel has to know and get right."""


@cache
def play(name: str) -> tuple[tuple[str, bool], ...]:
    """Play a case; the screens, and whether the kernel says that it knows them."""
    terminal, found = MiniTerminal(CASES[name]["files"]), []
    for keys in CASES[name]["keys"]:
        found.append((terminal.type(keys), not terminal.unknown))
    terminal.host.close()
    return tuple(found)


def judged(name: str) -> list[tuple[bool, bool]]:
    """For each screen of a case whether it is right, and whether it is known."""
    return [(got == want, known) for (got, known), want in zip(play(name), SCREENS[name], strict=True)]


@pytest.mark.parametrize("name", TUNED)
def test_known_screens_are_those_of_the_real_program(name: str) -> None:
    for (got, known), keys, want in zip(play(name), CASES[name]["keys"], SCREENS[name], strict=True):
        if not known:
            break
        assert got == want, f"after {keys!r}"


@pytest.mark.parametrize("program", sorted(LEAST))
def test_enough_is_known(program: str) -> None:
    found = [pair for name in TUNED if CASES[name]["program"] == program for pair in judged(name)]
    assert sum(right and known for right, known in found) >= LEAST[program] * len(found)


def test_what_was_not_tuned_on_is_mostly_right_too() -> None:
    found = [pair for name in HELD_OUT for pair in judged(name)]
    known = [right for right, knows in found if knows]
    assert sum(known) >= 0.95 * len(known)
    assert len(known) >= 0.8 * len(found)


# --- the parts


def words(line: str) -> list[str]:
    return [Operator(word) if word in (">", ">>", "|", "<") else word for word in line.split()]


@pytest.mark.parametrize(
    "line",
    ["cat f", "sort < f", "grep -r x", "bc < f", "ls", "python3 f", "sqlite3 f .tables", "bash", "awk BEGIN{print}"],
)
def test_commands_that_leave_the_terminal_alone(line: str) -> None:
    host = KernelHost({"f": "print(1)\n"})
    assert find_program(words(line), host) is None
    host.close()


@pytest.mark.parametrize(
    "line", ["cat", "cat - > f", "sort | uniq -c", "grep x -", "wc -l", "tr a b", "head -n 3", "bc -l"]
)
def test_commands_that_read_the_terminal(line: str) -> None:
    host = KernelHost({})
    assert find_program(words(line), host) is not None
    host.close()


def test_a_file_is_written_once_and_only_at_the_end() -> None:
    terminal = MiniTerminal({"a.sh": '#!/bin/bash\necho begun >> log\nread -p "? " x\necho "$x" >> log\n'})
    terminal.type("./a.sh\r")
    with pytest.raises(FileNotFoundError):
        terminal.host.read("log")
    terminal.type("yes\r")
    assert terminal.host.read("log") == b"begun\nyes\n"
    assert not terminal.unknown
    assert terminal.host.run("ls -A").text == "a.sh  log\n" or terminal.host.run("ls -A | cat").text == "a.sh\nlog\n"
    terminal.host.close()


def test_a_program_is_plain_data() -> None:
    terminal = MiniTerminal({"s.txt": "one\ntwo\n"})
    terminal.type("nano s.txt\r")
    twin = copy.deepcopy(terminal.program)
    terminal.type("X")
    assert twin.text.lines == ["one", "two", ""]
    assert terminal.program.text.lines == ["Xone", "two", ""]
    terminal.host.close()


def test_random_numbers_make_a_script_unknown() -> None:
    terminal = MiniTerminal(
        {"r.sh": '#!/bin/bash\nn=$((RANDOM % 10))\nread -p "Guess: " g\n[ "$g" = "$n" ] && echo yes\n'}
    )
    terminal.type("./r.sh\r4\r")
    assert terminal.unknown
    terminal.host.close()


def test_output_that_contradicts_what_was_shown_is_unknown() -> None:
    class Fickle:
        columns, lines, cwd = 80, 24, "/"

        def run(self, command: str, *, stdin: str | None = None, keep: bool = True) -> Run:
            return Run(f"{len(stdin or '')} bytes\n", 0, True, "")

    host: Any = Fickle()
    tape = Tape("count")
    assert not tape.feed(host, "a\n").unknown
    assert tape.feed(host, "b\n").unknown


def test_pauses_are_told_apart() -> None:
    assert timed("a\n@@worldline-sleeps-0.5@@b@@worldline-sleeps-1m@@") == ("a\n", ((0.5, "b"), (60.0, "")))


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ("ab\n", 2, ["ab"]),
        ("abc\n", 2, ["ab", "c"]),
        ("\tx\n", 12, ["        x"]),
        ("a\n\nb", 9, ["a", "", "b"]),
        ("", 9, []),
    ],
)
def test_layout_of_rows(text: str, columns: int, rows: list[str]) -> None:
    assert [row.text for row in lay_out(text, Layout(columns))] == rows


def test_prompt_comes_back_after_the_program() -> None:
    terminal = MiniTerminal({})
    assert terminal.type("cat\r\x04").endswith(PROMPT.rstrip())
    terminal.host.close()
