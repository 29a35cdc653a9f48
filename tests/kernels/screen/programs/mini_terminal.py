"""A terminal just good enough to run one program of the screen kernel in tests: prompt, echo of lines, pyte."""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import Any

from worldline.kernels.screen.programs import find_program
from worldline.kernels.screen.programs.base import Operator, Run, Shown
from worldline.kernels.shell.builtins.base import Unknown
from worldline.kernels.shell.kernel import ShellKernel
from worldline.record.emulator import Emulator
from worldline.types import Action, WorldSpec

PROMPT = "user@box:~$ "
OPERATORS = re.compile(r"\d?>>?|&>|<<<?|\||\d>&\d|<")


class KernelHost:
    """What a program may ask, answered by a shell kernel."""

    def __init__(self, files: dict[str, str], *, columns: int = 120, lines: int = 40) -> None:
        state = {
            "packages": ["bc", "bsdextrautils", "gawk", "less", "nano", "python3", "sqlite3", "vim"],
            "shell": {"mode": "interactive", "merged": True},
            "screen": {},
            "files": {
                f"/home/user/{name}": {"content": text, "mode": "755" if text.startswith("#!") else "644"}
                for name, text in files.items()
            },
        }
        self.kernel = ShellKernel(WorldSpec(domain="terminal", initial_state=state))
        self.columns, self.lines, self.row, self.cwd = columns, lines, 0, "/home/user"
        self.now, self.moment, self.entries = 0, 0.0, 0

    def run(self, command: str, *, stdin: str | None = None, keep: bool = True) -> Run:
        if stdin is not None:
            marks = "$'" + stdin.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
            command = f"printf %s {marks} | {{ {command}\n}}" if stdin else f"{{ {command}\n}} </dev/null"
        before = self.kernel._settled.clock
        proposal = self.kernel.propose(Action(name="bash", arguments={"command": command}))
        seconds = (self.kernel._trial.attempt.settled.clock - before).total_seconds() if self.kernel._trial else 0.0
        status = self.kernel._trial.attempt.settled.status if self.kernel._trial else 1
        seen = proposal.observation
        (self.kernel.accept if keep else self.kernel.reject)()
        return Run(seen.text, status, proposal.known, proposal.why, proposal.classes, seconds)

    def close(self) -> None:
        self.kernel.close()

    def read(self, path: str) -> bytes:
        """Not the kernel's way, but enough for a test."""
        node = self._node(path)
        if node is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        if node.kind == "directory":
            raise IsADirectoryError(21, "Is a directory", path)
        if node.content is None:
            raise Unknown(path)
        return node.content

    def _node(self, path: str) -> Any:
        full = posixpath.normpath(posixpath.join(self.cwd, path))
        return self.kernel._settled.table.nodes.get(full)

    def write(self, path: str, data: bytes) -> None:
        run = self.run(f"printf %s {shlex.quote(data.decode())} > {shlex.quote(path)}")
        if run.status:
            raise PermissionError(13, "Permission denied", path)


class MiniTerminal:
    """Types batches of keys at a program that the first line starts."""

    def __init__(self, files: dict[str, str]) -> None:
        self.screen = Emulator(120, 40)
        self.host = KernelHost(files)
        self.program: Any = None
        self.line = ""
        self.echo = True
        self.unknown: list[str] = []
        self.history: list[str] = []
        self.write(PROMPT)

    def write(self, text: str) -> None:
        self.screen.feed(re.sub(r"(?<!\r)\n", "\r\n", text).encode("utf-8", "replace"))
        self.host.row = self.screen._screen.cursor.y

    def type(self, keys: str) -> str:
        if self.program is not None and self.program.raw:
            self.show(self.program.feed(keys, self.host))
            return self.text()
        for index, key in enumerate(keys):
            if self.program is not None and self.program.raw:
                return self.type(keys[index:])
            self.key(key)
        return self.text()

    def text(self) -> str:
        return "\n".join(self.screen.rows()).rstrip("\n")

    def key(self, key: str) -> None:
        if key in "\r\n":
            self.write("\n" if self.echo else "")
            line, self.line = self.line, ""
            if self.program is None:
                self.command(line)
            else:
                self.show(self.program.feed(line + "\n", self.host))
        elif key == "\x04":
            if not self.line and self.program is not None:
                self.show(self.program.end_of_input(self.host))
        elif key == "\x03":
            self.line = ""
            if self.program is not None:
                self.write("" if self.program.silent else "^C")
                shown = self.program.interrupt(self.host)
                self.show(shown, newline=shown.ended and shown.status == 130)
        elif key == "\x7f":
            self.write("\b \b" if self.line and self.echo else "")
            self.line = self.line[:-1]
        else:
            self.line += key
            self.write(key if self.echo else "")

    def command(self, line: str) -> None:
        lexer = shlex.shlex(line, posix=True, punctuation_chars="<>|")
        lexer.whitespace_split = True
        words = [Operator(word) if OPERATORS.fullmatch(word) else word for word in lexer]
        self.program = find_program(words, self.host) if words else None
        if self.program is not None:
            self.show(self.program.start(self.host))
        else:
            run = self.host.run(line) if words else Run("", 0, True, "")
            if not run.known:
                self.unknown.append(run.why)
            self.write(run.text + PROMPT)

    def show(self, shown: Shown, newline: bool = False) -> None:
        if shown.unknown:
            self.unknown.append(shown.unknown)
        self.write(shown.text + "".join(text for _, text in shown.later))
        if re.search(r"#\d+  \d+ seconds? ago", shown.text):
            self.unknown.append("how much time passed when this was recorded")
        if hasattr(self.program, "tick"):
            self.write(self.program.tick(9, self.host))
        self.echo = shown.echo
        if shown.ended:
            self.program = None
            self.host.run(f"(exit {shown.status})")
            self.write(("\n" if newline else "") + PROMPT)
