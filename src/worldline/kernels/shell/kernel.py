"""The shell kernel: proposes what a terminal answers, and keeps its state in step with what was settled."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from worldline.domains.comparing import compare
from worldline.domains.terminal.state import TerminalState
from worldline.errors import KernelError
from worldline.kernels.base import Proposal
from worldline.kernels.shell import portrait
from worldline.kernels.shell.absorb import (
    Reading,
    assigned,
    enter,
    read_off,
    taint_repository,
    taint_unknown,
    taint_written,
)
from worldline.kernels.shell.access import unsimulated
from worldline.kernels.shell.builtins.base import Unknown
from worldline.kernels.shell.builtins.shared.textio import restore
from worldline.kernels.shell.files import KernelFiles
from worldline.kernels.shell.limits import Limits
from worldline.kernels.shell.machine import Machine, environment
from worldline.kernels.shell.paths import expand_path
from worldline.kernels.shell.script import Script, read_script
from worldline.kernels.shell.session import DEFAULT_OPTIONS, Settled
from worldline.kernels.shell.step import Step
from worldline.kernels.shell.table import Table, declared_table
from worldline.kernels.shell.trial import Attempt, attempt
from worldline.types import Action, JsonDict, Observation, Turn, WorldSpec, content_id

__all__ = ["ShellKernel"]

_REFUSED = re.compile(r"^\S.*: cd: ", re.M)
"""What a shell says that does not enter a directory."""


_FILE_WORD = re.compile(r"(?:~/|[\w/.-])*[\w-]+\.\w+|(?:~/|/)[\w/.-]+|[\w-]{3,}")
"""What may name a file."""
_PORTRAIT = "shell"
"""Stands for the world in a portrait, which holds nothing of it."""


class Image:
    """The shell's variables and functions at one settled state; shared by forks, taken when first needed."""

    __slots__ = ("absolute", "data", "machine", "others")

    def __init__(self, machine: Machine | None, data: bytes | None = None) -> None:
        self.machine = machine
        self.data = data
        self.absolute = machine is not None and machine.absolute
        """Whether only a shell that has its commands by their paths can take it up."""
        self.others = machine.others if machine is not None else frozenset[str]()

    def take(self) -> bytes:
        """Return the serialised shell; the machine must be at the settled state.

        Raises:
            KernelError: The kernel this state belongs to was closed.
        """
        if self.data is None:
            if self.machine is None:
                raise KernelError("the shell this state belongs to is gone")
            self.data = self.machine.save_shell()
            self.machine = None
        return self.data


class Spares:
    """Shells that closed forks leave to the next one: building a shell takes milliseconds, taking one over does not."""

    _MOST = 4
    _MANY_FILES = 20
    """From so many on, files are faster restored as a whole than written one by one."""

    def __init__(self) -> None:
        self._kept: list[tuple[Machine, Table]] = []
        self._built = 0
        self._files: tuple[bytes, Table] | None = None

    def give(self, machine: Machine, table: Table) -> None:
        """Leave a shell whose files are those of `table`."""
        if len(self._kept) < self._MOST:
            self._kept.append((machine, table))

    def take(self, absolute: bool, others: frozenset[str]) -> tuple[Machine, Table] | None:
        """Return a shell that has at least these commands, and the table of its files."""
        for number, (machine, _) in enumerate(self._kept):
            if machine.absolute >= absolute and machine.others >= others:
                return self._kept.pop(number)
        return None

    def furnish(self, machine: Machine, table: Table) -> None:
        """Put the files of `table` into a new shell, from what an earlier one held where that pays."""
        start = Table()
        if self._files is not None:
            data, start = self._files
            machine.restore_files(data, start)
        machine.install(start, table)
        self._built += 1
        if self._files is None and self._built == 2 and len(table.nodes) >= self._MANY_FILES:
            self._files = machine.save_files(), table


@dataclass(slots=True)
class Trial:
    """A proposal that stands."""

    action: Action
    proposal: Proposal
    attempt: Attempt


class ShellKernel:
    """A terminal: files, shell state and time, advanced by the library's shell and our commands.

    Args:
        world: Its `initial_state` is a :class:`TerminalState`.
        limits: What one step may use.

    Raises:
        pydantic.ValidationError: The initial state is not that of a terminal.
    """

    domain = "terminal"

    def __init__(self, world: WorldSpec, limits: Limits | None = None) -> None:
        self.world = world
        self.state = TerminalState.model_validate(world.initial_state)
        self._limits = limits or Limits()
        self._settled = Settled(
            declared_table(self.state), self.state.clock, self.state.start_directory, self.state.clock
        )
        self._machine: Machine | None = None
        self._image = Image(None)
        self._fresh = True
        self._spares = Spares()
        self._trial: Trial | None = None

    # --- the transaction

    def propose(self, action: Action) -> Proposal:
        """Run `action` on a trial state and answer."""
        self.reject()
        command = action.command
        if command is None:
            return Proposal(Observation.from_streams(b"", b"", 2), known=False, why="not a shell command")
        if "\0" in command or any("\ud800" <= letter <= "\udfff" for letter in command):
            return Proposal(Observation.from_streams(b"", b"", 2), known=False, why="no shell can be given this text")
        if self._settled.ended:
            return Proposal(Observation.from_streams(b"", b"", 0), known=False, why="the shell has ended", ended=True)
        machine = self._ready(absolute="/bin/" in command, others=unsimulated(self.state, command))
        found = attempt(machine, self._settled, command, self._image.take())
        proposal = Proposal(
            observation=found.observation,
            known=not found.doubts,
            classes=found.classes,
            why="; ".join(found.doubts[:5]) or f"ran {', '.join(found.ran) or 'the shell'}",
            writes=found.written,
            ended=found.settled.ended,
            details={
                "status": found.settled.status,
                "cwd": found.settled.cwd,
                "seconds": found.slept,
                "programs": found.programs,
            },
        )
        self._trial = Trial(action, proposal, found)
        return proposal

    def accept(self) -> None:
        """Make the trial state of the last proposal the state."""
        if self._trial is None:
            return
        machine = self._ready()
        found = self._trial.attempt
        self._settled = found.settled
        self._trial = None
        if found.limited:
            self._discard()
            return
        if not self.state.shell.persist:
            machine.restore_shell(self._image.take())
        elif found.shell_changed:
            self._image = Image(machine)

    def reject(self) -> None:
        """Forget the trial state of the last proposal."""
        if self._trial is None:
            return
        machine = self._ready()
        if self._trial.attempt.limited:
            self._trial = None
            self._discard()
            return
        machine.install(self._trial.attempt.settled.table, self._settled.table)
        if self._trial.attempt.shell_changed:
            machine.restore_shell(self._image.take())
        self._trial = None

    def absorb(self, turn: Turn) -> None:
        """Let the state follow a settled turn."""
        if self._trial is None or self._trial.action != turn.action:
            self.propose(turn.action)
        if self._trial is None:
            return
        agrees = compare(self._trial.proposal.observation, turn.observation).exact
        if agrees and self._trial.proposal.known:
            self.accept()
        else:
            self._follow(self._trial, turn.observation)

    def _follow(self, trial: Trial, seen: Observation, *, shown: bool = True) -> None:
        """Settle a turn that went otherwise than the trial; `shown`: what it said was seen."""
        machine, before, found = self._ready(), self._settled, trial.attempt
        script = read_script(trial.action.command or "")
        foreseen = trial.proposal.observation
        status = seen.exit_code if seen.exit_code is not None else found.settled.status
        same = (
            (bool(status) == bool(found.settled.status))
            if seen.exit_code is not None
            else (seen.is_error is None or seen.is_error == foreseen.is_error)
        )
        kept = same and isinstance(script, Script) and not found.limited
        base = found.settled if kept else before
        after = replace(base, table=base.table.copy(), status=status, ended=found.settled.ended and kept)
        after.clock, after.lines = found.settled.clock, found.settled.lines
        reading = Reading(after.table, after.cwd)
        if isinstance(script, Script):
            if kept:
                taint_written(after.table, before.table, found.written)
            else:
                _doubt_trial(after.table, found)
                after.opaque = (*after.opaque, *sorted(f"${name}" for name in assigned(script)))
            if not (kept and trial.proposal.known):
                taint_unknown(script, after.table, self.state, before.cwd, after.clock, ours=not kept)
            taint_repository(script, after.table, before.cwd)
            if script.features & {"substitution"} and not (kept and trial.proposal.known):
                after.opaque = (*after.opaque, *sorted(f"${name}" for name in assigned(script)))
            reading.cwd = before.cwd
            if shown and not (found.limited and seen.text == foreseen.text):  # what a limit cut off shows nothing
                read_off(script, reading, self.state, seen, after.clock)
            if reading.cwd == before.cwd and not _REFUSED.search(seen.text):
                reading.cwd = after.cwd
        after.opaque = tuple(dict.fromkeys(after.opaque))
        self._settle(machine, found, after, reading.cwd, restore=not kept)

    def _settle(self, machine: Machine, found: Attempt, after: Settled, cwd: str, *, restore: bool) -> None:
        """Bring the machine from the trial to a state that was put together otherwise."""
        machine.install(found.settled.table, after.table)
        if restore and found.shell_changed:
            machine.restore_shell(self._image.take())
        if cwd != machine.shell_state().cwd:
            machine.enter(cwd)
        after.cwd = cwd
        self._settled = after
        self._trial = None
        if found.limited:
            self._discard()
        else:
            self._image = Image(machine)

    def _discard(self) -> None:
        """Give up a shell that a limit may have left in any state; the next step starts from the one before."""
        self._image.take()
        self._machine = None

    def _ready(self, *, absolute: bool = False, others: frozenset[str] = frozenset()) -> Machine:
        """The machine at the settled state, with at least these commands registered."""
        if self._machine is not None:
            had = self._machine
            if (absolute and not had.absolute) or not others <= had.others:
                absolute, others = absolute or had.absolute, others | had.others
                self._image.take()
                self._machine = None
        if self._machine is None:
            absolute, others = absolute or self._image.absolute, others | self._image.others
            data = None if self._fresh else self._image.take()
            spare = None if self._fresh else self._spares.take(absolute, others)
            if spare is not None:
                machine, table = spare
                machine.install(table, self._settled.table)
            else:
                machine = Machine(self.state, self._limits, absolute=absolute, others=others)
                self._spares.furnish(machine, self._settled.table)
            if data is not None:
                machine.restore_shell(data)
                if machine.shell_state().cwd != self._settled.cwd:
                    machine.enter(self._settled.cwd)
            self._image = Image(machine, data)
            self._machine = machine
            self._fresh = False
        return self._machine

    # --- what a terminal needs of its shell

    @property
    def settled(self) -> Settled:
        """The state that has been settled; not to be changed."""
        return self._settled

    def mark(self) -> tuple[Settled, Image]:
        """Return the present state, to be gone back to by :meth:`go_back`."""
        self.reject()
        self._ready()
        return self._settled, self._image

    def go_back(self, mark: tuple[Settled, Image]) -> None:
        """Take back everything since a mark was made."""
        self.reject()
        settled, image = mark
        if self._settled is settled and self._image is image:
            return
        machine = self._ready()
        machine.install(self._settled.table, settled.table)
        if self._image is not image:
            machine.restore_shell(image.take())
        if machine.shell_state().cwd != settled.cwd:
            machine.enter(settled.cwd)
        self._settled, self._image = settled, image

    def adjust(self, *, clock: datetime | None = None, status: int | None = None) -> None:
        """Set the clock, or the status that `$?` shows."""
        self.reject()
        settled = self._settled
        self._settled = replace(
            settled,
            clock=settled.clock if clock is None else clock,
            status=settled.status if status is None else status,
        )

    def revive(self) -> None:
        """Go on after a command that ended the shell: it was a subshell or script of the real one."""
        self.reject()
        self._settled = replace(self._settled, ended=False)

    def suspect(self, text: str) -> None:
        """Doubt the files that a text names: something may have written them, or made or removed them."""
        self.reject()
        settled = self._settled
        table = settled.table.copy()
        for word in set(_FILE_WORD.findall(text)):
            path = expand_path(word, settled.cwd, self.state.home)
            node = table.nodes.get(path)
            if node is not None and node.kind == "file":
                table.tainted[path] = "content"
            elif node is None and posixpath.dirname(path) in table.nodes:
                table.absent.discard(path)
                table.open.add(posixpath.dirname(path))
        self._settled = replace(settled, table=table)

    def portray(self) -> bytes:
        """Return what is the shell's own: variables, functions, options, traps and directory, but no files."""
        self.reject()
        self._ready()
        return portrait.pack(replace(self._settled, table=Table()), self._image.take(), _PORTRAIT)

    def become(self, data: bytes) -> None:
        """Take up what :meth:`portray` returned; files and clock stay as they are now.

        Raises:
            KernelError: `data` is damaged.
        """
        self.reject()
        machine = self._ready()
        settled, image = portrait.unpack(data, _PORTRAIT)
        machine.restore_shell(image)
        if machine.shell_state().cwd != settled.cwd:
            machine.enter(settled.cwd)
        self._settled = replace(settled, table=self._settled.table, clock=self._settled.clock)
        self._image = Image(None, image)

    def refresh(self) -> None:
        """Forget what a program that is started does not get: options, traps and functions."""
        self.reject()
        self._settled = replace(self._settled, options=DEFAULT_OPTIONS, traps=(), functions={}, opaque=(), jobs=())

    def follow(self, command: str, cwd: str | None) -> None:
        """Let the state follow a command of which nothing is known but the directory it ended in."""
        self.reject()
        self.propose(Action(name="bash", arguments={"command": command}))
        if self._trial is not None:
            self._follow(self._trial, Observation(truncated=True), shown=False)
        if cwd is not None and cwd != self._settled.cwd:
            machine = self._ready()
            reading = Reading(self._settled.table.copy(), self._settled.cwd)
            enter(reading, self.state, cwd, self._settled.clock)
            before, self._settled = self._settled, replace(self._settled, table=reading.table, cwd=cwd, moved=True)
            machine.install(before.table, reading.table)
            machine.enter(cwd)
            self._image = Image(machine)

    def variable(self, name: str) -> str | None:
        """The value of a shell variable."""
        self.reject()
        state = self._ready().shell_state()
        return state.variables.get(name, state.env.get(name))

    def aliases(self) -> dict[str, str]:
        """Aliases by name."""
        self.reject()
        return dict(self._ready().shell_state().aliases)

    def unexported(self) -> list[str]:
        """Names of the variables that programs do not get, without those that every shell has."""
        self.reject()
        exported = self._ready().shell_state().env
        return sorted(name for name in self._variables() if name not in exported)

    def read_file(self, path: str) -> bytes:
        """Read a file as the session's user; a relative path is taken from the working directory.

        Raises:
            OSError: As reading it would.
            Unknown: Its content is not known.
        """
        self.reject()
        step = self._step(self._settled.table)
        data = self._files(step).read(path)
        if step.trace.doubts:
            raise Unknown(step.trace.doubts[0])
        return restore(data)

    def write_file(self, path: str, data: bytes) -> None:
        """Write a file as the session's user.

        Raises:
            OSError: As writing it would.
            Unknown: It is not known whether it may be written.
        """
        self.reject()
        table = self._settled.table.copy()
        self._files(self._step(table)).write(path, data)
        self._settled = replace(self._settled, table=table)

    def look(self) -> tuple[KernelFiles, list[str]]:
        """Return the files as the session's user sees them, only to be read, and where doubts are noted meanwhile."""
        self.reject()
        step = self._step(self._settled.table)
        return self._files(step), step.trace.doubts

    def change_files(self, change: Callable[[KernelFiles], None]) -> None:
        """Let a function change the files as the session's user.

        Raises:
            OSError: As the function does; nothing is changed then.
        """
        self.reject()
        table = self._settled.table.copy()
        try:
            change(self._files(self._step(table)))
        except OSError:
            self._ready().install(table, self._settled.table)
            raise
        self._settled = replace(self._settled, table=table)

    def _step(self, table: Table) -> Step:
        settled = self._settled
        stamps = self._ready().stamps
        return Step(self.state, table, stamps, settled.clock, umask=settled.umask, suspects=frozenset())

    def _files(self, step: Step) -> KernelFiles:
        return step.files(self._ready().vfs, self._settled.cwd)

    # --- copies

    def fork(self) -> ShellKernel:
        """Return an independent copy; it shares what neither side has changed."""
        twin = object.__new__(ShellKernel)
        twin.world, twin.state, twin._limits = self.world, self.state, self._limits
        twin._settled = self._settled
        twin._machine = None
        twin._image = self._image
        twin._fresh = self._fresh
        twin._spares = self._spares
        twin._trial = None
        return twin

    def dump(self) -> bytes:
        """Serialise the whole state."""
        self.reject()
        self._ready()
        return portrait.pack(self._settled, self._image.take(), self._world_id())

    def load(self, data: bytes) -> None:
        """Replace the state by a dumped one.

        Raises:
            KernelError: `data` is damaged, or from another version or world.
        """
        settled, image = portrait.unpack(data, self._world_id())
        self._settled, self._image = settled, Image(None, image)
        self._machine, self._trial, self._fresh = None, None, False

    def _world_id(self) -> str:
        return content_id(self.state.model_dump(mode="json"))

    # --- views

    def footprint(self, action: Action) -> dict[str, str] | None:
        """What the action would read, with a hash of its content; None where it cannot be told."""
        command = action.command
        if command is None:
            return None
        self.reject()
        script = read_script(command)
        if not isinstance(script, Script):
            return {"cwd": self._settled.cwd}
        return portrait.footprint(script, self._settled, self.state, self._variables())

    def describe(self) -> JsonDict:
        """Return the state for people and prompts: JSON data, of bounded size."""
        self.reject()
        self._ready()
        start = environment(self.state)
        changed = {name: value for name, value in self._variables().items() if start.get(name) != value}
        return portrait.describe(self.state, self._settled, {name: value[:200] for name, value in changed.items()})

    def _variables(self) -> dict[str, str]:
        """Variables and their values, without those that every shell has."""
        return self._ready().variables()

    def close(self) -> None:
        """Free what the kernel holds. Forks live on."""
        if self._machine is not None:
            self.reject()
        if self._machine is not None:
            self._image.take()
            self._spares.give(self._machine, self._settled.table)
        self._machine = None


def _doubt_trial(table: Table, found: Attempt) -> None:
    """Doubt what a trial wrote that was taken back: reality may have written it or not."""
    for path in found.written:
        node = found.settled.table.nodes.get(path)
        if path in table.nodes:
            table.tainted[path] = "existence" if node is None else "content"
        elif node is not None and path not in table.absent:
            table.nodes[path] = node
            table.tainted[path] = "existence"
