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


def test_sh_is_typed_at():
    typist = Typist()
    assert typist.type("sh\n") == f"{PROMPT} sh\n$"
    assert typist.type("cd /; x=5; pwd\n", "echo $x\n").endswith("pwd\n/\n$ echo $x\n5\n$")
    assert typist.guess("if then\n").endswith('sh: 3: Syntax error: "then" unexpected\n$')
    typist = Typist()
    typist.type("sh\n")
    assert typist.type("for i in 1 2; do\n").endswith("do\n>")
    assert typist.type("echo $i; done\n").endswith("> echo $i; done\n1\n2\n$")
    assert typist.type("exit 4\n").endswith(f"$ exit 4\n{PROMPT}")
    assert typist.type("echo $?; pwd\n").endswith(f"4\n/home/user\n{PROMPT}")


def test_what_is_missing_is_told_in_the_words_of_who_looked_for_it():
    typist = Typist()
    said = "timeout: failed to run command ‘nosuch’: No such file or directory"
    assert typist.rows("timeout 2 nosuch; echo $?\n") == [f"{PROMPT} timeout 2 nosuch; echo $?", said, "127"]
