"""Work in the foreground or background: what is still to be run, and when it goes on."""

from __future__ import annotations

from dataclasses import dataclass, field

from worldline.domains.terminal.commands import AndOr, Node
from worldline.kernels.screen.programs.base import Program

__all__ = ["Frame", "Task"]


@dataclass(slots=True)
class Frame:
    """A list, a chain, a loop or a condition that is being gone through."""

    kind: str
    node: Node | AndOr
    index: int = 0
    values: tuple[str, ...] = ()
    """Of a `for` or `select`."""
    outer: bytes = b""
    """Of a script or subshell: the shell that goes on after it."""


@dataclass(slots=True)
class Task:
    """A line that was entered and has not ended."""

    text: str
    frames: list[Frame] = field(default_factory=list)
    wake: float | None = None
    """When it goes on; None: it does not wait for time."""
    remaining: float = 0.0
    """Seconds of waiting that were left when it was stopped."""
    waiting: str = ""
    """Of a wait for jobs: their numbers, separated by blanks."""
    output: str = ""
    """Written when the wait is over."""
    output_doubt: str = ""
    later: list[tuple[float, str]] = field(default_factory=list)
    """What a program writes after that: seconds and text."""
    ending: int | None = None
    """Status of a program that ends with the last of it."""
    after: int | None = None
    """Status that counts once the wait is over; None: the shell's own."""
    timing: str = ""
    """Why what it has written so far is not known though its end is."""
    status: int = 0
    program: Program | None = None
    touched: float = 0.0
    """When its program was last given something."""
    deadline: float | None = None
    """When its program stops waiting for input."""
    forever: bool = False
    """It blocks until it is interrupted."""
    follows: str = ""
    """The file whose end it shows as it grows (`tail -f`)."""
    shown: int = 0
    """Bytes of that file that it has shown."""
    simple: str = ""
    """The command that is running: what a stopped job is called."""
    background: bool = False
    born: int = 0
    """Entries of actions that had been typed when it was started."""
    replaced: int = 0
    """Processes made for it in the background whose place its programs take."""
    inner: bytes = b""
    """The shell of its own that it goes on in, while it is stopped or in the background."""

    @property
    def blocked(self) -> bool:
        """Whether it waits for time, for jobs, or for input."""
        return self.wake is not None or self.program is not None or self.forever or bool(self.waiting)

    @property
    def next(self) -> float | None:
        """When something happens by itself."""
        return self.deadline if self.wake is None else self.wake

    @property
    def script(self) -> Frame | None:
        """The innermost script or subshell it is in."""
        return next((frame for frame in reversed(self.frames) if frame.kind == "script"), None)

    @property
    def over(self) -> bool:
        """Whether nothing is left to be done."""
        return not self.frames and not self.blocked
