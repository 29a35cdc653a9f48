"""What a script finds in `subprocess`: other commands run in the simulated world, one after the other."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

from .files import World
from .frames import abstain
from .streams import TextOutput

__all__ = ["HIDDEN", "functions", "set_world", "system"]

HIDDEN = "_raised_by_kernel"
"""Attribute of errors whose traceback would show frames of `subprocess` that did not run here."""

_world: list[World] = []
_start: list[str] = []


def set_world(world: World) -> None:
    """Set the world that commands run in."""
    _world[:], _start[:] = [world], [world.cwd]


def _perform(words: list[str], data: bytes | None, env: Mapping[str, str] | None) -> tuple[bytes, bytes, int]:
    world = _world[0]
    if world.cwd != _start[0]:
        abstain("a command in another directory")
    variables = dict(os.environ if env is None else env)
    answer = world.command(words, None if data is None else data.decode("latin-1"), variables)
    return answer["stdout"].encode("latin-1"), answer["stderr"].encode("latin-1"), answer["status"]


def _input_left() -> bool:
    """Whether a command that shares our standard input would find something there."""
    buffer: Any = sys.stdin.buffer
    return bool(buffer.peek(1))


def _words(args: Any, shell: bool) -> list[str]:
    if shell:
        return ["sh", "-c", args] if isinstance(args, str) else ["sh", "-c", *map(os.fspath, args)]
    if isinstance(args, (str, os.PathLike)):
        return [os.fspath(args)]
    words = []
    for word in args:
        if not isinstance(word, (str, os.PathLike)):
            _raise(TypeError(f"expected str, bytes or os.PathLike object, not {type(word).__name__}"))
        words.append(os.fspath(word))
    return words


def _raise(error: BaseException) -> None:
    setattr(error, HIDDEN, True)
    raise error


def _run(
    args: Any, *, input: Any = None, capture_output: bool = False, stdin: Any = None, stdout: Any = None,
    stderr: Any = None, text: Any = None, universal_newlines: Any = None, encoding: Any = None, errors: Any = None,
    shell: bool = False, check: bool = False, cwd: Any = None, env: Any = None, timeout: Any = None, **unusual: Any,
) -> subprocess.CompletedProcess[Any]:  # fmt: skip
    known = (None, subprocess.PIPE, subprocess.DEVNULL)
    if unusual or cwd is not None or stdin not in known or stdout not in known:
        abstain("an unusual way to run a command")
    if stderr not in (*known, subprocess.STDOUT):
        abstain("an unusual way to run a command")
    if capture_output:
        stdout = stderr = subprocess.PIPE
    if stdin is None and input is None and _input_left():
        abstain("a command that shares standard input")
    as_text = bool(text or universal_newlines or encoding or errors)
    data = input.encode(encoding or "utf-8") if isinstance(input, str) else input
    words = _words(args, shell)
    out, err, status = _perform(words, data if data is not None else b"", env)
    if status == 127 and not shell and not out and not err:
        _raise(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), words[0]))
    if stderr == subprocess.STDOUT:
        if out and err:
            abstain("the order of both streams of a command")
        out, err = out + err, b""
    shown_out, shown_err = _deliver(out, stdout, sys.__stdout__), _deliver(err, stderr, sys.__stderr__)
    if as_text:
        shown_out, shown_err = _decoded(shown_out, encoding, errors), _decoded(shown_err, encoding, errors)
    if stderr == subprocess.STDOUT:
        shown_err = None
    if check and status:
        _raise(subprocess.CalledProcessError(status, args, shown_out, shown_err))
    return subprocess.CompletedProcess(args, status, shown_out, shown_err)


def _deliver(data: bytes, where: Any, stream: Any) -> Any:
    """Give captured output back; write the rest to our own stream, past what Python has not yet written."""
    if where == subprocess.PIPE:
        return data
    if where is None and data:
        assert isinstance(stream, TextOutput)
        stream.sink.write(data)
    return None


def _decoded(data: Any, encoding: Any, errors: Any) -> Any:
    if data is None:
        return None
    return data.decode(encoding or "utf-8", errors or "strict").replace("\r\n", "\n").replace("\r", "\n")


def system(command: str) -> int:
    """`os.system`."""
    return int(_run(command, shell=True).returncode) << 8


def functions() -> dict[str, Callable[..., Any]]:
    """The functions of `subprocess` that run commands."""

    def check_output(args: Any, **options: Any) -> Any:
        return _run(args, stdout=subprocess.PIPE, check=True, **options).stdout

    def check_call(args: Any, **options: Any) -> int:
        return int(_run(args, check=True, **options).returncode)

    def call(args: Any, **options: Any) -> int:
        return int(_run(args, **options).returncode)

    def getstatusoutput(cmd: str, **options: Any) -> tuple[int, str]:
        done = _run(cmd, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
        return done.returncode, done.stdout.removesuffix("\n")

    def getoutput(cmd: str, **options: Any) -> str:
        return getstatusoutput(cmd, **options)[1]

    def run(args: Any, **options: Any) -> subprocess.CompletedProcess[Any]:
        return _run(args, **options)

    return {f.__name__: f for f in (run, check_output, check_call, call, getstatusoutput, getoutput)}
