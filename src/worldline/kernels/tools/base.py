"""What answers the calls of one server: the part that the kernel of tool worlds routes a call to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from worldline.kernels.base import Proposal
from worldline.types import JsonDict, Observation

__all__ = ["Arguments", "ServerKernel"]

Arguments = Mapping[str, Any]
"""Arguments of a call, as the caller gave them: nothing about them has been checked."""


@runtime_checkable
class ServerKernel(Protocol):
    """Executable state behind the tools of one server.

    The kernel that routes calls keeps the transaction: it runs `call` on a `fork` and keeps either the fork or the
    original, so that a server kernel needs no notion of a trial. A fork must therefore be cheap: share what neither
    side has changed (immutable values, copied when first written).
    """

    def serves(self, tool: str) -> bool:
        """Whether this server owns a tool of that name."""

    def call(self, tool: str, arguments: Arguments) -> Proposal:
        """Run a call, advance this state by it, and answer.

        Never raises for what a caller can do: wrong arguments are answered as the server answers them. `known` is
        False where the answer rests on something that was neither declared nor observed; the state may then be
        anything, and is thrown away unless the answer turns out right.
        """

    def observe(self, tool: str, arguments: Arguments, observation: Observation) -> None:
        """Follow a settled call whose answer was not the one `call` gives.

        Called on the state before the call. What the answer tells is learnt (a listing closes a directory, a read
        gives content); what the call may have changed beyond that becomes unknown until it is observed again.
        """

    def footprint(self, tool: str, arguments: Arguments) -> Mapping[str, str] | None:
        """What the call would read, each with a hash of its present content, `absent` or `unknown`.

        None where it cannot be told; empty for a call whose answer depends on its arguments alone.
        """

    def fork(self) -> ServerKernel:
        """Return an independent copy, cheaply."""

    def dump(self) -> JsonDict:
        """Return the whole state as JSON data; what `load` of the same server kernel takes."""

    def load(self, data: JsonDict) -> None:
        """Replace the state by a dumped one.

        Raises:
            KernelError: `data` is damaged or from another version.
        """

    def describe(self) -> JsonDict:
        """Return the state for people and prompts: JSON data, of bounded size."""

    def close(self) -> None:
        """Free what the kernel holds; forks live on."""
