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
    coming: str = ""
    """The state it is in since a signal, of which the shell hears later."""
    untold: bool = False
    """The shell has not told yet that it stopped."""
    fore: bool = False
    """It was brought to the foreground, and keeps its number there."""
    hidden: bool = False
    """It was started by a script, which does not tell of it."""
    place: str = ""
    """The directory it was started in."""

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.state not in ("Running", "Stopped")


@dataclass(slots=True)
class JobTable:
    """All jobs of the shell."""

    jobs: list[Job] = field(default_factory=list)
    first_pid: int = 12
    next_pid: int = 12
    counted: bool = True
    """Whether all processes so far were counted, so that the next number is known."""
    last_pid: int = 0
    deferred: int = 0
    """Processes that jobs started just now will have started when the shell does not start others at once."""
    current: int = 0
    """Number of the job that `%+` names; 0: none."""
    previous: int = 0
    here: str = ""
    """The shell's working directory, as prompts show it."""

    def add(self, text: str, task: Task, state: str = "Running", processes: int = 1) -> Job:
        """Give a command a job number; of a pipe's processes, the last one's is the job's."""
        number = max((job.number for job in self.jobs if not job.hidden), default=0) + 1
        if state == "Running":
            self.next_pid += processes  # what was stopped has its number already
        job = Job(number, text, task, self.next_pid - 1, state, place=self.here)
        self.jobs.append(job)
        if state == "Running":
            self.last_pid = job.pid
            self.choose()
        else:
            self.prefer(job)
        return job

    def stop(self, job: Job) -> None:
        """Mark a job as stopped just now."""
        job.state, job.fore = "Stopped", False
        self.prefer(job)

    def remove(self, gone: list[Job]) -> None:
        """Forget jobs."""
        numbers = {job.number for job in gone if not job.hidden}
        self.jobs = [job for job in self.jobs if job not in gone]
        if numbers & {self.current, self.previous}:
            self.choose()

    def prefer(self, job: Job) -> None:
        """Make a job the current one, and find the one that comes after it."""
        if self.current != job.number:
            self.previous, self.current = self.current, job.number
        if self.previous != self.current and self._is(self.previous, "Stopped"):
            return
        stopped = self._youngest("Stopped", self.current) if job.state == "Stopped" else 0
        running = self._youngest("Running", self.current if job.state == "Running" else 0)
        self.previous = stopped or running or self.current

    def choose(self) -> None:
        """Find the current job anew: stopped ones come first."""
        number = next((number for number in (self.current, self.previous) if self._is(number, "Stopped")), 0)
        number = number or self._youngest("Stopped") or self._youngest("Running")
        job = next((job for job in self.jobs if job.number == number and not job.hidden), None)
        if job is None:
            self.current = self.previous = 0
        else:
            self.prefer(job)

    def _is(self, number: int, state: str) -> bool:
        return any(job.number == number and job.state == state and not job.hidden for job in self.jobs)

    def _youngest(self, state: str, below: int = 0) -> int:
        numbers = [job.number for job in self.jobs if job.state == state and not job.hidden]
        return max((number for number in numbers if not below or number < below), default=0)

    def settle(self) -> None:
        """Let the shell hear of what signals did to jobs."""
        for job in self.jobs:
            if job.coming:
                job.untold = job.coming == "Stopped"
                if job.untold:
                    self.stop(job)
                job.state, job.coming = job.coming, ""

    def mark(self, job: Job) -> str:
        """`+`, `-` or a blank."""
        return "+" if job.number == self.current else "-" if job.number == self.previous else " "

    def find(self, word: str) -> Job | None:
        """The job that `%1`, `%+`, `%-`, `%sleep`, `%?text` or a process id names."""
        if word in ("", "%", "%%", "%+", "%-"):
            number = self.previous if word == "%-" else self.current
            return next((job for job in self.jobs if job.number == number and not job.hidden), None)
        numbered = _NUMBERED.match(word)
        if numbered is not None:
            return next((job for job in self.jobs if job.number == int(numbered[1])), None)
        if word.isdigit():
            return next((job for job in self.jobs if job.pid == int(word)), None)
        if word.startswith("%?"):
            return next((job for job in reversed(self.jobs) if word[2:] in job.text), None)
        return next((job for job in reversed(self.jobs) if job.text.startswith(word.removeprefix("%"))), None)

    def line(self, job: Job, *, pid: bool = False) -> str:
        """One line of `jobs`."""
        number = f"{job.pid:6d} " if pid else " "
        state = f"{job.state:<24}"
        running = " &" if job.state == "Running" else ""
        there = f"  (wd: {job.place})" if job.place != self.here else ""
        return f"[{job.number}]{self.mark(job)}{number}{'' if pid else ' '}{state}{job.text}{running}{there}\n"

    def notice(self, job: Job) -> str:
        """What is said of a job by itself."""
        return self.line(job) + (f"(wd now: {self.here})\n" if job.place != self.here else "")

    def started(self, job: Job) -> str:
        """What is added to a job that is told to go on."""
        return f"\t(wd: {job.place})" if job.place != self.here else ""

    def notices(self) -> str:
        """What is said before a prompt about jobs that ended, which are forgotten then, or that stopped unseen."""
        text = "".join(
            self.notice(job) if job.over else f"\n{self.notice(job)}"
            for job in self.jobs
            if (job.over or job.untold) and not job.hidden
        )
        self.remove([job for job in self.jobs if job.over])
        for job in self.jobs:
            job.untold = False
        return text
