"""Git's line work: differences rebuild the new file, merges of one-sided changes are that side."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.kernels.git.changes import similarity
from worldline.kernels.git.index import Index, Sides
from worldline.kernels.git.linediff import line_changes, lines_of
from worldline.kernels.git.merging import merge_lines
from worldline.kernels.git.objects import TreeEntry
from worldline.kernels.git.options import parse
from worldline.kernels.git.patch import quoted
from worldline.kernels.git.statistics import rename_name
from worldline.kernels.git.suggesting import similar

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"\n", b"  c\n", b"}\n", b"def f():\n"]), max_size=30)
WAYS = st.sampled_from(["shown", "merge", "plain"])


@given(LINES, LINES, WAYS)
def test_changes_rebuild_the_new_file(old, new, way):
    built, at = [], 0
    for change in line_changes(old, new, way=way):
        assert old[at : change.old_start] == new[len(built) : change.new_start]
        built += old[at : change.old_start] + new[change.new_start : change.new_end]
        at = change.old_end
    assert built + old[at:] == new


@given(LINES, LINES)
def test_a_merge_with_one_changed_side_is_that_side(base, side):
    old, new = b"".join(base), b"".join(side)
    assert merge_lines(old, new, old, ("a", "b")) == (new, 0)
    assert merge_lines(old, old, new, ("a", "b")) == (new, 0)
    assert merge_lines(old, new, new, ("a", "b")) == (new, 0)


def test_a_conflict_shows_both_sides():
    text, count = merge_lines(b"1\n2\n3\n", b"1\nx\n3\n", b"1\ny\n3\n", ("HEAD", "topic"))
    assert (text, count) == (b"1\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> topic\n3\n", 1)
    assert merge_lines(b"2\n", b"x\n", b"y\n", ("a", "b"), favor="theirs") == (b"y\n", 0)


@given(st.binary(max_size=300))
def test_similarity_is_full_for_equal_files(data):
    data = data.replace(b"\r", b"")  # git does not count the carriage returns of line ends
    assert similarity(data, data) == (60000 if data else 0)


@given(LINES)
def test_lines_join_to_the_file(lines):
    assert lines_of(b"".join(lines)) == lines


PATHS = st.text(st.sampled_from("abc/ü "), min_size=1, max_size=8).map(lambda text: f"x{text.replace('/', 'd')}")
SHAS = st.integers(0, 2**160 - 1).map(lambda number: f"{number:040x}")
ENTRIES = st.builds(TreeEntry, st.sampled_from([0o100644, 0o100755, 0o120000]), SHAS)


@given(st.dictionaries(PATHS, ENTRIES), st.dictionaries(PATHS, ENTRIES))
def test_an_index_survives_its_file(entries, conflicts):
    index = Index(dict(entries))
    for path, entry in conflicts.items():
        index.drop(path)
        index.conflicts[path] = Sides(None, entry, entry)
    again = Index.decode(index.encode())
    assert (again.entries, again.conflicts) == (index.entries, index.conflicts)


@pytest.mark.parametrize(
    ("word", "found"),
    [("comit", ["commit"]), ("statsu", ["status", "stash", "stage"][:1]), ("qwertyuiop", [])],
)
def test_misspelt_commands_get_suggestions(word, found):
    assert similar(word)[:1] == found


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("a.txt", "b.txt", "a.txt => b.txt"),
        ("src/a.py", "lib/a.py", "{src => lib}/a.py"),
        ("d/a.txt", "d/e/a.txt", "d/{ => e}/a.txt"),
        ("d/x/a.txt", "d/a.txt", "d/{x => }/a.txt"),
    ],
)
def test_renames_are_shortened(old, new, shown):
    assert rename_name(old, new) == shown


def test_paths_are_quoted_as_c_strings():
    assert quoted("plain name") == "plain name"
    assert quoted('a"b\n') == '"a\\"b\\n"'
    assert quoted("ü") == '"\\303\\274"'


def test_options_are_read_off_usage_texts():
    options = parse("commit", ["-qam", "text", "--no-edit", "--amen", "file", "--", "-x"])
    assert Counter(name for name, _ in options.given) == Counter(
        ["--quiet", "--all", "--message", "--no-edit", "--amend"]
    )
    assert options.get("--message") == "text"
    assert (options.args, options.dashes) == (["file", "-x"], 1)
