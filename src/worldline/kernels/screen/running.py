"""Running what was entered: command by command where time passes or input is read, otherwise as a whole."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from worldline.errors import KernelError
from worldline.kernels.screen.builtins import BUILTINS, written
from worldline.kernels.screen.programs import PROGRAMS
from worldline.kernels.screen.programs.base import Host, Operator, Program, Run, Shown
from worldline.kernels.screen.state import State
from worldline.kernels.screen.syntax import (
    AndOr,
    Fault,
    If,
    Incomplete,
    List,
    Loop,
    Node,
    Other,
    Pipe,
    Simple,
    parse,
    simples,
)
from worldline.kernels.screen.tasks import Frame, Task
from worldline.kernels.shell import ShellKernel
from worldline.kernels.shell.script import Script, read_script
from worldline.types import Action

__all__ = ["Ran", "Runner"]

_BLOCKING_WORDS = (
    "vim vi nano top htop watch man ssh less more most screen tmux ed ex view emacs mc info python3 python ipython node "
    "perl irb ruby gdb psql mysql sqlite3 bc dc ftp telnet nc bash sh dash su passwd yes cat head tail sort wc tr tee "
    "sed awk grep cut uniq nl rev tac xargs fold read select dialog"
)
_BLOCKING = frozenset(_BLOCKING_WORDS.split())
"""Programs that may keep the terminal when it is not known what they do."""
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.")
_EXPANDED = re.compile(r"[$`*?\[\]~{}\\'\"]")
_MOST_STEPS = 20_000
_SLEEP = re.compile(r"(\d+\.?\d*|\.\d+)([smhd]?)")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_FOREVER = 1e9


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that the shell kernel ran in a turn."""

    command: str
    text: str
    known: bool
    why: str
    classes: tuple[str, ...]


@dataclass(slots=True)
class Runner:
    """Runs commands for a terminal; satisfies :class:`~worldline.kernels.screen.programs.base.Host`.

    Args:
        shell: The shell and its files; every command it runs is accepted.
        state: The terminal; changed in place.
        prompt: Shows the next prompt.
    """

    shell: ShellKernel
    state: State
    prompt: Callable[[], None]
    ran: list[Ran] = field(default_factory=list)
    features: set[str] = field(default_factory=set)
    doubts: list[str] = field(default_factory=list)
    steps: int = 0

    # --- the host of programs

    @property
    def columns(self) -> int:
        """Width of the terminal."""
        return self.state.display.columns

    @property
    def lines(self) -> int:
        """Height of the terminal."""
        return self.state.display.lines

    @property
    def cwd(self) -> str:
        """The shell's working directory."""
        return self.shell.settled.cwd

    def read(self, path: str) -> bytes:
        """Read a file for a program."""
        return self.shell.read_file(path)

    def write(self, path: str, data: bytes) -> None:
        """Write a file for a program."""
        self.shell.write_file(path, data)

    def run(self, command: str, *, stdin: str | None = None, keep: bool = True) -> Run:
        """Run a command for a program."""
        if stdin is not None:
            command = _with_input(command, stdin)
        return self.execute(command, keep=keep)

    def execute(self, command: str, *, keep: bool = True) -> Run:
        """Run a command in the shell, at the present time."""
        shell = self.shell
        shell.adjust(clock=shell.state.clock + timedelta(seconds=int(self.state.now + 1e-6)))
        proposal = shell.propose(Action(name="bash", arguments={"command": command}))
        details = proposal.details
        found = Run(
            proposal.observation.text,
            int(details.get("status", 2)),
            proposal.known,
            "" if proposal.known else proposal.why,
            proposal.classes,
            float(details.get("seconds", 0.0)),
        )
        if not keep:
            shell.reject()
            return found
        shell.accept()
        self.ran.append(Ran(command, found.text, found.known, found.why, found.classes))
        if proposal.ended:
            self.state.ended = True
        return found

    # --- starting

    def start(self, text: str) -> None:
        """Begin with what was entered at the prompt."""
        state = self.state
        state.commands += 1
        try:
            tree: List | None = parse(text)
        except (Fault, Incomplete):
            tree = None
        if tree is not None and not tree.items:
            state.task = None
            self.finish()
            return
        stepped = tree is not None and self._steps(tree)
        node: Node = tree if tree is not None and stepped else Other(text)
        state.task = Task(text, [Frame("list" if stepped else "node", node)])
        self.go()

    def _steps(self, node: Node | AndOr) -> bool:
        """Whether it has to be gone through command by command."""
        if isinstance(node, AndOr) and node.background:
            return True
        if isinstance(node, List) and any(self._steps(item) for item in node.items):
            return True
        if isinstance(node, AndOr):
            return any(self._steps(part) for _, part in node.parts)
        if isinstance(node, Pipe):
            return len(node.parts) > 1 and node.text.startswith(_first(node)) and _first(node) in PROGRAMS
        if isinstance(node, Simple):
            name = node.name
            return (
                name in BUILTINS or name in PROGRAMS or (name == "kill" and re.search(r"%|\$!", node.text) is not None)
            )
        if isinstance(node, Loop):
            return (node.test is not None and self._steps(node.test)) or self._steps(node.body)
        if isinstance(node, If):
            parts = [part for clause in node.clauses for part in clause]
            parts += [node.otherwise] if node.otherwise is not None else []
            return any(self._steps(part) for part in parts)
        return False

    # --- going on

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
            _STEPS[frame.kind](self, task, frame)

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

    # --- frames

    def list_step(self, task: Task, frame: Frame) -> None:
        node = frame.node
        assert isinstance(node, List)
        if frame.index == len(node.items):
            task.frames.pop()
            return
        item = node.items[frame.index]
        frame.index += 1
        if item.background:
            self.launch(item)
            task.status = 0
        else:
            task.frames.append(Frame("chain", item))

    def chain_step(self, task: Task, frame: Frame) -> None:
        node = frame.node
        assert isinstance(node, AndOr)
        if frame.index == 0 and not self._steps(AndOr(node.text, node.parts)):
            task.frames.pop()
            self.whole(task, node.text)
            return
        if frame.index == len(node.parts):
            task.frames.pop()
            return
        operator, part = node.parts[frame.index]
        frame.index += 1
        if (operator == "&&" and task.status) or (operator == "||" and not task.status):
            return
        task.frames.append(Frame("node", part))

    def node_step(self, task: Task, frame: Frame) -> None:
        task.frames.pop()
        node = frame.node
        assert not isinstance(node, AndOr)
        if not self._steps(node):
            self.whole(task, node.text)
        elif isinstance(node, List):
            task.frames.append(Frame("list", node))
        elif isinstance(node, Loop):
            self.loop(task, node)
        elif isinstance(node, If):
            task.frames.append(Frame("if", node))
        elif isinstance(node, Simple):
            self.simple(task, node)
        elif isinstance(node, Pipe):
            self.pipe(task, node)
        else:
            self.whole(task, node.text)

    def loop(self, task: Task, node: Loop) -> None:
        if node.kind == "for":
            values = self.words(node.head)
            if values is None:
                self.lose("the words of a loop")
                return
            task.frames.append(Frame("for", node, 0, tuple(values)))
        elif node.kind == "cfor":
            parts = [part.strip() for part in node.head.split(";")]
            if len(parts) != 3:
                self.whole(task, node.text)
                return
            if parts[0]:
                self.whole(task, f"(({parts[0]}))")
            task.frames.append(Frame("cfor", node, 0, tuple(parts)))
        else:
            task.frames.append(Frame("while", node))

    def for_step(self, task: Task, frame: Frame) -> None:
        node = frame.node
        assert isinstance(node, Loop)
        if frame.index == len(frame.values):
            task.frames.pop()
            return
        value = frame.values[frame.index]
        frame.index += 1
        self.silent(task, f"{node.variable}={shlex.quote(value)}")
        task.frames.append(Frame("list", node.body))

    def cfor_step(self, task: Task, frame: Frame) -> None:
        node = frame.node
        assert isinstance(node, Loop)
        if frame.index and frame.values[2]:
            self.silent(task, f"(({frame.values[2]}))")
        frame.index = 1
        if frame.values[1] and self.silent(task, f"(({frame.values[1]}))"):
            task.frames.pop()
            self.status(task, 0)
            return
        task.frames.append(Frame("list", node.body))

    def while_step(self, task: Task, frame: Frame) -> None:
        node = frame.node
        assert isinstance(node, Loop) and node.test is not None
        if frame.index == 0:
            frame.index = 1
            task.frames.append(Frame("list", node.test))
            return
        frame.index = 0
        if (task.status == 0) == (node.kind == "while"):
            task.frames.append(Frame("list", node.body))
        else:
            task.frames.pop()
            self.status(task, 0)

    def if_step(self, task: Task, frame: Frame) -> None:
        node = frame.node
        assert isinstance(node, If)
        clause, tested = divmod(frame.index, 2)
        frame.index += 1
        if clause == len(node.clauses):
            task.frames.pop()
            self.status(task, 0)
            if node.otherwise is not None:
                task.frames.append(Frame("list", node.otherwise))
        elif not tested:
            task.frames.append(Frame("list", node.clauses[clause][0]))
        elif task.status == 0:
            task.frames.pop()
            task.frames.append(Frame("list", node.clauses[clause][1]))

    # --- commands

    def silent(self, task: Task, command: str) -> int:
        """Run a command of a loop that writes nothing; returns its status."""
        run = self.execute(command)
        task.status = run.status
        if not run.known:
            self.doubt(run.why)
        return run.status

    def whole(self, task: Task, text: str) -> None:
        """Run a text in the shell kernel; time that passes in it delays all it writes."""
        if task.background:
            text = f"( {text} )"
        run = self.execute(self._with_pid(text))
        task.status = run.status
        doubt = run.why
        if doubt and self._may_block(text):
            self.write(task, run.text, doubt)
            self.lose(f"{doubt}; it may have the terminal")
            return
        if run.seconds >= 0.01:
            self.features.add("timing")
            task.wake, task.output, task.output_doubt = self.state.now + run.seconds, run.text, doubt
            task.timing = "when within a command its output comes" if run.text else ""
            task.simple = text
            return
        self.write(task, run.text, doubt)

    def write(self, task: Task, text: str, doubt: str = "") -> None:
        """Show what a command wrote."""
        if task.background and text:
            if self.state.task is not None:
                doubt = doubt or "the order of what runs side by side"
            if task.wake is None and not task.remaining:
                task.wake, task.output, task.output_doubt = self.state.now, text, doubt or "the moment a job writes"
                return
        if doubt:
            self.doubts.append(doubt)
        self.state.display.write(text, doubt)

    def _with_pid(self, text: str) -> str:
        if "$!" not in text:
            return text
        pid = self.state.jobs.last_pid
        return re.sub(r"\$!", str(pid) if pid else "", text)

    def _may_block(self, text: str) -> bool:
        script = read_script(text)
        return (
            not isinstance(script, Script)
            or bool(script.programs & _BLOCKING)
            or any("/" in name for name in script.programs)
        )

    def words(self, text: str) -> list[str] | None:
        """Expand words as the shell would; None where that is not known."""
        if not _EXPANDED.search(text):
            return text.split()
        if not re.search(r"[$`*?\[~{]", text):
            try:
                return shlex.split(text)
            except ValueError:
                return None
        run = self.execute(f"printf '%s\\n' {self._with_pid(text)}", keep=False)
        if not run.known or run.status:
            return None
        return run.text.removesuffix("\n").split("\n") if run.text else []

    def simple(self, task: Task, node: Simple) -> None:
        name = node.name
        builtin = BUILTINS.get(name)
        if builtin is None and name == "kill":
            builtin = BUILTINS["kill "]
        if builtin is not None:
            if any(operator for _, operator in node.tokens) and name not in ("sleep", "read"):
                self.whole(task, node.text)
                self.doubt("the terminal's own commands with redirections")
                return
            words = self.words(" ".join(node.words))
            if words is None or node.words[0] != name:
                self.unclear(task, node)
                return
            builtin(self, task, node, words[1:])
            return
        if node.words[:1] != (name,):
            self.unclear(task, node)
            return
        words = self.expanded(node.tokens)
        self.program(task, node.text, words)

    def expanded(self, tokens: Sequence[tuple[str, bool]]) -> list[str] | None:
        """Words and operators of a command, expanded."""
        found: list[str] = []
        for token, operator in tokens:
            if operator:
                found.append(Operator(token))
                continue
            more = self.words(token)
            if more is None:
                return None
            found += more
        return found

    def unclear(self, task: Task, node: Simple) -> None:
        """A command of the terminal that is called in a way that is not gone into."""
        self.whole(task, node.text)
        if not self.state.lost:
            self.doubt(f"{node.name} called in this way")

    def pipe(self, task: Task, node: Pipe) -> None:
        words: list[str] | None = []
        for number, part in enumerate(node.parts):
            more = self.expanded(part.tokens) if isinstance(part, Simple) else None
            if more is None or words is None:
                words = None
                break
            words += [Operator("|"), *more] if number else more
        self.program(task, node.text, words)

    def program(self, task: Task, text: str, words: list[str] | None) -> None:
        """Start a program that may take the terminal, or let the shell kernel run it."""
        if not words:
            self.whole(task, text)
            self.doubt("the words of a command")
            return
        found: Program | None = None if task.background else PROGRAMS[words[0]](words)
        if found is None:
            self.whole(task, text)
            return
        self.features.add(getattr(found, "name", words[0]))
        task.program, task.simple = found, written(text)
        self.state.editor = None
        self.show(task, found.start(self.host))

    @property
    def host(self) -> Host:
        """What programs are given."""
        return self

    def show(self, task: Task, shown: Shown) -> None:
        """Take what a program wrote; it may have ended."""
        state = self.state
        state.echo = shown.echo
        if shown.unknown:
            self.doubts.append(shown.unknown)
        if shown.ended:
            task.program = None
            self.status(task, shown.status)
        if shown.seconds > 0:
            task.wake, task.output, task.output_doubt = state.now + shown.seconds, shown.text, shown.unknown
            self.features.add("timing")
            return
        state.display.write(shown.text, shown.unknown)

    # --- jobs and time

    def launch(self, item: AndOr) -> None:
        """Start a command in the background."""
        self.features.add("job")
        task = Task(item.text, [Frame("chain", AndOr(item.text, item.parts))], background=True)
        text = written(item.text, item.parts[0][1] if len(item.parts) == 1 else None)
        job = self.state.jobs.add(text, task)
        self.state.display.write(f"[{job.number}] {job.pid}\n")
        self.advance(task)
        self._reap()

    def _reap(self) -> None:
        for job in self.state.jobs.jobs:
            if job.state == "Running" and job.task.over:
                job.state = "Done" if not job.task.status else f"Exit {job.task.status}"

    def until(self, moment: float) -> None:
        """Let time pass, and everything happen that it brings."""
        state = self.state
        while not state.lost and not state.ended:
            due = [task for task in self.tasks() if task.wake is not None and task.wake <= moment + 1e-9]
            if not due:
                break
            task = min(due, key=lambda task: task.wake or 0.0)
            assert task.wake is not None
            state.now = max(state.now, task.wake)
            self.woken(task)
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
        if output or doubt:
            if task.background and self.state.task is not None and self.state.task.wake is None:
                doubt = doubt or "what a job writes into a program's screen"
            if doubt:
                self.doubts.append(doubt)
            self.state.display.write(output, doubt)
        if task.background:
            self.advance(task)
            self._reap()
            self._waited()
        else:
            self.go()

    def _waited(self) -> None:
        """Let a `wait` in the foreground end when its jobs have."""
        task = self.state.task
        if task is None or not task.waiting:
            return
        numbers = task.waiting.split()
        left = [job for job in self.state.jobs.jobs if str(job.number) in numbers and not job.over]
        if not left:
            task.waiting = ""
            last = [job for job in self.state.jobs.jobs if str(job.number) in numbers]
            self.status(task, last[-1].task.status if task.after is None and last else 0)
            task.after = None
            self.go()

    # --- signals

    def interrupt(self) -> None:
        """C-c reached the foreground and ended it."""
        state = self.state
        assert state.task is not None
        state.display.feed("^C\r\n")
        state.driver.text, state.queue = "", ""
        task = state.task
        if task.timing:
            self.doubt("what a command had written when it was interrupted")
        self.shell.adjust(status=130)
        state.task = None
        self.features.add("interrupt")
        self.finish()

    def suspend(self) -> None:
        """C-z reached the foreground and stopped it."""
        state = self.state
        task = state.task
        assert task is not None
        self.features.add("job")
        state.driver.text, state.queue = "", ""
        if task.timing:
            self.doubt("what a command had written when it was stopped")
        rest = [frame for frame in task.frames]
        stopped = Task(task.simple or task.text, program=task.program, forever=task.forever)
        stopped.simple, stopped.output, stopped.output_doubt = task.simple, task.output, task.output_doubt
        stopped.remaining = max(0.0, (task.wake or state.now) - state.now)
        stopped.after = task.after
        job = state.jobs.add(stopped.simple or task.text, stopped, "Stopped")
        state.display.feed("^Z\r\n")
        state.display.write(state.jobs.line(job))
        if any(frame.kind in ("for", "cfor", "while") for frame in rest):
            rest = []
        while rest and rest[-1].kind == "chain":
            rest.pop()
        state.editor, state.echo = None, True
        state.task = Task(task.text, rest, status=148)
        self.shell.adjust(status=148)
        self.go()

    def resume(self, task: Task, stopped: Task) -> None:
        """Let a stopped task, or one in the background, go on in the foreground of another one."""
        task.program, task.forever, task.simple = stopped.program, stopped.forever, stopped.simple or stopped.text
        task.output, task.output_doubt, task.after = stopped.output, stopped.output_doubt, stopped.after
        task.frames += stopped.frames
        if stopped.wake is not None:
            task.wake = stopped.wake
        elif stopped.remaining or stopped.output:
            task.wake = self.state.now + stopped.remaining
        if task.program is not None:
            self.doubt("how a program shows itself again")


_STEPS = {
    "list": Runner.list_step, "chain": Runner.chain_step, "node": Runner.node_step, "for": Runner.for_step,
    "cfor": Runner.cfor_step, "while": Runner.while_step, "if": Runner.if_step,
}  # fmt: skip


def _first(node: Pipe) -> str:
    part = node.parts[0]
    return part.name if isinstance(part, Simple) and part.words[:1] == (part.name,) else ""


def _with_input(command: str, stdin: str) -> str:
    """Let a command read a text."""
    if not stdin:
        return f"{{ {command}\n}} < /dev/null"
    if stdin.endswith("\n"):
        mark = "END_OF_TYPED_INPUT"
        if mark in stdin:
            raise KernelError("a typed text holds the mark that ends it")
        return f"{{ {command}\n}} <<'{mark}'\n{stdin}{mark}"
    return f"printf %s {shlex.quote(stdin)} | {{ {command}\n}}"
