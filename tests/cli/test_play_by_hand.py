"""The player at a real terminal: typed lines, colon commands, Ctrl-C and Ctrl-D."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest
from chat_server import Reply, chat
from program import PROGRAM, environment

from worldline import read_trajectories
from worldline.sessions import EventStore

PROMPT = r"/home/user \$ "


def _heeds_interrupts() -> None:
    """What is started in the background ignores SIGINT, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Terminal:
    """A person at a terminal of 200 columns."""

    def __init__(self, home: Path, *options: str) -> None:
        arguments = ["play", "terminal", "--store", str(home / "log.db"), *options]
        env = environment(home, TERM="dumb")
        self.child = pexpect.spawn(
            PROGRAM, arguments, encoding="utf-8", timeout=20, cwd=str(home), env=env, dimensions=(50, 200), echo=False,
            preexec_fn=_heeds_interrupts,
        )  # fmt: skip
        self.greeting = self._answer()

    def type(self, line: str) -> str:
        """Type a line and return what is shown until the next prompt."""
        self.child.sendline(line)
        return self._answer()

    def _answer(self) -> str:
        self.child.expect(PROMPT)
        return str(self.child.before).replace("\r\n", "\n")

    def leave(self) -> int:
        """Press Ctrl-D until it is heard: a key pressed while readline sets the terminal up may be lost."""
        for _ in range(20):
            self.child.sendeof()
            if self.child.expect([pexpect.EOF, pexpect.TIMEOUT], timeout=1) == 0:
                break
        self.child.close()
        return int(self.child.exitstatus)

    def end(self) -> tuple[str, int]:
        self.child.expect(pexpect.EOF)
        self.child.close()
        return str(self.child.before), self.child.exitstatus


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    found = Terminal(tmp_path, "--engine", "kernel", "--session", "s")
    yield found
    assert "Traceback" not in str(found.child.before)
    found.child.close(force=True)


def test_commands_of_the_world_and_about_it(terminal: Terminal, tmp_path: Path):
    assert "session s" in terminal.greeting and ":help" in terminal.greeting
    assert "nothing has been predicted" in terminal.type(":why")
    shown = terminal.type("echo one > f; cat f")
    assert "one\n" in shown and "computed" in shown and "confidence 0." in shown and " ms" in shown
    why = terminal.type(":why")
    for word in ("origin      computed", "confidence  0.", "evidence    ", "classes     ", "0..4 computed", r"'one\n'"):
        assert word in why
    state = terminal.type(":state")
    assert json.loads(state[state.index("{") : state.rindex("}") + 1])["cwd"] == "/home/user"
    assert "worldline 1" in terminal.type(":fork")
    terminal.type("rm f")
    assert "No such file" in terminal.type("cat f")
    assert "* 0" in terminal.type(":switch 0")
    assert "one\n" in terminal.type("cat f")
    assert "1 turns stand" in terminal.type(":rewind")
    assert "0 turns stand" in terminal.type(":rewind 1")
    assert "No such file" in terminal.type("cat f")
    listed = terminal.type(":worldlines")
    assert "* 0  session s, 1 turns" in listed and "  1  session " in listed
    assert "wrote out.jsonl" in terminal.type(":save out.jsonl")
    (trajectory,) = read_trajectories(tmp_path / "out.jsonl")
    assert [turn.action.command for turn in trajectory.turns] == ["cat f"] and trajectory.source == "simulated"
    for name in (":why", ":state", ":fork", ":switch", ":worldlines", ":rewind", ":save", ":help", ":quit"):
        assert name in terminal.type(":help")
    terminal.child.sendline(":quit")
    assert terminal.end()[1] == 0


def test_wrong_colon_commands_change_nothing(terminal: Terminal, tmp_path: Path):
    terminal.type("echo one")
    assert "there is no :wrong" in terminal.type(":wrong")
    assert "there is no worldline 7" in terminal.type(":switch 7")
    assert "there is no worldline" in terminal.type(":switch")
    assert "cannot rewind 'x'" in terminal.type(":rewind x")
    assert "cannot rewind 99 turns" in terminal.type(":rewind 99")
    assert "none/x.jsonl" in terminal.type(":save none/x.jsonl")
    assert "1 turns" in terminal.type(":worldlines")


def test_the_shell_has_colon_commands_of_its_own(terminal: Terminal):
    terminal.type(": > empty")
    assert "empty\n" in terminal.type("ls")
    assert "done\n" in terminal.type(":; echo done")


def test_ctrl_c_drops_the_line_and_ctrl_d_leaves(terminal: Terminal, tmp_path: Path):
    terminal.child.send("echo half a li")
    terminal.child.expect(pexpect.TIMEOUT, timeout=0.5)  # until it is read: there is no echo to wait for
    terminal.child.sendintr()
    terminal._answer()
    terminal.child.expect(pexpect.TIMEOUT, timeout=0.5)
    assert "two\n" in terminal.type("echo two")
    assert terminal.leave() == 0
    log = EventStore(tmp_path / "log.db")
    assert [settled.turn.action.command for settled in log.turns("s")] == ["echo two"]
    log.close()


def test_exit_ends_the_world_but_not_the_player(terminal: Terminal):
    shown = terminal.type("exit 3")
    assert "exit 3" in shown and "done" in shown and "the session has ended" in shown
    assert "the session has ended" in terminal.type("ls")
    terminal.type(":rewind")
    assert "back\n" in terminal.type("echo back")


def test_a_session_goes_on_in_another_process(terminal: Terminal, tmp_path: Path):
    terminal.type("echo kept > f; cd /tmp; cd")
    terminal.leave()
    again = Terminal(tmp_path, "--engine", "kernel", "--session", "s")
    assert "kept\n" in again.type("cat f")
    again.child.close(force=True)


def test_ctrl_c_stops_a_step_that_waits_for_its_model(tmp_path: Path, serve):
    slow = serve(Reply(chat("late"), delay=60))
    here = Terminal(tmp_path, "--engine", "grounded", "--model", f"{slow.url}#m", "--session", "s")
    here.child.sendline("whatever --report")
    for _ in range(600):
        if slow.requests:
            break
        here.child.expect([pexpect.TIMEOUT, pexpect.EOF], timeout=0.1)
    assert slow.requests
    here.child.sendintr()
    here._answer()
    assert "still here\n" in here.type("echo still here")
    assert here.leave() == 0
    log = EventStore(tmp_path / "log.db")
    assert [settled.turn.action.command for settled in log.turns("s")] == ["echo still here"]
    log.close()


def test_no_raw_control_bytes_reach_the_terminal(terminal: Terminal):
    shown = terminal.type(r"printf '\033[2J\033]0;title\007\b\r\u202e\u009b1m\n'; printf '\033[31m' >&2")
    assert not set(shown) & {"\x1b", "\x07", "\x08", "\u202e", "\x9b"}
    assert r"\x1b[2J\x1b]0;title\x07\x08\x0d\u202e\x9b1m" in shown and r"\x1b[31m" in shown
    for line in (":why", ":state", r"mkdir $'\033[7mdir'; cd $'\033[7mdir'"):
        terminal.child.sendline(line)
        terminal.child.expect(r"\$ ")
        assert "\x1b" not in str(terminal.child.before)


def test_with_json_typed_lines_are_answered_by_objects(tmp_path: Path):
    from program import records, worldline

    done = worldline(
        "play", "terminal", "--engine", "kernel", "--json", home=tmp_path, stdin="echo a\n:nope\n\n:quit\n"
    )
    turn, error = records(done.stdout)
    assert turn["stdout"] == "a\n" and error["error"]["type"] == "InputError" and done.returncode == 0
