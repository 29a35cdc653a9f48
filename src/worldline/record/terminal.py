"""A real terminal in a box: press keys, read the screen.

Time is kept apart from the machine's speed. While a process of the box computes, or something is still being written,
the time that the agent waits does not pass; it passes only while all processes sleep or wait. So a screen shows what a
machine with unlimited speed would show after the durations, however busy this one is. The clock that programs see
follows the time that passed, in whole seconds, also during a wait, and what sleeps in the box sleeps by that time.
Waiting with a limit (`timeout`, `read -t`) still goes by real time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from worldline.domains.terminal.keystrokes import Keystrokes, typed
from worldline.domains.terminal.state import ScreenSpec
from worldline.errors import ActionError, SandboxError, SessionError, StorageError, boundary
from worldline.record.pane import Pane, PtyPane, TmuxPane
from worldline.record.sandbox import Box, Limits, Surroundings, declared_state, descendants, resident
from worldline.types import Action, Observation, WorldSpec

__all__ = ["Emulation", "RealTerminal", "TypingResult"]

Emulation = Literal["pyte", "tmux"]

_START_TIMEOUT = 60.0
_FIRST, _LONGEST = 0.005, 0.04
"""Seconds between two looks at the box: at once after something happened, less often later."""
_SETTLED = 3
"""Looks in a row that must find the box quiet before the screen is read."""
_REACTION = 0.06
"""Seconds of real time that the box has to begin with what was typed."""
_WATCH_EVERY = 0.5
_MARK = "<ready>"


class _TerminalBox(Box):
    """A box whose shell has a terminal in place of pipes."""

    __slots__ = ("emulation", "pane", "screen")

    def __init__(
        self, world: WorldSpec, screen: ScreenSpec, around: Surroundings, limits: Limits, emulation: Emulation
    ) -> None:
        shell = ["bash", "--norc", "--noprofile", "-i"]
        super().__init__(declared_state(world, around), shell, around, limits)
        self.screen, self.emulation = screen, emulation
        self.pane: Pane

    def _own_session(self) -> list[str]:
        return []  # C-c would reach bubblewrap: only the session that has the terminal can hand it on

    def _terminal_variables(self) -> dict[str, str]:
        return {"TERM": self.screen.term}

    def _spawn(self, launch: list[str], options: bytes, layout: bytes) -> None:
        archive, arguments = self._place / "archive", self._place / "arguments"
        with boundary(StorageError, "preparing the sandbox"):
            archive.write_bytes(layout)
            arguments.write_bytes(options)
        opening = 'exec 3<"$1" 4<"$2"; rm "$1" "$2"; shift 2; exec "$@"'
        # what this process ignores (Python SIGPIPE, a worker SIGINT) the box must not
        command = ["/usr/bin/nice", "-n", str(-os.nice(0))] if os.nice(0) else []
        command += ["/usr/bin/env", "--default-signal", "/usr/bin/bash", "--norc", "--noprofile", "-c", opening, "box"]
        command += [str(archive), str(arguments)]
        command += [*launch, "--args", "4", *self._inner("3", "-", "-")]
        self.pane = (PtyPane if self.emulation == "pyte" else TmuxPane)(command, self.screen)
        self._spawned = True

    def kill(self) -> None:
        self.pane.close()

    def _release(self) -> None:
        return


@dataclass(frozen=True, slots=True)
class TypingResult:
    """How typing went, beside the screen."""

    waited: float
    """Seconds that passed for the box."""
    elapsed: float
    """Seconds of real time."""
    foreground: str = ""
    """Name of the program that has the terminal; empty where it is the shell."""
    full_screen: bool = False
    """It has taken the whole screen."""
    overrun: str | None = None
    """`time`: something in the box still computed when the longest wait was over; `memory`: it took too much, and the
    box was ended."""


class RealTerminal:
    """A terminal world used by keystrokes, for real. Use it as a context manager, in one thread.

    Args:
        world: A world of the terminal domain; without a declared screen it gets a default one.
        root: Debian root that the programs come from; the host's if None.
        limits: What the programs may use; `wall` is how long they may compute after the durations.
        surroundings: Everything else that the world does not declare; its `root` yields to `root`.
        emulation: `pyte` rebuilds the screen from a pty; `tmux` is the terminal for full-screen programs.

    Raises:
        SandboxError: The sandbox or the terminal cannot be built; the hint says what is missing.
    """

    def __init__(
        self,
        world: WorldSpec,
        *,
        root: Path | None = None,
        limits: Limits | None = None,
        surroundings: Surroundings | None = None,
        emulation: Emulation = "pyte",
    ) -> None:
        around = surroundings or Surroundings()
        if root is not None:
            around = replace(around, root=root)
        self.limits = limits or Limits()
        screen = declared_state(world, around).screen or ScreenSpec()
        self._box = _TerminalBox(world, screen, around, self.limits, emulation)
        self.screen_spec = screen
        self.ended = False
        self.last: TypingResult | None = None
        """Details of what was typed last."""
        self._passed = 0.0
        self._begun = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def now(self) -> datetime:
        """The virtual time: what `date` would show."""
        return self._box.clock.now

    @property
    def passed(self) -> float:
        """Seconds that have passed for the box since the start."""
        return self._passed

    def start(self) -> None:
        """Build the box, wait for its shell, set the prompt and clear the screen.

        Raises:
            SandboxError: The shell does not come up.
        """
        try:
            self._box.start()
            pane = self._box.pane
            self._await(lambda rows: any(row.startswith("bash-") for row in rows), "a prompt")
            self._box.release_holder()
            quoted = self.screen_spec.prompt.replace("'", "'\\''")
            setting = f"PS1='{quoted}'; unset HISTFILE; history -c; printf '\\033[H\\033[2J\\033[3J'"
            pane.send(Keystrokes(f"PS1='{_MARK}'; clear\n", 0.0))
            self._await(lambda rows: rows[0] == _MARK, "an answer")
            pane.send(Keystrokes(f"{setting}\n", 0.0))
            self._await(lambda rows: bool(rows[0]) and _MARK not in rows[0] and not any(rows[1:]), "its prompt")
            self._begun = True
        except BaseException:
            self.close()
            raise

    def type(self, keys: Sequence[Keystrokes]) -> Observation:
        """Send keys, each entry followed by its wait, and return the screen.

        Args:
            keys: Entries; see :func:`worldline.domains.terminal.keystrokes.typed`.

        Raises:
            SessionError: The shell has ended.
        """
        if self.ended:
            raise SessionError("the shell has ended", hint="start another session")
        begin, passed, overrun = time.monotonic(), self._passed, None
        for entry in keys:
            self._box.clock.reach(self._passed)
            self._box.pane.send(entry)
            wait = _Wait(self, entry.duration)
            overrun = wait.run() or overrun
            self._passed = round(self._passed + entry.duration, 6)
            self._box.clock.reach(self._passed)
        seen = self.screen()
        self.ended = self._box.pane.ended
        self.last = TypingResult(
            round(self._passed - passed, 6),
            time.monotonic() - begin,
            "" if self.ended else _foreground(self._box.pane.pid),
            self._box.pane.alternate,
            overrun,
        )
        return seen

    def act(self, action: Action) -> Observation:
        """Answer an action of the keystroke dialect; an empty list gets the screen and the completion prompt.

        Raises:
            ActionError: It is an action of another kind.
            SessionError: The shell has ended.
        """
        keys = typed(action)
        if keys is None:
            raise ActionError("not an action of the keystroke dialect", hint='{"keystrokes": [...]}')
        seen = self.type(keys)
        if keys:
            return seen
        return Observation.from_text(f"{seen.text}\n{self.screen_spec.completion}")

    def screen(self) -> Observation:
        """Return what the screen shows now."""
        return Observation.from_text("\n".join(self._box.pane.rows()).rstrip("\n"))

    def close(self) -> None:
        """End the box and remove its files."""
        self.ended = True
        self._box.close()

    def _await(self, shown: Callable[[list[str]], bool], what: str) -> None:
        """Wait until the screen of the fresh shell shows something."""
        pane, deadline = self._box.pane, time.monotonic() + _START_TIMEOUT
        while not shown(rows := pane.rows()):
            if pane.ended or time.monotonic() > deadline:
                said = " ".join(row for row in rows if row)[:300] or "no message"
                raise SandboxError(f"the shell did not show {what}: {said}", hint="see `worldline doctor`")
            pane.pump(_LONGEST)


class _Wait:
    """One wait: lets the box run on until the time has passed and nothing in it moves."""

    def __init__(self, terminal: RealTerminal, duration: float) -> None:
        self.box, self.limits = terminal._box, terminal.limits
        self.base, self.duration = terminal.passed, duration
        self.idle = 0.0
        """Seconds that have passed for the box."""
        self.begin = self.last = time.monotonic()
        self.watch = self.begin + _WATCH_EVERY
        self.quiet = 0
        self.delay = _FIRST

    def run(self) -> str | None:
        """Wait; returns what was exceeded, if anything."""
        pane, busy = self.box.pane, True  # the box is about to react to the keys
        while not pane.ended:
            left = self.duration - self.idle
            wrote = pane.pump(min(self.delay, left) if left > 0.001 else _FIRST)
            now = time.monotonic()
            if not busy:  # it was at rest until now: what was written ended the rest
                self.idle += now - self.last
                self.box.clock.reach(self.base + min(self.idle, self.duration))
            self.last, busy = now, wrote or _computes(pane.pid)
            self.quiet = 0 if busy else self.quiet + 1
            self.delay = _FIRST if busy else min(self.delay * 1.5, _LONGEST)
            if self.idle >= self.duration and self.quiet >= _SETTLED and now - self.begin >= _REACTION:
                return None
            if (exceeded := self._exceeded(now)) is not None:
                return exceeded
        return None

    def _exceeded(self, now: float) -> str | None:
        if now - self.begin > self.duration + self.limits.wall:
            return "time"
        if now > self.watch:
            self.watch = now + _WATCH_EVERY
            if resident(self.box.pane.pid) > self.limits.total_memory:
                self.box.kill()
                return "memory"
        return None


def _computes(pid: int) -> bool:
    """Whether any thread of a process or of one below it runs, wants to run, or waits for a disk."""
    todo = [pid]
    while todo:
        place = f"/proc/{todo.pop()}/task"
        with suppress(OSError):
            for task in os.listdir(place):  # noqa: PTH208 - called a hundred times a second
                with open(f"{place}/{task}/stat", "rb") as file:  # noqa: PTH123
                    stat = file.read()
                if stat[stat.rfind(b")") + 2 : stat.rfind(b")") + 3] in (b"R", b"D"):
                    return True
                with open(f"{place}/{task}/children", "rb") as file:  # noqa: PTH123
                    todo += [int(child) for child in file.read().split()]
    return False


def _foreground(pid: int) -> str:
    """Name of the youngest process in the foreground of the terminal, or nothing where that is the shell."""
    below = descendants(pid)
    shell = below[2] if len(below) > 2 else 0
    front = [process for process in below[2:] if (told := _job(process)) is not None and told[0] == told[1]]
    if not front or front[-1] == shell:
        return ""
    with suppress(OSError):
        return Path(f"/proc/{front[-1]}/comm").read_text().strip()
    return ""


def _job(pid: int) -> tuple[int, int] | None:
    """The process group of a process and the one in the foreground of its terminal."""
    with suppress(OSError, ValueError, IndexError):
        stat = Path(f"/proc/{pid}/stat").read_text()
        fields = stat[stat.rindex(")") + 2 :].split()
        return int(fields[2]), int(fields[5])
    return None
