"""What a kernel is: executable state of a domain that computes what can be computed.

A kernel lives inside one session. `propose` runs the action on a trial state and answers; the trial becomes
the state only through `accept`. `absorb` makes the state follow what was settled, whatever its origin, also
for turns observed in reality. Kernels never touch the host's files, network or clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from worldline.types import Action, JsonDict, Observation, Turn

__all__ = ["GUESSED", "Kernel", "Proposal"]

GUESSED = "guessed"
"""Key in a turn's `extra`: an engine that abstained only guessed the observation, so that nothing is proven by it."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a kernel answers to an action."""

    observation: Observation
    known: bool
    """False: it rests on something the kernel does not know, so the observation is only a guess."""
    classes: tuple[str, ...] = ()
    """Action classes whose measured trust applies; the weakest counts (for a shell: `sort`, `ls -l`, ...)."""
    why: str = ""
    """For `known`: what it read and ran; otherwise: what was missing. One line, for people."""
    writes: tuple[str, ...] = ()
    """What the action changed (for a shell: absolute paths, `$NAME` for variables)."""
    ended: bool = False
    """The action ended the session (`exit` in a shell)."""
    details: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class Kernel(Protocol):
    """Executable state of one session of a domain."""

    domain: str

    def propose(self, action: Action) -> Proposal:
        """Run `action` on a trial state and answer. A former proposal that still stands is rejected first."""

    def accept(self) -> None:
        """Make the trial state of the last proposal the state."""

    def reject(self) -> None:
        """Forget the trial state of the last proposal."""

    def absorb(self, turn: Turn) -> None:
        """Let the state follow a settled turn.

        If the last proposal stands for the same action and agrees with the turn's observation, its trial is
        accepted. Otherwise the effects that can be read off the turn are applied and whatever the action may
        have written beyond them becomes tainted: unknown until it is observed again.
        """

    def footprint(self, action: Action) -> Mapping[str, str] | None:
        """What the action would read, each with a hash of its present content (or `absent`).

        None where it cannot be told. Memory compares footprints to decide whether a recorded answer applies.
        """

    def fork(self) -> Kernel:
        """Return an independent copy. Cheap: the copy shares what neither side has changed."""

    def dump(self) -> bytes:
        """Serialise the whole state; what `load` of the same kernel takes."""

    def load(self, data: bytes) -> None:
        """Replace the state by a dumped one.

        Raises:
            KernelError: `data` is damaged or from another version.
        """

    def describe(self) -> JsonDict:
        """Return the state for people and prompts: JSON data, of bounded size."""

    def close(self) -> None:
        """Free what the kernel holds."""
