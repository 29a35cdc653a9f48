"""The machine of a collection world: the terminal's kernel, for tools that run commands and touch files."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from worldline.domains.comparing import is_error
from worldline.domains.terminal.state import TerminalState
from worldline.errors import KernelError
from worldline.kernels.base import Kernel
from worldline.kernels.shell import ShellKernel
from worldline.types import Action, JsonDict, Observation, Turn, WorldSpec

__all__ = ["Machine", "Run"]


@dataclass(frozen=True, slots=True)
class Run:
    """What a command printed."""

    observation: Observation
    known: bool
    why: str
    writes: tuple[str, ...]

    @property
    def output(self) -> str:
        """Both streams."""
        return self.observation.text

    @property
    def failed(self) -> bool:
        """Whether its status was not 0."""
        return is_error(self.observation)

    @property
    def streams(self) -> JsonDict:
        """The streams and the status, as templates name them; merged streams are both, whichever failed or not."""
        seen = self.observation
        status = int(self.failed) if seen.exit_code is None else seen.exit_code
        if seen.merged:
            return {"stdout": seen.text, "stderr": seen.text, "exit_code": status}
        return {"stdout": seen.stdout, "stderr": seen.stderr or "", "exit_code": status}


class Machine:
    """A terminal whose commands are made from tool calls.

    Args:
        kernel: The terminal's state.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    @classmethod
    def of(cls, state: TerminalState) -> Machine:
        """Set a machine up.

        Raises:
            KernelError: The state cannot be set up.
        """
        declared: Any = state.model_dump(mode="json", exclude_defaults=True)
        return cls(ShellKernel(WorldSpec(domain="terminal", initial_state=declared)))

    def run(self, command: str) -> Run:
        """Run a command and keep what it changed."""
        proposal = self._kernel.propose(_action(command))
        self._kernel.accept()
        return Run(proposal.observation, proposal.known, proposal.why, proposal.writes)

    def follow(self, command: str, seen: Observation, *, plain: bool) -> None:
        """Follow a command that printed something else; `plain`: the observation is its whole output."""
        told = seen if plain else Observation(is_error=seen.is_error)
        self._kernel.absorb(Turn(action=_action(command), observation=told))

    def fork(self) -> Machine:
        """Return an independent copy."""
        return Machine(self._kernel.fork())

    def dump(self) -> str:
        """Serialise the state."""
        return base64.b64encode(self._kernel.dump()).decode("ascii")

    def load(self, data: Any) -> None:
        """Replace the state by a dumped one.

        Raises:
            KernelError: `data` is damaged.
        """
        if not isinstance(data, str):
            raise KernelError("damaged state of a machine")
        self._kernel.load(base64.b64decode(data))

    def describe(self) -> JsonDict:
        """The terminal's state."""
        return self._kernel.describe()

    def close(self) -> None:
        """Free it."""
        self._kernel.close()


def _action(command: str) -> Action:
    return Action(name="bash", arguments={"command": command})
