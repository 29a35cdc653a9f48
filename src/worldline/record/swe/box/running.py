"""Running shell commands, each in a fresh bash."""

import contextlib
import os
import re
import signal
import subprocess
from dataclasses import dataclass
from typing import Any

from worldline.record.swe.box.common import environment

__all__ = ["FOLDER", "Ran", "prepare", "run"]

FOLDER = "/run/tools"
"""Where the tools keep their own files."""
_OUTPUT, _DIRECTORY, _START = f"{FOLDER}/output", f"{FOLDER}/directory", f"{FOLDER}/start"
_MOST_BYTES = 1 << 20


@dataclass
class Ran:
    """What came of a command."""

    status: int | None
    """None: it took too long."""
    text: str
    group: int
    left: list[int]
    """Processes that go on in the background."""
    directory: str | None
    """Where the shell stood at its end."""


def prepare() -> None:
    """Write what every shell reads first: it says where it stands when it ends."""
    with open(_START, "w") as file:
        file.write(f"trap 'pwd -P >|{_DIRECTORY} 2>/dev/null' EXIT; unset BASH_ENV\n")


def run(command: str, cwd: str, seconds: float) -> Ran:
    """Run a command in a fresh bash, both streams as one."""
    with contextlib.suppress(OSError):
        os.unlink(_DIRECTORY)
    with open(_OUTPUT, "wb", buffering=0) as out:
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            env={**environment(), "BASH_ENV": _START},
        )
        status = _wait(process, seconds)
    left = _left_behind(process.pid) if re.search(r"&\s*(?:\w|$)|\bnohup\b", command) else []
    with open(_OUTPUT, "rb") as file:
        text = file.read(_MOST_BYTES).decode("utf-8", "replace")
    directory = None
    with contextlib.suppress(OSError), open(_DIRECTORY) as told:
        directory = told.read().rstrip("\n")
    return Ran(status, text, process.pid, left, directory)


def _wait(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    # Waiting with a timeout would sleep in steps, and what sleeps in the box moves its clock.
    late = []

    def stop(*_: Any) -> None:
        late.append(True)
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    status = process.wait()
    signal.setitimer(signal.ITIMER_REAL, 0)
    if late:
        return None
    return status if status >= 0 else 128 - status


def _left_behind(group: int) -> list[int]:
    """Processes of a group that still run."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
                if int(fields[2]) == group and fields[0] != "Z":
                    found.append(int(name))
    return sorted(found)
