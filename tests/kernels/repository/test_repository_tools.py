"""The repository kernel's file tools, in both families, on a small repository declared inline."""

import pytest

from worldline.kernels import Kernel, build_kernel
from worldline.types import Action, Observation, Turn, WorldSpec

ROOT = "/home/user/work"
FILES = {
    "README.md": "# Work\n",
    "src/a.py": "import os\n\n\ndef alpha(x):\n    return x + 1\n\n\ndef beta(x):\n    return alpha(x) + 1\n",
    "src/b.py": "from a import alpha\n",
    "empty.txt": "",
    "tests/test_a.py": "from a import alpha\n\n\ndef test_alpha():\n    assert alpha(1) == 2\n",
    "data.bin": {"base64": "AAECAw=="},
    "latin.txt": {"base64": "Y2Fm6Qo="},
    "locked.txt": {"content": "secret\n", "mode": "400"},
    "outside": {"kind": "symlink", "target": "/tmp"},
    "alias.py": {"kind": "symlink", "target": "src/a.py"},
}


def kernel_of(family: str = "editor", **state: object) -> Kernel:
    return build_kernel(WorldSpec(domain="swe", initial_state={"family": family, "cwd": ROOT, "files": FILES, **state}))


@pytest.fixture
def editor() -> Kernel:
    return kernel_of()


@pytest.fixture
def envelope() -> Kernel:
    return kernel_of("envelope")


def call(kernel: Kernel, name: str, **arguments: object) -> Observation:
    proposal = kernel.propose(Action(name=name, arguments=arguments))
    assert proposal.known, proposal.why
    kernel.accept()
    return proposal.observation


def refused(kernel: Kernel, name: str, **arguments: object) -> str:
    observation = call(kernel, name, **arguments)
    assert observation.is_error
    return observation.text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")


def test_reads_show_numbers(editor: Kernel):
    text = call(editor, "Read", file_path=f"{ROOT}/src/a.py", offset=4, limit=2).text
    assert text == "     4→def alpha(x):\n     5→    return x + 1"


def test_an_edit_shows_its_surroundings_and_is_read_back(editor: Kernel):
    call(editor, "Read", file_path=f"{ROOT}/src/a.py")
    text = call(editor, "Edit", file_path=f"{ROOT}/src/a.py", old_string="x + 1\n\n", new_string="x + 2\n\n").text
    assert text.splitlines()[1:4] == ["     1→import os", "     2→", "     3→"]
    assert "     5→    return x + 2" in call(editor, "Read", file_path=f"{ROOT}/src/a.py").text
    assert "-    return x + 1" in call(editor, "Bash", command="git diff").text


def test_what_was_not_read_is_not_edited(editor: Kernel):
    arguments = {"file_path": f"{ROOT}/src/b.py", "old_string": "alpha", "new_string": "beta"}
    assert refused(editor, "Edit", **arguments).startswith("File has not been read yet")
    call(editor, "Read", file_path=f"{ROOT}/src/b.py")
    call(editor, "Bash", command="echo >> src/b.py")
    assert refused(editor, "Edit", **arguments).startswith("File has been modified")


def test_texts_must_be_there_and_unique(editor: Kernel):
    path = f"{ROOT}/src/a.py"
    call(editor, "Read", file_path=path)
    assert "not found" in refused(editor, "Edit", file_path=path, old_string="gamma", new_string="x")
    assert "Found 2 matches" in refused(editor, "Edit", file_path=path, old_string="alpha", new_string="x")
    assert "exactly the same" in refused(editor, "Edit", file_path=path, old_string="x", new_string="x")
    done = call(editor, "Edit", file_path=path, old_string="alpha", new_string="first", replace_all=True)
    assert "All occurrences" in done.text
    assert "first(x) + 1" in call(editor, "Bash", command="cat src/a.py").text


def test_missing_files_name_their_neighbours(editor: Kernel):
    assert refused(editor, "Read", file_path=f"{ROOT}/src/a.js") == "File does not exist. Did you mean a.py?"
    assert refused(editor, "Read", file_path=f"{ROOT}/src/zzz.py") == "File does not exist."
    assert refused(editor, "Read", file_path=f"{ROOT}/src").startswith("EISDIR")


@pytest.mark.parametrize("name", ["/etc/passwd", "/home/user/x.py", f"{ROOT}/../x.py", f"{ROOT}/outside/x.py"])
def test_nothing_outside_of_the_root_is_written(name: str, editor: Kernel, envelope: Kernel):
    assert "outside of the working directory" in refused(editor, "Write", file_path=name, content="x")
    assert "must be within the workspace" in refused(envelope, "write_file", file_path=name, content="x")
    assert refused(envelope, "edit", file_path=name, old_string="", new_string="x")
    assert call(editor, "Bash", command="ls /tmp").text == "Tool ran without output"


def test_a_link_inside_is_followed(editor: Kernel):
    call(editor, "Read", file_path=f"{ROOT}/alias.py")
    call(editor, "Edit", file_path=f"{ROOT}/alias.py", old_string="import os", new_string="import re")
    assert call(editor, "Bash", command="head -1 src/a.py; ls -l alias.py | cut -c1").text == "import re\nl"


def test_binary_unreadable_and_odd_files(editor: Kernel, envelope: Kernel):
    assert "binary" in refused(editor, "Read", file_path=f"{ROOT}/data.bin")
    assert "binary" in call(envelope, "read_file", absolute_path=f"{ROOT}/data.bin").text
    assert call(editor, "Read", file_path=f"{ROOT}/latin.txt").text == "     1→caf\ufffd"
    assert "it is empty" in call(editor, "Read", file_path=f"{ROOT}/empty.txt").text
    assert "lines, fewer than" in call(editor, "Read", file_path=f"{ROOT}/README.md", offset=9).text
    call(editor, "Bash", command="chmod 400 README.md")
    call(editor, "Read", file_path=f"{ROOT}/README.md")
    assert "EACCES" in refused(editor, "Edit", file_path=f"{ROOT}/README.md", old_string="Work", new_string="x")
    assert "ENOTDIR" in refused(editor, "Write", file_path=f"{ROOT}/README.md/x.py", content="")


def test_huge_files_are_read_in_parts(editor: Kernel):
    call(editor, "Bash", command="seq 1 90000 > big.txt")
    assert "exceeds maximum allowed size (256KB)" in refused(editor, "Read", file_path=f"{ROOT}/big.txt")
    assert call(editor, "Read", file_path=f"{ROOT}/big.txt", offset=70000, limit=1).text == " 70000→70000"


def test_files_are_found_by_patterns(editor: Kernel, envelope: Kernel):
    assert call(editor, "Glob", pattern="**/*.py").text.split("\n") == [
        f"{ROOT}/{name}" for name in ("alias.py", "src/a.py", "src/b.py", "tests/test_a.py")
    ]
    assert call(editor, "Glob", pattern="src/[ab].{py,js}").text == f"{ROOT}/src/a.py\n{ROOT}/src/b.py"
    assert call(editor, "Glob", pattern="*.zig").text == "No files found"
    assert "Found 1 file(s)" in call(envelope, "glob", pattern="readme*").text
    assert "No files found" in call(envelope, "glob", pattern="readme*", case_sensitive=True).text


def test_contents_are_searched(editor: Kernel, envelope: Kernel):
    found = call(editor, "Grep", pattern=r"def \w+", path=f"{ROOT}/src", output_mode="content").text
    assert found == f"{ROOT}/src/a.py:4:def alpha(x):\n{ROOT}/src/a.py:8:def beta(x):"
    assert call(editor, "Grep", pattern="alpha").text.startswith("Found 3 files\n")
    assert call(editor, "Grep", pattern="alpha", output_mode="count", path="src").text.endswith("across 2 files.")
    assert call(editor, "Grep", pattern="ALPHA", **{"-i": True}, glob="test_*.py").text.startswith("Found 1 file\n")
    text = call(envelope, "search_file_content", pattern="DEF (alpha|beta)", include="*.py").text
    assert text.splitlines()[2:] == ["File: src/a.py", "L4: def alpha(x):", "L8: def beta(x):", "---"]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [("(a", "missing closing parenthesis"), ("[a", "missing terminating ]"), ("*a", "quantifier does not follow")],
)
def test_wrong_patterns_are_refused(pattern: str, said: str, editor: Kernel, envelope: Kernel):
    assert said in refused(editor, "Grep", pattern=pattern)
    assert "Invalid regular expression" in refused(envelope, "search_file_content", pattern=pattern)


def test_patterns_of_perl_alone_are_not_guessed_at(editor: Kernel):
    assert not editor.propose(Action(name="Grep", arguments={"pattern": r"(?|a|b)\K"})).known


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "The required parameter `file_path` is missing"),
        ({"file_path": 3}, "type is expected as `string` but provided as `number`"),
        ({"file_path": "x", "offset": "3"}, "expected as `number` but provided as `string`"),
        ({"file_path": "x", "limit": True}, "provided as `boolean`"),
        ({"file_path": "x", "lines": 3}, "An unexpected parameter `lines` was provided"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, object], said: str, editor: Kernel):
    assert said in refused(editor, "Read", **arguments)


def test_the_envelope_family_checks_arguments_in_its_own_words(envelope: Kernel):
    assert refused(envelope, "read_file") == "params must have required property 'absolute_path'"
    assert refused(envelope, "read_file", absolute_path=f"{ROOT}/x", limit="3") == "params/limit must be number"
    assert "must be absolute" in refused(envelope, "read_file", absolute_path="README.md")
    assert refused(envelope, "frobnicate") == 'Tool "frobnicate" not found in registry.'
    assert "Command cannot be empty" in refused(envelope, "run_shell_command", command="  ")


def test_the_shell_keeps_its_directory_and_nothing_else(editor: Kernel):
    call(editor, "Bash", command="cd src; export COLOUR=red")
    assert call(editor, "Bash", command="pwd; echo [$COLOUR]").text == f"{ROOT}/src\n[]"
    assert call(editor, "Glob", pattern="*.py").text == f"{ROOT}/src/a.py\n{ROOT}/src/b.py"
    assert call(editor, "Bash", command="cd /tmp").text.endswith(f"Shell cwd was reset to {ROOT}")
    assert call(editor, "Bash", command="exit 3").text == "Exit code 3"
    assert call(editor, "Bash", command="pwd").text == ROOT


def test_the_envelope_says_how_a_command_ended(envelope: Kernel):
    lines = call(envelope, "run_shell_command", command="ls nope; pwd", directory="src").text.split("\n")
    assert lines[:2] == ["Command: ls nope; pwd", "Directory: src"]
    assert lines[2:5] == ["Output: ls: cannot access 'nope': No such file or directory", f"{ROOT}/src", "Error: (none)"]
    assert lines[5:8] == ["Exit Code: 0", "Signal: (none)", "Background PIDs: (none)"]
    assert lines[8].startswith("Process Group PGID: ")
    assert call(envelope, "run_shell_command", command="false").is_error


def test_a_test_run_is_known_only_once_it_was_seen(editor: Kernel):
    action = Action(name="Bash", arguments={"command": "python -m pytest -q tests/test_a.py"})
    first = editor.propose(action)
    assert not first.known and "pass" not in first.observation.text
    truth = Observation.from_text("1 passed in 0.00s", is_error=False)
    editor.absorb(Turn(action=action, observation=truth))
    assert editor.propose(action).known and editor.propose(action).observation.text == truth.text
    before = editor.footprint(action)
    call(editor, "Write", file_path=f"{ROOT}/tests/conftest.py", content="")
    assert not editor.propose(action).known
    assert editor.footprint(action) != before


def test_an_unseen_test_run_spoils_nothing(editor: Kernel):
    action = Action(name="Bash", arguments={"command": "cd tests && python -m pytest -q test_a.py | tail -3"})
    editor.absorb(Turn(action=action, observation=Observation.from_text("1 failed in 0.00s", is_error=False)))
    assert call(editor, "Bash", command="pwd && git status --short").text == f"{ROOT}/tests"


def test_an_unforeseen_read_is_believed(editor: Kernel):
    action = Action(name="Read", arguments={"file_path": "/etc/welcome"})
    assert not editor.propose(action).known
    editor.absorb(Turn(action=action, observation=Observation.from_text("     1→hello", is_error=False)))
    assert call(editor, "Read", file_path="/etc/welcome").text == "     1→hello"


def test_no_git_repository(envelope: Kernel):
    plain = kernel_of("envelope", commit=None)
    assert "not a git repository" in refused(plain, "search_file_content", pattern="alpha")
    assert "not a git repository" in call(plain, "run_shell_command", command="git status").text


def test_what_git_ignores_is_not_searched():
    kernel = kernel_of("envelope")
    call(kernel, "write_file", file_path=f"{ROOT}/.gitignore", content="build/\n")
    call(kernel, "write_file", file_path=f"{ROOT}/build/x.py", content="alpha = 1\n")
    call(kernel, "write_file", file_path=f"{ROOT}/fresh.py", content="alpha = 1\n")
    text = call(kernel, "search_file_content", pattern="alpha = ").text
    assert "File: fresh.py" in text and "build" not in text


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (
            "python -m pytest -q nope.py",
            "Exit code 4\nERROR: file or directory not found: nope.py\n\n\nno tests ran in 0.00s",
        ),
        ("pytest tests/test_a.py nope.py -q -x 2>&1 | tail -1", "no tests ran in 0.00s"),
        ("python -m pytest -q empty.txt", "Exit code 5\n\nno tests ran in 0.00s"),
    ],
)
def test_what_is_not_there_is_not_tested(command: str, text: str, editor: Kernel):
    assert call(editor, "Bash", command=command).text == text


@pytest.mark.parametrize(
    "command",
    [
        "python -m pytest",
        "python -m pytest -q tests",
        "python -m pytest nope.py",
        "python -m pytest -q nope.py --frobnicate",
        "pytest -q tests/test_a.py::test_gone",
        "python -m unittest -q nope",
        "timeout 5 pytest -q tests/test_a.py | tail -1",
    ],
)
def test_no_other_test_run_is_foreseen(command: str, editor: Kernel):
    proposal = editor.propose(Action(name="Bash", arguments={"command": command}))
    assert not proposal.known and "passed" not in proposal.observation.text


def test_a_task_that_is_not_done_is_guessed_to_fail():
    command = "python -m pytest -q tests/test_a.py"
    world = WorldSpec(
        domain="swe",
        initial_state={"cwd": ROOT, "files": FILES},
        verifier={"checks": [{"action": {"command": command}, "exit_code": 0}]},
    )
    kernel, action = build_kernel(world), Action(name="Bash", arguments={"command": command})
    assert kernel.propose(action).observation.is_error
    call(kernel, "Write", file_path=f"{ROOT}/src/c.py", content="")
    assert not kernel.propose(action).observation.is_error


def test_a_verifier_believes_a_run_that_was_seen(editor: Kernel):
    command = "python -m pytest -q tests/test_a.py"
    probe = Action(name="bash", arguments={"command": command})
    assert not editor.propose(probe).known
    seen = Observation.from_text("1 passed in 0.00s", is_error=False)
    editor.absorb(Turn(action=Action(name="Bash", arguments={"command": command}), observation=seen))
    assert editor.propose(probe).known and editor.propose(probe).observation.exit_code == 0
    listing = editor.propose(Action(name="bash", arguments={"command": "test -f nope"}))
    assert listing.known and listing.observation.exit_code == 1


def test_other_programs_are_left_to_reality(editor: Kernel):
    for command in ("pip list | head -3", 'python -c "import a; print(a)"', "frobnicate --version"):
        action = Action(name="Bash", arguments={"command": command})
        editor.absorb(Turn(action=action, observation=Observation.from_text("something else", is_error=False)))
    assert call(editor, "Bash", command="git status --short && ls src").text == "a.py\nb.py"


def test_an_edit_that_reality_refused_is_not_done(editor: Kernel):
    path = f"{ROOT}/src/a.py"
    call(editor, "Read", file_path=path)
    action = Action(name="Edit", arguments={"file_path": path, "old_string": "import os", "new_string": "import re"})
    refusal = Observation.from_text("<tool_use_error>The disk is full</tool_use_error>", is_error=True)
    editor.absorb(Turn(action=action, observation=refusal))
    assert call(editor, "Bash", command="head -1 src/a.py").text == "import os"


def test_arguments_may_come_as_json_text():
    from worldline.domains import get_domain

    domain = get_domain("swe")
    action = domain.parse_action({"name": "Read", "arguments": '{"file_path": "/home/user/work/README.md"}'})
    assert action.arguments == {"file_path": "/home/user/work/README.md"}
    text = domain.messages(WorldSpec(domain="swe"), (), action)[-1]["content"]
    assert '"arguments": "{\\"file_path\\": \\"/home/user/work/README.md\\"}"' in text


def test_python_leaves_no_caches_and_a_missing_source_is_told_of_first(editor: Kernel):
    assert call(editor, "Bash", command="cd src && python -c 'import b; print(b.alpha(1))'").text == "2"
    assert call(editor, "Bash", command="git status --short").text == "Tool ran without output"
    said = call(editor, "Bash", command="mv none.py b.py/").text
    assert said == "Exit code 1\nmv: cannot stat 'none.py': No such file or directory"


async def test_a_guess_of_an_engine_that_abstained_proves_nothing():
    from worldline import World

    command = "python -m pytest -q tests/test_a.py"
    spec = WorldSpec(
        domain="swe",
        initial_state={"cwd": ROOT, "files": FILES},
        verifier={"checks": [{"action": {"command": command}, "exit_code": 0}]},
    )
    world = World(spec)
    async with world.session(engine="kernel") as session:
        await session.step({"name": "Write", "arguments": {"file_path": f"{ROOT}/new.py", "content": ""}})
        for _ in range(2):
            step = await session.step({"name": "Bash", "arguments": {"command": command}})
            assert step.abstained and step.reward == 0 and not step.done
