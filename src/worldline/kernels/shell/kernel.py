"""The shell kernel: proposes what a terminal answers, and keeps its state in step with what was settled."""

from __future__ import annotations

from dataclasses import dataclass

from worldline.domains.terminal.state import TerminalState
from worldline.errors import KernelError
from worldline.kernels.base import Proposal
from worldline.kernels.shell.machine import Limits, Machine
from worldline.kernels.shell.session import Settled
from worldline.kernels.shell.table import Table, declared_table
from worldline.kernels.shell.trial import attempt
from worldline.types import Action, JsonDict, Observation, Turn, WorldSpec

__all__ = ["ShellKernel"]


class Image:
    """The shell's variables and functions at one settled state; shared by forks, taken when first needed."""

    __slots__ = ("data", "machine")

    def __init__(self, machine: Machine | None, data: bytes | None = None) -> None:
        self.machine = machine
        self.data = data

    def take(self) -> bytes:
        """Return the serialised shell; the machine must be at the settled state."""
        if self.data is None:
            if self.machine is None:
                raise KernelError("the shell this state belongs to is gone")
            self.data = self.machine.save_shell()
        return self.data


@dataclass(slots=True)
class Trial:
    """A proposal that stands."""

    action: Action
    proposal: Proposal
    settled: Settled


class ShellKernel:
    """A terminal: files, shell state and time, advanced by the library's shell and our commands.

    Args:
        world: Its `initial_state` is a :class:`TerminalState`.
        limits: What one step may use.
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
        self._trial: Trial | None = None

    # --- the transaction

    def propose(self, action: Action) -> Proposal:
        """Run `action` on a trial state and answer."""
        self.reject()
        command = action.command
        if command is None:
            return Proposal(Observation.from_streams(b"", b"", 2), known=False, why="not a shell command")
        if self._settled.ended:
            return Proposal(Observation.from_streams(b"", b"", 0), known=False, why="the shell has ended", ended=True)
        machine = self._ready(absolute="/bin/" in command)
        found = attempt(machine, self._settled, command, self._image.take())
        proposal = Proposal(
            observation=found.observation,
            known=not found.doubts,
            classes=found.classes,
            why="; ".join(found.doubts) or f"ran {', '.join(found.ran) or 'the shell'}",
            writes=found.written,
            ended=found.settled.ended,
        )
        self._trial = Trial(action, proposal, found.settled)
        return proposal

    def accept(self) -> None:
        """Make the trial state of the last proposal the state."""
        if self._trial is not None:
            self._settled = self._trial.settled
            self._image = Image(self._machine)
            self._trial = None

    def reject(self) -> None:
        """Forget the trial state of the last proposal."""
        if self._trial is None:
            return
        machine = self._ready()
        machine.install(self._trial.settled.table, self._settled.table)
        machine.restore_shell(self._image.take())
        self._trial = None

    def absorb(self, turn: Turn) -> None:
        """Let the state follow a settled turn."""
        if self._trial is None or self._trial.action != turn.action:
            self.propose(turn.action)
        self.accept()

    def _ready(self, *, absolute: bool = False) -> Machine:
        if self._machine is not None and absolute and not self._machine.absolute:
            self._image.take()
            self._machine = None
        if self._machine is None:
            machine = Machine(self.state, self._limits, absolute=absolute)
            data = self._image.data if self._image.machine is None else self._image.take()
            machine.install(Table(), self._settled.table)
            if data is None:
                self._image = Image(machine)
            else:
                machine.restore_shell(data)
                self._image = Image(machine, data)
            self._machine = machine
        return self._machine

    # --- copies

    def fork(self) -> ShellKernel:
        """Return an independent copy; it shares what neither side has changed."""
        twin = object.__new__(ShellKernel)
        twin.world, twin.state, twin._limits = self.world, self.state, self._limits
        twin._settled = self._settled
        twin._machine = None
        twin._image = self._image
        twin._trial = None
        return twin

    def footprint(self, action: Action) -> dict[str, str] | None:
        """What the action would read, with a hash of its content; None where it cannot be told."""
        return None

    def dump(self) -> bytes:
        """Serialise the whole state."""
        raise KernelError("not implemented")

    def load(self, data: bytes) -> None:
        """Replace the state by a dumped one."""
        raise KernelError("not implemented")

    def describe(self) -> JsonDict:
        """Return the state for people and prompts."""
        return {"clock": self._settled.clock.isoformat()}

    def close(self) -> None:
        """Free what the kernel holds."""
        self._machine = None
