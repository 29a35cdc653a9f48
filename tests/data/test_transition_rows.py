"""State transitions as rows of continued pre-training: state before, action, what changed."""

import json

from worldline.data.building import BuildReport, DataOptions, build_rows
from worldline.data.masking import kept
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec, drawn


def bash(command, text=""):
    seen = Observation(text=text, is_error=False)
    return Turn(action=Action(name="bash", arguments={"command": command}), observation=seen)


def transitions(*turns, share=1.0, **options):
    world = WorldSpec(domain="terminal", initial_state={"shell": {"merged": True}})
    whole = Trajectory(source=Source.OBSERVED, world=world, turns=turns, family="f")
    how = DataOptions(stage="cpt", pool="all", mask=False, transitions=share, **options)
    return [row for row in build_rows([whole], how, BuildReport()) if row.turn is not None]


def test_a_transition_shows_the_state_it_begins_in():
    rows = transitions(bash("mkdir a"), bash("echo hello > a/f"), bash("cat a/f", "hello\n"), bash("date", "wrong\n"))
    assert [row.turn for row in rows] == [0, 1, 2], "the last one is not what the kernel answers"
    asked, told = zip(*((row.messages[1].content, row.messages[2].content) for row in rows), strict=True)
    states = [json.loads(text.split("\n")[1]) for text in asked]
    files = [{one["path"] for one in state["files"] if one["path"].startswith("/home/")} for state in states]
    assert files == [set(), {"/home/user/a/"}, {"/home/user/a/", "/home/user/a/f"}]
    assert all(turn in text for turn, text in zip(["mkdir a", "echo hello > a/f", "cat a/f"], asked, strict=True))
    assert (
        told[0].startswith("- files./home/user/a/: added") and "first_line" in told[1] and told[2] == "Nothing changes."
    )
    for row in rows:
        assert [m.role for m in row.messages] == ["system", "user", "assistant"]
        assert [m.weight for m in row.messages] == [0, 0, 1]


def test_the_state_of_a_transition_is_bounded():
    long = "x" * 90
    many = bash("; ".join(f"echo {long} > {long}-{n}" for n in range(60)))
    row = transitions(many, bash("mkdir b"))[-1]
    state = row.messages[1].content.split("\n")[1]
    assert len(state) == 8003 and state.endswith("...")


def test_turns_are_drawn_independently_of_the_mask():
    rows = transitions(*(bash(f"echo {n}", f"{n}\n") for n in range(60)), share=0.5)
    name = rows[0].trajectory
    chosen = {row.turn for row in rows}
    assert chosen == {n for n in range(60) if drawn(f"transition:0:{name}:{n}") < 0.5} and 10 < len(chosen) < 50
    half = {n for n in range(60) if kept(name, n, "transform")}
    assert chosen & half and chosen - half and half - chosen, "half of such turns stay in the loss, others than these"
