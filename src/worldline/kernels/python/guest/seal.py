"""Closing a worker process off from its host before a script runs in it.

Three walls stand behind the interpreter's own allow-lists: resource limits, an audit hook that ends the
process when anything reaches for files, sockets, processes or native code, and on Linux a system call filter
that leaves nothing but memory, the already open socket and the exit.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import struct
import sys
from typing import Any

__all__ = ["seal"]

_FORBIDDEN = (
    "open", "os.", "socket.", "subprocess.", "ctypes.", "shutil.", "pty.", "fcntl.", "mmap.", "sqlite3.connect/handle",
    "glob.nothing", "import", "pdb.", "sys._current_frames", "sys.setprofile", "sys.settrace", "code.__new__",
    "signal.", "winreg.", "msvcrt.", "urllib.", "ftplib.", "http.", "smtplib.", "webbrowser.", "cpython.run_",
    "gc.get_", "marshal.load", "resource.", "tempfile.",
)  # fmt: skip
_VIOLATION = 70

# Numbers of the system calls that memory management, one open socket and the exit need.
_ALLOWED_CALLS = {
    "x86_64": (
        0xC000003E,
        (0, 1, 3, 7, 9, 10, 11, 12, 13, 14, 15, 24, 25, 28, 35, 44, 45, 46, 47, 60, 96, 98, 131, 186, 202, 219, 228,
         229, 230, 231, 271, 318, 324, 334),
    ),
    "aarch64": (
        0xC00000B7,
        (57, 63, 64, 73, 93, 94, 98, 101, 113, 114, 115, 124, 128, 132, 134, 135, 139, 165, 169, 178, 206, 207, 211,
         212, 214, 215, 216, 222, 226, 233, 278, 283, 293),
    ),
}  # fmt: skip


def seal(*, seconds: float, memory: int) -> bool:
    """Close this process off. There is no way back.

    Args:
        seconds: Wall clock time after which the system ends the process.
        memory: Largest address space in bytes.

    Returns:
        Whether the system call filter is in force.
    """
    _limit(seconds, memory)
    filtered = _filter_calls()
    sys.addaudithook(_audit)
    return filtered


def _limit(seconds: float, memory: int) -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource
        import signal

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        processor = int(seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (processor, processor))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if event == "import" and args and args[0] in sys.modules:
        return
    if event.startswith(_FORBIDDEN):
        os._exit(_VIOLATION)


def _filter_calls() -> bool:
    """Install a seccomp filter that kills the process on any other system call."""
    known = _ALLOWED_CALLS.get(platform.machine())
    if sys.platform != "linux" or known is None:
        return False
    architecture, numbers = known
    kill, allow = 0x80000000, 0x7FFF0000
    program = [(0x20, 0, 0, 4), (0x15, 1, 0, architecture), (0x06, 0, 0, kill), (0x20, 0, 0, 0)]
    program += [(0x15, len(numbers) - index, 0, number) for index, number in enumerate(numbers)]
    program += [(0x06, 0, 0, kill), (0x06, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0:  # PR_SET_NO_NEW_PRIVS
        return False
    return bool(libc.prctl(22, 2, ctypes.create_string_buffer(header), 0, 0) == 0)  # PR_SET_SECCOMP, filter mode
