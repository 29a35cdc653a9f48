"""The kernels of the memory, time, everything, sequential-thinking, fetch and git servers."""

# ruff: noqa: E501 - answers of servers, each in one piece

import json
import re

import pytest
from mcp_worlds import PAGE, REPO, ask, kernel_of, tell

ZOD = "!MCP error -32602: Input validation error: Invalid arguments for tool"


def memory(**server):
    entities = [{"name": "ann", "entityType": "person", "observations": ["reads"]}]
    return kernel_of({"memory": {"kind": "memory", "entities": entities, **server}})


def test_memory_graph():
    kernel = memory()
    made = [
        {"name": "ann", "entityType": "x", "observations": []},
        {"name": "bob", "entityType": "p", "observations": []},
    ]
    assert json.loads(ask(kernel, "create_entities", entities=made)) == made[1:]
    link = {"from": "ann", "to": "bob", "relationType": "knows"}
    assert json.loads(ask(kernel, "create_relations", relations=[link, link])) == [link, link]
    assert json.loads(
        ask(kernel, "add_observations", observations=[{"entityName": "ann", "contents": ["reads", "n"]}])
    ) == [{"entityName": "ann", "addedObservations": ["n"]}]
    assert ask(kernel, "add_observations", observations=[{"entityName": "q", "contents": []}]) == (
        "!Entity with name q not found"
    )
    found = json.loads(ask(kernel, "search_nodes", query="READ"))
    assert [one["name"] for one in found["entities"]] == ["ann"] and found["relations"] == [link, link]
    assert ask(kernel, "delete_entities", entityNames=["bob"]) == "Entities deleted successfully"
    assert ask(kernel, "open_nodes", names=["bob"]) == '{\n  "entities": [],\n  "relations": []\n}'
    assert json.loads(ask(kernel, "read_graph"))["relations"] == []


def test_memory_validates_in_the_order_of_its_schema():
    assert ask(memory(), "create_entities", entities=[{"observations": [1]}]) == (
        f"{ZOD} create_entities: Invalid input: expected string, received undefined at entities[0].name\n"
        "Invalid input: expected string, received undefined at entities[0].entityType\n"
        "Invalid input: expected string, received number at entities[0].observations[0]"
    )


def test_memory_open_world():
    kernel = memory(complete=False)
    assert ask(kernel, "read_graph").startswith("?")
    assert ask(kernel, "add_observations", observations=[{"entityName": "q", "contents": []}]).startswith("?!")
    graph = {"entities": [{"name": "q", "entityType": "t", "observations": []}], "relations": []}
    tell(kernel, "open_nodes", json.dumps(graph, indent=2), names=["q"])
    assert json.loads(ask(kernel, "open_nodes", names=["q"])) == graph
    tell(kernel, "read_graph", json.dumps(graph, indent=2))
    assert json.loads(ask(kernel, "read_graph")) == graph


def test_memory_open_world_doubts_the_order():
    kernel = memory(complete=False)
    for name in ("q", "r"):
        graph = {"entities": [{"name": name, "entityType": "t", "observations": []}], "relations": []}
        tell(kernel, "open_nodes", json.dumps(graph), names=[name])
        assert json.loads(ask(kernel, "open_nodes", names=[name])) == graph
    assert ask(kernel, "open_nodes", names=["q", "r"]).startswith("?")
    ask(kernel, "create_entities", entities=[{"name": "new", "entityType": "t", "observations": []}])
    tell(kernel, "create_entities", '[{"name": "new", "entityType": "t", "observations": []}]',
         entities=[{"name": "new", "entityType": "t", "observations": []}])  # fmt: skip
    found = json.loads(ask(kernel, "open_nodes", names=["new", "q"]))
    assert [one["name"] for one in found["entities"]] == ["q", "new"]


def test_time():
    kernel = kernel_of({"time": {"kind": "time"}}, clock="2026-07-04T22:30:00Z")
    assert json.loads(ask(kernel, "get_current_time", timezone="Europe/Warsaw")) == {
        "timezone": "Europe/Warsaw",
        "datetime": "2026-07-05T00:30:00+02:00",
        "day_of_week": "Sunday",
        "is_dst": True,
    }
    told = json.loads(ask(kernel, "convert_time", source_timezone="UTC", time="1:5", target_timezone="Asia/Kathmandu"))
    assert told["target"]["datetime"] == "2026-07-04T06:50:00+05:45" and told["time_difference"] == "+5.75h"


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (("Nope/X", "10:00"), "Invalid timezone: 'No time zone found with key Nope/X'"),
        (("../etc", "10:00"), "Invalid timezone: ZoneInfo keys must refer to subdirectories of TZPATH, got: ../etc"),
        (("/etc/x", "10:00"), "Invalid timezone: ZoneInfo keys may not be absolute paths, got: /etc/x"),
        (("UTC", "25:00"), "Invalid time format. Expected HH:MM [24-hour format]"),
        (("", "10:00"), "Missing required argument: source_timezone"),
        (("Europe/Warsaw", "2:30"), "Invalid time: 2:30 does not exist in Europe/Warsaw on 2026-03-29 (skipped by a clock change)"),
    ],
)  # fmt: skip
def test_time_refuses(arguments, answer):
    kernel = kernel_of({"time": {"kind": "time"}}, clock="2026-03-29T12:00:00Z")
    zone, time = arguments
    told = ask(kernel, "convert_time", source_timezone=zone, time=time, target_timezone="UTC")
    assert told == f"!Error executing tool convert_time: {answer}"


def test_arguments_are_refused_as_pydantic_does():
    kernel = kernel_of({"time": {"kind": "time"}})
    assert ask(kernel, "convert_time", source_timezone="UTC", target_timezone="America/New_York") == (
        "!Error executing tool convert_time: 1 validation error for convert_timeArguments\ntime\n  Field required "
        "[type=missing, input_value={'source_timezone': 'UTC'...ne': 'America/New_York'}, input_type=dict]\n"
        "    For further information visit https://errors.pydantic.dev/2.14/v/missing"
    )
    assert ask(kernel, "nope") == "!MCP error -32602: Unknown tool: nope"


@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        ("echo", {"message": "a\nb"}, "Echo: a\nb"),
        ("get-sum", {"a": 0.1, "b": 0.2}, "The sum of 0.1 and 0.2 is 0.30000000000000004."),
        ("get-sum", {"a": 1e21, "b": 1e-7}, "The sum of 1e+21 and 1e-7 is 1e+21."),
        ("get-structured-content", {"location": "Chicago"}, '{"temperature":36,"conditions":"Light rain / drizzle","humidity":82}'),
        ("get-resource-links", {"count": 2}, "Here are 2 resource links to resources available in this server:\n[link demo://resource/dynamic/blob/1]\n[link demo://resource/dynamic/text/2]"),
        ("get-resource-reference", {"resourceId": 0}, "!Invalid resourceId: 0. Must be a finite positive integer."),
        ("get-annotated-message", {"messageType": "debug", "includeImage": True}, "Debug: Cache hit ratio 0.95, latency 150ms\n[image image/png]"),
        ("gzip-file-as-resource", {"name": "x", "data": "file:///etc/passwd"}, "!Error processing file file:///etc/passwd: Unsupported URL protocol for file:///etc/passwd. Only http, https, and data URLs are supported."),
        ("simulate-research-query", {}, "!MCP error -32601: Tool simulate-research-query requires task augmentation (taskSupport: 'required')"),
        ("get-sum", {"a": "1", "b": None}, f"{ZOD} get-sum: Invalid input: expected number, received string at a\nInvalid input: expected number, received null at b"),
    ],
)  # fmt: skip
def test_everything(tool, arguments, answer):
    assert ask(kernel_of({"e": {"kind": "everything"}}), tool, **arguments) == answer


def test_everything_switches_and_waits():
    kernel = kernel_of({"e": {"kind": "everything"}}, clock="2026-01-01T00:00:00Z")
    assert ask(kernel, "toggle-subscriber-updates").startswith("Started")
    assert ask(kernel, "toggle-subscriber-updates").startswith("Stopped")
    ask(kernel, "trigger-long-running-operation", duration=90, steps=3)
    assert ask(kernel, "get-resource-reference").split("\n")[1].endswith("created at 12:01:30 AM")


def test_thoughts():
    kernel = kernel_of({"t": {"kind": "sequentialthinking"}})
    thought = {"thought": "x", "nextThoughtNeeded": "FALSE", "thoughtNumber": "0x10", "totalThoughts": 3}
    told = json.loads(ask(kernel, "sequentialthinking", **thought))
    assert told["totalThoughts"] == 16 and told["nextThoughtNeeded"] is False
    for branch in ("b", "10", "2"):
        told = json.loads(ask(kernel, "sequentialthinking", **thought, branchFromThought=1, branchId=branch))
    assert told["branches"] == ["2", "10", "b"] and told["thoughtHistoryLength"] == 4
    assert ask(kernel, "sequentialthinking", **thought, branchFromThought=1, branchId="__proto__").startswith("!{")
    assert ask(kernel, "sequentialthinking", **{**thought, "thoughtNumber": 1.5, "nextThoughtNeeded": 1}) == (
        f"{ZOD} sequentialthinking: Invalid input at nextThoughtNeeded\n"
        "Invalid input: expected int, received number at thoughtNumber"
    )


def web(**server):
    pages = {
        "/": PAGE,
        "/t": {"body": "0123456789", "content_type": "text/plain"},
        "/old": {"status": 302, "location": "/t"},
        "/loop": {"status": 301, "location": "/loop"},
        "/odd": "<p>not closed",
        **server.pop("pages", {}),
    }
    return kernel_of({"web": {"kind": "fetch", "port": 8000, "pages": pages, **server}})


RAW = "Content type text/plain cannot be simplified to markdown, but here is the raw content:\nContents of"


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"url": "http://localhost:8000"}, "Contents of http://localhost:8000/:\nT\n\n# Title\n\nPara link and bold a\\_b.\n\n* one\n* two\n\n| k | v |\n| --- | --- |\n| a | 1 |\n\n> Said\n\n```\nx = 1\n```"),
        ({"url": "http://LOCALHOST:8000/t", "max_length": 4}, f"{RAW} http://localhost:8000/t:\n0123\n\n<error>Content truncated. Call the fetch tool with a start_index of 4 to get more content.</error>"),
        ({"url": "http://127.0.0.1:8000/old", "start_index": 8}, f"{RAW} http://127.0.0.1:8000/old:\n89"),
        ({"url": "http://localhost:8000/loop"}, "!Error executing tool fetch: Failed to fetch http://localhost:8000/loop: TooManyRedirects('Exceeded maximum allowed redirects.')"),
        ({"url": "http://localhost:8000/no"}, "!Error executing tool fetch: Failed to fetch http://localhost:8000/no - status code 404"),
        ({"url": "http://localhost:9/"}, "!Error executing tool fetch: Failed to fetch http://localhost:9/: ConnectError('All connection attempts failed')"),
        ({"url": "http://example.com/"}, "!Error executing tool fetch: Failed to fetch http://example.com/: ConnectError('[Errno -3] Temporary failure in name resolution')"),
        ({"url": "ftp://localhost/x"}, "!Error executing tool fetch: Failed to fetch ftp://localhost/x: UnsupportedProtocol(\"Request URL has an unsupported protocol 'ftp://'.\")"),
    ],
)  # fmt: skip
def test_fetch(arguments, answer):
    assert ask(web(), "fetch", **arguments) == answer


def test_fetch_leaves_broken_pages_to_memory():
    assert ask(web(), "fetch", url="http://localhost:8000/odd").startswith("?")


def test_fetch_asks_robots():
    kernel = web(
        ignore_robots=False,
        pages={"/robots.txt": {"body": "User-agent: *\nDisallow: /t\n", "content_type": "text/plain"}},
    )
    assert "Disallow: /t" in ask(kernel, "fetch", url="http://localhost:8000/t")
    assert ask(kernel, "fetch", url="http://localhost:8000/").startswith("Contents of")


def test_fetch_open_world():
    kernel = web(complete=False)
    assert ask(kernel, "fetch", url="http://localhost:8000/q").startswith("?!")
    tell(kernel, "fetch", "Contents of http://localhost:8000/q:\nseen *x*", url="http://localhost:8000/q")
    assert ask(kernel, "fetch", url="http://localhost:8000/q") == "Contents of http://localhost:8000/q:\nseen *x*"
    assert ask(kernel, "fetch", url="http://localhost:8000/q", start_index=5, max_length=2) == (
        "Contents of http://localhost:8000/q:\n*x\n\n<error>Content truncated. Call the fetch tool with a start_index "
        "of 7 to get more content.</error>"
    )


def git(**server):
    commits = [
        {"message": "init", "files": {"a.txt": "one\n", "src/b.py": "b\n"}},
        {"message": "second\n\nbody", "files": {"a.txt": "two\n"}},
        {"message": "side", "files": {"s.txt": "s\n"}, "branch": "side"},
    ]
    repository = {"commits": commits, "checkout": "main", "working": {"a.txt": "three\n", "u.txt": "u\n"}}
    return kernel_of(
        {"git": {"kind": "git", "repositories": {REPO: repository}, **server}}, clock="2026-01-01T00:00:00Z"
    )


def test_git_looks():
    kernel = git()
    assert ask(kernel, "git_status", repo_path=REPO) == (
        'Repository status:\nOn branch main\nChanges not staged for commit:\n  (use "git add <file>..." to update what '
        'will be committed)\n  (use "git restore <file>..." to discard changes in working directory)\n\tmodified:   '
        'a.txt\n\nUntracked files:\n  (use "git add <file>..." to include in what will be committed)\n\tu.txt\n\n'
        'no changes added to commit (use "git add" and/or "git commit -a")'
    )
    assert ask(kernel, "git_diff_unstaged", repo_path=REPO, context_lines=0).endswith("@@ -1 +1 @@\n-two\n+three")
    assert ask(kernel, "git_show", repo_path=REPO, revision="HEAD") == (
        "commit 72eb54960f9f1463afb43d0f92b00217fb713936\n"
        "Author: User <user@example.com>\nDate:   2025-12-01 10:00:00 +0000\n\n    second\n    \n    body\n\n"
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
    )
    assert ask(kernel, "git_show", repo_path=REPO, revision="HEAD:src/b.py") == "b\n"
    assert ask(kernel, "git_branch", repo_path=REPO, branch_type="local") == "* main\n  side"


def test_git_changes():
    kernel = git()
    assert ask(kernel, "git_commit", repo_path=REPO, message="m").endswith("git_status shows what is currently staged.")
    assert ask(kernel, "git_add", repo_path=REPO, files=["a.txt"]) == "Files staged successfully"
    told = ask(kernel, "git_commit", repo_path=REPO, message="m")
    assert told == "Changes committed successfully with hash 6dd2704ef8c968a9692d524939f05d97102ec922"
    assert ask(kernel, "git_create_branch", repo_path=REPO, branch_name="n") == "Created branch 'n' from 'main'"
    assert ask(kernel, "git_checkout", repo_path=REPO, branch_name="side") == "Switched to branch 'side'"
    assert ask(kernel, "git_checkout", repo_path=REPO, branch_name="HEAD~1").startswith("HEAD is now detached at ")


@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        ("git_checkout", {"branch_name": "nope"}, "Ref 'nope' did not resolve to an object"),
        ("git_show", {"revision": "HEAD~9"}, "Ref 'Invalid revision spec 'HEAD~9' - not enough parent commits to reach '~9'' did not resolve to an object"),
        ("git_show", {"revision": "HEAD:nope"}, "\"Blob or Tree named 'nope' not found\""),
        ("git_add", {"files": ["../x"]}, f"Path '../x' is outside the repository '{REPO}'"),
        ("git_add", {"files": ["nope"]}, "Cmd('git') failed due to: exit code(128)\n  cmdline: git add -- nope\n  stderr: 'fatal: pathspec 'nope' did not match any files'"),
        ("git_create_branch", {"branch_name": "a..b"}, "Invalid reference 'refs/heads/a..b': references cannot contain '..'"),
        ("git_branch", {"branch_type": "x"}, "Invalid branch type: x"),
        ("git_diff", {"target": "--output=/tmp/x"}, "Invalid target: '--output=/tmp/x' - cannot start with '-'"),
        ("git_status", {"repo_path": "/home/user"}, f"Repository path '/home/user' is outside the allowed repository '{REPO}'"),
    ],
)  # fmt: skip
def test_git_refuses(tool, arguments, answer):
    kernel = git(only=REPO)
    assert ask(kernel, tool, **{"repo_path": REPO, **arguments}) == f"!Error executing tool {tool}: {answer}"


def test_git_open_world_follows():
    kernel = git(complete=False)
    assert ask(kernel, "git_log", repo_path=REPO).startswith("?Commit history")
    tell(kernel, "git_add", "Files staged successfully", repo_path=REPO, files=["a.txt"])
    tell(kernel, "git_commit", "Changes committed successfully with hash " + "1" * 40, repo_path=REPO, message="m")
    assert "a.txt" not in ask(kernel, "git_status", repo_path=REPO)


def test_git_open_world_learns_the_history():
    kernel = git(complete=False)
    chain = ask(git(), "git_log", repo_path=REPO)
    entries = re.split("\n(?=Commit: )", chain.removeprefix("Commit history:\n"))
    assert len(entries) == 2
    real = [re.sub("Commit: [0-9a-f]{40}", f"Commit: {str(place) * 40}", one) for place, one in enumerate(entries, 1)]
    first = f"Commit: {'3' * 40}\nAuthor: User\nDate: 2025-12-01 08:00:00+00:00\nMessage: before\n\n"
    told = "Commit history:\n" + "\n".join([*real, first])
    tell(kernel, "git_log", told, repo_path=REPO)
    assert ask(kernel, "git_log", repo_path=REPO) == told
    assert ask(kernel, "git_log", repo_path=REPO, max_count=1) == "Commit history:\n" + real[0]
    assert ask(kernel, "git_show", repo_path=REPO, revision="1" * 8).startswith(f"commit {'1' * 40}\nAuthor")
    assert ask(kernel, "git_show", repo_path=REPO, revision="3" * 8).startswith("?")
    ask(kernel, "git_add", repo_path=REPO, files=["a.txt"])
    tell(kernel, "git_commit", f"Changes committed successfully with hash {'4' * 40}", repo_path=REPO, message="m")
    assert ask(kernel, "git_log", repo_path=REPO).startswith(f"Commit history:\nCommit: {'4' * 40}\nAuthor: User\n")
    fresh = git(complete=False)
    fresh.load(kernel.dump())
    assert ask(fresh, "git_log", repo_path=REPO) == ask(kernel, "git_log", repo_path=REPO)
