"""What has the terminal, what runs beside it, and how time passes for both."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from worldline.domains.terminal.commands import AndOr, List, Other, Pipe, Simple
from worldline.domains.terminal.syntax import parse
from worldline.kernels.screen.forking import forks, only_programs
from worldline.kernels.screen.host import Executor
from worldline.kernels.screen.nesting import end
from worldline.kernels.screen.programs.base import Shown
from worldline.kernels.screen.reading import ReadLine
from worldline.kernels.screen.state import State
from worldline.kernels.screen.stepping import STEPS
from worldline.kernels.screen.tasks import Frame, Task
from worldline.kernels.screen.writing import written
from worldline.kernels.shell import ShellKernel
from worldline.kernels.shell.builtins.base import Unknown

if TYPE_CHECKING:
    from worldline.kernels.screen.running import Runner

__all__ = ["LOOPS", "Foreground", "told_first"]

_MOST_STEPS = 20_000
_SHELLS = frozenset(("bash script", "python script", "sh", "read", "select"))
LOOPS = frozenset(("for", "cfor", "while", "select"))
"""Frames that `break` leaves."""


def told_first(said: str) -> str:
    """What a shell writes when it is left: it says `exit` before its trap for the end runs."""
    return "exit\n" + said.removesuffix("exit\n") if said.endswith("exit\n") else said


class Foreground(Executor):
    """Tasks in the foreground and background of a terminal.

    Args:
        shell: The shell and its files.
        state: The terminal; changed in place.
        prompt: Shows the next prompt.
    """

    def __init__(self, shell: ShellKernel, state: State, prompt: Callable[[], None]) -> None:
        super().__init__(shell, state)
        self.prompt = prompt
        self.features: set[str] = set()
        """What of the terminal was used, for the classes of a proposal."""
        self.doubts: list[str] = []
        self.steps = 0
        self._parted = False
        """Lists are run command by command: what one does to modes counts for the next."""
        self._examined: set[str] = set()
        """Functions that are being looked into."""
        self.launching = False
        """A job is being started: what it writes races with the shell."""

    def go(self) -> None:
        """Let the foreground go on until it waits, or is over."""
        state = self.state
        task = state.task
        assert task is not None
        self.advance(task)
        if state.ended or state.lost:
            return
        if task.over:
            self.finish()

    def finish(self) -> None:
        """The shell reads again: tell of jobs, show the prompt."""
        state = self.state
        state.task = None
        state.program_history.lines.clear()
        state.echo = True
        state.queue += state.driver.text
        state.driver.text = ""
        if state.ended:
            state.editor = None
            return
        state.jobs.remove([job for job in state.jobs.jobs if job.fore])
        notices = state.jobs.notices()
        if notices:
            self.features.add("job")
            state.display.write(notices)
        self.prompt()

    def advance(self, task: Task) -> None:
        """Go through a task until it waits or is over."""
        while task.frames and not task.blocked and not self.state.ended and not self.state.lost:
            self.steps += 1
            if self.steps > _MOST_STEPS:
                self.lose("a loop that does not end")
                return
            frame = task.frames[-1]
            STEPS[frame.kind](cast("Runner", self), task, frame)

    def lose(self, why: str) -> None:
        """From here on it is not known who has the terminal."""
        self.state.lost = self.state.lost or why
        self.state.editor = None

    def doubt(self, why: str) -> None:
        """What the screen shows is a guess from here on."""
        self.state.display.feed("", why)
        self.doubts.append(why)

    def status(self, task: Task, value: int) -> None:
        """Set the status of the command that just ended."""
        task.status = value
        if not task.background:
            self.shell.adjust(status=value)

    def silent(self, task: Task, command: str) -> int:
        """Run a command of a loop that writes nothing; returns its status."""
        run = self.execute(command)
        task.status = run.status
        if not run.known:
            self.doubt(run.why)
        return run.status

    def shell_ended(self, status: int) -> None:
        """The shell that is typed at is over; the one around it goes on, if there is one."""
        if not self.state.levels:
            self.state.ended = True
            return
        doubt = end(self, status)
        if doubt:
            self.doubt(doubt)

    def write(self, task: Task, text: str, doubt: str = "") -> None:
        """Show what a command wrote."""
        if task.background and text and self.launching:
            task.wake, task.output, task.output_doubt = self.state.now, text, doubt or "the moment a job writes"
            return
        if doubt:
            self.doubts.append(doubt)
        self.state.display.write(text, doubt)

    def strict(self) -> bool:
        """Whether the script that runs ends at the first command that fails."""
        return "errexit" in self.shell.settled.options

    def trap(self, signal: str) -> str | None:
        """What the shell does at a signal; None: what is usual."""
        return next((body for name, body in self.shell.settled.traps if name.removeprefix("SIG") == signal), None)

    def trapped(self, task: Task, signal: str) -> str | None:
        """What a script in the background does at a signal; None: what is usual."""
        name = {"": "TERM", "15": "TERM", "2": "INT", "1": "HUP", "10": "USR1", "12": "USR2"}.get(signal, signal)
        if not task.inner or task.script is None:
            return None
        outer = self.shell.portray()
        self.shell.become(task.inner)
        found = self.trap(name)
        self.shell.become(outer)
        return found

    def enter(
        self,
        task: Task,
        tree: List,
        arguments: Sequence[str] | None = None,
        text: str = "",
        redirect: str = "",
        file: tuple[str, ...] = (),
    ) -> None:
        """Begin a script, or (without arguments) a subshell: a shell of its own goes on in the same files."""
        outer = self.shell.portray()
        if arguments is not None:
            self.shell.refresh()
            self.execute(f"set -- {shlex.join(arguments)}")
        elif self.shell.settled.traps:
            names = " ".join(name for name, body in self.shell.settled.traps if body)
            self.execute(f"trap - {names}" if names else ":")
        task.frames.append(Frame("script", tree, values=(text or tree.text, redirect, *file), outer=outer))

    def leave(self, task: Task, status: int) -> None:
        """End the script or subshell that a task is in."""
        trap = self.trap("EXIT")
        while task.frames:
            frame = task.frames.pop()
            if frame.kind != "script":
                continue
            if trap:
                run = self.execute(trap)
                self.exited = False
                self.write(task, run.text, run.why)
            self.shell.become(frame.outer)
            self.place()
            break
        self.status(task, status)

    def show(self, task: Task, shown: Shown) -> None:
        """Take what a program wrote; it may have ended, or go on by itself."""
        self.state.echo = shown.echo
        task.touched = self.state.now
        if shown.unknown:
            self.doubts.append(shown.unknown)
        parts = [(shown.seconds, shown.text), *shown.later]
        task.ending = shown.status if shown.ended else None
        task.output_doubt = shown.unknown
        self.deliver(task, parts)

    def tick(self) -> None:
        """Let a program that waits for its clock draw itself anew."""
        task = self.state.task
        tick = getattr(task.program, "tick", None) if task is not None and not self.state.lost else None
        if task is not None and tick is not None:
            self.state.display.write(tick(int(self.state.now + 1e-6) - int(task.touched + 1e-6), self.host))

    def deliver(self, task: Task, parts: Sequence[tuple[float, str]]) -> None:
        """Show what a program writes, one part after the other; a part that comes later is waited for."""
        for number, (seconds, text) in enumerate(parts):
            if seconds > 0:
                task.wake, task.output, task.later = self.state.now + seconds, text, list(parts[number + 1 :])
                self.features.add("timing")
                return
            self.state.display.write(text, task.output_doubt)
        task.output_doubt = ""
        if task.ending is not None:
            task.program, task.deadline = None, None
            self.status(task, task.ending)
            task.ending = None

    def launch(self, item: AndOr, *, hidden: bool = False) -> None:
        """Start a command in the background."""
        self.features.add("job")
        alone = item.parts[0][1] if len(item.parts) == 1 else None
        runner = cast("Runner", self)
        if isinstance(alone, Simple) and alone.name.startswith("%"):
            runner.simple(Task(item.text), Simple(f"bg {alone.text}", (("bg", False), *alone.tokens)))
            return
        task = Task(item.text, [Frame("chain", AndOr(item.text, item.parts))], background=True, born=self.state.entries)
        task.inner = self.shell.portray()
        runner.place()
        processes = len(alone.parts) if isinstance(alone, Pipe) else 1
        if isinstance(alone, Pipe) and not all(isinstance(part, Simple) for part in alone.parts):
            self.state.jobs.counted = False
        job = self.state.jobs.add(written(item.text, AndOr(item.text, item.parts)), task, processes=processes)
        job.hidden = hidden
        if not hidden:
            doubt = "" if self.state.jobs.counted else "the number of a process"
            self.state.display.write(f"[{job.number}] {job.pid}\n", doubt)
            if doubt:
                self.doubts.append(doubt)
        own = isinstance(alone, Pipe) or (isinstance(alone, Simple) and alone.name not in self._functions())
        own = own or (isinstance(alone, Other) and alone.kind == "(")
        task.replaced = processes if own else 0
        if isinstance(alone, Simple) and runner.would_read(alone):
            task.forever, job.coming = True, "Stopped"  # the terminal stops what reads from the background
            return
        self.launching = True
        self.aside(task)
        self.launching = False
        self._reap()

    def fork(self, task: Task, processes: int | None = 1) -> None:
        """Let the number of the next process rise by what a command starts; None: it is not known by how much."""
        jobs = self.state.jobs
        if processes is None:
            jobs.counted = False
        elif task.replaced:
            task.replaced = max(0, task.replaced - processes)  # the process of the job becomes the program
        elif self.launching:
            jobs.deferred += processes
        else:
            jobs.next_pid += processes

    def count(self, task: Task, text: str, programs: int) -> None:
        """Count what a command started that ran as a whole, and had so many programs run."""
        functions = self._functions()
        started = forks(text, functions)
        called = functions & set(re.findall(r"[\w-]+", text))
        bodies = self.execute(f"declare -f {' '.join(sorted(called))}", keep=False).text if called else ""
        if started is None and only_programs(text) and only_programs(re.sub(r"(?m)^\S+ \(\)", "", bodies)):
            started = programs
        self.fork(task, started)

    def _functions(self) -> frozenset[str]:
        """Names that may be those of functions."""
        return frozenset(re.findall(r"([\w-]+)\s*\(\)", "\n".join(self.state.history.lines)))

    def aside(self, task: Task) -> None:
        """Let a task in the background go on, in its own shell."""
        if not task.inner:
            self.advance(task)
            return
        outer = self.shell.portray()
        self.shell.become(task.inner)
        self.advance(task)
        task.inner = self.shell.portray()
        self.shell.become(outer)
        self.place()

    def _reap(self) -> None:
        for job in self.state.jobs.jobs:
            if job.state == "Running" and job.task.over:
                job.state = "Done" if not job.task.status else f"Exit {job.task.status}"

    def until(self, moment: float) -> None:
        """Let time pass, and everything happen that it brings."""
        state = self.state
        state.jobs.next_pid += state.jobs.deferred
        state.jobs.deferred = 0
        while not state.lost and not state.ended:
            due = [task for task in self.tasks() if task.next is not None and task.next <= moment + 1e-9]
            if not due:
                break
            task = min(due, key=lambda task: task.next or 0.0)
            assert task.next is not None
            state.now = max(state.now, task.next)
            if task.wake is None:
                self.expire(task)
            else:
                self.woken(task)
            self._follow()
        state.now = max(state.now, moment)

    def tasks(self) -> list[Task]:
        """Everything that may go on by itself: the foreground, and the running jobs."""
        found = [job.task for job in self.state.jobs.jobs if job.state == "Running"]
        if self.state.task is not None:
            found.append(self.state.task)
        return found

    def woken(self, task: Task) -> None:
        """A wait is over."""
        output, doubt = task.output, task.output_doubt
        task.wake, task.output, task.output_doubt, task.timing = None, "", "", ""
        if task.after is not None:
            self.status(task, task.after)
            task.after = None
            if not task.background and task.script is None:
                self.hear()
        if output or doubt:
            if task.background and self.state.task is not None and self.state.task.wake is None:
                doubt = doubt or "what a job writes into a program's screen"
            if doubt:
                self.doubts.append(doubt)
            self.state.display.write(output, doubt)
        if task.program is not None or task.later:
            later, task.later = task.later, []
            task.output_doubt = doubt
            self.deliver(task, later)
        if task.background:
            self.aside(task)
            self._reap()
            self._waited()
        else:
            self.go()

    def hear(self) -> None:
        """The shell waited for a program: it hears of jobs that ended, and tells of them."""
        self.state.jobs.settle()
        if any(job.over for job in self.state.jobs.jobs):
            self.state.display.write(self.state.jobs.notices())

    def expire(self, task: Task) -> None:
        """A `read` has waited long enough."""
        program, task.deadline = task.program, None
        if not isinstance(program, ReadLine):
            return
        if program.typed or self.state.driver.text:
            self.doubt("what was typed when the time of a `read` was over")
        self.show(task, program.expire(self.host))
        self.go()

    def size(self, path: str) -> int:
        """Bytes of a file, -1 where that is not known."""
        try:
            return len(self.shell.read_file(path))
        except (OSError, Unknown):
            return -1

    def _follow(self) -> None:
        """Show what has come to the file that the foreground follows."""
        task = self.state.task
        if task is None or not task.follows:
            return
        try:
            data = self.shell.read_file(task.follows)
        except (OSError, Unknown):
            self.doubt("the file that `tail -f` follows")
            return
        if task.shown < 0:
            self.doubt("the file that `tail -f` follows")
            task.shown = len(data)
        if len(data) < task.shown:
            self.doubt("a file that became shorter while `tail -f` followed it")
        self.state.display.write(data[task.shown :].decode("utf-8", "replace"))
        task.shown = len(data)

    def _waited(self) -> None:
        """Let a `wait` in the foreground end when its jobs have."""
        task = self.state.task
        if task is None or not task.waiting:
            return
        numbers = task.waiting.split()
        awaited = next((job for job in self.state.jobs.jobs if str(job.number) in numbers and not job.hidden), None)
        left = [job for job in self.state.jobs.jobs if str(job.number) in numbers and not job.over]
        known = {str(job.number) for job in left}
        last = [job for job in self.state.jobs.jobs if str(job.number) in numbers]
        if awaited is not None and awaited.over:
            self.state.display.write(self.state.jobs.notices())
        if not left or (numbers[0] == "any" and len(known) < len(numbers) - 1):
            task.waiting = ""
            self.status(task, last[-1].task.status if task.after is None and last else 0)
            task.after = None
            self.go()

    def interrupt(self) -> None:
        """C-c reached the foreground and ended it."""
        state = self.state
        task = state.task
        assert task is not None
        state.driver.text, state.queue = "", ""
        self.features.add("interrupt")
        trap = self.trap("INT") if task.script is not None else None
        if trap is not None:
            state.display.feed("^C")
            if trap:
                task.wake, task.output, task.after = None, "", None
                self.status(task, 130)
                task.frames.append(Frame("list", parse(trap)))
                self.go()
            return
        if task.timing or task.later:
            self.doubt("what a command had done when it was interrupted")
            task.later = []
        state.display.feed("^C")
        while task.script is not None:
            self.leave(task, 130)
        self.hear()
        state.display.feed("\r\n")
        self.shell.adjust(status=130)
        state.task = None
        self.finish()

    def quit(self) -> None:
        r"""C-\ reached the foreground and ended it."""
        state, task = self.state, self.state.task
        assert task is not None
        program = task.program
        if task.script is not None or task.timing or (program is not None and (program.raw or program.name in _SHELLS)):
            self.lose("C-\\")
            return
        self.features.add("interrupt")
        state.driver.text, state.queue, state.editor = "", "", None
        readline = program is not None and program.readline
        state.display.feed("Quit\r\n" if readline else "^\\Quit\r\n")
        task.program, task.wake, task.after, task.forever, task.later = None, None, None, False, []
        task.output, task.follows, task.ending, task.deadline = "", "", None, None
        self.status(task, 131)
        self.go()

    def suspend(self) -> None:
        """C-z reached the foreground and stopped it."""
        state = self.state
        task = state.task
        assert task is not None
        self.features.add("job")
        state.driver.text, state.queue = "", ""
        if task.timing:
            self.doubt("what a command had written when it was stopped")
        rest = list(task.frames)
        stopped = Task(task.simple or task.text, program=task.program, forever=task.forever)
        stopped.simple, stopped.output, stopped.output_doubt = task.simple, task.output, task.output_doubt
        stopped.later, stopped.follows, stopped.shown = task.later, task.follows, task.shown
        stopped.remaining = max(0.0, (task.wake or state.now) - state.now)
        stopped.after = task.after
        job = None
        resumed = next((number for number, frame in enumerate(rest) if frame.kind == "job"), None)
        if resumed is not None:
            job = state.jobs.find(f"%{rest[resumed].index}")
            stopped.frames, rest = rest[resumed + 1 :], rest[:resumed]
        inside = next((number for number, frame in enumerate(rest) if frame.kind == "script"), None)
        if job is None and inside is not None:
            stopped.frames, rest = rest[inside:], rest[:inside]
            stopped.simple = stopped.frames[0].values[0]
        script = next((frame for frame in stopped.frames if frame.kind == "script"), None)
        if script is not None:
            stopped.inner = self.shell.portray()
            self.shell.become(script.outer)
            self.place()
        if job is None:
            job = state.jobs.add(stopped.simple or task.text, stopped, "Stopped")
            job.pid = state.jobs.next_pid - 1
        else:
            job.task = stopped
            state.jobs.stop(job)
        leaving = "^Z"
        if task.program is not None and task.program.raw:
            leaving = "\x1b[?1049l"
        state.display.feed(f"{leaving}\r\n")
        state.display.write(state.jobs.notice(job))
        loop = next((number for number, frame in enumerate(rest) if frame.kind in LOOPS), len(rest))
        del rest[loop:]
        state.editor, state.echo = None, True
        state.task = Task(task.text, rest, status=148)
        self.shell.adjust(status=148)
        self.go()

    def resume(self, task: Task, stopped: Task) -> None:
        """Let a stopped task, or one in the background, go on in the foreground of another one."""
        task.program, task.forever, task.simple = stopped.program, stopped.forever, stopped.simple or stopped.text
        task.output, task.output_doubt, task.after = stopped.output, stopped.output_doubt, stopped.after
        task.later, task.follows, task.shown = stopped.later, stopped.follows, stopped.shown
        script = next((frame for frame in stopped.frames if frame.kind == "script"), None)
        if stopped.inner and script is not None:
            script.outer = self.shell.portray()
            self.shell.become(stopped.inner)
        task.frames += stopped.frames
        if stopped.wake is not None:
            task.wake = stopped.wake
        elif stopped.remaining or stopped.output:
            task.wake = self.state.now + stopped.remaining
        if task.program is not None and getattr(task.program, "commanding", False):
            self.state.display.write("\x1b[?1049h")
            self.show(task, task.program.feed("\x0c", self.host))
        elif task.program is not None and (task.program.raw or task.program.readline):
            self.doubt("how a program shows itself again")
