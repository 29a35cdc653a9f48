"""Real repositories in the box: a fix of a real release, tools on bad input, and the kernel held against all of it."""

import random
from pathlib import Path

import pytest

from worldline.control.verifier import VerifierSpec, verify
from worldline.domains.comparing import compare
from worldline.kernels import build_kernel
from worldline.record.environment import build_environment
from worldline.record.plan import ToolPlan
from worldline.record.recording import record_session
from worldline.record.sandbox import Surroundings
from worldline.record.swe import environment, explorer
from worldline.record.swe.plans import release_tasks, task_world
from worldline.types import Action, Observation, Turn, WorldSpec

pytestmark = pytest.mark.sandbox

ROOT = "/home/user/work"
FILES = {
    "README.md": "# Work\n\nSome text.\n",
    "src/a.py": "import os\n\n\ndef alpha(x):\n    return x + 1\n\n\ndef beta(x):\n    return alpha(x) + 1\n",
    "src/b.py": "from a import alpha\n\nVALUE = alpha(1)\n",
    "tests/test_a.py": "from a import alpha\n\n\ndef test_alpha():\n    assert alpha(1) == 2\n",
    "data.bin": {"base64": "AAECAw=="},
    "latin.txt": {"base64": "Y2Fm6Qo="},
    "empty.txt": "",
    "locked.txt": "secret\n",
    "outside": {"kind": "symlink", "target": "/tmp"},
    "alias.py": {"kind": "symlink", "target": "src/a.py"},
    ".gitignore": "build/\n",
}


def world(family: str) -> WorldSpec:
    state = {"family": family, "cwd": ROOT, "files": FILES, "env": {"PYTHONPATH": f"{ROOT}/src"}}
    return WorldSpec(domain="swe", initial_state=state)


def editor(name: str, **arguments: object) -> Action:
    return Action(name=name, arguments={key.replace("opt_", "-"): value for key, value in arguments.items()})


A = f"{ROOT}/src/a.py"
LOCK = "chmod 000 locked.txt"
EDITOR = (
    editor("Read", file_path=A),
    editor("Read", file_path="src/a.py", offset=4, limit=2),
    editor("Edit", file_path=A, old_string="x + 1\n\n", new_string="x + 2\n# two\n\n"),
    editor("Edit", file_path=A, old_string="alpha", new_string="first"),
    editor("Edit", file_path=A, old_string="alpha", new_string="first", replace_all=True),
    editor("Edit", file_path=A, old_string="nowhere", new_string="x"),
    editor("Edit", file_path=A, old_string="x", new_string="x"),
    editor("Edit", file_path=f"{ROOT}/src/b.py", old_string="VALUE", new_string="V"),
    editor("Edit", file_path=f"{ROOT}/new/deep.py", old_string="", new_string="x = 1\n"),
    editor("Bash", command="git status --short; git diff"),
    editor("Bash", command="echo '# more' >> src/a.py"),
    editor("Edit", file_path=A, old_string="# two", new_string="# 2"),
    editor("Write", file_path=A, content="x = 1\n"),
    editor("Read", file_path=A),
    editor("Write", file_path=A, content="x = 1\ny = 2"),
    editor("Write", file_path=f"{ROOT}/outside/x.py", content="x"),
    editor("Write", file_path=f"{ROOT}/../x.py", content="x"),
    editor("Write", file_path="/etc/passwd", content="x"),
    editor("Write", file_path=f"{ROOT}/README.md/x.py", content="x"),
    editor("Write", file_path=f"{ROOT}/src", content="x"),
    editor("Read", file_path=f"{ROOT}/alias.py"),
    editor("Read", file_path=f"{ROOT}/data.bin"),
    editor("Read", file_path=f"{ROOT}/latin.txt"),
    editor("Read", file_path=f"{ROOT}/empty.txt"),
    editor("Bash", command=LOCK),
    editor("Read", file_path=f"{ROOT}/locked.txt"),
    editor("Bash", command="chmod 644 locked.txt"),
    editor("Read", file_path=f"{ROOT}/README.rst"),
    editor("Read", file_path=f"{ROOT}/README.md", offset=40),
    editor("Read", file_path=ROOT),
    editor("Read", file_path="/etc/hostname"),
    editor("Bash", command="seq 1 90000 > big.txt; yes | head -2500 | tr -d '\\n' > wide.txt"),
    editor("Read", file_path=f"{ROOT}/big.txt"),
    editor("Read", file_path=f"{ROOT}/big.txt", offset=89999),
    editor("Read", file_path=f"{ROOT}/wide.txt"),
    editor("Bash", command="cat big.txt"),
    editor("Bash", command="rm big.txt wide.txt"),
    editor("Glob", pattern="**/*.py"),
    editor("Glob", pattern="src/[ab].{py,js}"),
    editor("Glob", pattern="*.zig"),
    editor("Glob", pattern="*", path=f"{ROOT}/nope"),
    editor("Glob", pattern=f"{ROOT}/tests/*.py"),
    editor("Grep", pattern=r"def \w+", output_mode="content"),
    editor("Grep", pattern="import|return", output_mode="content", opt_C=1, path="tests"),
    editor("Grep", pattern="ALPHA", opt_i=True),
    editor("Grep", pattern="alpha", output_mode="count", glob="*.py"),
    editor("Grep", pattern="alpha", output_mode="content", opt_n=False, head_limit=1),
    editor("Grep", pattern="zzz", output_mode="content"),
    editor("Grep", pattern="(a"),
    editor("Grep", pattern="[a"),
    editor("Grep", pattern="a", path="nope"),
    editor("Grep", pattern="a", output_mode="all"),
    editor("Bash", command="cd src; export COLOUR=red; f() { :; }"),
    editor("Bash", command="pwd; echo [$COLOUR]"),
    editor("Bash", command="cd /tmp"),
    editor("Bash", command="pwd; exit 3"),
    editor("Bash", command="echo $?; ls nope; echo out"),
    editor("Bash", command="true"),
    editor("Bash", command="if then"),
    editor("Bash", command="git add -A && git commit -m 'All of it' && git log --stat --format='%an %s'"),
    editor("Bash", command="mkdir gone; cd gone; rmdir ../gone"),
    editor("Bash", command="pwd"),
    editor("Read"),
    editor("Read", file_path=3, offset="x", more=1),
    editor("Frobnicate", x=1),
    editor("Bash", command="python -m pytest -q nope.py"),
    editor("Bash", command="python -m pytest -q empty.txt"),
)
ENVELOPE = (
    editor("list_directory", path=ROOT),
    editor("list_directory", path=f"{ROOT}/src", ignore=["b*"]),
    editor("list_directory", path=f"{ROOT}/nope"),
    editor("list_directory", path="/tmp"),
    editor("list_directory", path=A),
    editor("read_file", absolute_path=A),
    editor("read_file", absolute_path=A, offset=2, limit=2),
    editor("read_file", absolute_path=A, offset=99),
    editor("read_file", absolute_path=f"{ROOT}/data.bin"),
    editor("read_file", absolute_path=f"{ROOT}/latin.txt"),
    editor("read_file", absolute_path=f"{ROOT}/empty.txt"),
    editor("run_shell_command", command=LOCK),
    editor("read_file", absolute_path=f"{ROOT}/locked.txt"),
    editor("run_shell_command", command="chmod 644 locked.txt"),
    editor("read_file", absolute_path=f"{ROOT}/nope"),
    editor("read_file", absolute_path=f"{ROOT}/src"),
    editor("read_file", absolute_path="/etc/passwd"),
    editor("read_file", absolute_path=f"{ROOT}/outside"),
    editor("read_file", absolute_path="src/a.py"),
    editor("read_file"),
    editor("read_file", absolute_path=A, limit="2"),
    editor("edit", file_path=A, old_string="x + 1", new_string="x + 2"),
    editor("edit", file_path=A, old_string="alpha", new_string="first"),
    editor("edit", file_path=A, old_string="alpha", new_string="first", expected_replacements=2),
    editor("edit", file_path=A, old_string="zzz", new_string="y"),
    editor("edit", file_path=A, old_string="import os", new_string="import os"),
    editor("edit", file_path=A, old_string="", new_string="y"),
    editor("edit", file_path=f"{ROOT}/c.py", old_string="", new_string="y = 1\n"),
    editor("edit", file_path=f"{ROOT}/d.py", old_string="x", new_string="y"),
    editor("write_file", file_path=f"{ROOT}/build/x.py", content="alpha = 1\n"),
    editor("write_file", file_path=f"{ROOT}/fresh/x.py", content="alpha = 1\n"),
    editor("write_file", file_path=f"{ROOT}/fresh/x.py", content="  alpha = 2\n"),
    editor("write_file", file_path=f"{ROOT}/outside/x.py", content="x"),
    editor("write_file", file_path="/home/user/x.py", content="x"),
    editor("search_file_content", pattern="ALPHA|first"),
    editor("search_file_content", pattern="alpha", include="*.py"),
    editor("search_file_content", pattern="alpha", path="tests"),
    editor("search_file_content", pattern="alpha", include="src/*.py"),
    editor("search_file_content", pattern="alpha", path=f"{ROOT}/nope"),
    editor("search_file_content", pattern="(a"),
    editor("search_file_content", pattern="[[:upper:]]{4}", include="*.md"),
    editor("search_file_content", pattern=r"\bzz"),
    editor("glob", pattern="**/README*"),
    editor("glob", pattern="readme*"),
    editor("glob", pattern="readme*", case_sensitive=True),
    editor("glob", pattern="*.py", path="src"),
    editor("run_shell_command", command="pwd; ls nope; X=1", directory="src"),
    editor("run_shell_command", command="echo [$X]; pwd"),
    editor("run_shell_command", command="ls", directory="nope"),
    editor("run_shell_command", command="ls", directory="/tmp"),
    editor("run_shell_command", command=" "),
    editor("run_shell_command", command="git diff --stat; exit 7"),
    editor("frobnicate"),
)


@pytest.mark.parametrize(("family", "actions"), [("editor", EDITOR), ("envelope", ENVELOPE)])
def test_the_kernel_answers_as_the_real_tools_do(family: str, actions: tuple[Action, ...]):
    kernel, wrong = build_kernel(world(family)), []
    kernel_hosts = set(Path("/tmp").iterdir())
    with build_environment(world(family)) as real:
        for action in actions:
            truth = real.step(action)
            proposal = kernel.propose(action)
            if not (proposal.known and _same(proposal.observation, truth)):
                wrong.append((action.render(), truth.text[:300], proposal.observation.text[:300], proposal.why))
            kernel.absorb(Turn(action=action, observation=truth))
    assert not wrong
    assert not any(path.name == "x.py" for path in set(Path("/tmp").iterdir()) - kernel_hosts)


def _same(told: Observation, seen: Observation) -> bool:
    cut = "Process Group PGID: "
    return told.is_error == seen.is_error and told.text.partition(cut)[0] == seen.text.partition(cut)[0]


def test_a_real_fix_makes_real_tests_pass():
    task = next(task for task in release_tasks() if task["new"] == "tinydb-4.8.2")
    spec = task_world(task, "fixes", "editor", random.Random(0))
    who, turns = explorer(spec, 3), []
    who._mistakes = 0.0
    kernel = build_kernel(spec)
    verifier = VerifierSpec.model_validate(spec.verifier)
    with environment(spec, Surroundings()) as real:
        while len(turns) < 30 and (action := who.next(turns)) is not None:
            turn = Turn(action=action, observation=real.step(action))
            proposal = kernel.propose(action)
            if proposal.known:
                assert compare(proposal.observation, turn.observation).exact, action.render()
            else:
                assert " passed" not in proposal.observation.text
            kernel.absorb(turn)
            if not turns:
                assert verify(verifier, kernel, turn.observation).reward == 0
            turns.append(turn)
    command = f"python -m pytest -q {' '.join(task['failing'])}"
    runs = [turn.observation for turn in turns if turn.action.command == command]
    assert runs[0].is_error and "1 failed" in runs[0].text
    assert not runs[-1].is_error and "1 passed" in runs[-1].text
    verdict = verify(verifier, kernel, turns[-1].observation)
    assert verdict.known and verdict.reward == 1.0


def test_commands_that_never_end_or_fill_memory_do_no_harm():
    with build_environment(world("editor")) as real:
        assert "timed out" in real.step(editor("Bash", command="while :; do :; done", timeout=300)).text
        assert "[1 lines truncated]" not in real.step(editor("Bash", command="echo fine")).text
        flood = real.step(editor("Bash", command="yes abc | head -c 3000000"))
        assert len(flood.text) < 31_000 and "lines truncated" in flood.text
        network = real.step(
            editor("Bash", command="python -c 'import socket; socket.create_connection((\"1.1.1.1\", 80))'")
        )
        assert network.is_error and "Network is unreachable" in network.text
        assert real.step(editor("Bash", command="pwd")).text == ROOT


def test_a_session_is_recorded_with_what_is_volatile():
    actions = (
        editor("run_shell_command", command="git log --format=%ct -1"),
        editor("edit", file_path=A, old_string="x + 1", new_string="x + 3"),
        editor("run_shell_command", command="python -m pytest -q tests/test_a.py"),
    )
    recorded = record_session(ToolPlan(family="own", world=world("envelope"), actions=actions))
    clock, edit, tests = recorded.turns
    assert clock.observation.volatile and "Process Group" in clock.observation.text
    assert edit.determined and not edit.observation.volatile
    assert (
        tests.observation.is_error
        and "assert 4 == 2" in tests.observation.text
        and "in 0.00s" in tests.observation.text
    )
    assert recorded.origin["programs"]["pytest"] and recorded.origin["programs"]["git"]


@pytest.mark.parametrize("family", ["editor", "envelope"])
def test_a_plain_command_is_asked_of_both(family: str):
    kernel, action = build_kernel(world(family)), Action(name="bash", arguments={"command": "pwd; ls nope; exit 4"})
    with build_environment(world(family)) as real:
        truth = real.step(action)
    told = kernel.propose(action).observation
    assert (told.text, told.exit_code) == (truth.text, truth.exit_code)
    assert truth.exit_code == 4 and truth.is_error


def test_versions_are_told():
    assert {"bash", "git", "grep", "pytest", "python3"} <= set(build_environment(world("editor")).versions())


@pytest.mark.parametrize(
    ("family", "actions"),
    [
        (
            "editor",
            (
                editor("Bash", command="echo a\0b"),
                editor("Write", file_path=f"{ROOT}/x\0.py", content="x"),
                editor("Read", file_path="x\0"),
                editor("Glob", pattern="*", path="\0"),
                editor("Grep", pattern="a\0b"),
                editor("Bash", command=f"rm -rf {ROOT}"),
                editor("Bash", command="pwd"),
                editor("Read", file_path="README.md"),
            ),
        ),
        (
            "envelope",
            (
                editor("run_shell_command", command="echo a\0b"),
                editor("write_file", file_path=f"{ROOT}/x\0.py", content="x"),
                editor("run_shell_command", command="chmod 000 src/a.py tests"),
                editor("edit", file_path=A, old_string="x + 1", new_string="x + 2"),
                editor("list_directory", path=f"{ROOT}/tests"),
                editor("search_file_content", pattern="a\0b"),
                editor("run_shell_command", command=f"chmod 755 tests; rm -rf {ROOT}"),
                editor("run_shell_command", command="pwd"),
                editor("glob", pattern="*"),
                editor("search_file_content", pattern="a"),
            ),
        ),
    ],
)
def test_what_no_tool_foresees_is_an_error_observation(family: str, actions: tuple[Action, ...]):
    works = ("chmod", "rm -rf")
    with build_environment(world(family)) as real:
        for action in actions:
            seen = real.step(action)
            assert seen.is_error is not any(word in str(action.arguments.get("command")) for word in works), action
            assert not real.ended and "The tools ended" not in seen.text
            if action.name in ("edit", "list_directory"):
                assert "EACCES: permission denied" in seen.text


def test_names_that_are_no_text_are_shown(tmp_path):
    with build_environment(world("envelope")) as real:
        assert not real.step(editor("run_shell_command", command="touch $'odd\\xff.txt'")).is_error
        seen = real.step(editor("list_directory", path=ROOT))
    assert "odd\ufffd" in seen.text
    seen.model_dump_json()


FORGE = (
    "for p in /proc/[0-9]*; do for text in '}{' '[]' '{\"text\": 3}' '{\"text\": \"x\", \"error\": false}'; do "
    'echo "$text" > $p/fd/198; done; done 2>/dev/null; echo $?'
)


def test_a_command_cannot_answer_in_the_tools_place():
    with build_environment(world("editor")) as real:
        assert real.step(editor("Bash", command=FORGE)).text == "1"
        assert real.step(editor("Bash", command="echo still here")).text == "still here"
