"""Parts of make, rsync, parallel, ed and moreutils that recordings cannot reach one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.kernels.perl.values import number, show
from worldline.kernels.shell import ShellKernel
from worldline.kernels.shell.builtins.make.make_parts import match_stem
from worldline.kernels.shell.builtins.make.make_variables import substitute_pattern
from worldline.kernels.shell.builtins.text.ed_buffer import Buffer, EdError, Scanner
from worldline.kernels.shell.builtins.text.utf8_check import find_fault
from worldline.kernels.shell.builtins.transfer.rsync_filters import Rule, excluded
from worldline.types import Action, WorldSpec


def _last(*commands: str, **world: Any) -> tuple[str, str, int, bool]:
    kernel = ShellKernel(WorldSpec(domain="terminal", initial_state=world))
    answer = ("", "", 0, True)
    for command in commands:
        proposal = kernel.propose(Action(name="bash", arguments={"command": command}))
        kernel.accept()
        got = proposal.observation
        answer = (got.stdout or "", got.stderr or "", got.exit_code or 0, proposal.known)
    kernel.close()
    return answer


# --- make


@given(st.text("ab/.", max_size=8), st.text("ab", max_size=3), st.text("ab", max_size=3))
def test_a_stem_fits_back_into_its_pattern(stem: str, before: str, after: str) -> None:
    found = match_stem(f"{before}%{after}", before + stem + after)
    assert found == stem


@pytest.mark.parametrize(
    ("pattern", "name", "stem"),
    [("%.o", "q/e.o", "q/e"), ("lib%.a", "x/libz.a", "x/z"), ("b/%.up", "b/a.up", "a"), ("%.o", ".o", None)],
)
def test_a_rule_without_a_slash_leaves_directories_in_the_stem(pattern: str, name: str, stem: str | None) -> None:
    assert match_stem(pattern, name, rule=True) == stem


@given(st.lists(st.text("abc.", min_size=1, max_size=5), max_size=5))
def test_substituting_a_pattern_by_itself_changes_nothing(words: list[str]) -> None:
    assert substitute_pattern("%", "%", " ".join(words)) == " ".join(words)


def test_a_target_is_remade_when_the_clock_has_moved() -> None:
    files = {"/home/user/Makefile": "out: in\n\tcp in out\n", "/home/user/in": "1\n"}
    world = {"files": files, "packages": ["make"]}
    assert _last("make", **world)[0] == "cp in out\n"
    assert _last("make", "touch in", "make", **world)[0] == "make: 'out' is up to date.\n"
    assert _last("make", "sleep 1", "touch in", "make", **world)[0] == "cp in out\n"


def test_what_make_cannot_know_is_not_made_up() -> None:
    world = {"files": {"/home/user/Makefile": "all:\n\t@echo $$$$\n"}, "packages": ["make"]}
    assert not _last("make", **world)[3]
    assert not _last("make -p", **world)[3]


def test_a_recipe_of_parallel_jobs_is_a_guess_where_they_write() -> None:
    world = {"files": {"/home/user/Makefile": "all: a b\na:\n\t@echo a\nb:\n\t@echo b\n"}, "packages": ["make"]}
    out, _, _, known = _last("make -j2", **world)
    assert (out, known) == ("a\nb\n", False)
    assert _last("make", **world)[3]


# --- rsync


@pytest.mark.parametrize(
    ("pattern", "path", "directory", "matches"),
    [
        ("*.txt", "a/b.txt", False, True),
        ("/a", "a", True, True),
        ("/a", "b/a", False, False),
        ("a/", "x/a", False, False),
        ("a/", "x/a", True, True),
        ("a/*.c", "z/a/x.c", False, True),
        ("a/*.c", "a/y/x.c", False, False),
        ("**/x", "a/y/x", False, True),
        ("d/***", "d", True, True),
        ("d/***", "d/e/f", False, True),
        ("[ab]?", "b1", False, True),
        ("[!ab]?", "b1", False, False),
    ],
)
def test_filter_patterns(pattern: str, path: str, directory: bool, matches: bool) -> None:
    assert Rule.make(pattern, include=False).matches(path, directory=directory) == matches


@given(st.text("ab/", min_size=1, max_size=6).filter(lambda name: not name.startswith("/") and not name.endswith("/")))
def test_the_first_rule_that_matches_decides(path: str) -> None:
    keep, drop = Rule.simple("*", include=True), Rule.simple("*", include=False)
    assert not excluded([keep, drop], path, directory=False)
    assert excluded([drop, keep], path, directory=False)


def test_byte_counts_of_the_protocol_are_a_guess() -> None:
    world = {"files": {"/home/user/a/x": "1\n"}, "packages": ["rsync"]}
    out, _, _, known = _last("rsync -av a/ b", **world)
    assert out.startswith("sending incremental file list\ncreated directory b\n./\nx\n")
    assert not known


def test_a_copy_keeps_bytes_modes_and_times() -> None:
    files = {"/home/user/a/x": {"base64": "AP8K", "mode": "640", "mtime": "2025-01-02T03:04:05Z"}}
    out, _, _, known = _last("rsync -a a/ b; stat -c '%a %Y %s' b/x; od -An -tx1 b/x", files=files, packages=["rsync"])
    assert (out, known) == ("640 1735787045 3\n 00 ff 0a\n", True)


# --- parallel


def test_the_order_of_jobs_is_known_only_where_it_is_kept() -> None:
    world = {"packages": ["parallel"]}
    assert _last("parallel -j2 echo ::: a b", **world)[3] is False
    assert _last("parallel -j2 -k echo ::: a b", **world) == ("a\nb\n", "", 0, True)
    assert _last("parallel -j2 true ::: a b", **world)[3]


# --- ed


def test_addresses() -> None:
    buffer = Buffer(["one", "two", "three", "four"], current=2)
    for text, found in [
        ("3p", [3]),
        ("$", [4]),
        (".+1", [3]),
        ("2,$p", [2, 4]),
        (",p", [1, 4]),
        ("/our/", [4]),
        ("?one?", [1]),
        ("-", [1]),
        ("%p", [1, 4]),
        ("1;+1", [1, 2]),
    ]:
        buffer.current = 2
        assert Scanner(text, buffer).addresses() == found, text
    with pytest.raises(EdError, match="Invalid address"):
        Scanner("9p", buffer).addresses()
    with pytest.raises(EdError, match="No match"):
        Scanner("/nine/", buffer).addresses()


@given(st.lists(st.text("abc", max_size=4), min_size=1, max_size=6))
def test_writing_what_was_read_changes_nothing(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    world = {"files": {"/home/user/f": text}, "packages": ["ed"]}
    out, _, status, known = _last("printf 'w\\nq\\n' | ed -s f; cat f", **world)
    assert (out, status, known) == (text, 0, True)


# --- isutf8


@given(st.binary(max_size=12))
def test_a_fault_is_found_where_python_finds_one(data: bytes) -> None:
    fault = find_fault(data)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        assert fault is not None
        assert fault.offset == error.start
    else:
        assert fault is None


# --- perl


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.1 + 0.2, "0.3"), (1e15, "1e+15"), (1e21, "1e+21"), (1e-7, "1e-07"), (3.0, "3"), (1 / 3, "0.333333333333333")],
)
def test_perl_shows_fifteen_digits(value: float, shown: str) -> None:
    assert show(value) == shown


@given(st.integers(-(2**62), 2**62))
def test_perl_reads_back_the_integers_it_shows(value: int) -> None:
    assert number(show(value)) == value


def test_what_perl_does_by_chance_is_not_made_up() -> None:
    world = {"packages": ["perl"]}
    assert not _last("""perl -e 'my %h = (a => 1, b => 2); print keys %h'""", **world)[3]
    assert not _last("""perl -e 'print rand'""", **world)[3]
    assert not _last("""perl -we 'my $x; print "$x\\n"'""", **world)[3]
    assert not _last("""perl -e 'while (1) { $i++ }'""", **world)[3]
    assert _last("""perl -e 'my %h = (a => 1, b => 2); print sort keys %h'""", **world) == ("ab", "", 0, True)
