"""A real terminal in the sandbox: keys in, screens out, time that a slow machine does not change."""

import shutil
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from recorder_plans import world

from worldline.domains.terminal.keystrokes import Keystrokes, keystroke_action
from worldline.errors import ActionError, SessionError
from worldline.record.terminal import RealTerminal
from worldline.types import Action

Press = Callable[..., str]


@pytest.fixture(params=["pyte", "tmux"])
def terminal(request: pytest.FixtureRequest) -> Iterator[RealTerminal]:
    if request.param == "tmux" and shutil.which("tmux") is None:
        pytest.skip("tmux is not installed: apt-get install tmux")
    files = {"/home/user/n.txt": "".join(f"line {n}\n" for n in range(1, 101))}
    with RealTerminal(world(screen={}, files=files), emulation=request.param) as opened:
        yield opened


def press(terminal: RealTerminal, *keys: tuple[str, float]) -> list[str]:
    return terminal.type([Keystrokes(*key) for key in keys]).text.split("\n")


def test_the_first_screen_is_the_prompt(terminal: RealTerminal):
    assert terminal.screen().text == "user@box:~$"
    assert terminal.screen().exit_code is None and terminal.screen().merged


def test_echo_output_and_the_next_prompt(terminal: RealTerminal):
    assert press(terminal, ("echo a; nosuch\n", 0.1)) == [
        "user@box:~$ echo a; nosuch",
        "a",
        "bash: nosuch: command not found",
        "user@box:~$",
    ]
    assert press(terminal, ("echo $TERM ${PS1@Q} $HISTFILE $PPID\nenv | grep -c PS1\n", 0.2))[-5:-2] == [
        "user@box:~$ echo $TERM ${PS1@Q} $HISTFILE $PPID",
        "xterm-256color '\\u@\\h:\\w\\$ ' 2",
        "user@box:~$ env | grep -c PS1",
    ]


def test_a_short_wait_shows_the_echo_and_the_rest_comes_later(terminal: RealTerminal):
    assert press(terminal, ("sleep 1; echo done\n", 0.3)) == ["user@box:~$ sleep 1; echo done"]
    assert terminal.last is not None and terminal.last.foreground == "sleep"
    assert press(terminal, ("", 1.2))[1:] == ["done", "user@box:~$"]


def test_what_computes_costs_no_time(terminal: RealTerminal):
    busy = "python3 -c 'for _ in range(9 * 10 ** 6): pass'; echo over\n"
    assert press(terminal, (busy, 0.1))[-2:] == ["over", "user@box:~$"]
    assert terminal.last is not None and terminal.last.waited == 0.1 and terminal.last.overrun is None


def test_interrupts_reach_the_program_alone(terminal: RealTerminal):
    assert press(terminal, ("sleep 60\n", 0.3), ("C-c", 0.2), ("echo $?\n", 0.2))[-4:] == [
        "^C",
        "user@box:~$ echo $?",
        "130",
        "user@box:~$",
    ]
    assert press(terminal, ("cat\n", 0.2), ("hey\n", 0.2), ("C-z", 0.2), ("jobs\n", 0.2))[-2:] == [
        "[1]+  Stopped                 cat",
        "user@box:~$",
    ]


def test_workers_that_ignore_interrupts_do_not_pass_that_on():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with RealTerminal(world(screen={})) as opened:
            assert press(opened, ("sleep 60\n", 0.3), ("C-c", 0.2))[-2:] == ["^C", "user@box:~$"]
            assert press(opened, ("clear; yes | head -n 1\n", 0.3)) == ["y", "user@box:~$"]
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_clock_follows_the_waits(terminal: RealTerminal):
    seen = press(terminal, ("date +%T; sleep 2; date +%T\n", 2.5), ("date +%T\n", 0.5))
    assert [row for row in seen if row.startswith("00:")] == ["00:00:00", "00:00:02", "00:00:02"]
    assert terminal.passed == 3.0 and f"{terminal.now:%T}" == "00:00:03"


def test_full_screen_programs_and_what_was_there_before(terminal: RealTerminal):
    pager = press(terminal, ("less n.txt\n", 0.3))
    assert pager[:2] == ["line 1", "line 2"] and pager[-1] == "n.txt" and len(pager) == 40
    assert terminal.last is not None and terminal.last.full_screen and terminal.last.foreground == "less"
    assert press(terminal, ("Down", 0.2))[0] == "line 2"
    assert press(terminal, ("q", 0.2)) == ["user@box:~$ less n.txt", "user@box:~$"]
    assert press(terminal, ("vi n.txt\n", 0.5), ("dd", 0.2))[0] == "line 2"
    assert press(terminal, (":x\n", 0.3), ("head -n 1 n.txt\n", 0.2))[-2:] == ["line 2", "user@box:~$"]
    nano = press(terminal, ("nano new.txt\n", 0.5), ("typed;", 0.3))
    assert nano[2] == "typed;" or nano[1] == "typed;"
    assert press(terminal, ("C-x", 0.2), ("n", 0.3))[-1] == "user@box:~$"


def test_prompts_of_programs_that_read(terminal: RealTerminal):
    assert press(terminal, ("python3 -q\n", 0.3), ("6 * 7\n", 0.2))[-3:] == [">>> 6 * 7", "42", ">>>"]
    assert press(terminal, ("C-d", 0.3), ("read -p 'name? ' n\n", 0.2))[-1] == "name?"
    assert press(terminal, ("é漢;\n", 0.2), ('echo "<$n>"\n', 0.2))[-2:] == ["<é漢;>", "user@box:~$"]


def test_an_empty_list_asks_for_the_end(terminal: RealTerminal):
    seen = terminal.act(keystroke_action([])).text
    assert seen == f"user@box:~$\n{terminal.screen_spec.completion}"
    with pytest.raises(ActionError):
        terminal.act(Action(name="bash", arguments={"command": "ls"}))


def test_the_shell_may_end(terminal: RealTerminal):
    assert press(terminal, ("exit\n", 0.3))[-1] == "exit"
    assert terminal.ended
    with pytest.raises(SessionError):
        press(terminal, ("ls\n", 0.1))


def test_other_sizes_and_prompts():
    spec: dict[str, Any] = {"columns": 30, "lines": 6, "prompt": "it's \\W> "}
    with RealTerminal(world(screen=spec, cwd="/tmp")) as opened:
        assert press(opened, ("seq 10\n", 0.2)) == ["6", "7", "8", "9", "10", "it's tmp>"]
        assert press(opened, ("clear; tput cols; tput lines\n", 0.2)) == ["30", "6", "it's tmp>"]
        assert press(opened, ("clear; echo aaaaaaaaaabbbbbbbbbbcccc\n", 0.2))[0] == "aaaaaaaaaabbbbbbbbbbcccc"


def test_something_that_never_stops_computing_is_given_up():
    from worldline.record.shell import Limits

    with RealTerminal(world(screen={}), limits=Limits(wall=1.0)) as opened:
        press(opened, ("while :; do :; done\n", 0.1))
        assert opened.last is not None and opened.last.overrun == "time"
        assert press(opened, ("C-c", 0.2))[-1] == "user@box:~$"
