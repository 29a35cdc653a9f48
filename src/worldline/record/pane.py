"""The two terminals that a box can have: a pty whose screen pyte rebuilds, and tmux for full-screen programs."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from worldline.domains.terminal.keystrokes import NAMED_KEYS, Keystrokes
from worldline.domains.terminal.state import ScreenSpec
from worldline.errors import SandboxError, boundary, require_extra
from worldline.record.emulator import Emulator

__all__ = ["Pane", "PtyPane", "TmuxPane"]

_CHUNK = 1 << 16
_IUTF8 = 0o40000
_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
_CURSOR_KEYS = frozenset({"Up", "Down", "Left", "Right"})


class Pane(Protocol):
    """A terminal with one program in it."""

    pid: int
    """Host id of the program."""

    def send(self, keys: Keystrokes) -> None:
        """Press keys; what does not fit into the terminal's queue goes in while `pump` waits."""

    def pump(self, seconds: float) -> bool:
        """Wait so long, or until something was written; returns whether something was."""

    def rows(self) -> list[str]:
        """The screen's rows, without blanks at their ends."""

    @property
    def ended(self) -> bool:
        """Whether the program is gone."""

    @property
    def alternate(self) -> bool:
        """Whether a program has asked for the alternate screen."""

    def close(self) -> None:
        """Take the terminal away, which ends the program."""


class PtyPane:
    """A pty, its screen rebuilt by a terminal emulator.

    Args:
        command: Program and arguments.
        screen: Size of the terminal.

    Raises:
        SandboxError: There is no pty.
    """

    def __init__(self, command: Sequence[str], screen: ScreenSpec) -> None:
        require_extra("pexpect", "record")
        import pexpect

        self._emulator = Emulator(screen.columns, screen.lines)
        with boundary(SandboxError, "opening a terminal"):
            self._child = pexpect.spawn(
                command[0],
                list(command[1:]),
                dimensions=(screen.lines, screen.columns),
                env=dict(_ENVIRONMENT),
                timeout=None,
                preexec_fn=_count_letters,
            )
        self._child.delaybeforesend = None
        self.pid: int = self._child.pid
        self._descriptor: int = self._child.child_fd
        os.set_blocking(self._descriptor, False)
        self._todo = b""
        self._gone = False

    @property
    def ended(self) -> bool:
        return self._gone

    @property
    def alternate(self) -> bool:
        return self._emulator.alternate

    def send(self, keys: Keystrokes) -> None:
        text = keys.keys
        if keys.text in _CURSOR_KEYS and self._emulator.cursor_keys:
            text = text.replace("[", "O")
        self._todo += text.encode()
        self._feed()

    def _feed(self) -> None:
        with suppress(BlockingIOError, OSError):
            while self._todo:
                self._todo = self._todo[os.write(self._descriptor, self._todo) :]

    def pump(self, seconds: float) -> bool:
        if self._gone:
            time.sleep(seconds)
            return False
        writing = [self._descriptor] if self._todo else []
        ready, room, _ = select.select([self._descriptor], writing, [], seconds)
        if room:
            self._feed()
        return bool(ready) and self._read()

    def _read(self) -> bool:
        try:
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:  # the other side is closed
            data = b""
        if not data:
            self._gone = True
            return False
        self._emulator.feed(data)
        return True

    def rows(self) -> list[str]:
        return self._emulator.rows()

    def close(self) -> None:
        with suppress(OSError):
            self._child.close(force=True)


def _count_letters() -> None:
    """Make the terminal's own line editing erase a letter where it would erase a byte."""
    import termios

    settings = termios.tcgetattr(0)
    settings[0] |= _IUTF8
    termios.tcsetattr(0, termios.TCSANOW, settings)


class TmuxPane:
    """A window of a private tmux server, which ends with this process.

    Args:
        command: Program and arguments.
        screen: Size of the terminal.

    Raises:
        SandboxError: tmux is missing or does not start.
    """

    def __init__(self, command: Sequence[str], screen: ScreenSpec) -> None:
        if shutil.which("tmux") is None:
            raise SandboxError("tmux is not installed", hint="apt-get install tmux")
        self._folder = tempfile.TemporaryDirectory(prefix=f"worldline-tmux-{os.getpid()}-")
        self._tmux = ["tmux", "-u", "-S", str(Path(self._folder.name) / "socket"), "-f", "/dev/null"]
        self._environment = {**_ENVIRONMENT, "HOME": self._folder.name, "TERM": "xterm-256color"}
        with boundary(SandboxError, "starting tmux"):
            self._server = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *self._tmux, "-D"],
                env=self._environment,
                cwd=self._folder.name,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        try:
            self._open(command, screen)
        except BaseException:
            self.close()
            raise
        self._seen = ""

    def _open(self, command: Sequence[str], screen: ScreenSpec) -> None:
        socket = Path(self._tmux[3])
        for _ in range(500):
            if socket.exists():
                break
            time.sleep(0.01)
        options = ("status off", "remain-on-exit on", "remain-on-exit-format ''", "allow-rename off")
        lines = [word for option in options for word in ("set", "-g", *option.replace("''", "").split(" ", 1), ";")]
        size = ["-x", str(screen.columns), "-y", str(screen.lines)]
        self._ask(*lines, "new-session", "-d", *size, "-s", "box", "--", *command)
        self.pid = int(self._ask("display-message", "-p", "-t", "box", "#{pane_pid}"))

    def _ask(self, *words: str) -> str:
        done = subprocess.run(
            [*self._tmux, *words], env=self._environment, capture_output=True, text=True, check=False, timeout=60
        )
        if done.returncode:
            raise SandboxError(f"tmux {words[0]}: {done.stderr.strip()}")
        return done.stdout

    @property
    def ended(self) -> bool:
        return self._ask("display-message", "-p", "-t", "box", "#{pane_dead}").strip() == "1"

    @property
    def alternate(self) -> bool:
        return self._ask("display-message", "-p", "-t", "box", "#{alternate_on}").strip() == "1"

    def send(self, keys: Keystrokes) -> None:
        if keys.text in NAMED_KEYS:
            self._ask("send-keys", "-t", "box", keys.text)
            return
        words: list[str] = []
        for number, line in enumerate(keys.keys.split("\r")):
            if number:
                words += ["send-keys", "-t", "box", "Enter", ";"]
            if line:
                # tmux takes a semicolon at a word's end for the end of the command
                text = f"{line[:-1]}\\;" if line.endswith(";") else line
                words += ["send-keys", "-t", "box", "-l", "--", text, ";"]
        if words:
            self._ask(*words[:-1])

    def pump(self, seconds: float) -> bool:
        time.sleep(seconds)
        before, self._seen = self._seen, self._ask("capture-pane", "-p", "-t", "box")
        return self._seen != before

    def rows(self) -> list[str]:
        return [row.rstrip() for row in self._ask("capture-pane", "-p", "-t", "box").split("\n")[:-1]]

    def close(self) -> None:
        self._server.kill()
        self._server.wait()
        self._folder.cleanup()
