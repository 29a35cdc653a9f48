"""Hostile arguments at every tool of every server kernel: an answer or an abstention, never an exception."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp_worlds import REPO, ROOT, ask, everything_kernel

from worldline.types import Action, Observation, Turn

_FILE, _TABLE = f"{ROOT}/a.txt", "SELECT * FROM t"
_THOUGHT = {"thought": "x", "nextThoughtNeeded": True, "thoughtNumber": 1, "totalThoughts": 2, "isRevision": True}
_RELATION = {"from": "e", "to": "f", "relationType": "r"}
_ENTITY = {"name": "e", "entityType": "t", "observations": ["o"]}
_GIT = {"repo_path": REPO}
PLAUSIBLE: dict[str, dict[str, Any]] = {
    "files__read_file": {"path": _FILE, "head": 1, "tail": 0},
    "files__read_text_file": {"path": _FILE, "head": 0, "tail": 1},
    "files__read_media_file": {"path": _FILE},
    "files__read_multiple_files": {"paths": [_FILE]},
    "files__write_file": {"path": _FILE, "content": "x"},
    "files__edit_file": {"path": _FILE, "edits": [{"oldText": "alpha", "newText": "A"}], "dryRun": False},
    "files__create_directory": {"path": f"{ROOT}/new"},
    "files__list_directory": {"path": ROOT},
    "files__list_directory_with_sizes": {"path": ROOT, "sortBy": "size"},
    "files__directory_tree": {"path": ROOT, "excludePatterns": ["*.md"]},
    "files__move_file": {"source": _FILE, "destination": f"{ROOT}/b.txt"},
    "files__search_files": {"path": ROOT, "pattern": "*.txt", "excludePatterns": ["x"]},
    "files__get_file_info": {"path": _FILE},
    "files__list_allowed_directories": {"x": 1},
    "memory__create_entities": {"entities": [_ENTITY]},
    "memory__create_relations": {"relations": [_RELATION]},
    "memory__add_observations": {"observations": [{"entityName": "e", "contents": ["p"]}]},
    "memory__delete_entities": {"entityNames": ["e"]},
    "memory__delete_observations": {"deletions": [{"entityName": "e", "observations": ["o"]}]},
    "memory__delete_relations": {"relations": [_RELATION]},
    "memory__read_graph": {"x": 1},
    "memory__search_nodes": {"query": "e"},
    "memory__open_nodes": {"names": ["e"]},
    "git__git_status": _GIT,
    "git__git_diff_unstaged": {**_GIT, "context_lines": 3},
    "git__git_diff_staged": {**_GIT, "context_lines": 3},
    "git__git_diff": {**_GIT, "target": "HEAD~1", "context_lines": 3},
    "git__git_commit": {**_GIT, "message": "m"},
    "git__git_add": {**_GIT, "files": ["a.txt"]},
    "git__git_reset": _GIT,
    "git__git_log": {**_GIT, "max_count": 2, "start_timestamp": "2024-01-01", "end_timestamp": "yesterday"},
    "git__git_create_branch": {**_GIT, "branch_name": "new", "base_branch": "main"},
    "git__git_checkout": {**_GIT, "branch_name": "main"},
    "git__git_show": {**_GIT, "revision": "HEAD"},
    "git__git_branch": {**_GIT, "branch_type": "local", "contains": "HEAD", "not_contains": "HEAD"},
    "time__get_current_time": {"timezone": "UTC"},
    "time__convert_time": {"source_timezone": "UTC", "time": "10:30", "target_timezone": "Europe/Paris"},
    "sqlite__read_query": {"query": _TABLE},
    "sqlite__write_query": {"query": "DELETE FROM t"},
    "sqlite__create_table": {"query": "CREATE TABLE n(a)"},
    "sqlite__list_tables": {"x": 1},
    "sqlite__describe_table": {"table_name": "t"},
    "sqlite__append_insight": {"insight": "x"},
    "duck__query": {"query": "SELECT * FROM d"},
    "every__echo": {"message": "x"},
    "every__get-annotated-message": {"messageType": "error", "includeImage": True},
    "every__get-env": {"x": 1},
    "every__get-resource-links": {"count": 3},
    "every__get-resource-reference": {"resourceType": "Text", "resourceId": 1},
    "every__get-structured-content": {"location": "Chicago"},
    "every__get-sum": {"a": 1, "b": 2.5},
    "every__get-tiny-image": {"x": 1},
    "every__gzip-file-as-resource": {"name": "x.gz", "data": "data:text/plain,x", "outputType": "resource"},
    "every__toggle-simulated-logging": {"x": 1},
    "every__toggle-subscriber-updates": {"x": 1},
    "every__trigger-long-running-operation": {"duration": 1, "steps": 2},
    "every__simulate-research-query": {"topic": "x"},
    "think__sequentialthinking": {**_THOUGHT, "revisesThought": 1, "branchFromThought": 1, "branchId": "b"},
    "web__fetch": {"url": "http://localhost:8000/t", "max_length": 10, "start_index": 1, "raw": False},
}
LONG = "x" * 70_000
HOSTILE: list[Any] = [
    *(10**400, -(10**400), 10**30, 2**63, 1e308, 5e-324, float("inf"), float("-inf"), float("nan"), -1, 0, 0.5),
    *("", "\0", "a\0b", "\ud800", LONG, "a/" * 3000, "n" * 300, "../" * 9, "http://localhost:8000/" + LONG, "-x"),
    *("http://[", "%s{0}", "'", "\n", "{" * 50, "1e999", "99999999999999999999", "\U0001f600" * 200, None, True, []),
    {}, [[]], [[[[[LONG]]]]], ["\0"], ["n" * 300], {"a": {"b": [1]}}, ["\ud800", 10**400],
]  # fmt: skip
KERNEL = everything_kernel()


def _put(value: Any, into: Any, path: list[int]) -> Any:
    """Put a value somewhere into data: the path says which way to go at each level, and where to stop."""
    if not path or not isinstance(into, dict | list) or not into:
        return value
    keys: list[Any] = list(into) if isinstance(into, dict) else list(range(len(into)))
    key = keys[path[0] % len(keys)]
    if isinstance(into, dict):
        return {**into, key: _put(value, into[key], path[1:])}
    return [*into[:key], _put(value, into[key], path[1:]), *into[key + 1 :]]


def test_every_tool_of_every_server_is_tried() -> None:
    known = {"every__simulate-research-query"}
    for name, server in KERNEL._state.servers.items():
        tools = next((getattr(server, of) for of in ("schemas", "models", "parameters") if hasattr(server, of)), ())
        known |= {f"{name}__{tool}" for tool in cast(Any, tools)}
    assert known == set(PLAUSIBLE)


def _survives(tool: str, arguments: dict[str, Any]) -> None:
    kernel, action = KERNEL.fork(), Action(name=tool, arguments=arguments)
    assert isinstance(kernel.propose(action).observation.text, str)
    kernel.accept()
    kernel.footprint(action)
    kernel.absorb(Turn(action=action, observation=Observation.from_text("other", is_error=False)))
    kernel.describe()
    kernel.load(kernel.dump())


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(sorted(PLAUSIBLE)),
    st.lists(
        st.tuples(st.sampled_from(range(len(HOSTILE))), st.lists(st.integers(0, 4), min_size=1, max_size=4)),
        min_size=1,
        max_size=2,
    ),
)
def test_hostile_arguments_raise_nothing(tool: str, changes: list[tuple[int, list[int]]]) -> None:
    arguments = PLAUSIBLE[tool]
    for number, path in changes:
        arguments = _put(HOSTILE[number], arguments, path)
    _survives(tool, arguments)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("every__get-sum", {"a": 10**400, "b": 1}),
        ("every__trigger-long-running-operation", {"duration": 1, "steps": float("inf")}),
        ("every__trigger-long-running-operation", {"duration": 10**400, "steps": 10**400}),
        ("files__read_text_file", {"path": _FILE, "tail": float("inf")}),
        ("files__read_text_file", {"path": _FILE, "head": 10**400}),
        ("web__fetch", {"url": f"http://localhost:8000/{LONG}"}),
        ("files__move_file", {"source": _FILE, "destination": "a\0b"}),
        ("git__git_diff", {**_GIT, "target": "a\0b"}),
        ("git__git_create_branch", {**_GIT, "branch_name": "n" * 300}),
    ],
)
def test_what_once_raised(tool: str, arguments: dict[str, Any]) -> None:
    _survives(tool, arguments)


def test_a_number_too_large_for_javascript_is_infinity_to_the_server() -> None:
    text = ask(KERNEL.fork(), "every__get-sum", a=10**400, b=1)
    assert text.endswith("Invalid input: expected number, received Infinity at a")
    assert text.startswith("!MCP error -32602")


def test_time_ends_with_the_calendar() -> None:
    kernel = KERNEL.fork()
    for _ in range(300):
        ask(kernel, "every__trigger-long-running-operation", duration=1e300, steps=1)
    assert '"9999-01-0' in ask(kernel, "time__get_current_time", timezone="Pacific/Kiritimati")
