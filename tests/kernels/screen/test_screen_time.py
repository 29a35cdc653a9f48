import pytest
from screen_typing import PROMPT, Typist


def test_output_comes_when_its_time_has_come():
    typist = Typist()
    assert typist.type(("sleep 3; echo done\n", 1.0)) == f"{PROMPT} sleep 3; echo done"
    assert typist.type(("", 1.0)) == f"{PROMPT} sleep 3; echo done"
    assert typist.type(("", 1.5)) == f"{PROMPT} sleep 3; echo done\ndone\n{PROMPT}"


def test_loops_are_gone_through():
    typist = Typist()
    line = "for i in 1 2 3; do echo $i; sleep 1; done"
    assert typist.type((f"{line}\n", 1.5)) == f"{PROMPT} {line}\n1\n2"
    assert typist.type(("", 5.0)) == f"{PROMPT} {line}\n1\n2\n3\n{PROMPT}"


def test_conditions_and_while():
    typist = Typist()
    line = "n=3; while [ $n -gt 0 ]; do if sleep 1; then echo $n; fi; n=$((n-1)); done"
    assert typist.type((f"{line}\n", 2.5)).split("\n")[1:] == ["3", "2"]
    assert typist.type(("", 1.0)).split("\n")[1:] == ["3", "2", "1", PROMPT]


def test_clock_follows_the_waits():
    typist = Typist(clock="2026-05-05T10:00:00Z")
    assert typist.rows(("date +%T\n", 2.5))[-1] == "10:00:00"
    assert typist.rows("date +%T\n")[-1] == "10:00:02"


def test_what_happens_at_the_edge_is_not_known():
    typist = Typist()
    typist.guess(("sleep 1.1; echo x\n", 1.0))


def test_timing_inside_a_pipe_is_not_known_until_it_is_over():
    typist = Typist()
    typist.guess(("{ echo a; sleep 2; echo b; } | cat\n", 1.0))
    assert typist.type(("", 2.0)).endswith(f"\na\nb\n{PROMPT}")


def test_timing_inside_a_function():
    typist = Typist()
    typist.type("f() { echo a; sleep 2; echo b; }\n")
    assert typist.type(("f\n", 1.0)).endswith("f\na")
    assert typist.type(("", 2.0)).endswith(f"f\na\nb\n{PROMPT}")


@pytest.mark.parametrize("line", ["sleep 9; echo no", "sleep 9 && echo no", "while true; do sleep 9; done"])
def test_interrupt(line: str):
    typist = Typist()
    typist.type(f"{line}\n")
    assert typist.type("C-c") == f"{PROMPT} {line}\n^C\n{PROMPT}"
    assert typist.type("echo $?\n").endswith(f"130\n{PROMPT}")


def test_typing_ahead_is_shown_twice():
    typist = Typist()
    typist.type(("sleep 2\n", 0.5))
    assert typist.type(("echo a\n", 0.5)) == f"{PROMPT} sleep 2\necho a"
    assert typist.type(("", 2.0)) == f"{PROMPT} sleep 2\necho a\n{PROMPT} echo a\na\n{PROMPT}"


def test_typing_ahead_in_one_go_is_shown_once():
    assert Typist().type(("sleep 1\necho a\n", 2.0)) == f"{PROMPT} sleep 1\n{PROMPT} echo a\na\n{PROMPT}"


class TestJobs:
    def test_stop_and_go_on(self):
        typist = Typist()
        typist.type("sleep 30\n")
        stopped = "[1]+  Stopped                 sleep 30"
        assert typist.type("C-z") == f"{PROMPT} sleep 30\n^Z\n{stopped}\n{PROMPT}"
        assert typist.rows("jobs\n")[1:] == [stopped]
        assert typist.rows("bg\n")[1:] == ["[1]+ sleep 30 &"]
        assert typist.rows("fg\n", "C-c")[1:] == ["sleep 30", "^C"]
        assert typist.rows("fg\n")[1:] == ["bash: fg: current: no such job"]

    def test_background_job_tells_of_its_end(self):
        typist = Typist()
        assert typist.rows("sleep 2 &\n")[1].startswith("[1] ")
        assert typist.rows(("jobs\n", 3.0))[1:] == ["[1]+  Running                 sleep 2 &"]
        assert typist.type("\n").split("\n")[-2:] == ["[1]+  Done                    sleep 2", PROMPT]

    def test_wait_and_kill(self):
        typist = Typist()
        typist.type("sleep 2 &\n", "sleep 60 &\n")
        assert typist.rows("wait %1\n")[1:] == []
        assert typist.type(("", 2.5)).split("\n")[-2:] == ["[1]-  Done                    sleep 2", PROMPT]
        assert typist.rows("kill %2\n")[1:] == []
        assert typist.rows("kill %9\n")[-1:] == ["bash: kill: %9: no such job"]

    def test_output_of_a_job_comes_behind_the_prompt(self):
        typist = Typist()
        assert typist.type(("(sleep 1; echo hi) &\n", 2.0)).split("\n")[-1] == f"{PROMPT} hi"
        rows = typist.type("echo x\n").split("\n")
        assert rows[-4:] == ["echo x", "x", "[1]+  Done                    ( sleep 1; echo hi )", PROMPT]

    def test_stopped_jobs_hold_up_the_exit(self):
        typist = Typist()
        typist.type("sleep 30\n", "C-z")
        assert typist.rows("exit\n")[1:] == ["exit", "There are stopped jobs."]
        assert typist.type("exit\n").endswith("exit\nexit")


SCRIPT = "#!/bin/bash\ntrap 'echo caught; exit 3' INT\nfor i in 1 2 3; do\n  echo step $i\n  sleep 1\ndone\necho over\n"


class TestScripts:
    def test_script_is_gone_through(self):
        typist = Typist(files={"/home/user/s.sh": {"content": SCRIPT, "mode": "755"}})
        assert typist.type(("./s.sh\n", 1.5)).split("\n")[1:] == ["step 1", "step 2"]
        assert typist.type("C-c").split("\n")[3:] == ["^Ccaught", PROMPT]
        assert typist.type("echo $? $i\n").endswith(f"\n3\n{PROMPT}")

    def test_script_in_the_background_keeps_its_own_variables(self):
        typist = Typist(files={"/home/user/s.sh": "i=9\nsleep 1\necho $i > out\n"})
        typist.type("i=5\n", ("bash s.sh &\n", 2.0))
        assert typist.type("echo $i; cat out\n").split("\n")[-4:-2] == ["5", "9"]

    def test_script_into_a_file(self):
        typist = Typist(files={"/home/user/s.sh": "echo a\nsleep 2\necho b\n"})
        typist.type(("bash s.sh > log &\n", 1.0))
        assert typist.rows(("cat log\n", 2.0))[1:] == ["a"]
        assert typist.type("cat log\n").split("\n")[-4:-2] == ["a", "b"]


class TestReading:
    def test_line_becomes_a_variable(self):
        typist = Typist()
        assert typist.rows("read -p 'name? ' n; echo hi $n\n") == [f"{PROMPT} read -p 'name? ' n; echo hi $n", "name?"]
        assert typist.type("Bo\x7fb\n").split("\n")[1:] == ["name? Bb", "hi Bb", PROMPT]

    def test_hidden(self):
        typist = Typist()
        typist.type("read -s w\n", "secret\n")
        assert typist.rows("echo $w\n")[-1] == "secret"

    def test_time_limit(self):
        typist = Typist()
        assert typist.type(("read -t 2 x; echo $?\n", 1.0)) == f"{PROMPT} read -t 2 x; echo $?"
        assert typist.type(("", 1.5)).endswith(f"142\n{PROMPT}")

    def test_letters(self):
        typist = Typist()
        assert typist.rows("read -n 2 k; echo; echo got $k\n", "ab")[1:] == ["ab", "got ab"]


def test_questions_wait_for_answers():
    typist = Typist(files={"/home/user/a": "1\n", "/home/user/b": ""})
    question = "rm: remove regular file 'a'?"
    assert typist.rows("rm -i a b\n")[1:] == [question]
    assert typist.type("y\n").split("\n")[1:] == [f"{question} y", "rm: remove regular empty file 'b'?"]
    typist.type("n\n")
    assert typist.rows("ls\n")[1:] == ["b"]


def test_follow_a_file():
    typist = Typist(
        files={"/home/user/t.sh": "for i in 1 2 3; do echo $i >> log; sleep 1; done\n", "/home/user/log": "0\n"}
    )
    typist.type("bash t.sh &\n", "clear\n")
    assert typist.type(("tail -f log\n", 0.8)).split("\n")[1:] == ["0", "1", "2"]
    assert typist.type(("", 1.0), "C-c").split("\n")[1:] == ["0", "1", "2", "3", "^C", PROMPT]
