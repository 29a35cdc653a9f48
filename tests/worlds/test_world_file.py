"""World files: what is read, and which line an error points at."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldline.errors import WorldFileError
from worldline.formats import write_trajectories
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec
from worldline.worlds.file import KEYS, dump_world, load_world_file, parse_world

EXAMPLE = Path(__file__).parents[2] / "examples" / "notes.world.yaml"
REFERENCE = Path(__file__).parents[2] / "docs" / "world-file.md"


def test_example_uses_every_key() -> None:
    spec = load_world_file(EXAMPLE)
    assert {key for key in KEYS if f"\n{key}:" in "\n" + EXAMPLE.read_text("utf-8")} == set(KEYS) - {
        "schema_version",
        "extra",
    }
    assert spec.initial_state["files"]["/home/user/todo.md"].endswith("- [ ] call the dentist\n")
    assert parse_world(dump_world(spec), EXAMPLE) == spec


def test_state_stays_as_declared() -> None:
    spec = parse_world("domain: terminal\ninitial_state:\n  cwd: /srv\n")
    assert spec == WorldSpec(domain="terminal", initial_state={"cwd": "/srv"})


def test_unquoted_scalars_are_text_where_text_is_wanted() -> None:
    spec = parse_world(
        """\
domain: terminal
name: 7
task: no
initial_state:
  clock: 2026-03-01T10:00:00Z
  env: {PORT: 8080, DEBUG: true, EMPTY: ""}
  files:
    /a: 5
    /b: {content: x, mode: 644}
    /c: {content: 1.50, mode: 0755}
"""
    )
    assert (spec.name, spec.task) == ("7", "no")
    assert spec.initial_state == {
        "clock": "2026-03-01T10:00:00Z",
        "env": {"PORT": "8080", "DEBUG": "true", "EMPTY": ""},
        "files": {"/a": "5", "/b": {"content": "x", "mode": "644"}, "/c": {"content": "1.50", "mode": "0755"}},
    }


HEAD = "domain: terminal\n"
STATE = HEAD + "initial_state:\n"
FILES = STATE + "  files:\n"
RULES = HEAD + "control:\n  rules:\n"
TURNS = HEAD + "demonstrations:\n  - turns:\n"

WRONG = {
    "unknown key": (HEAD + "tsk: x\n", 2, "tsk: unknown key", "did you mean 'task'?"),
    "no domain": ("task: x\n", 1, "domain: missing", "domain: terminal"),
    "unknown domain": ("domain: termnal\n", 1, "unknown domain 'termnal'", "terminal"),
    "not a mapping": ("- a\n", 1, "a mapping of keys was expected", "domain"),
    "empty": ("", None, "a mapping of keys was expected", "domain"),
    "wrong version": ("domain: terminal\nschema_version: 2\n", 2, "schema_version", None),
    "unknown state key": (STATE + "  file: {}\n", 3, "initial_state.file: unknown key", "did you mean 'files'?"),
    "unknown file key": (FILES + "    /x:\n      content: a\n      mod: 1\n", 6, "files./x.mod: unknown key", "'mode'"),
    "wrong mode": (FILES + "    /x:\n      content: a\n      mode: 9x\n", 6, "initial_state.files./x.mode: ", None),
    "traversal": (FILES + "    /home/../etc/x: a\n", 4, "must not contain '..'", None),
    "relative path": (FILES + "    etc/x: a\n", 4, "must be an absolute path", None),
    "NUL in a path": (FILES + '    "/a\\0b": a\n', 4, "must not contain '..' or NUL", None),
    "one path twice": (FILES + "    /x: a\n    /x/: b\n", 5, "the path /x is there twice", None),
    "content and base64": (FILES + "    /x: {content: a, base64: YQ==}\n", 4, "not both", None),
    "bad base64": (FILES + "    /x: {base64: '*'}\n", 4, "base64", None),
    "link to nothing": (FILES + "    /x: {kind: symlink}\n", 4, "target", None),
    "file from the host": (FILES + "    /x: {from: /etc/passwd}\n", 4, "files./x.from: unknown key", None),
    "two problems": (FILES + "    /x: {mode: abc}\n    y: a\n", 4, "files./x.mode", "line 5"),
    "shell program": (STATE + "  shell: {program: zsh}\n", 3, "'bash' or 'sh'", None),
    "clock": (STATE + "  clock: yesterday\n", 3, "initial_state.clock", None),
    "state is a list": (HEAD + "initial_state: [1]\n", 2, "a mapping was expected", None),
    "tool": (HEAD + "tools:\n  - name: a\n    descr: b\n", 4, "tools.0.descr: unknown key", "'description'"),
    "hidden state": (HEAD + "hidden_state: [1]\n", 2, "a text or a mapping was expected", None),
    "rule without condition": (RULES + "    - name: x\n      answer: y\n", 4, "needs a condition", None),
    "rule key": (RULES + "    - name: x\n      evry: 3\n      answer: y\n", 5, "unknown key", "'every'"),
    "no checks": (HEAD + "verifier:\n  checks: []\n", 3, "verifier.checks", None),
    "check key": (HEAD + "verifier:\n  checks:\n    - command: x\n", 4, "checks.0.command: unknown key", "contains"),
    "demonstration action": (TURNS + "      - {action: {cmd: x}, observation: y}\n", 4, "turns.0.action", "command"),
    "demonstration key": (HEAD + "demonstrations:\n  - turn: []\n", 3, "turn: unknown key", "'turns'"),
    "duplicate key": (HEAD + "task: a\ntask: b\n", 3, "the key 'task' is there twice", "line 2"),
    "tab": (HEAD + "initial_state:\n\tfiles: {}\n", 3, "\\t", "blanks"),
    "colon in text": (HEAD + "task: a: b\n", 2, "mapping values", "quote"),
    "two documents": (HEAD + "---\ndomain: terminal\n", 2, "another document", "---"),
    "python object": (HEAD + "task: !!python/object/apply:os.system [x]\n", 2, "!!python/object", None),
    "own tag": (HEAD + "task: !include /etc/passwd\n", 2, "the tag !include is not allowed", None),
    "merge key": (HEAD + "extra: &a {x: 1}\ncontrol:\n  <<: *a\n", 4, "merge keys", None),
    "endless alias": (HEAD + "extra: &a\n  x: *a\n", 2, "holds itself", None),
    "unknown alias": (HEAD + "task: *a\n", 2, "undefined alias", None),
    "control character": (HEAD + "task: \x1b\n", 2, "U+001B", None),
    "lone surrogate": (HEAD + 'task: "\\ud800"\n', 2, "surrogate", None),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_error_points_at_the_line(kind: str) -> None:
    text, line, words, hint = WRONG[kind]
    with pytest.raises(WorldFileError) as caught:
        parse_world(text, "some/world.yaml")
    error = caught.value
    assert error.line == line
    assert error.message.startswith(f"some/world.yaml:{line}: " if line else "some/world.yaml: ")
    assert words in error.message
    assert hint is None or hint in (error.hint or "")


_STATE = "\ninitial_state:\n"
NESTED: dict[str, tuple[str, str, str]] = {
    "a table": (
        "domain: database" + _STATE + '  tables:\n    p:\n      sql: "create table p(a)"\n      rowz: []\n',
        "initial_state.tables.p.rowz: unknown key", "did you mean 'rows'?",
    ),
    "a document": (
        "domain: search" + _STATE + "  documents:\n    - url: x\n      title: t\n      text: t\n      dat: now\n",
        "initial_state.documents.0.dat: unknown key", "did you mean 'date'?",
    ),
    "a document without what it needs": (
        "domain: search" + _STATE + "  documents:\n    - {titel: x}\n",
        "initial_state.documents.0.titel: unknown key", "did you mean 'title'?",
    ),
    "a server": (
        "domain: mcp" + _STATE + "  servers:\n    notes:\n      kind: filesystem\n      root: [/home/user/x]\n",
        "initial_state.servers.notes.root: unknown key", "did you mean 'roots'?",
    ),
    "a server's table": (
        "domain: mcp" + _STATE + "  servers:\n    m:\n      kind: memory\n      relations: [{form: x}]\n",
        "initial_state.servers.m.relations.0.form: unknown key", "did you mean 'from'?",
    ),
    "a server that lacks something": (
        "domain: mcp" + _STATE + "  servers:\n    notes:\n      kind: command\n",
        "initial_state.servers.notes.command: missing", "",
    ),
    "a case": (
        "domain: mcp" + _STATE + "  collections:\n    tools:\n      t:\n        cases:\n          - {wehn: x}\n",
        "initial_state.collections.tools.t.cases.0.wehn: unknown key", "did you mean 'when'?",
    ),
    "an effect": (
        "domain: mcp" + _STATE + "  collections:\n    tools:\n      t: {cases: [{effects: [{store: s, vlaue: 1}]}]}\n",
        "initial_state.collections.tools.t.cases.0.effects.0.vlaue: unknown key", "did you mean 'value'?",
    ),
    "a pattern": (
        "domain: mcp" + _STATE + "  collections:\n    stores: {s: {ids: {pattern: draft}}}\n",
        "initial_state.collections.stores.s.ids.pattern: must hold the number once", "",
    ),
    "a time": (
        "domain: mcp" + _STATE + "  collections:\n    now: tomorrow\n",
        "initial_state.collections.now: is no time", "",
    ),
    "a tool": (
        "domain: mcp\ntools:\n  - {name: t, parametres: {}}\n",
        "tools.0.parametres: unknown key", "did you mean 'parameters'?",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", NESTED)
def test_error_names_the_whole_key(kind: str) -> None:
    text, words, hint = NESTED[kind]
    key = words.split(":")[0].split(".")[-1]
    rows = text.splitlines()
    at = next((number for number, row in enumerate(rows, 1) if f"{key}:" in row), len(rows))
    with pytest.raises(WorldFileError) as caught:
        parse_world(text, "w.yaml")
    assert caught.value.message.startswith(f"w.yaml:{at if kind != 'a server that lacks something' else 4}: {words}")
    assert hint in (caught.value.hint or "")


def test_aliases_do_not_blow_up() -> None:
    rows = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for before, name in zip("abcdefg", "bcdefgh", strict=True):
        rows.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]")
    with pytest.raises(WorldFileError, match="more than 200,000 values"):
        parse_world("domain: terminal\nextra:\n" + "".join(f"  {row}\n" for row in rows))


@pytest.mark.parametrize("text", ["[" * 5_000, "{a: " * 5_000, "- " * 5_000, "a:\n" + " " * 3 + "- " * 100 + "x\n"])
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(WorldFileError, match="nested"):
        parse_world(text)


def test_files_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    with pytest.raises(WorldFileError, match="no such file"):
        load_world_file(path)
    with pytest.raises(WorldFileError, match="is a directory"):
        load_world_file(tmp_path)
    path.write_bytes(b"domain: terminal\ntask: caf\xe9\n")
    with pytest.raises(WorldFileError, match=r"w\.yaml:2: invalid UTF-8"):
        load_world_file(path)
    path.write_bytes("domain: terminal\n".encode("utf-16"))
    with pytest.raises(WorldFileError, match="UTF-16"):
        load_world_file(path)
    path.write_bytes(b"\xef\xbb\xbfdomain: terminal\n")
    assert load_world_file(path).domain == "terminal"


def test_observations_are_filled_in() -> None:
    spec = parse_world(
        """\
domain: terminal
demonstrations:
  - turns:
      - {action: ls, observation: {stdout: "a\\n"}}
      - {action: {command: foo}, observation: {stderr: "no\\n", exit_code: 127}}
      - {action: {name: bash, arguments: {command: pwd}}, observation: /home/user}
control:
  rules:
    - {name: busy, every: 3, answer: {stderr: "busy\\n", exit_code: 75}}
"""
    )
    listed, failed, merged = (turn.observation for turn in spec.demonstrations[0].turns)
    assert listed == Observation(text="a\n", stdout="a\n", stderr="", exit_code=0, is_error=False)
    assert failed == Observation(text="no\n", stdout="", stderr="no\n", exit_code=127, is_error=True)
    assert merged == Observation(text="/home/user")
    assert spec.control["rules"][0]["answer"]["text"] == "busy\n"
    assert parse_world(dump_world(spec)) == spec


def recording(folder: Path) -> None:
    turn = Turn(action=Action(name="bash", arguments={"command": "ls"}), observation=Observation(text="a\n"))
    item = Trajectory(source=Source.OBSERVED, world=WorldSpec(domain="terminal"), turns=(turn,))
    write_trajectories(folder / "shown.jsonl", [item] * 3)


def test_demonstrations_from_a_file_beside(tmp_path: Path) -> None:
    world = tmp_path / "world"
    world.mkdir()
    recording(world)
    path = world / "w.yaml"
    path.write_text("domain: terminal\ndemonstrations:\n  - {from: shown.jsonl, limit: 2, note: n}\n", "utf-8")
    spec = load_world_file(path)
    assert [(d.note, d.turns[0].action.command) for d in spec.demonstrations] == [("n", "ls")] * 2


@pytest.mark.parametrize("name", ["../shown.jsonl", "/etc/passwd", "link.jsonl", "", ".", "sub/../../shown.jsonl"])
def test_demonstrations_stay_in_the_folder(name: str, tmp_path: Path) -> None:
    recording(tmp_path)
    world = tmp_path / "world"
    world.mkdir()
    (world / "link.jsonl").symlink_to(tmp_path / "shown.jsonl")
    path = world / "w.yaml"
    path.write_text(f"domain: terminal\ndemonstrations:\n  - from: '{name}'\n", "utf-8")
    with pytest.raises(WorldFileError) as caught:
        load_world_file(path)
    assert caught.value.line == 3


AWKWARD = [
    "yes",
    "1",
    "0x1f",
    "1e3",
    "~",
    "#",
    "<<",
    "=",
    "2026-01-01",
    "null",
    "true",
    "+1",
    "-",
    "[",
    "{a:",
    "a:b",
    "😀",
]
BLANKS = [
    "",
    " a",
    "a ",
    "a\n",
    "\n",
    "\na\n",
    "a \nb",
    "- x",
    "\0",
    "\ufeff",
    "\u2028",
    "a: b",
    "\t",
    "\x85",
    "\r\n",
    "\xa0\n",
]
awkward = st.sampled_from([*AWKWARD, *BLANKS, "a\n ", "a #b"])
characters = st.characters(exclude_categories=["Cs"])
texts = st.one_of(awkward, st.text(characters, max_size=30))
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/.\0"), min_size=1, max_size=8)
paths = names.map("/x".__add__)
hidden_states = st.one_of(st.none(), texts, st.dictionaries(texts, st.one_of(texts, st.integers(), st.booleans())))


@settings(max_examples=150, deadline=None)
@given(
    task=texts,
    files=st.dictionaries(paths, texts, max_size=3),
    env=st.dictionaries(names.map(lambda name: name.replace("=", "_")), texts.filter(lambda text: "\0" not in text)),
    hidden=hidden_states,
    answer=texts,
)
def test_dumped_worlds_come_back_equal(
    task: str, files: dict[str, str], env: dict[str, str], hidden: object, answer: str
) -> None:
    spec = parse_world(
        dump_world(
            WorldSpec.model_validate(
                {
                    "domain": "terminal",
                    "task": task,
                    "initial_state": {"files": files, "env": env},
                    "hidden_state": hidden,
                    "demonstrations": [
                        {"turns": [{"action": {"text": "x"}, "observation": {"text": answer, "data": [1, None]}}]}
                    ],
                }
            )
        )
    )
    assert spec.task == task
    assert spec.initial_state == {"files": files, "env": env}
    assert spec.hidden_state == hidden
    assert spec.demonstrations[0].turns[0].observation.text == answer
    assert parse_world(dump_world(spec)) == spec


@settings(max_examples=200, deadline=None)
@given(
    text=st.one_of(st.text(max_size=60), st.text(st.sampled_from(list("ab:- \n\t{}[]&*!|>'\"#%@`?,~")), max_size=60))
)
def test_any_text_is_a_world_or_an_error(text: str) -> None:
    for candidate in (text, HEAD + text, STATE + "  files:\n    /x: " + text):
        try:
            parse_world(candidate)
        except WorldFileError as error:
            assert error.path == "world"


def test_reference_page_names_every_key() -> None:
    from worldline.control import ControlSpec, VerifierSpec
    from worldline.control.rules import Rule
    from worldline.control.verifier import Check
    from worldline.domains.terminal.state import FileSpec, ShellSpec, TerminalState

    page = REFERENCE.read_text("utf-8")
    models = (WorldSpec, TerminalState, FileSpec, ShellSpec, ControlSpec, Rule, VerifierSpec, Check)
    missing = [f"{model.__name__}.{name}" for model in models for name in model.model_fields if f"`{name}`" not in page]
    assert missing == []
