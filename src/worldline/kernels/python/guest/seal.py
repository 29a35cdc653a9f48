"""Closing a worker process off from its host before a script runs in it.

Three walls stand behind the interpreter's own allow-lists: resource limits, an audit hook that ends the
process when anything reaches for files, sockets, processes or native code, and on Linux a system call filter
that leaves nothing but memory, the already open socket and the exit.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import resource
import signal
import struct
import sys
import threading
import time
from typing import Any

__all__ = ["arm", "disarm", "limit", "parsing", "prepare", "seal", "used"]

_FORBIDDEN = (
    "open", "os.", "socket.", "subprocess.", "ctypes.", "pty.", "fcntl.", "mmap.", "sqlite3.", "import", "pdb.",
    "sys._current_frames", "sys.setprofile", "sys.settrace", "code.__new__", "signal.", "winreg.", "msvcrt.",
    "urllib.", "ftplib.", "http.", "smtplib.", "webbrowser.", "cpython.run_", "gc.get_", "marshal.load", "resource.",
)  # fmt: skip
_HARMLESS = frozenset({"os.walk", "os.fwalk"})
"""Events of library code whose own steps raise events again."""
_VIOLATION = 70

# Numbers of the system calls that memory management, one open socket and the exit need; and of those that look at
# files, which find nothing (the compiler looks for the source of a script that does not parse).
_ALLOWED_CALLS = {
    "x86_64": (
        0xC000003E,
        (2, 4, 5, 6, 8, 16, 21, 72, 79, 89, 257, 262, 269, 332, 439),
        (0, 1, 3, 7, 9, 10, 11, 12, 13, 14, 15, 24, 25, 28, 35, 38, 44, 45, 46, 47, 60, 96, 98, 131, 186, 202, 219, 228,
         229, 230, 231, 271, 302, 318, 324, 334),
    ),
    "aarch64": (
        0xC00000B7,
        (17, 25, 29, 48, 56, 62, 78, 79, 80, 291, 439),
        (57, 63, 64, 73, 93, 94, 98, 101, 103, 113, 114, 115, 124, 128, 132, 134, 135, 139, 165, 169, 178, 206, 207,
         211, 212, 214, 215, 216, 222, 226, 233, 261, 278, 283, 293),
    ),
}  # fmt: skip


def seal() -> bool:
    """Close this process off from the system, before it knows the script. There is no way back.

    Returns:
        Whether the system call filter is in force.
    """
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    return _filter_calls()


def limit(*, memory: int, processor: float) -> None:
    """Let the system end this process when it takes too much, or when it reaches for the host.

    Args:
        memory: Largest address space in bytes.
        processor: Seconds of processor time in its whole life.
    """
    for kind, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, int(processor) + 1)):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))
    sys.addaudithook(_audit)


def arm(*, seconds: float, wall: float) -> None:
    """Let the system end this process when what runs from now on takes too long.

    Args:
        seconds: Processor time.
        wall: Wall clock time in seconds, for what blocks without computing.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, wall)


def disarm() -> None:
    """Let this process wait as long as it likes."""
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)


def used() -> float:
    """Seconds of processor time since the last call, or since this process began."""
    before, _told[0] = _told[0], time.process_time()
    return _told[0] - before


_told = [0.0]


parsing = threading.local()
"""Its attribute `on` is set while the compiler runs, which looks for the file of a source that does not parse."""


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if event == "open" and getattr(parsing, "on", False):
        return
    if event == "import" and args and args[0] in sys.modules:
        return
    if event.startswith(_FORBIDDEN) and event not in _HARMLESS:
        os._exit(_VIOLATION)


def prepare() -> None:
    """Build the system call filter, so that closing a process off costs little."""
    known = _ALLOWED_CALLS.get(platform.machine())
    if sys.platform != "linux" or known is None:
        return
    architecture, blind, numbers = known
    kill, missing, allow = 0x80000000, 0x00050000 | errno.ENOENT, 0x7FFF0000
    program = [(0x20, 0, 0, 4), (0x15, 1, 0, architecture), (0x06, 0, 0, kill), (0x20, 0, 0, 0)]
    for position, number in enumerate((*blind, *numbers)):
        rest = len(blind) + len(numbers) - position
        program.append((0x15, rest if position < len(blind) else rest + 1, 0, number))
    program += [(0x06, 0, 0, kill), (0x06, 0, 0, missing), (0x06, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
    _prepared[:] = [ctypes.CDLL(None, use_errno=True), code, header]


_prepared: list[Any] = []


def _filter_calls() -> bool:
    """Install a seccomp filter that kills the process on any other system call."""
    if not _prepared:
        return False
    libc, _, header = _prepared
    if libc.prctl(38, 1, 0, 0, 0) != 0:  # PR_SET_NO_NEW_PRIVS
        return False
    return bool(libc.prctl(22, 2, header, 0, 0) == 0)  # PR_SET_SECCOMP, filter mode
