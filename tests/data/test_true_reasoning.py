"""What reasoning, state changes and transitions say of a state is true, also of what a description of it leaves out."""

import pytest

from worldline.data.building import BuildReport, DataOptions, build_rows
from worldline.data.effects import same_state
from worldline.data.reasoning import execute_behind, in_words
from worldline.kernels import build_kernel
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec

LEAVES = "It leaves the state as it is."
SHELL = WorldSpec(domain="terminal", initial_state={"shell": {"merged": True}})


def bash(command, text="", **more):
    seen = Observation(text=text, is_error=False)
    return Turn(action=Action(name="bash", arguments={"command": command}), observation=seen, **more)


MADE = bash("printf 'head\\nred\\n' > f")


def told(world, *turns):
    """The reasoning about the last turn, and what it changed."""
    done = execute_behind(world, turns[:-1], turns[-1])
    assert done.true
    return in_words(turns[-1].action, done, "0"), done.changed


def built(stage, *turns, world=SHELL, **options):
    whole = Trajectory(source=Source.OBSERVED, world=world, turns=turns, family="f")
    report = BuildReport()
    return list(build_rows([whole], DataOptions(stage=stage, pool="all", **options), report)), report


@pytest.mark.parametrize("command", ["sed -i s/red/tan/ f", "touch -d 2001-01-01 f"])
def test_a_file_that_changed_where_nobody_looks_is_named(command):
    said, changed = told(SHELL, MADE, bash(command))
    assert changed == ("/home/user/f: changed",)
    assert LEAVES not in said and "- /home/user/f: changed" in said


def test_what_shows_in_the_description_is_told_once():
    _, changed = told(SHELL, MADE, bash("echo more >> f"))
    assert changed == ("files./home/user/f.size: 9 -> 14",)


@pytest.mark.parametrize("command", ["umask 027", "greet() { echo hello; }"])
def test_nothing_is_said_of_what_is_not_known(command):
    """The mask of modes and the bodies of functions stand in no description."""
    before = (MADE, bash("greet() { echo hi; }"))
    said, changed = told(SHELL, *before, bash(command))
    assert changed is None and LEAVES not in said and "changes the state" not in said


def test_a_read_that_changes_nothing_says_so():
    said, changed = told(SHELL, MADE, bash("cat f", "head\nred\n"))
    assert changed == () and LEAVES in said


def test_a_second_edit_of_a_changed_file_is_told():
    root = "/home/user/work"
    files = {f"{root}/a.py": {"content": "one = 1\ntwo = 2\n"}}
    world = WorldSpec(domain="swe", initial_state={"family": "editor", "cwd": root, "files": files})
    kernel = build_kernel(world)
    turns = []
    for call in (
        Action(name="Read", arguments={"file_path": f"{root}/a.py"}),
        Action(name="Edit", arguments={"file_path": f"{root}/a.py", "old_string": "one", "new_string": "three"}),
        Action(name="Edit", arguments={"file_path": f"{root}/a.py", "old_string": "two", "new_string": "four"}),
    ):
        turns.append(Turn(action=call, observation=kernel.propose(call).observation))
        kernel.accept()
    kernel.close()
    said, changed = told(world, *turns)
    assert f"{root}/a.py: changed" in changed and LEAVES not in said
    assert told(world, turns[0], turns[0])[1] == ()


def test_rows_behind_those_that_are_shown_count_as_written():
    script = "CREATE TABLE t (a INTEGER);" + "".join(f"INSERT INTO t VALUES ({n});" for n in range(9))
    world = WorldSpec(domain="database", initial_state={"script": script, "complete": True})
    action = Action(name="execute_sql", arguments={"sql": "UPDATE t SET a = 70 WHERE a = 7"})
    kernel = build_kernel(world)
    seen = kernel.propose(action).observation
    kernel.close()
    _, changed = told(world, Turn(action=action, observation=seen))
    assert "t: written" in changed


def test_a_state_change_is_no_target_where_it_is_not_known():
    turns = (MADE.model_copy(update={"train": 0.0}), bash("umask 027"))
    rows, report = built("sft", *turns, state_change=True)
    assert rows == [] and report.left_out == {"what the action changes is not known": 1}
    [row], _ = built("rl", *turns, state_change=True)
    assert row.target is None
    [row], _ = built("sft", MADE.model_copy(update={"train": 0.0}), bash("sed -i s/red/tan/ f"), state_change=True)
    assert row.target["state_change"] == ["/home/user/f: changed"]
    assert row.messages[-1].content.startswith("<state_change>\n/home/user/f: changed\n</state_change>\n")


@pytest.mark.parametrize("stage", ["sft", "rl"])
@pytest.mark.parametrize("asked", ["model", "both"])
def test_turns_that_say_so_are_never_learned(stage, asked):
    turns = [bash(f"echo {n}", f"{n}\n", train=float(n == 3)) for n in range(6)]
    turns.append(bash("curl -s http://example.com/a", "what nobody foresees\n", train=0.0))
    rows, report = built(stage, *turns, asked=asked, turns_per_trajectory=9)
    assert [row.turn for row in rows] == [3]
    assert report.dropped_turns == {"not for training": 6}


def test_such_turns_stay_in_the_context_of_a_chat_and_are_no_transition():
    turns = [bash(f"mkdir {n}", train=float(n == 1)) for n in range(3)]
    whole, *transitions = built("cpt", *turns, transitions=1.0, mask=False)[0]
    assert [m.weight for m in whole.messages if m.role == "assistant"] == [0, 1, 0]
    assert [row.turn for row in transitions] == [1]


def test_dumps_of_another_kind_are_the_same_only_if_they_are_equal():
    assert same_state(b"a", b"a") and not same_state(b"a", b"b")
    assert not same_state(b"\x28\xb5\x2f\xfdno", b"\x28\xb5\x2f\xfdon")
