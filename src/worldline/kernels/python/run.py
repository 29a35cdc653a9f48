"""Running one script on the simulated world."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from worldline.kernels.processor import WALL, charge
from worldline.kernels.python.bridge import FileSystem, answer
from worldline.kernels.python.guest.channel import Closed
from worldline.kernels.python.pool import connect

__all__ = ["PythonLimits", "PythonResult", "PythonScript", "PythonUnknown", "run_module", "run_python"]

_LIBRARY_PROGRAMS = frozenset({"json.tool", "calendar", "base64", "py_compile", "unittest"})

_ADDRESS = re.compile(r" at 0x[0-9a-f]{6,}|<module '|5f1d7e84|4242424")
"""What shows that the output differs between runs: addresses, and the kernel's marks for random names and the pid."""


Runner = Callable[[list[str], bytes | None, dict[str, str]], tuple[bytes, bytes, int]]


class PythonUnknown(Exception):
    """What real Python would do is not known; the message says why."""


@dataclass(frozen=True, slots=True)
class PythonScript:
    """A script and how it was started."""

    source: bytes
    filename: str
    """What tracebacks show: a path, `<string>` or `<stdin>`."""
    argv: Sequence[str]
    """`sys.argv`."""
    directory: str | None
    """Where its own modules are looked for; None: nowhere."""
    module: str | None = None
    """The name that it was started by, with `-m`."""
    optimised: bool = False
    """`-O`: no `assert`."""
    caches: bool = True
    """Imports leave compiled files behind; `-B` turns that off."""
    warnings: tuple[str, ...] = ()
    """Actions of `-W`."""
    inspect: bool = False
    """`-i`: when it is over, Python's prompt goes on with its names, at a terminal."""
    interactive: bool = False
    """Not a script but Python's prompt, at a terminal."""

    @property
    def shown(self) -> bool:
        """Whether tracebacks show source lines."""
        return not self.filename.startswith("<")


@dataclass(frozen=True, slots=True)
class PythonLimits:
    """What a script may use before its result counts as unknown."""

    seconds: float = 2.0
    """Processor time, so that the load of the machine does not change an answer."""
    wall: float = WALL
    """Wall clock time in seconds, for what blocks without computing."""
    memory: int = 1 << 30
    """Address space in bytes."""
    output_limit: int = 4 << 20
    """Bytes of one output stream."""
    strict: bool = True
    """Refuse to run where the system offers no filter of system calls; the script is then unknown."""


@dataclass(frozen=True, slots=True)
class PythonResult:
    """What a script wrote, its exit status and the seconds that it slept."""

    stdout: bytes
    stderr: bytes
    status: int
    slept: float = 0.0
    merged: bytes | None = None
    """Both streams in the order written, where both have something. At a terminal all is in `stdout`."""
    waiting: bool = False
    """The script waits for more to be typed at the terminal."""
    doubt: str = ""
    """Why what is shown at a terminal is only a guess."""


def run_python(
    script: PythonScript,
    files: FileSystem,
    *,
    now: datetime,
    cwd: str,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    uid: int = 1000,
    closed: bool = False,
    limits: PythonLimits | None = None,
    runner: Runner | None = None,
    terminal: bool = False,
) -> PythonResult:
    """Run a script as Debian's Python 3.11 would, on simulated files, clock and environment.

    Args:
        script: What to run.
        files: The simulated files; changes made before a failure stay, as they would in reality.
        now: The virtual time, aware; it stands still.
        cwd: Working directory, absolute.
        env: Environment variables.
        stdin: What stands on standard input; None: nothing.
        uid: The user.
        closed: Every installed package is known, so that a module that is not found is missing.
        limits: What it may use.
        runner: Runs another command for the script (`subprocess`, `os.system`): takes the words, standard input and
            the environment, gives both streams and the status; None: it cannot.
        terminal: The streams are a terminal, and `stdin` is what was typed at it: lines, of which those that are
            U+0004 or U+0003 stand for C-d and C-c. Where the script slept, its output has
            `@@worldline-sleeps-SECONDS@@`.

    Raises:
        PythonUnknown: The kernel does not know what would happen.
        KernelError: No worker can be started.
    """
    try:
        source = script.source.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise PythonUnknown("the script is not UTF-8") from exc
    if "\0" in source:
        raise PythonUnknown("the script holds a NUL byte")
    request = {
        "source": source,
        "filename": script.filename,
        "shown": script.shown,
        "argv": list(script.argv),
        "directory": script.directory,
        "path": _path(script),
        "module": script.module,
        "optimised": script.optimised,
        "caches": script.caches,
        "warnings": list(script.warnings),
        "cwd": cwd,
        "env": dict(env or {}),
        "stdin": None if stdin is None else stdin.decode("latin-1"),
        "uid": uid,
        "now": now.timestamp(),
        "closed": closed,
        "terminal": terminal,
        "interactive": script.interactive,
        "inspect": script.inspect,
        **asdict(limits or PythonLimits()),
    }
    return _result(_converse(request, files, uid, now, runner))


def run_module(
    name: str, arguments: Sequence[str], files: FileSystem, *, cwd: str, closed: bool = False, **options: Any
) -> PythonResult:
    """Run a module by name, as `python3 -m NAME` does; the options are those of :func:`run_python`.

    Raises:
        PythonUnknown: The kernel does not know what would happen.
    """
    if name in _LIBRARY_PROGRAMS:
        path = f"/usr/lib/python3.11/{name.replace('.', '/')}.py"
        script = PythonScript(b"", path, [path, *arguments], cwd, module=name)
        return run_python(script, files, cwd=cwd, closed=closed, **options)
    path = posixpath.join(cwd, f"{name.replace('.', '/')}.py")
    try:
        source = files.read(path)
    except OSError as exc:
        if name.partition(".")[0] in sys.stdlib_module_names or not closed:
            raise PythonUnknown(f"python3 -m {name}") from exc
        return PythonResult(b"", f"/usr/bin/python3: No module named {name}\n".encode(), 1)
    script = PythonScript(source, path, [path, *arguments], cwd, module=name)
    return run_python(script, files, cwd=cwd, closed=closed, **options)


def _path(script: PythonScript) -> list[str]:
    first = "" if script.directory is None or not script.shown else script.directory
    libraries = ["/usr/lib/python311.zip", "/usr/lib/python3.11", "/usr/lib/python3.11/lib-dynload"]
    return [first, *libraries, "/usr/local/lib/python3.11/dist-packages", "/usr/lib/python3/dist-packages"]


def _converse(
    request: dict[str, Any], files: FileSystem, uid: int, now: datetime, runner: Runner | None
) -> dict[str, Any]:
    """Send the request and answer questions until the result comes."""
    sock, channel = connect(request["wall"] + 5)
    with sock:
        try:
            channel.send(request)
            while True:
                message = channel.receive()
                if not isinstance(message, dict):
                    raise PythonUnknown("the worker was lost")
                if "ask" not in message:
                    charge(float(message.get("used", 0.0)))
                    return message
                if message["ask"] == "run":
                    channel.send(_command(runner, message["arguments"]))
                    continue
                _check_shown(message["arguments"])
                channel.send(answer(files, message["ask"], message["arguments"], uid=uid, now=now))
        except Closed as exc:
            charge(request["seconds"])
            raise PythonUnknown("the script was stopped: too slow, too large, or it left the rules") from exc


def _command(runner: Runner | None, arguments: list[Any]) -> dict[str, Any]:
    """Run another command for the script."""
    words, data, env = arguments
    if runner is None or not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise PythonUnknown("running another command")
    out, err, status = runner(words, None if data is None else str(data).encode("latin-1"), dict(env))
    return {"value": {"stdout": out.decode("latin-1"), "stderr": err.decode("latin-1"), "status": status}}


def _check_shown(arguments: list[Any]) -> None:
    """Refuse to keep in a file, or in its name, what differs between runs."""
    if any(isinstance(argument, str) and _ADDRESS.search(argument) for argument in arguments):
        raise PythonUnknown("a file shows what differs between runs")


def _result(message: dict[str, Any]) -> PythonResult:
    if "unknown" in message and "stdout" not in message:
        raise PythonUnknown(str(message["unknown"]))
    stdout, stderr = str(message["stdout"]), str(message["stderr"])
    waiting = message.get("waiting", False if "unknown" in message else None)
    doubt = "the output shows what differs between runs" if _ADDRESS.search(stdout) or _ADDRESS.search(stderr) else ""
    doubt = str(message.get("unknown", doubt))
    if doubt and waiting is None:
        raise PythonUnknown("the output shows what differs between runs")
    merged = message["merged"]
    return PythonResult(
        stdout.encode("latin-1"),
        stderr.encode("latin-1"),
        int(message.get("status", 1)),
        float(message["slept"]),
        None if merged is None else str(merged).encode("latin-1"),
        bool(waiting),
        doubt,
    )
