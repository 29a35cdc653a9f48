"""Runs one command of the shell library apart from the session's own shell, on files given to it.

A command of ours can so check what the library does not, correct what it gets wrong, and leave it the rest. The
library cannot run inside one of its own callbacks, so it runs in a thread of its own.
"""

from __future__ import annotations

import os
import posixpath
import shlex
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache

from bashkit import Bash, BashError, FileSystem

from worldline.kernels.processor import charge
from worldline.kernels.shell.limits import Limits, run_limited

__all__ = ["Answer", "run_native"]

_INPUT = "/.worldline-input"
_WALLS = (4.0, 25.0)
"""Seconds of wall clock time after which a command is stopped, and those of a second try where it had hardly run: only
such a stop reaches into a command of the library, and few that never end are worth the longer wait."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the library's command wrote, byte for byte, and its status; `error` where it could not be run."""

    stdout: bytes
    stderr: str
    status: int
    error: str | None = None
    written: Mapping[str, bytes] = field(default_factory=dict)
    """Files that are new or changed, by absolute path, in the working directory and beside the given files."""
    used: float = 0.0
    """Seconds of processor time that it took."""
    waited: float = 0.0
    """Seconds of wall clock time."""


def run_native(
    argv: Sequence[str],
    *,
    stdin: bytes | None,
    files: Mapping[str, bytes],
    cwd: str,
    env: Mapping[str, str] | None = None,
    directories: Sequence[str] = (),
) -> Answer:
    """Run a command of the shell library.

    Args:
        argv: Its name and arguments.
        stdin: What it reads from standard input; None for nothing.
        files: Contents by absolute path; nothing else is there.
        cwd: Its working directory.
        env: Variables it sees beside the library's own.
        directories: Directories that are there, beside those of the files.
    """
    worker = _worker(os.getpid())
    for wall in _WALLS:
        limits = Limits(wall=wall)
        work = worker.submit(_run, limits, list(argv), stdin, dict(files), list(directories), cwd, dict(env or {}))
        answer = work.result()
        if answer.error is None or answer.used > limits.seconds or answer.waited < wall:
            break
    charge(answer.used)
    return answer


@cache
def _worker(process: int) -> ThreadPoolExecutor:
    """The thread; a forked process must not wait for its parent's, so it gets its own."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="worldline-native")


@cache
def _shell(process: int, wall: float) -> Bash:
    """The thread's shell, which gives up after so many seconds."""
    return Bash(timeout_seconds=wall)


def _run(
    limits: Limits,
    argv: list[str],
    stdin: bytes | None,
    files: dict[str, bytes],
    directories: list[str],
    cwd: str,
    env: dict[str, str],
) -> Answer:
    shell = _shell(os.getpid(), limits.wall)
    vfs = shell.fs()
    places = {cwd, *directories, *(posixpath.dirname(path) for path in files)}
    for place in sorted(places):
        if not vfs.exists(place):
            vfs.mkdir(place, recursive=True)
    for path, data in files.items():
        vfs.write_file(path, data)
    vfs.write_file(_INPUT, stdin or b"")
    variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in env.items() if name.isidentifier())
    script = f"cd {shlex.quote(cwd)}; {variables} {shlex.join(argv)} < {_INPUT}"
    written: dict[str, bytes] = {}
    try:
        begin = time.monotonic()
        ran = run_limited(shell, script, limits)
        waited = time.monotonic() - begin
    except BashError as error:
        return Answer(b"", "", 2, str(error))
    finally:
        for place in places:
            _clear(vfs, place, files, written)
    result = ran.result
    why = "cut off" if result.stdout_truncated or result.stderr_truncated else ran.error
    return Answer(result.stdout_bytes, result.stderr, result.exit_code, why, written, ran.used, waited)


def _clear(vfs: FileSystem, place: str, files: Mapping[str, bytes], written: dict[str, bytes]) -> None:
    """Note what was written to a directory, and remove all its files."""
    for entry in vfs.read_dir(place):
        path = posixpath.join(place, entry["name"])
        if entry["metadata"]["file_type"] != "file" or path == _INPUT or place in ("/etc", "/proc", "/dev"):
            continue
        data = vfs.read_file(path)
        if files.get(path) != data:
            written[path] = data
        vfs.remove(path)
