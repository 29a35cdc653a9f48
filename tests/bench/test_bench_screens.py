from worldline.bench.screens import depths
from worldline.domains.terminal.keystrokes import keystroke_action
from worldline.types import Observation, Source, Trajectory, Turn, WorldSpec


def _session(*turns: tuple[str, str]) -> Trajectory:
    return Trajectory(
        world=WorldSpec(domain="terminal", initial_state={"screen": {}}),
        turns=tuple(
            Turn(
                action=keystroke_action([{"keystrokes": typed, "duration": 0.5}]),
                observation=Observation.from_text(seen),
            )
            for typed, seen in turns
        ),
        source=Source.OBSERVED,
    )


def test_depth_counts_from_the_start_of_the_program_to_its_end():
    session = _session(
        ("ls\n", "user@box:~$ ls\na.txt\nuser@box:~$"),
        ("less a.txt\n", "one\ntwo\n(END)"),
        ("j", "one\ntwo\n(END)"),
        ("k", "one\ntwo\n(END)"),
        ("q", "user@box:~$ less a.txt\nuser@box:~$"),
        ("sleep 9\n", "user@box:~$ sleep 9"),
        ("", "user@box:~$ sleep 9"),
    )
    assert depths(session) == {2: ("less", 1), 3: ("less", 2), 4: ("less", 3)}


def test_a_pager_at_the_end_of_a_pipe_counts_and_a_word_within_another_does_not():
    assert depths(_session(("seq 99 | more\n", "1\n--More--"), (" ", "2\n--More--"))) == {1: ("more", 1)}
    assert depths(_session(("./more.sh\n", "name? "), ("Ann\n", "name? Ann"))) == {}
