from screen_typing import PROMPT, Typist


def test_ed_answers_line_by_line_and_writes_when_told():
    typist = Typist(packages=["ed"], files={"/home/user/a.txt": "one\ntwo\n"})
    assert typist.type("ed a.txt\n") == f"{PROMPT} ed a.txt\n8"
    assert typist.type("$a\nthree\n.\n,n\n").endswith(".\n,n\n1       one\n2       two\n3       three")
    assert typist.type("9p\nh\n").endswith("9p\nh\n?\nInvalid address")
    assert typist.type("q\n").endswith("q\n?")
    assert typist.type("w\nq\n").endswith(f"14\n{PROMPT}")
    assert typist.rows("tail -n 1 a.txt\n")[-1] == "three"


def test_any_command_may_stand_before_a_pager():
    typist = Typist()
    assert typist.type("for i in 1 2 3; do echo $i; done | less\n") == "\n1\n2\n3\n(END)"
    assert typist.type("q") == f"{PROMPT} for i in 1 2 3; do echo $i; done | less\n{PROMPT}"
