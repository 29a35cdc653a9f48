from pathlib import Path

import pytest

from worldline.domains import get_domain
from worldline.domains.terminal import TERMINAL
from worldline.errors import ConfigError
from worldline.types import Demonstration, Observation, Turn, WorldSpec

SCREEN = WorldSpec(
    domain="terminal",
    initial_state={"cwd": "/home/user/src", "screen": {"columns": 80, "lines": 24}, "shell": {"mode": "command"}},
)


def turn(keys: str, screen: str) -> Turn:
    return Turn(
        action=TERMINAL.parse_action([{"keystrokes": keys, "duration": 0.5}]), observation=Observation.from_text(screen)
    )


def test_keystrokes_are_shown_as_the_rows_of_the_public_benchmark_show_them():
    history = [turn("ls\n", "user@box:~/src$ ls\na.c\nuser@box:~/src$"), turn("", "user@box:~/src$")]
    chat = TERMINAL.messages(SCREEN, history, TERMINAL.parse_action([]))
    assert chat[1]["content"] == (
        "### Turn 1\n**Current State:**\nuser@box:~/src$\n\n"
        '**Action:**\n```json\n[{"keystrokes": "ls\\n", "duration": 0.5}]\n```'
    )
    assert chat[2]["content"] == "**Environment Observation:**\nuser@box:~/src$ ls\na.c\nuser@box:~/src$\n"
    assert chat[3]["content"] == '### Turn 2\n**Action:**\n```json\n[{"keystrokes": "", "duration": 0.5}]\n```'
    assert chat[5]["content"].startswith("### Turn 3\n**Action:**\n```json\n[]\n```\n\n")
    assert "<predicted_observation>" in chat[5]["content"]
    assert not any("<predicted_observation>" in message["content"] for message in chat[1:5])


def test_the_system_message_describes_a_screen():
    world = SCREEN.model_copy(update={"demonstrations": (Demonstration(turns=(turn("pwd\n", "$ pwd\n/\n$"),)),)})
    system = TERMINAL.messages(world, [], TERMINAL.parse_action([]))[0]["content"]
    for part in (
        "at most 24 rows of 80 columns",
        "80 columns and 24 rows (xterm-256color)",
        "**keystrokes** `string` (REQUIRED)",
    ):
        assert part in system, part
    assert "```\n$ pwd\n/\n$\n```" in system
    for absent in ("[exit code", "[no newline]", "[stderr]", "bash -c", "and its exit status"):
        assert absent not in system, absent


@pytest.mark.parametrize(
    ("state", "line"),
    [
        ({"screen": {}}, "user@box:~$"),
        ({"screen": {}, "user": "root", "cwd": "/srv"}, "root@box:/srv#"),
        ({"screen": {"prompt": r"[\H \W]\\\$ "}, "hostname": "a.b", "cwd": "/srv/app"}, "[a.b app]\\$"),
    ],
)
def test_the_prompt_line_is_that_of_the_world(state: dict, line: str):
    world = WorldSpec(domain="terminal", initial_state=state)
    assert (
        f"**Current State:**\n{line}\n\n**Action:**"
        in TERMINAL.messages(world, [], TERMINAL.parse_action([]))[-1]["content"]
    )


def test_answers_are_screens():
    text = "<think>hm</think>\n<predicted_observation>\n$ ls   \na\n$ \n\n</predicted_observation>"
    assert TERMINAL.parse_answer(text.split("</think>\n")[1], SCREEN) == Observation.from_text("$ ls\na\n$")


def test_a_folder_replaces_prompts(tmp_path: Path):
    with pytest.raises(ConfigError, match="no folder"):
        get_domain("terminal", tmp_path / "none")
    action = TERMINAL.parse_action([])
    (tmp_path / "readme.txt").write_text("nothing")
    with pytest.raises(ConfigError, match="holds no prompt template") as caught:
        get_domain("terminal", tmp_path).messages(SCREEN, [], action)
    assert "system.j2" in (caught.value.hint or "")
    other = tmp_path / "other"
    other.mkdir()
    (other / "system.j2").write_text("{{ screen.lines }} rows.")
    assert get_domain("terminal", other).messages(SCREEN, [], action)[0]["content"].startswith("24 rows.")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "suffix.j2").write_text("{% if %}")
    with pytest.raises(ConfigError, match=r"template suffix\.j2"):
        get_domain("terminal", broken).messages(SCREEN, [], action)
