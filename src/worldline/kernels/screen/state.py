"""Everything a terminal session holds beside the shell: the screen, who has the terminal, what is typed, jobs, time."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field, replace

from worldline.kernels.screen.display import Display
from worldline.kernels.screen.driver import LineDriver
from worldline.kernels.screen.history import History
from worldline.kernels.screen.jobs import JobTable
from worldline.kernels.screen.lines import LineEditor
from worldline.kernels.screen.tasks import Task

__all__ = ["Level", "State"]


@dataclass(slots=True)
class Level:
    """A shell that waits for one that was started at its prompt."""

    outer: bytes
    """The shell's own state."""
    history: History
    jobs: JobTable


@dataclass(slots=True)
class State:
    """A terminal session; changed in place, copied before a trial."""

    display: Display
    now: float = 0.0
    """Virtual seconds since the start."""
    editor: LineEditor | None = None
    """The line being edited at a prompt of the shell, or of a program that edits lines so."""
    driver: LineDriver = field(default_factory=LineDriver)
    """The terminal driver's own line, where a program reads plain lines or nobody reads."""
    history: History = field(default_factory=History)
    program_history: History = field(default_factory=History)
    pending: list[str] = field(default_factory=list)
    """Lines of a command that goes on."""
    pending_kinds: list[str] = field(default_factory=list)
    """What was open after each of them."""
    entry: str = ""
    """The history line of a command that goes on."""
    task: Task | None = None
    """What runs in the foreground."""
    jobs: JobTable = field(default_factory=JobTable)
    levels: list[Level] = field(default_factory=list)
    """Shells around the one that is typed at, the outermost first."""
    queue: str = ""
    """Keys that were typed when nobody read; not shown yet."""
    echo: bool = True
    """Whether the terminal driver shows what is typed."""
    ended: bool = False
    """The shell is gone."""
    lost: str = ""
    """Why it is not known who has the terminal; empty where it is."""
    shaky: str = ""
    """Why the program in the foreground may stand otherwise than it is thought to; empty where it is known."""
    suspects: list[str] = field(default_factory=list)
    """What was typed while it was not known what has the terminal."""
    warned: bool = False
    """The shell has said that there are stopped jobs."""
    vague_status: bool = False
    """The status of the last command is not known."""
    entries: int = 0
    """Of actions, so far."""
    commands: int = 2
    """Entered so far, with those that a shell counts before the first."""

    def copy(self) -> State:
        """Return an independent copy."""
        twin = replace(self, display=self.display.copy())
        twin.editor, twin.driver, twin.task, twin.jobs, twin.levels = deepcopy(
            (self.editor, self.driver, self.task, self.jobs, self.levels)
        )
        twin.history = History(list(self.history.lines), self.history.first)
        twin.program_history = History(list(self.program_history.lines), self.program_history.first)
        twin.suspects = list(self.suspects)
        twin.pending, twin.pending_kinds = list(self.pending), list(self.pending_kinds)
        return twin

    @property
    def at_prompt(self) -> bool:
        """Whether the shell itself reads a line."""
        return self.editor is not None and self.task is None and not self.lost and not self.ended
