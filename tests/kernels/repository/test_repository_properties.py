"""What holds of any edits: they can be read back, forks go their own ways, and a dumped state is the same state."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worldline.errors import KernelError
from worldline.kernels import Kernel, build_kernel
from worldline.types import Action, Observation, WorldSpec

ROOT = "/home/user/work"
WORLD = WorldSpec(
    domain="swe",
    initial_state={"family": "envelope", "cwd": ROOT, "files": {"a.py": "x = 1\n", "lib/b.py": "y = 2\n"}},
)
EDITOR = WORLD.model_copy(update={"initial_state": {**WORLD.initial_state, "family": "editor"}})

LINES = st.lists(
    st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=12), max_size=6
)
NAMES = st.sampled_from(["a.py", "lib/b.py", "new.txt", "lib/deep/c.py", "with blank.md"])
FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def call(kernel: Kernel, name: str, **arguments: object) -> Observation:
    proposal = kernel.propose(Action(name=name, arguments=arguments))
    assert proposal.known, proposal.why
    kernel.accept()
    return proposal.observation


def content(kernel: Kernel, name: str) -> str:
    return call(kernel, "read_file", absolute_path=f"{ROOT}/{name}").text


@FEW
@given(name=NAMES, lines=LINES)
def test_what_was_written_is_read_back(name: str, lines: list[str]):
    kernel, text = build_kernel(WORLD), "\n".join(lines)
    call(kernel, "write_file", file_path=f"{ROOT}/{name}", content=text)
    assert content(kernel, name) == text
    shown = call(kernel, "run_shell_command", command=f"cat '{name}' | wc -c").text
    assert f"Output: {len(text.encode())}\n" in shown


@FEW
@given(
    lines=st.lists(st.sampled_from(["one", "two", "three", ""]), min_size=1, max_size=8),
    new=st.sampled_from(["four", "", "one two"]),
)
def test_an_edit_replaces_as_often_as_it_says(lines: list[str], new: str):
    kernel, text = build_kernel(WORLD), "\n".join(lines)
    call(kernel, "write_file", file_path=f"{ROOT}/a.py", content=text)
    count = text.count("two")
    arguments = {
        "file_path": f"{ROOT}/a.py",
        "old_string": "two",
        "new_string": new,
        "expected_replacements": count or 1,
    }
    done = call(kernel, "edit", **arguments)
    assert done.is_error == (count == 0)
    assert content(kernel, "a.py") == text.replace("two", new)


@FEW
@given(first=LINES, second=LINES)
def test_forks_go_their_own_ways(first: list[str], second: list[str]):
    kernel = build_kernel(WORLD)
    twin = kernel.fork()
    call(kernel, "write_file", file_path=f"{ROOT}/a.py", content="\n".join(first))
    call(twin, "write_file", file_path=f"{ROOT}/a.py", content="\n".join(second))
    assert content(kernel, "a.py") == "\n".join(first)
    assert content(twin, "a.py") == "\n".join(second)
    assert content(build_kernel(WORLD), "a.py") == "x = 1\n"


def test_a_rejected_proposal_changes_nothing():
    kernel = build_kernel(WORLD)
    for action in (
        Action(name="write_file", arguments={"file_path": f"{ROOT}/a.py", "content": "z"}),
        Action(name="run_shell_command", arguments={"command": "rm a.py; git commit -q --allow-empty -m x"}),
    ):
        kernel.propose(action)
        kernel.reject()
    assert content(kernel, "a.py") == "x = 1\n"
    assert "Output: 1\n" in call(kernel, "run_shell_command", command="git rev-list --count HEAD").text


def test_a_dumped_state_is_the_same_state():
    kernel = build_kernel(EDITOR)
    call(kernel, "Read", file_path=f"{ROOT}/a.py")
    call(kernel, "Bash", command="cd lib && echo '# end' >> b.py && git commit -qam more")
    other = build_kernel(EDITOR)
    other.load(kernel.dump())
    for command in ("pwd", "cat b.py", "git log --oneline"):
        assert call(other, "Bash", command=command) == call(kernel, "Bash", command=command)
    call(other, "Edit", file_path=f"{ROOT}/a.py", old_string="1", new_string="3")
    assert other.describe()["git_status"] == ["## main", " M a.py"]


@pytest.mark.parametrize("data", [b"", b"nonsense", b"worldline-repository-1\n{}\n", b"worldline-repository-1\n[1]\nx"])
def test_damaged_states_are_refused(data: bytes):
    with pytest.raises(KernelError):
        build_kernel(WORLD).load(data)


def test_the_state_of_another_world_is_refused():
    with pytest.raises(KernelError):
        build_kernel(WORLD).load(build_kernel(EDITOR).dump())
