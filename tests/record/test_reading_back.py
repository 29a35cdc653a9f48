"""Whether a session reads what it wrote: what counts, and what does not."""

import pytest

from worldline.record import code, database, mcp, search, swe
from worldline.types import Action, Observation, Trajectory, Turn, WorldSpec

SERVERS = {
    "files": {"kind": "filesystem", "roots": ["/home/user/notes"]},
    "graph": {"kind": "memory"},
    "data": {"kind": "sqlite"},
    "repo": {"kind": "git", "repositories": {"/home/user/repo": {}}},
    "think": {"kind": "sequentialthinking"},
}
NOTE = "/home/user/notes/a.md"
WORLDS = {
    "code": (code, {}),
    "database": (database, {}),
    "search": (search, {"memory": {"topic": "astronomy"}}),
    "swe": (swe, {"files": {"a.py": "import os\nold = 1\n"}, "cwd": "/home/user/work"}),
    "mcp": (mcp, {"servers": SERVERS, "files": {NOTE: "declared line\n"}}),
}


def reads(domain, *turns):
    module, state = WORLDS[domain]
    told = [
        Turn(action=Action(name=name, arguments=arguments), observation=Observation.from_text(text, is_error=error))
        for name, arguments, text, error in ((*turn, False)[:4] for turn in turns)
    ]
    world = WorldSpec(domain=domain, initial_state=state)
    return module.reads_back(Trajectory(source="observed", world=world, turns=tuple(told)))


def cell(text, error=False):
    return ("python", {"code": text}, "", error)


def sql(text, error=False):
    return ("execute_sql", {"sql": text}, "", error)


def note(operation, text="", **arguments):
    return ("dict_memory", {"operation": operation, **arguments}, text)


@pytest.mark.parametrize(
    ("expected", "turns"),
    [
        (True, [cell("total = 3"), cell("print(total)")]),
        (True, [cell("def double(x):\n    return 2 * x"), cell("y = [double(n) for n in range(3)]")]),
        (True, [cell("total = 3"), cell("def show():\n    return total")]),
        (False, [cell("total = 3"), cell("total = 4\nprint(total)")]),
        (False, [cell("total = 3", True), cell("print(total)")]),
        (False, [cell("total = 3"), cell("print(total)", True)]),
        (False, [cell("import os"), cell("print(os.name)")]),
        (False, [cell("[n for n in range(3)]"), cell("(lambda n: n)(1)")]),
    ],
)
def test_names_of_cells(expected, turns):
    assert reads("code", *turns) is expected


@pytest.mark.parametrize(
    ("expected", "turns"),
    [
        (True, [sql("INSERT INTO pets VALUES (1)"), sql("SELECT * FROM people JOIN pets USING (id)")]),
        (True, [sql('CREATE TABLE "Pets" (id)'), ("describe_table", {"table": "pets"}, "")]),
        (False, [sql("SELECT * FROM pets"), sql("SELECT * FROM pets WHERE id = 1")]),
        (False, [sql("DELETE FROM pets"), sql("DELETE FROM pets")]),
        (False, [sql("UPDATE pets SET id = 2"), sql("SELECT * FROM people")]),
    ],
)
def test_tables(expected, turns):
    assert reads("database", *turns) is expected


@pytest.mark.parametrize(
    ("expected", "turns"),
    [
        (True, [note("add", items={"sun": "a star"}), note("retrieve", "sun: a star", keys=["sun"])]),
        (True, [note("remove_all"), note("retrieve_all", "Memory is empty.")]),
        (False, [note("retrieve", "topic: astronomy", keys=["topic"]), note("retrieve", "topic", keys=["topic"])]),
        (False, [note("add", items={"sun": "a star"}), note("retrieve", "topic: astronomy", keys=["topic"])]),
        (
            False,
            [("web_search", {"query": "solar wind"}, "solar wind"), ("web_search", {"query": "solar wind"}, "wind")],
        ),
        (False, [note("add", items={"sun": "a star"}), ("web_search", {"query": "sun"}, "sun: a star")]),
    ],
)
def test_notes(expected, turns):
    assert reads("search", *turns) is expected


@pytest.mark.parametrize(
    ("expected", "turns"),
    [
        (
            True,
            [("Write", {"file_path": "/home/user/work/b.py", "content": "x"}, ""), ("Read", {"file_path": "b.py"}, "")],
        ),
        (
            True,
            [
                ("edit", {"file_path": "/home/user/work/a.py", "old_string": "old = 1", "new_string": "fresh = 2"}, ""),
                ("run_shell_command", {"command": "git diff"}, "-old = 1\n+fresh = 2"),
            ],
        ),
        (False, [("Read", {"file_path": "a.py"}, "import os"), ("Read", {"file_path": "a.py"}, "import os")]),
        (
            False,
            [("Write", {"file_path": "b.py", "content": "import os"}, ""), ("Bash", {"command": "ls"}, "import os")],
        ),
        (False, [("Write", {"file_path": "b.py", "content": "x"}, "", True), ("Read", {"file_path": "b.py"}, "")]),
    ],
)
def test_files_of_a_repository(expected, turns):
    assert reads("swe", *turns) is expected


@pytest.mark.parametrize(
    ("expected", "turns"),
    [
        (
            True,
            [
                ("files__edit_file", {"path": NOTE, "edits": [{"oldText": "a", "newText": "b"}]}, ""),
                ("files__read_text_file", {"path": NOTE}, ""),
            ],
        ),
        (
            True,
            [
                ("files__create_directory", {"path": "/home/user/notes/drafts"}, ""),
                ("files__list_directory", {"path": "/home/user/notes"}, "[DIR] drafts"),
            ],
        ),
        (
            True,
            [
                ("graph__create_entities", {"entities": [{"name": "Anna", "observations": []}]}, ""),
                ("graph__read_graph", {}, '{"name": "Anna"}'),
            ],
        ),
        (
            True,
            [
                ("data__create_table", {"query": "CREATE TABLE t (a)"}, ""),
                ("data__describe_table", {"table_name": "t"}, ""),
            ],
        ),
        (
            True,
            [
                ("repo__git_commit", {"repo_path": "/home/user/repo", "message": "Tidy up"}, ""),
                ("repo__git_log", {"repo_path": "/home/user/repo"}, "Message: Tidy up"),
            ],
        ),
        (False, [("files__read_text_file", {"path": NOTE}, "x"), ("files__read_text_file", {"path": NOTE}, "x")]),
        (
            False,
            [
                ("files__write_file", {"path": "/home/user/notes/b", "content": "declared line"}, ""),
                ("files__read_text_file", {"path": NOTE}, "declared line"),
            ],
        ),
        (
            False,
            [
                ("files__edit_file", {"path": NOTE, "edits": [{"oldText": "a", "newText": "b"}], "dryRun": True}, ""),
                ("files__read_text_file", {"path": NOTE}, ""),
            ],
        ),
        (
            False,
            [
                ("repo__git_status", {"repo_path": "/home/user/repo"}, "/home/user/repo"),
                ("repo__git_log", {"repo_path": "/home/user/repo"}, "/home/user/repo"),
            ],
        ),
        (
            False,
            [
                ("think__sequentialthinking", {"thought": "think hard", "thoughtNumber": 1}, ""),
                ("think__sequentialthinking", {"thought": "think hard", "thoughtNumber": 2}, "think hard"),
            ],
        ),
    ],
)
def test_servers(expected, turns):
    assert reads("mcp", *turns) is expected
