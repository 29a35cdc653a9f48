import pytest
from screen_typing import PROMPT, Typist


@pytest.mark.parametrize(
    ("typed", "output"),
    [
        ("echo abd\x7fc\n", "abc"),
        ("echo x\x15echo y\n", "y"),
        ("echo one two\x17three\n", "one three"),
        ("hi\x01echo \n", "hi"),
        ("echo ac\x1b[Db\n", "abc"),
        ("echo abXX\x02\x02\x0b\n", "ab"),
        ("echo ab\x01\x06\x06\x06\x06\x06x\x05y\n", "xaby"),
        ("echo one two\x1bb\x1bu\n", "one TWO"),
        ("echo a b\x17\x19\x19\n", "a bb"),
        ("echo ab\x14\n", "ba"),
        ("echo abc\x1b[D\x1b[3~\n", "ab"),
    ],
)
def test_keys_edit_the_line(typed: str, output: str):
    rows = Typist().rows(typed)
    assert rows == [f"{PROMPT} echo {output}", output]


def test_history_is_walked_with_arrows():
    typist = Typist()
    typist.type("echo one\n")
    typist.type("echo two\n")
    assert typist.rows("Up", "Up", "Up", "\n")[-1] == "one"
    assert typist.rows("Up", "Up", "Down", "Down", "\n") == [PROMPT]
    assert typist.rows("Up", "Up", "Up", " more\n")[-1] == "one more"


def test_interrupt_at_the_prompt():
    typist = Typist()
    typist.type("echo never")
    assert typist.type("C-c") == f"{PROMPT} echo never^C\n{PROMPT}"
    assert typist.rows("echo $?\n")[-1] == "0"  # `clear` ran in between
    typist.type("x", "C-c")
    assert typist.type("echo $?\n").endswith(f"130\n{PROMPT}")


def test_long_lines_wrap_and_shrink():
    typist = Typist()
    word = "a" * 120
    assert typist.rows(f"echo {word}") == [f"{PROMPT} echo {word[:103]}", word[103:]]
    assert typist.type("\x7f" * 17) == f"{PROMPT} echo {word[:103]}"
    assert typist.type("\x7f") == f"{PROMPT} echo {word[:102]}"
    assert typist.type("\n").split("\n")[1] == word[:102]


def test_wrapping_scrolls_at_the_bottom():
    typist = Typist(screen={"lines": 5, "columns": 40})
    typist.type("seq 1 9\n")
    assert typist.type("echo " + "x" * 23) == "7\n8\n9\nuser@box:~$ echo " + "x" * 23
    assert typist.type("yy").split("\n")[-1] == "yy"


@pytest.mark.parametrize(
    ("lines", "shown", "remembered"),
    [
        (["for i in 1 2", "do echo $i", "done"], ["1", "2"], "for i in 1 2; do echo $i; done"),
        (["echo 'a", "b'"], ["a", "b"], "echo 'a\nb'"),
        (["echo a \\", "b"], ["a b"], "echo a b"),
        (["true &&", "echo yes"], ["yes"], "true && echo yes"),
        (["f() {", "echo $1", "}", "f 5"], ["5"], "f 5"),
        (["cat <<EOF", "#!/bin/x", "EOF"], ["#!/bin/x"], "cat <<EOF\n#!/bin/x\nEOF\n"),
        (["if true; then", "echo 1", "fi"], ["1"], "if true; then echo 1; fi"),
    ],
)
def test_unfinished_lines(lines: list[str], shown: list[str], remembered: str):
    typist = Typist()
    rows = typist.rows("\n".join(lines) + "\n")
    assert rows[0] == f"{PROMPT} {lines[0]}"
    assert rows[1].startswith("> ") or lines[-1] == "f 5"
    assert rows[-len(shown) :] == shown
    typist.type("clear\n")
    assert f"  {remembered}\n" in typist.type("history 3\n")


def test_end_of_input_in_an_unfinished_command():
    typist = Typist()
    typist.type("(\n")
    assert typist.type("C-d").endswith("> \nbash: syntax error: unexpected end of file\nexit".replace("> ", ">"))


def test_several_lines_in_one_text():
    assert Typist().rows("cd /tmp\npwd\n") == [f"{PROMPT} cd /tmp", "user@box:/tmp$ pwd", "/tmp", "user@box:/tmp$"]


@pytest.mark.parametrize(
    ("typed", "rows"),
    [
        ("printf abc\n", ["abcuser@box:~$"]),
        ("printf 'a\\rb\\tc\\n'\n", ["b       c"]),
        ("printf '\\033[1;31mred\\033[0m\\n'\n", ["red"]),
        ("printf 'ab\\bc\\n'\n", ["ac"]),
        ("echo 日本\n", ["日本"]),
    ],
)
def test_what_programs_write_goes_through_the_terminal(typed: str, rows: list[str]):
    assert Typist().rows(typed)[1:] == rows


def test_prompt_follows_its_variable():
    typist = Typist()
    assert typist.type("PS1='[\\W] > '\n") == f"{PROMPT} PS1='[\\W] > '\n[~] >"
    assert typist.type("cd /usr/bin\n").endswith("\n[bin] >")
    assert typist.type("PS1='$? \\$ '\n").endswith("\n0 $")
    assert typist.type("false\n").endswith("\n1 $")


def test_listing_fills_the_width():
    names = [f"a-rather-long-name-{number:02d}" for number in range(9)]
    typist = Typist(files={f"/home/user/{name}": "" for name in [*names, "b c"]})
    rows = typist.rows("ls\n")
    assert len(rows) == 3
    assert "'b c'" in rows[-1] and rows[1].startswith(" a-rather-long-name-00   a-rather")
    assert typist.rows("ls | head -n 2\n")[1:] == names[:2]


class TestHistoryExpansion:
    @pytest.mark.parametrize(
        ("typed", "shown"),
        [
            ("!!\n", ["echo one two", "one two"]),
            ("echo !$\n", ["echo two", "two"]),
            ("!ec:s/one/six/\n", ["echo six two", "six two"]),
            ("^one^ten\n", ["echo ten two", "ten two"]),
            ("echo hi!\n", ["hi!"]),
            ("echo '!!'\n", ["!!"]),
            ('echo "x!y"\n', ["bash: !y: event not found"]),
            ("!nope\n", ["bash: !nope: event not found"]),
            ("!77\n", ["bash: !77: event not found"]),
        ],
    )
    def test_expansion(self, typed: str, shown: list[str]):
        typist = Typist()
        typist.type("clear\n", "echo one two\n")
        rows = typist.type(typed).split("\n")
        assert rows[3:-1] == shown
