"""The kernel of MCP worlds as a whole: transactions, copies, what is stored, what is hostile."""

import json
import sys
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_worlds import REPO, ROOT, ask, everything_kernel, files_kernel, kernel_of, tell

from worldline.errors import KernelError
from worldline.kernels import build_kernel
from worldline.kernels.base import GUESSED
from worldline.types import Action, Observation, ToolSpec, Turn, WorldSpec

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("files__write_file", {"path": "n.txt", "content": "x"}),
    ("files__move_file", {"source": "a.txt", "destination": "sub/a"}),
    ("files__directory_tree", {"path": ROOT}),
    ("files__edit_file", {"path": "a.txt", "edits": [{"oldText": "alpha", "newText": "A"}]}),
    ("memory__create_entities", {"entities": [{"name": "n", "entityType": "t", "observations": []}]}),
    ("memory__delete_entities", {"entityNames": ["e"]}),
    ("memory__read_graph", {}),
    ("git__git_add", {"repo_path": REPO, "files": ["a.txt"]}),
    ("git__git_commit", {"repo_path": REPO, "message": "m"}),
    ("git__git_status", {"repo_path": REPO}),
    ("git__git_log", {"repo_path": REPO}),
    ("time__get_current_time", {"timezone": "UTC"}),
    ("sqlite__write_query", {"query": "INSERT INTO t VALUES (5, 'q')"}),
    ("sqlite__read_query", {"query": "SELECT count(*) FROM t"}),
    ("duck__query", {"query": "INSERT INTO d VALUES (2)"}),
    ("duck__query", {"query": "SELECT sum(a) FROM d"}),
    ("every__toggle-simulated-logging", {}),
    ("every__trigger-long-running-operation", {"duration": 7, "steps": 2}),
    ("think__sequentialthinking", {"thought": "", "nextThoughtNeeded": True, "thoughtNumber": 1, "totalThoughts": 1}),
    ("web__fetch", {"url": "http://localhost:8000/t"}),
    ("nope__x", {}),
    ("files__nope", {"a": 1}),
]
actions = st.sampled_from(CALLS).map(lambda call: Action(name=call[0], arguments=call[1]))


def texts(kernel: Any, chosen: list[Action]) -> list[tuple[str, bool | None, bool]]:
    found = []
    for action in chosen:
        proposal = kernel.propose(action)
        kernel.accept()
        found.append((proposal.observation.text, proposal.observation.is_error, proposal.known))
    return found


@settings(max_examples=25, deadline=None)
@given(before=st.lists(actions, max_size=6), mine=st.lists(actions, max_size=6), other=st.lists(actions, max_size=6))
def test_forks_are_independent_and_stored_states_are_whole(before, mine, other):
    kernel = everything_kernel()
    texts(kernel, before)
    twin, stored = kernel.fork(), kernel.dump()
    wanted = texts(kernel.fork(), mine)
    texts(twin, other)
    assert texts(kernel, mine) == wanted
    fresh = everything_kernel()
    fresh.load(stored)
    assert fresh.dump() == stored
    assert texts(fresh, mine) == wanted


@settings(max_examples=25, deadline=None)
@given(chosen=st.lists(actions, min_size=1, max_size=6), probes=st.lists(actions, max_size=4))
def test_proposals_that_are_rejected_change_nothing(chosen, probes):
    kernel = everything_kernel()
    wanted = texts(everything_kernel(), chosen)
    for action in probes:
        kernel.propose(action)
        kernel.footprint(action)
        kernel.describe()
        kernel.reject()
    assert texts(kernel, chosen) == wanted


@settings(max_examples=40, deadline=None)
@given(
    chosen=st.lists(st.tuples(actions, st.sampled_from(["", "[]", "{}", "x", "null", '[{"name": 1}]']), st.booleans()))
)
def test_any_answer_is_absorbed(chosen):
    kernel = everything_kernel()
    for action, text, failed in chosen:
        kernel.absorb(Turn(action=action, observation=Observation.from_text(text, is_error=failed)))
    fresh = everything_kernel()
    fresh.load(kernel.dump())
    for action, _, _ in chosen:
        assert fresh.propose(action) == kernel.propose(action)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KEYS = [
    "path",
    "paths",
    "content",
    "edits",
    "pattern",
    "entities",
    "names",
    "query",
    "repo_path",
    "files",
    "revision",
    "url",
    "time",
    "a",
    "timezone",
    "message",
]
TOOLS = sorted({name for name, _ in CALLS} | {"files__search_files", "git__git_show", "every__get-sum", "web__fetch"})


@settings(max_examples=200, deadline=None)
@given(tool=st.sampled_from(TOOLS), arguments=st.dictionaries(st.sampled_from(KEYS), JSON, max_size=4))
def test_any_arguments_are_answered(tool, arguments):
    kernel = KERNEL.fork()
    action = Action(name=tool, arguments=arguments)
    assert isinstance(kernel.propose(action).observation.text, str)
    kernel.footprint(action)
    kernel.absorb(Turn(action=action, observation=Observation.from_text("other", is_error=False)))
    kernel.describe()


KERNEL = everything_kernel()


def test_servers_of_one_world_share_their_files():
    servers = {
        "files": {"kind": "filesystem", "roots": [REPO]},
        "git": {"kind": "git", "repositories": {REPO: {"commits": [{"message": "i", "files": {"a": "1\n"}}]}}},
    }
    kernel = kernel_of(servers)
    assert ask(kernel, "files__write_file", path="a", content="2\n") == "Successfully wrote to a"
    assert "modified:   a" in ask(kernel, "git__git_status", repo_path=REPO)
    twin = kernel.fork()
    ask(kernel, "git__git_add", repo_path=REPO, files=["."])
    assert "Changes not staged" in ask(twin, "git__git_status", repo_path=REPO)
    assert ask(kernel, "files__read_text_file", path=".git/HEAD") == "ref: refs/heads/main\n"


def test_a_repository_below_an_open_root():
    servers = {
        "files": {"kind": "filesystem", "roots": [REPO], "complete": False},
        "git": {"kind": "git", "repositories": {REPO: {"commits": [{"message": "i", "files": {"a": "1\n"}}]}}},
    }
    kernel = kernel_of(servers)
    assert ask(kernel, "files__read_text_file", path="a") == "1\n"
    assert ask(kernel, "files__list_directory", path=".") == "?[DIR] .git\n[FILE] a"
    assert ask(kernel, "git__git_status", repo_path=REPO).startswith("?Repository status:\nOn branch main")


def test_unknown_tools_of_several_servers():
    kernel = everything_kernel()
    assert ask(kernel, "read_file", path="x") == "!MCP error -32602: Unknown tool: read_file"
    assert ask(kernel, "files__nope") == "!MCP error -32602: Tool nope not found"


def test_other_servers_are_matters_of_rules_and_records():
    tool = ToolSpec(name="lookup", parameters={"type": "object", "properties": {"$ref": {"$ref": "#"}}})
    state = {"servers": {"x": {"kind": "command", "command": ["x"]}}}
    kernel = build_kernel(WorldSpec(domain="mcp", tools=(tool,), initial_state=state))
    action = Action(name="lookup", arguments={"$ref": {"$ref": {"$ref": 1}}})
    assert not kernel.propose(action).known
    kernel.absorb(Turn(action=action, observation=Observation.from_text("seen", is_error=False)))
    assert isinstance(kernel.propose(action), object)


@pytest.mark.parametrize("data", [b"", b"{}", b"[1]", b"\xff", b'{"version": 1, "world": "x"}'])
def test_damaged_states_are_refused(data):
    with pytest.raises(KernelError):
        everything_kernel().load(data)


def test_states_of_other_worlds_are_refused():
    with pytest.raises(KernelError):
        everything_kernel().load(files_kernel().dump())


HOSTILE = [
    ("search_files", {"path": ROOT, "pattern": "*a" * 40 + "b"}),
    ("search_files", {"path": ROOT, "pattern": "+(a|aa)" * 12 + "b"}),
    ("search_files", {"path": ROOT, "pattern": "+(+(+(a)))b"}),
    ("search_files", {"path": ROOT, "pattern": "{" * 20_000 + "a,b" + "}" * 20_000}),
    ("search_files", {"path": ROOT, "pattern": "{a,b}" * 40}),
    ("search_files", {"path": ROOT, "pattern": "**/" * 30 + "x"}),
    ("directory_tree", {"path": ROOT, "excludePatterns": ["*" * 70_000]}),
    ("read_text_file", {"path": "../" * 5000 + "etc/passwd"}),
    ("read_text_file", {"path": "a/" * 5000}),
    ("write_file", {"path": "big", "content": "x\n" * 1_000_000}),
    ("edit_file", {"path": "long", "edits": [{"oldText": "a" * 100, "newText": "\n".join(map(str, range(50_000)))}]}),
    ("read_multiple_files", {"paths": ["a" * 250] * 5000}),
]


@pytest.mark.parametrize(("tool", "arguments"), HOSTILE)
def test_hostile_calls_end_soon(tool, arguments):
    kernel = files_kernel({"a" * 200: "", "long": "a" * 100 + "\n" + "b\n" * 20_000})
    start = time.monotonic()
    proposal = kernel.propose(Action(name=tool, arguments=arguments))
    assert time.monotonic() - start < 5
    assert isinstance(proposal.observation.text, str)


def test_arguments_nested_too_deep():
    value: Any = "x"
    for _ in range(3000):
        value = [value]
    kernel = kernel_of({"t": {"kind": "sequentialthinking"}})
    action = Action.model_construct(name="sequentialthinking", arguments={"thoughtNumber": value}, text=None)
    assert isinstance(kernel.propose(action).observation.text, str)


@pytest.mark.parametrize("target", ["/etc", "/", "../..", "/home/user/.ssh", "sub/../../.."])
def test_links_out_of_the_root(target):
    kernel = files_kernel({"sub/x": "", "out": {"kind": "symlink", "target": target}})
    for tool in ("read_text_file", "list_directory", "search_files", "directory_tree"):
        text = ask(kernel, tool, path="out/passwd", pattern="*")
        assert "Access denied" in text or "Parent directory does not exist" in text, text
    assert "out" not in ask(kernel, "search_files", path=ROOT, pattern="**")


def test_descriptions_are_bounded():
    kernel = everything_kernel()
    ask(kernel, "files__write_file", path="big", content="x" * 1_000_000)
    many = [{"name": f"{n}" * 5000, "entityType": "t", "observations": ["o" * 10_000]} for n in range(300)]
    ask(kernel, "memory__create_entities", entities=many)
    assert len(json.dumps(kernel.describe())) < 2_000_000


_opened: list[str] | None = None


def _watch(event: str, arguments: Any) -> None:
    if _opened is not None and event in ("open", "socket.connect", "os.mkdir", "os.remove", "subprocess.Popen"):
        _opened.append(f"{event} {arguments[0]!r}")


sys.addaudithook(_watch)


def test_the_host_is_left_alone():
    global _opened
    kernel = everything_kernel()
    texts(kernel, [Action(name=name, arguments=arguments) for name, arguments in CALLS])  # loads what is lazily loaded
    kernel = everything_kernel()
    _opened = []
    try:
        texts(kernel, [Action(name=name, arguments=arguments) for name, arguments in CALLS])
        ask(kernel, "files__read_text_file", path="/etc/passwd")
        ask(kernel, "sqlite__write_query", query="ATTACH '/tmp/worldline.db' AS x")
        ask(kernel, "duck__query", query="SELECT * FROM read_text('/etc/passwd')")
        ask(kernel, "web__fetch", url="http://127.0.0.1:1/")
        seen = [entry for entry in _opened if "zoneinfo" not in entry]
    finally:
        _opened = None
    assert seen == []


def test_guesses_prove_nothing():
    kernel = files_kernel({"a": "1"}, complete=False)
    for tool, arguments in (("list_directory", {"path": ROOT}), ("write_file", {"path": "n", "content": "x"})):
        action = Action(name=tool, arguments=arguments)
        guess = kernel.propose(action)
        assert not guess.known
        kernel.absorb(Turn(action=action, observation=guess.observation, extra={GUESSED: True}))
    assert ask(kernel, "list_directory", path=ROOT).startswith("?")
    assert ask(kernel, "read_text_file", path="n") == "x"


def test_what_went_otherwise_is_followed():
    kernel = everything_kernel()
    tell(kernel, "files__write_file", "disk full", failed=True, path="n.txt", content="x")
    assert ask(kernel, "files__read_text_file", path="n.txt").startswith("!ENOENT")
    tell(kernel, "files__read_text_file", "gamma", path="a.txt")
    assert ask(kernel, "files__read_text_file", path="a.txt") == "gamma"
    tell(kernel, "git__git_commit", "Changes committed successfully with hash " + "0" * 40, repo_path=REPO, message="m")
    assert ask(kernel, "git__git_log", repo_path=REPO).startswith("?")
