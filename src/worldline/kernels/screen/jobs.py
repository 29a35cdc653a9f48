"""Jobs of an interactive bash: numbers, marks and the lines that tell of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from worldline.kernels.screen.tasks import Task

__all__ = ["Job", "JobTable"]

_NUMBERED = re.compile(r"%(\d+)$")


@dataclass(slots=True)
class Job:
    """A command in the background, or stopped."""

    number: int
    text: str
    task: Task
    pid: int
    state: str = "Running"
    """`Running`, `Stopped`, `Done`, `Exit N`, `Terminated`, `Killed`, ..."""
    late: bool = False
    """It was killed just now: the shell hears of its end after the next prompt."""
    hidden: bool = False
    """It was started by a script, which does not tell of it."""
    order: int = 0
    """Rises each time the job is started or stopped."""

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.state not in ("Running", "Stopped")


@dataclass(slots=True)
class JobTable:
    """All jobs of the shell."""

    jobs: list[Job] = field(default_factory=list)
    next_pid: int = 12
    counted: bool = True
    """Whether all processes so far were counted, so that the next number is known."""
    turn: int = 0
    last_pid: int = 0

    def add(self, text: str, task: Task, state: str = "Running") -> Job:
        """Give a command a job number."""
        number = max((job.number for job in self.jobs if not job.hidden), default=0) + 1
        self.turn += 1
        if state == "Running":
            self.next_pid += 1  # what was stopped has its number already
        job = Job(number, text, task, self.next_pid - 1, state, order=self.turn)
        if state == "Running":
            self.last_pid = job.pid
        self.jobs.append(job)
        return job

    def stop(self, job: Job) -> None:
        """Mark a job as stopped just now."""
        self.turn += 1
        job.state, job.order = "Stopped", self.turn

    def ranked(self) -> list[Job]:
        """Current job first: stopped ones before the others, younger ones before older ones."""
        shown = [job for job in self.jobs if not job.hidden]
        return sorted(shown, key=lambda job: (job.state != "Stopped", -job.order))

    def mark(self, job: Job) -> str:
        """`+`, `-` or a blank."""
        ranked = self.ranked()
        return "+" if ranked[:1] == [job] else "-" if ranked[1:2] == [job] else " "

    def find(self, word: str) -> Job | None:
        """The job that `%1`, `%+`, `%-`, `%sleep`, `%?text` or a process id names."""
        ranked = self.ranked()
        if word in ("", "%", "%%", "%+"):
            return ranked[0] if ranked else None
        if word == "%-":
            return ranked[min(1, len(ranked) - 1)] if ranked else None
        numbered = _NUMBERED.match(word)
        if numbered is not None:
            return next((job for job in self.jobs if job.number == int(numbered[1])), None)
        if word.isdigit():
            return next((job for job in self.jobs if job.pid == int(word)), None)
        if word.startswith("%?"):
            return next((job for job in ranked if word[2:] in job.text), None)
        return next((job for job in ranked if job.text.startswith(word.removeprefix("%"))), None)

    def line(self, job: Job, *, pid: bool = False) -> str:
        """One line of `jobs`."""
        number = f"{job.pid:6d} " if pid else " "
        state = f"{job.state:<24}"
        running = " &" if job.state == "Running" else ""
        return f"[{job.number}]{self.mark(job)}{number}{'' if pid else ' '}{state}{job.text}{running}\n"

    def notices(self) -> str:
        """What is said before a prompt about jobs that ended; these are then forgotten."""
        told = [job for job in self.jobs if job.over and not job.late]
        text = "".join(self.line(job) for job in told if not job.hidden)
        self.jobs = [job for job in self.jobs if job not in told]
        for job in self.jobs:
            job.late = False
        return text
