"""`python3`: scripts, `-c`, `-m` and standard input, run by the Python kernel."""

from __future__ import annotations

import errno
import os
import posixpath
from dataclasses import dataclass, field

from worldline.kernels.python import PythonResult, PythonScript, PythonUnknown, run_module, run_python
from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.textio import escape, stdin, unescape

__all__ = ["COMMANDS", "python"]

_FLAGS = "bBdEhiIOPqsSuvVxR?"
_HARMLESS = frozenset("bBEIPqsSuR")
_WITH_VALUE = "WX"


@dataclass(slots=True)
class _Line:
    """The command line, taken apart."""

    kind: str = "stdin"
    """`file`, `command`, `module` or `stdin`."""
    target: str = ""
    arguments: list[str] = field(default_factory=list)


def python(call: Call) -> Result:
    """Run Python as Debian 12 has it."""
    line = _read_line(call)
    try:
        if line.kind == "module":
            result = _module(call, line)
        elif line.kind == "file":
            found = _file(call, line)
            if isinstance(found, Result):
                return found
            result = _run(call, found)
        else:
            result = _run(call, _text(call, line), reads=line.kind == "command")
    except PythonUnknown as exc:
        call.unknown(str(exc))
    if result.slept:
        call.run(["sleep", str(result.slept)])
    merged = None if result.merged is None else escape(result.merged)
    return Result(escape(result.stdout), escape(result.stderr), result.status, merged)


def _read_line(call: Call) -> _Line:
    words = list(call.argv)
    while words:
        word = words.pop(0)
        if word == "-":
            return _Line("stdin", "-", words)
        if word == "--":
            return _Line("file", words[0], words[1:]) if words else _Line()
        if not word.startswith("-"):
            return _Line("file", word, words)
        if word.startswith("--"):
            call.unknown(f"option {word}")
        for index, letter in enumerate(word[1:], 2):
            if letter in "cm":
                value = word[index:] or (words.pop(0) if words else None)
                if value is None:
                    call.unknown("an option without its argument")
                return _Line("command" if letter == "c" else "module", value, words)
            if letter in _WITH_VALUE:
                call.unknown(f"option -{letter}")
            if letter not in _HARMLESS:
                call.unknown(f"option -{letter}" if letter in _FLAGS else "an unknown option")
    return _Line()


def _text(call: Call, line: _Line) -> PythonScript:
    if line.kind == "command":
        return PythonScript(unescape(line.target), "<string>", ["-c", *line.arguments], call.cwd)
    if call.stdin is None:
        call.unknown("reads a script from a terminal")
    return PythonScript(stdin(call), "<stdin>", [line.target, *line.arguments], call.cwd)


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
    return PythonScript(source, path, [name, *line.arguments], directory)


def _directory(call: Call, name: str, path: str) -> Result:
    if call.files.exists(posixpath.join(name, "__main__.py")):
        call.unknown("a directory as a program")
    return Result("", f"/usr/bin/python3: can't find '__main__' module in '{path}'\n", 1)


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
        stdin=stdin(call) if reads and call.stdin is not None else None,
        uid=call.world.user_id,
        closed=_closed(call),
    )


def _module(call: Call, line: _Line) -> PythonResult:
    return run_module(
        line.target,
        line.arguments,
        call.files,
        now=call.now,
        cwd=call.cwd,
        env=call.env,
        stdin=stdin(call) if call.stdin is not None else None,
        uid=call.world.user_id,
        closed=_closed(call),
    )


COMMANDS: dict[str, Builtin] = {"python3": python, "python3.11": python}
