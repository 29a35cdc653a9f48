"""Background jobs, so far as they are plain `sleep`s: listed, killed and waited for without running anything."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["SIGNALS", "Job", "listing", "parse_job", "signal_table"]

_NAMES = (
    "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG "
    "XCPU XFSZ VTALRM PROF WINCH IO PWR SYS"
)
SIGNALS = {name: number for number, name in enumerate(_NAMES.split(), 1)}
"""Linux signals by name."""

_JOB = re.compile(r"\s*(sleep\s+\d+)\s*&\s*")


@dataclass(frozen=True, slots=True)
class Job:
    """A `sleep` in the background."""

    number: int
    command: str
    signal: int = 0
    """What killed it; 0 while it runs."""


def parse_job(text: str, jobs: tuple[Job, ...]) -> Job | None:
    """Read a command that does nothing but start a `sleep` in the background."""
    match = _JOB.fullmatch(text)
    if match is None:
        return None
    return Job(max((job.number for job in jobs), default=0) + 1, match[1])


def listing(jobs: tuple[Job, ...]) -> str:
    """What `jobs` prints; the last job is the current one."""
    lines = []
    for index, job in enumerate(jobs):
        mark = "+" if index == len(jobs) - 1 else "-" if index == len(jobs) - 2 else " "
        word = {0: "Running", 9: "Killed", 15: "Terminated"}.get(job.signal, "")
        lines.append(f"[{job.number}]{mark}  {word:<24}{job.command}{' &' if not job.signal else ''}\n")
    return "".join(lines)


def signal_table() -> str:
    """What `kill -l` prints."""
    names = {number: f"SIG{name}" for name, number in SIGNALS.items()}
    names[34] = "SIGRTMIN"
    names.update({34 + step: f"SIGRTMIN+{step}" for step in range(1, 16)})
    names.update({64 - step: f"SIGRTMAX-{step}" for step in range(1, 15)})
    names[64] = "SIGRTMAX"
    cells = [f"{number:2d}) {name}" for number, name in sorted(names.items())]
    rows = [cells[start : start + 5] for start in range(0, len(cells), 5)]
    return "".join("\t".join(row) + ("\t" if len(row) < 5 else "") + "\n" for row in rows)
