"""`python3`: scripts, `-c`, `-m` and standard input, run by the Python kernel."""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from worldline.kernels.python import PythonResult, PythonScript, PythonUnknown, run_module, run_python
from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.textio import escape, stdin, unescape

__all__ = ["COMMANDS", "TERMINAL", "WAITING", "python"]

_FLAGS = "bBdEhiIOPqsSuvVxR?"
_HARMLESS = frozenset("bBEIPqsSuROi")
_ACTIONS = frozenset({"error", "ignore", "always", "default"})


TERMINAL = "@@worldline-terminal@@\n"
"""First line of a standard input that is not a pipe but what was typed at a terminal."""
WAITING = "@@worldline-waits@@"
"""Stands at the end of the output of a script that waits for more to be typed."""


def typed(call: Call) -> bytes | None:
    """What was typed, where the standard input stands for a terminal."""
    data = call.stdin or ""
    return unescape(data.removeprefix(TERMINAL)) if data.startswith(TERMINAL) else None


@dataclass(slots=True)
class _Line:
    """The command line, taken apart."""

    kind: str = "stdin"
    """`file`, `command`, `module` or `stdin`."""
    target: str = ""
    arguments: list[str] = field(default_factory=list)
    letters: set[str] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)


def python(call: Call) -> Result:
    """Run Python as Debian 12 has it."""
    line = _read_line(call)
    terminal = typed(call) is not None
    if "i" in line.letters and (not terminal or line.kind == "module"):
        call.unknown("option -i")
    try:
        if line.kind == "module":
            result = _module(call, line)
        elif line.kind == "file":
            found = _file(call, line)
            if isinstance(found, Result):
                return found
            result = _run(call, found)
        else:
            result = _run(call, _text(call, line), reads=terminal or line.kind == "command")
    except PythonUnknown as exc:
        call.unknown(str(exc))
    if result.slept:
        call.run(["sleep", str(result.slept)])
    if terminal:
        shown = Result(escape(result.stdout) + (WAITING if result.waiting else ""), status=result.status)
        if result.doubt:
            call.unknown(result.doubt, shown)
        return shown
    merged = None if result.merged is None else escape(result.merged)
    return Result(escape(result.stdout), escape(result.stderr), result.status, merged)


def _read_line(call: Call) -> _Line:
    words, line = list(call.argv), _Line()
    while words:
        word = words.pop(0)
        if word == "-":
            return replace(line, target="-", arguments=words)
        if word == "--":
            return replace(line, kind="file", target=words[0], arguments=words[1:]) if words else line
        if not word.startswith("-"):
            return replace(line, kind="file", target=word, arguments=words)
        if word.startswith("--"):
            call.unknown(f"option {word}")
        found = _read_letters(call, line, word[1:], words)
        if found is not None:
            return found
    return line


def _read_letters(call: Call, line: _Line, letters: str, words: list[str]) -> _Line | None:
    """Take in a group of short options; give the finished line where one of them ends the options."""
    for index, letter in enumerate(letters, 1):
        if letter in "cmWX":
            value = letters[index:] or (words.pop(0) if words else None)
            if value is None:
                call.unknown("an option without its argument")
            if letter == "W" and value in _ACTIONS:
                line.warnings.append(value)
                return None
            if letter in "WX":
                call.unknown(f"option -{letter} {value}")
            return replace(line, kind="command" if letter == "c" else "module", target=value, arguments=words)
        if letter not in _HARMLESS and letter != "x":
            call.unknown(f"option -{letter}" if letter in _FLAGS else "an unknown option")
        line.letters.add(letter)
    return None


def _text(call: Call, line: _Line) -> PythonScript:
    if line.kind == "command":
        argv = ["-c", *line.arguments]
        return PythonScript(unescape(line.target), "<string>", argv, call.cwd, **_options(call, line))
    if call.stdin is None:
        call.unknown("reads a script from a terminal")
    if typed(call) is not None:
        return PythonScript(b"", "<stdin>", [""], call.cwd, interactive=True, **_options(call, line))
    return PythonScript(stdin(call), "<stdin>", [line.target, *line.arguments], call.cwd, **_options(call, line))


def _options(call: Call, line: _Line) -> dict[str, Any]:
    return {
        "optimised": "O" in line.letters,
        "caches": "B" not in line.letters and not call.env.get("PYTHONDONTWRITEBYTECODE"),
        "inspect": "i" in line.letters,
        "warnings": tuple(line.warnings),
    }


def _file(call: Call, line: _Line) -> PythonScript | Result:
    name = line.target
    path = posixpath.join(call.cwd, name)
    try:
        if call.files.stat(name).kind == "directory":
            return _directory(call, name, path)
        source = call.files.read(name)
    except OSError as exc:
        number = exc.errno or errno.EIO
        text = f"{call.name}: can't open file '{path}': [Errno {number}] {os.strerror(number)}\n"
        return Result("", text, 2)
    directory = posixpath.dirname(posixpath.normpath(path))
    if "x" in line.letters:
        source = b"\n" + source.partition(b"\n")[2]
    return PythonScript(source, path, [name, *line.arguments], directory, **_options(call, line))


def _directory(call: Call, name: str, path: str) -> Result:
    if call.files.exists(posixpath.join(name, "__main__.py")):
        call.unknown("a directory as a program")
    return Result("", f"/usr/bin/python3: can't find '__main__' module in '{path}'\n", 1)


def _input(call: Call) -> bytes:
    """What a script finds on its standard input."""
    data = typed(call)
    return stdin(call) if data is None else data


def _closed(call: Call) -> bool:
    packages = call.world.packages
    return packages is not None and not any(name.startswith("python3-") for name in packages)


def _run(call: Call, script: PythonScript, *, reads: bool = True) -> PythonResult:
    return run_python(
        script,
        call.files,
        now=call.now,
        cwd=call.cwd,
        env=call.env,
        stdin=_input(call) if reads and call.stdin is not None else None,
        terminal=typed(call) is not None,
        uid=call.world.user_id,
        closed=_closed(call),
        runner=_runner(call),
    )


def _runner(call: Call) -> Callable[[list[str], bytes | None, dict[str, str]], tuple[bytes, bytes, int]]:
    """How a script runs other commands."""

    def run(words: list[str], data: bytes | None, env: dict[str, str]) -> tuple[bytes, bytes, int]:
        result = call.run(words, stdin=None if data is None else escape(data), env=env)
        return unescape(result.stdout), unescape(result.stderr), result.status

    return run


def _module(call: Call, line: _Line) -> PythonResult:
    return run_module(
        line.target,
        line.arguments,
        call.files,
        now=call.now,
        cwd=call.cwd,
        env=call.env,
        stdin=_input(call) if call.stdin is not None else None,
        terminal=typed(call) is not None,
        uid=call.world.user_id,
        closed=_closed(call),
    )


COMMANDS: dict[str, Builtin] = {"python3": python, "python3.11": python}
