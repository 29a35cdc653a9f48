"""The kernel of the filesystem server against what the real one says."""

import pytest
from mcp_worlds import ROOT, ask, files_kernel, tell

FILES = {
    "a.txt": "one\ntwo\nthree\n",
    "crlf.txt": "a\r\nb\r\nc",
    "sub/x.py": "x = 1\n  y = 2\n",
    "sub/deep/z.json": "{}",
}
LINKS = {
    "esc": {"kind": "symlink", "target": "/etc/passwd"},
    "up": {"kind": "symlink", "target": "../secret"},
    "ln": {"kind": "symlink", "target": "a.txt"},
    "loop": {"kind": "symlink", "target": "loop"},
}
OUTSIDE = f"not in {ROOT}"


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"path": f"{ROOT}/a.txt"}, "one\ntwo\nthree\n"),
        ({"path": "a.txt", "head": 2}, "one\ntwo"),
        ({"path": "a.txt", "head": 1.5}, "one\ntwo"),
        ({"path": "a.txt", "tail": 2}, "three\n"),
        ({"path": "a.txt", "tail": -1}, ""),
        ({"path": "crlf.txt", "tail": 2}, "b\nc"),
        ({"path": "a.txt", "head": 1, "tail": 1}, "!Cannot specify both head and tail parameters simultaneously"),
        ({"path": "nope"}, f"!ENOENT: no such file or directory, open '{ROOT}/nope'"),
        ({"path": ROOT}, "!EISDIR: illegal operation on a directory, read"),
        ({"path": "a.txt/x"}, f"!ENOTDIR: not a directory, realpath '{ROOT}/a.txt/x'"),
        ({"path": "ln"}, "one\ntwo\nthree\n"),
        ({"path": "loop"}, f"!ELOOP: too many symbolic links encountered, realpath '{ROOT}/loop'"),
    ],
)
def test_reading(arguments, answer):
    assert ask(files_kernel({**FILES, **LINKS}), "read_text_file", **arguments) == answer


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/etc/passwd", f"!Access denied - path outside allowed directories: /etc/passwd {OUTSIDE}"),
        ("../x", f"!Access denied - path outside allowed directories: /home/user/x {OUTSIDE}"),
        (f"{ROOT}/../../x", f"!Access denied - path outside allowed directories: /home/x {OUTSIDE}"),
        (f"{ROOT}-more/x", f"!Access denied - path outside allowed directories: {ROOT}-more/x {OUTSIDE}"),
        ("esc", f"!Access denied - symlink target outside allowed directories: /etc/passwd {OUTSIDE}"),
        ("up", f"!Access denied - symlink target outside allowed directories: /home/user/secret {OUTSIDE}"),
        ("C:\\x", "!Access denied - Windows-style path received on a POSIX host: C:\\x"),
        ("~", f"!Access denied - path outside allowed directories: /home/user {OUTSIDE}"),
        ("a\0b", f"!Access denied - path outside allowed directories: {ROOT}/a\0b {OUTSIDE}"),
    ],
)
@pytest.mark.parametrize("tool", ["read_text_file", "list_directory", "get_file_info", "create_directory"])
def test_paths_outside(tool, path, answer):
    kernel = files_kernel({**FILES, **LINKS})
    kernel._state.host.tree.declare("/home/user/secret", kernel._state.host.tree.node(f"{ROOT}/a.txt"))
    assert ask(kernel, tool, path=path) == answer


def test_listings():
    kernel = files_kernel({**FILES, "_u": "u", "Zed": "z" * 2048, "b.md": ""})
    assert ask(kernel, "list_directory", path=ROOT) == (
        "[FILE] Zed\n[FILE] _u\n[FILE] a.txt\n[FILE] b.md\n[FILE] crlf.txt\n[DIR] sub"
    )
    sized = ask(kernel, "list_directory_with_sizes", path=ROOT).split("\n")
    assert sized[0] == "[FILE] _u" + " " * 28 + "        1 B".rjust(11)
    assert sized[-4:] == [
        f"[FILE] {'Zed':30}    2.00 KB",
        "",
        "Total: 5 files, 1 directories",
        "Combined size: 2.02 KB",
    ]
    assert ask(kernel, "directory_tree", path=f"{ROOT}/sub", excludePatterns=["deep"]) == (
        '[\n  {\n    "name": "x.py",\n    "type": "file"\n  }\n]'
    )
    assert ask(kernel, "search_files", path=ROOT, pattern="**/*.{py,json}") == (
        f"{ROOT}/sub/deep/z.json\n{ROOT}/sub/x.py"
    )
    assert ask(kernel, "search_files", path=ROOT, pattern="x.py") == "No matches found"


def test_editing():
    kernel = files_kernel(FILES)
    edits = [{"oldText": "x = 1\ny = 2", "newText": "k\n\tl"}]
    diff = (
        f"```diff\nIndex: {ROOT}/sub/x.py\n{'=' * 67}\n--- {ROOT}/sub/x.py\toriginal\n+++ {ROOT}/sub/x.py\tmodified\n"
        "@@ -1,2 +1,2 @@\n-x = 1\n-  y = 2\n+k\n+\tl\n```\n\n"
    )
    assert ask(kernel, "edit_file", path="sub/x.py", edits=edits, dryRun=True) == diff
    assert ask(kernel, "read_text_file", path="sub/x.py") == FILES["sub/x.py"]
    assert ask(kernel, "edit_file", path="sub/x.py", edits=edits) == diff
    assert ask(kernel, "read_text_file", path="sub/x.py") == "k\n\tl\n"
    assert ask(kernel, "edit_file", path="sub/x.py", edits=edits) == (
        "!Could not find exact match for edit:\nx = 1\ny = 2"
    )


def test_writing_and_moving():
    kernel = files_kernel(FILES)
    assert ask(kernel, "write_file", path="new.txt", content="hi") == "Successfully wrote to new.txt"
    assert ask(kernel, "write_file", path="no/x", content="") == (
        f"!ENOENT: no such file or directory, open '{ROOT}/no/x'"
    )
    assert ask(kernel, "create_directory", path="d/e") == "Successfully created directory d/e"
    assert ask(kernel, "move_file", source="new.txt", destination="d/e/n") == "Successfully moved new.txt to d/e/n"
    assert ask(kernel, "move_file", source="d", destination="d/e/d").startswith("!EINVAL: invalid argument, rename")
    assert ask(kernel, "move_file", source="a.txt", destination="d") == f"!Destination already exists: {ROOT}/d"
    assert ask(kernel, "read_multiple_files", paths=["d/e/n", "new.txt"]) == (
        f"d/e/n:\nhi\n\n---\nnew.txt: Error - ENOENT: no such file or directory, open '{ROOT}/new.txt'"
    )


def test_wrong_arguments():
    kernel = files_kernel(FILES)
    start = "!MCP error -32602: Input validation error: Invalid arguments for tool"
    assert ask(kernel, "nope") == "!MCP error -32602: Tool nope not found"
    assert ask(kernel, "edit_file", path=1, edits=[{"oldText": "x"}, "y"]) == (
        f"{start} edit_file: Invalid input: expected string, received number at path\n"
        "Invalid input: expected string, received undefined at edits[0].newText\n"
        "Invalid input: expected object, received string at edits[1]"
    )
    assert ask(kernel, "list_directory_with_sizes", path=ROOT, sortBy="date") == (
        f'{start} list_directory_with_sizes: Invalid option: expected one of "name"|"size" at sortBy'
    )


def test_open_world_learns():
    kernel = files_kernel(FILES, complete=False)
    assert ask(kernel, "read_text_file", path="a.txt") == FILES["a.txt"]
    assert ask(kernel, "list_directory", path=ROOT).startswith("?")
    assert ask(kernel, "read_text_file", path="other.txt").startswith("?!ENOENT")
    tell(kernel, "read_text_file", "seen\n", path="other.txt")
    assert ask(kernel, "read_text_file", path="other.txt") == "seen\n"
    tell(kernel, "list_directory", "[FILE] a.txt\n[FILE] other.txt\n[DIR] sub\n[FILE] third", path=ROOT)
    assert ask(kernel, "list_directory", path=ROOT) == "[FILE] a.txt\n[FILE] other.txt\n[DIR] sub\n[FILE] third"
    assert ask(kernel, "read_text_file", path="crlf.txt").startswith("!ENOENT")
    assert ask(kernel, "read_text_file", path="third").startswith("?")
    assert ask(kernel, "write_file", path="sub/new", content="x").startswith("?")
    tell(kernel, "write_file", "Successfully wrote to sub/new", path="sub/new", content="x")
    assert ask(kernel, "read_text_file", path="sub/new") == "x"


def test_a_move_that_was_not_foreseen_keeps_the_content():
    kernel = files_kernel(FILES, complete=False)
    tell(kernel, "move_file", "Successfully moved a.txt to q.txt", source="a.txt", destination="q.txt")
    assert ask(kernel, "read_text_file", path="q.txt") == FILES["a.txt"]
    assert ask(kernel, "read_text_file", path="a.txt").startswith("!ENOENT")
