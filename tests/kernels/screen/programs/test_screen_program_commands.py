"""Commands of interactive programs, one by one: what the real ones showed."""

from __future__ import annotations

import pytest
from mini_terminal import MiniTerminal

POEM = 'alpha beta gamma\nfoo(bar, baz) = "quoted text"\nthe the cat\n\n  indented line\nx = 10\n\nlast one here\n'


def edited(*keys: str, text: str = POEM) -> str:
    """What vim leaves of a text after keys, sent one at a time."""
    terminal = MiniTerminal({"f.txt": text})
    terminal.type("vim f.txt\r")
    for key in "".join(keys):
        terminal.type(key)
    terminal.type(":wq\r")
    assert not terminal.unknown, terminal.unknown
    found = terminal.host.read("f.txt").decode()
    terminal.host.close()
    return found


@pytest.mark.parametrize(
    ("keys", "first"),
    [
        ("viwU", "ALPHA beta gamma"),
        ("vlld", "ha beta gamma"),
        ("dw.", "gamma"),
        ("x3.", "a beta gamma"),
        ("Vjd", "the the cat"),
        ('2Gf"ci"new\x1b', "alpha beta gamma"),
        ("qaA;\x1bjq@a", "alpha beta gamma;"),
        ('"byiw"bP', "alphaalpha beta gamma"),
        (":s/a/A/g\r", "AlphA betA gAmmA"),
        (":%s/a/b/gc\rynq", "blpha beta gamma"),
        (":1m2\r", 'foo(bar, baz) = "quoted text"'),
        (":g/the/d\r:1,2j\r", 'alpha beta gamma foo(bar, baz) = "quoted text"'),
        (":%norm I# \r", "# alpha beta gamma"),
        (">>", "\talpha beta gamma"),
        ("3Gd'a:1\rmaG'add", 'foo(bar, baz) = "quoted text"'),
        ("RABC\x1b", "ABCha beta gamma"),
        ("wi\x17new \x1b", "new beta gamma"),
        ("3A!\x1b", "alpha beta gamma!!!"),
        ("\x16jjI- \x1b", "- alpha beta gamma"),
    ],
)
def test_what_vim_leaves(keys: str, first: str) -> None:
    assert edited(keys).split("\n")[0] == first


def test_vim_is_read_off_a_screen_that_was_not_foreseen() -> None:
    terminal = MiniTerminal({"f.txt": POEM})
    terminal.type("vim f.txt\r")
    program = terminal.program
    rows = ["other text", "second line", *["~"] * 37, f"{'':102}{'2,3':<14}All"]
    program.doubt = "something"  # type: ignore[union-attr]
    program.resynchronise(rows, terminal.host)  # type: ignore[union-attr]
    terminal.type("x")
    terminal.type(":wq\r")
    assert terminal.host.read("f.txt") == b"other text\nseond line\n"
    terminal.host.close()


def test_a_script_reads_letters_and_ends_of_input_one_by_one() -> None:
    source = '#!/bin/bash\nread -n1 a\necho\nread b || echo none\nread c\necho "$a $b $c"\n'
    terminal = MiniTerminal({"a.sh": source})
    terminal.type("./a.sh\r")
    terminal.type("k")
    terminal.type("\x04")
    assert terminal.type("last\r").endswith("none\nlast\nk  last\nuser@box:~$")
    terminal.host.close()


def test_python_goes_on_after_what_it_does_not_know() -> None:
    terminal = MiniTerminal({})
    terminal.type("python3 -q\r")
    terminal.type("import asyncio\r")
    terminal.unknown.clear()
    assert terminal.type("1 + 1\r").endswith(">>> 1 + 1\n2\n>>>")
    assert not terminal.unknown
    terminal.type("asyncio\r")
    assert terminal.unknown
    terminal.host.close()


def test_names_of_a_script_are_there_at_the_prompt_after_it() -> None:
    terminal = MiniTerminal({"a.py": "x = 20\n1 / 0\n"})
    assert "ZeroDivisionError" in terminal.type("python3 -i a.py\r")
    assert terminal.type("x * 2\r").endswith("40\n>>>")
    terminal.host.close()
