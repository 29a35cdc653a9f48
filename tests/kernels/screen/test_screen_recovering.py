"""Following on after a screen that was not foreseen: two kernels, of which one does something that the other misses."""

from __future__ import annotations

from typing import Any

import pytest
from screen_typing import PROMPT, Typist, keys

from worldline.kernels.screen.guessing import read_column, suspected, written_by
from worldline.types import Observation, Turn

LINES = "".join(f"line {number}\n" for number in range(1, 101))
ASKING = "read -p 'name? ' a; echo \"hello $a\"; read -p 'age? ' b; echo \"$b years\"\n"


def surprised(before: str, missed: str, **state: Any) -> tuple[Typist, Typist]:
    """Type into two terminals; only the first gets `missed` in full, the second sees the screen that came of it."""
    real, follower = Typist(**state), Typist(**state)
    real.type(before)
    follower.type(before)
    screen = real.type(missed)
    follower.kernel.absorb(Turn(action=keys(missed[:1]), observation=Observation.from_text(screen)))
    return real, follower


@pytest.mark.parametrize("after", ["j", " ", "G", "=", "q"])
def test_pager_is_found_where_its_rows_stand(after: str):
    real, follower = surprised("less long.txt\n", "jjjj", files={"/home/user/long.txt": LINES})
    assert follower.guess(after) == real.type(after)


@pytest.mark.parametrize("after", ["\x0f", "\x18", "x"])
def test_editor_takes_the_lines_that_are_shown(after: str):
    real, follower = surprised("nano notes.txt\n", "abc def", files={"/home/user/notes.txt": "one\n\ttwo\n"})
    assert follower.guess(after) == real.type(after)


def test_question_is_answered_behind_its_blank():
    before = "bash ask.sh\n"
    files = {"/home/user/ask.sh": ASKING}
    real, follower = Typist(files=files), Typist(files=files)
    screen = real.type(before)
    follower.kernel.absorb(Turn(action=keys(before), observation=Observation.from_text(f"odd\n{screen}")))
    assert follower.guess("Ann\n") == f"odd\n{real.type(chr(65) + 'nn' + chr(10))}"


def test_script_that_ran_is_not_in_doubt():
    files = {"/home/user/ask.sh": ASKING}
    typist = Typist(files=files)
    typist.type("bash ask.sh\n")
    typist.kernel.absorb(Turn(action=keys("Ann\n"), observation=Observation.from_text("something else? ")))
    ended = f"something else? x\n{PROMPT}"
    typist.kernel.absorb(Turn(action=keys("x\n"), observation=Observation.from_text(ended)))
    assert typist.type("wc -l ask.sh\n") == f"{ended} wc -l ask.sh\n1 ask.sh\n{PROMPT}"


def test_command_goes_on_after_a_surprise():
    typist = Typist()
    action = keys("echo one \\\n")
    typist.kernel.absorb(Turn(action=action, observation=Observation.from_text(f"odd\n{PROMPT} echo one \\\n>")))
    assert typist.type("two\n") == f"odd\n{PROMPT} echo one \\\n> two\none two\n{PROMPT}"


def test_status_is_known_of_what_was_guessed_rightly():
    typist = Typist(packages=None)
    action = keys("nosuchthing\n")
    guess = typist.kernel.propose(action)
    assert not guess.known
    screen = f"{PROMPT} nosuchthing\nbash: nosuchthing: command not found\n{PROMPT}"
    typist.kernel.absorb(Turn(action=action, observation=Observation.from_text(screen)))
    assert typist.type("echo $?\n") == f"{screen} echo $?\n127\n{PROMPT}"


def test_cursor_is_behind_what_is_typed_or_a_blank_behind_a_question():
    assert read_column("name?", "name?", 6) == 6
    assert read_column("other?", "name?", 6) == 7
    assert read_column("other?", "", 0) == 7
    assert read_column("Ann", "", 0) == 3


def test_words_that_may_name_a_file_that_is_written():
    kernel = Typist(files={"/home/user/here": "", "/home/user/run.sh": "echo a > log.txt\n"}).kernel
    kernel.describe()
    assert written_by("./run.sh out.txt", kernel.shell) == "out.txt log.txt"
    assert written_by("python3 tool.py out.txt", kernel.shell) == "out.txt"
    assert written_by("", kernel.shell) == ""
    assert suspected("yes here", kernel.shell).split() == ["here"]
    assert suspected("save there", kernel.shell).split() == ["there"]
