from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.domains.terminal.commands import Loop, Simple
from worldline.domains.terminal.syntax import Fault, Incomplete, parse


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ls |", "command"),
        ("a &&", "command"),
        ("for i in 1 2; do", "command"),
        ("while read l", "command"),
        ("if a; then b; else", "command"),
        ("case x in a) b;;", "command"),
        ("f() {", "command"),
        ("(", "command"),
        ("[[ a", "command"),
        ("x=(1 2", "array"),
        ("echo $(ls", "("),
        ("echo ${x", "command"),
        ("echo 'a", "'"),
        ('echo "a', '"'),
        ("echo `a", "`"),
        ("cat <<EOF", "heredoc"),
        ("cat <<-'E'\n\tx", "heredoc"),
        ("echo \\", "backslash"),
    ],
)
def test_more_is_needed(text: str, kind: str):
    with pytest.raises(Incomplete) as found:
        parse(text)
    assert found.value.kind == kind


@pytest.mark.parametrize("text", ["fi", "ls )", "a ; ; b", "done", "| a", "echo )"])
def test_faults(text: str):
    with pytest.raises(Fault):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "# only a remark", "ls", "a | b |& c", "a && b || c; d &", "for i in 1 2; do echo $i; done",
        "for ((i=0; i<3; i++)); do a; done", "while true; do a; done < f", "if a; then b; elif c; then d; else e; fi",
        "case $x in a|b) c;; *) d;; esac", "f() { ls; }", "function g { ls; }", "( a; b ) > f", "{ a; } 2>&1",
        "[[ -f x && y < z ]] && a", "((i++))", "x=(1 2) y=3 cmd", "echo $(a; b) `c` ${d:-e} <(f)",
        "cat <<A <<B\na\nA\nb\nB", "echo a \\\n b", "! a", "time b", "a 2>/dev/null >&2 <&3", "echo a#b # c",
    ],
)  # fmt: skip
def test_complete(text: str):
    parse(text)


def test_parts():
    tree = parse("sleep 3 > f && echo 'a b' $x; for i in 1 2; do echo $i; done &")
    first = tree.items[0].parts[0][1]
    assert isinstance(first, Simple)
    assert first.name == "sleep" and first.words == ("sleep", "3") and (">", True) in first.tokens
    assert tree.items[0].parts[1][0] == "&&"
    loop = tree.items[1].parts[0][1]
    assert isinstance(loop, Loop) and (loop.variable, loop.head, tree.items[1].background) == ("i", "1 2", True)
    assert [item.text for item in loop.body.items] == ["echo $i"]


def test_bodies_of_documents_belong_to_their_command():
    node = parse("cat <<E > f && ls\nx\nE").items[0].parts[0][1]
    assert isinstance(node, Simple) and node.text == "cat <<E > f\nx\nE"


@given(st.text(alphabet="ab \n;|&()<>'\"\\$`{}#=do", max_size=30))
def test_any_text_ends_in_a_result(text: str):
    with suppress(Fault, Incomplete):
        parse(text)
