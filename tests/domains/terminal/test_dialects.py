import pytest

from worldline.domains.terminal.dialects import (
    command_lines,
    to_command,
    to_keystrokes,
    trajectory_to_commands,
    trajectory_to_keystrokes,
)
from worldline.domains.terminal.keystrokes import keystroke_action, typed
from worldline.errors import ActionError
from worldline.kernels.screen import ScreenKernel
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec

PROMPT = "user@box:~$"


def command(text: str) -> Action:
    return Action(name="bash", arguments={"command": text})


def typing(*texts: str) -> Action:
    return keystroke_action([{"keystrokes": text, "duration": 0.5} for text in texts])


def test_command_is_typed_with_enter():
    action = to_keystrokes(command("ls -l"), duration=2.0)
    keys = typed(action)
    assert keys is not None and [(key.text, key.duration) for key in keys] == [("ls -l\n", 2.0)]
    assert to_keystrokes(action) is action
    with pytest.raises(ValueError, match="neither"):
        to_keystrokes(Action(name="look"))
    with pytest.raises(ActionError):
        to_keystrokes(command("ls"), duration=-1.0)


@pytest.mark.parametrize(
    ("texts", "lines"),
    [
        (["ls\n"], ("ls",)),
        (["cd x\nls\n"], ("cd x", "ls")),
        (["l", "s", "\n"], ("ls",)),
        (["ls", "Enter"], ("ls",)),
        (["for i in 1 2\ndo echo $i\ndone\n"], ("for i in 1 2\ndo echo $i\ndone",)),
        (["cat <<E\na\n\nE\npwd\n"], ("cat <<E\na\n\nE", "pwd")),
        (["ls"], None),
        (["ls\n", "C-c"], None),
        (["\n"], None),
        (["echo 'a\n"], None),
        (["Up", "\n"], None),
        ([""], None),
    ],
)
def test_lines_that_are_typed(texts: list[str], lines: tuple[str, ...] | None):
    action = typing(*texts)
    assert command_lines(action) == lines
    back = to_command(action)
    assert (back.command if back is not None else None) == (None if lines is None else "\n".join(lines))


def test_round_trip_of_actions():
    assert to_command(to_keystrokes(command("echo a && ls"))) == command("echo a && ls")
    assert to_command(command("ls")) == command("ls")
    assert to_command(Action(name="look")) is None
    assert command_lines(command("ls")) is None


def session(world: WorldSpec, *turns: tuple[Action, str]) -> Trajectory:
    made = tuple(Turn(action=action, observation=Observation.from_text(text)) for action, text in turns)
    return Trajectory(world=world, turns=made, source=Source.OBSERVED)


SCREEN_WORLD = WorldSpec(domain="terminal", initial_state={"screen": {}, "packages": []})


def test_output_is_cut_out_of_the_screen():
    first = f"{PROMPT} echo a\na\n{PROMPT}"
    long = "echo " + "b" * 150
    second = f"{first} {long[:107]}\n{long[107:]}\n{long[5:125]}"
    found = trajectory_to_commands(
        session(
            SCREEN_WORLD,
            (typing("echo a\n"), first),
            (typing("cd /tmp\npwd\n"), f"{first} cd /tmp\nuser@box:/tmp$ pwd\n/tmp\nuser@box:/tmp$"),
            (typing("true\n"), "user@box:/tmp$ true\nuser@box:/tmp$"),
            (typing("C-c"), f"{first}^C\n{PROMPT}"),
            (typing("sleep 9\n"), f"{first} sleep 9"),
            (typing("printf x\n"), f"{PROMPT} printf x\nx{PROMPT}"),
            (typing("seq 99\n"), "\n".join([*map(str, range(61, 100)), PROMPT])),
            (typing(f"{long}\n"), f"{second}\n{PROMPT}"),
        )
    )
    turns = found.trajectory.turns
    assert [(turn.action.command, turn.observation.text) for turn in turns] == [
        ("echo a", "a\n"), ("cd /tmp", ""), ("pwd", "/tmp\n"), ("true", ""),
    ]  # fmt: skip
    assert len(found.apart) == 5 and found.converted == 4
    assert "screen" not in found.trajectory.world.initial_state


def test_commands_become_screens_that_the_kernel_shows_too():
    world = WorldSpec(domain="terminal", initial_state={"packages": [], "files": {"/home/user/d/f": "one\ntwo\n"}})
    found = trajectory_to_keystrokes(
        session(
            world,
            (command("cat d/f"), "one\ntwo\n"),
            (command("cd d"), ""),
            (command("wc -l f"), "2 f\n"),
            (command("echo " + "x" * 130), "x" * 130 + "\n"),
        )
    )
    assert not found.apart
    kernel = ScreenKernel(found.trajectory.world)
    for turn in found.trajectory.turns:
        seen = kernel.propose(turn.action)
        assert seen.known and seen.observation.text == turn.observation.text
        kernel.accept()


def test_what_a_terminal_shows_otherwise_is_kept_apart():
    world = WorldSpec(domain="terminal", initial_state={})
    found = trajectory_to_keystrokes(
        session(
            world,
            (command("ls"), "a\nb\n"),
            (command("echo x"), "x\n"),
            (command("seq 60"), "".join(f"{number}\n" for number in range(1, 61))),
            (command("printf x"), "x"),
        )
    )
    assert [turn.action.command for turn in found.apart] == ["ls", "echo x", "printf x"]
    assert found.trajectory.turns[0].observation.text.split("\n")[0] == "22"


def test_screens_and_commands_there_and_back():
    kernel = ScreenKernel(SCREEN_WORLD)
    turns = []
    for text in ("echo one\n", "mkdir sub\n", "cd sub\n", "echo x > f; wc f\n"):
        seen = kernel.propose(typing(text))
        kernel.accept()
        turns.append((typing(text), seen.observation.text))
    there = trajectory_to_commands(session(SCREEN_WORLD, *turns))
    assert not there.apart
    back = trajectory_to_keystrokes(there.trajectory)
    assert [turn.observation.text for turn in back.trajectory.turns] == [text for _, text in turns]
