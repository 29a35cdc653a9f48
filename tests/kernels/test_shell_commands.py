"""The table of commands as a whole."""

from __future__ import annotations

from itertools import combinations

from worldline.kernels.shell.builtins import commands, offers


def test_no_command_is_offered_twice() -> None:
    tables = offers()
    doubled = {
        (one, other, name)
        for one, other in combinations(tables, 2)
        for name in tables[one].keys() & tables[other].keys()
    }
    assert not doubled


def test_the_table_is_sorted() -> None:
    assert list(commands()) == sorted(commands())
