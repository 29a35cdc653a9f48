"""The worker processes behind the Python kernel.

One small process is started when the first script comes. It has the library loaded, and forks for each script:
the fork closes itself off from the host, runs the script, asks for files over its own socket and ends. A script
that hangs, eats memory or breaks out of the rules takes only its own process with it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

from worldline.errors import KernelError
from worldline.kernels.python.guest.channel import Channel

__all__ = ["close_pool", "connect"]

_HERE = Path(__file__).parent
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); number = int(sys.argv[2]); sys.argv[1:] = []; "
    "from guest.main import main; main(number)"
)


class _Worker:
    """The process that forks for each script."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._control = ours
        command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT, str(_HERE), str(theirs.fileno())]
        try:
            self._process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=None if os.environ.get("WORLDLINE_PYTHON_DEBUG") else subprocess.DEVNULL,
                cwd="/",
                env={"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8"},
                close_fds=True,
            )
        except OSError as exc:
            raise KernelError(f"starting the Python worker: {exc}") from exc
        finally:
            theirs.close()

        self._spare: socket.socket | None = None

    def connect(self) -> socket.socket:
        """Give one end of a connection to a fresh fork, made ahead; and have the next one made.

        Raises:
            OSError: The worker is gone.
        """
        ready = self._spare or self._fork()
        self._spare = None
        self._spare = self._fork()
        return ready

    def _fork(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            socket.send_fds(self._control, [b"x"], [theirs.fileno()])
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        return ours

    def close(self) -> None:
        if self._spare is not None:
            self._spare.close()
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


_lock = threading.Lock()
_workers: dict[int, _Worker] = {}


def connect(timeout: float) -> tuple[socket.socket, Channel]:
    """Connect to a fresh process for one script.

    Args:
        timeout: Seconds that one message may take.

    Raises:
        KernelError: No worker can be started.
    """
    with _lock:
        for _ in range(2):
            worker = _workers.get(os.getpid())
            if worker is None:
                _workers.clear()
                worker = _workers[os.getpid()] = _Worker()
            try:
                sock = worker.connect()
            except OSError:
                worker.close()
                del _workers[os.getpid()]
                continue
            sock.settimeout(timeout)
            return sock, Channel(sock)
    raise KernelError("the Python worker does not stay alive")


def close_pool() -> None:
    """End the worker of this process; the next script starts another."""
    with _lock:
        worker = _workers.pop(os.getpid(), None)
    if worker is not None:
        worker.close()


atexit.register(close_pool)
