"""The kernel of a tool world that is nothing but collections: one server, with the transaction around it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from worldline.domains.comparing import compare
from worldline.domains.tools.collections import CollectionsSpec
from worldline.errors import KernelError
from worldline.kernels.base import Proposal
from worldline.kernels.tools.base import ServerKernel
from worldline.kernels.tools.collections.server import CollectionServer, collection_server
from worldline.types import Action, JsonDict, Turn, WorldSpec

__all__ = ["ServerAlone", "collection_kernel"]


def collection_kernel(world: WorldSpec) -> ServerAlone:
    """Build the kernel of a tool world by its collections; one without any knows nothing.

    Raises:
        KernelError: A template of the declaration is wrong.
    """
    server = collection_server(world) or CollectionServer(CollectionsSpec(), world.tools)
    return ServerAlone(world.domain, server)


class ServerAlone:
    """Satisfies :class:`worldline.kernels.Kernel` by one server.

    Args:
        domain: The world's domain.
        server: What answers every call.
    """

    def __init__(self, domain: str, server: ServerKernel) -> None:
        self.domain = domain
        self._server = server
        self._trial: tuple[Action, Proposal, ServerKernel] | None = None

    def propose(self, action: Action) -> Proposal:
        """Run the call on a fork."""
        self.reject()
        fork = self._server.fork()
        proposal = fork.call(action.name, action.arguments)
        self._trial = (action, proposal, fork)
        return proposal

    def accept(self) -> None:
        """Keep the fork."""
        if self._trial is not None:
            self._server = self._trial[2]
            self._trial = None

    def reject(self) -> None:
        """Forget the fork."""
        self._trial = None

    def absorb(self, turn: Turn) -> None:
        """Keep the fork where its known answer was the settled one; otherwise let the server follow the turn."""
        if self._trial is None or self._trial[0] != turn.action:
            self.propose(turn.action)
        assert self._trial is not None
        told, settled = self._trial[1].observation, turn.observation
        agrees = settled.is_error is None or bool(told.is_error) == settled.is_error
        if self._trial[1].known and agrees and compare(told, settled).exact:
            self.accept()
            return
        self.reject()
        self._server.observe(turn.action.name, turn.action.arguments, settled)

    def footprint(self, action: Action) -> Mapping[str, str] | None:
        """What the call would read."""
        return self._server.footprint(action.name, action.arguments)

    def fork(self) -> ServerAlone:
        """Fork the server."""
        return ServerAlone(self.domain, self._server.fork())

    def dump(self) -> bytes:
        """Write the server's state down."""
        return json.dumps(self._server.dump()).encode()

    def load(self, data: bytes) -> None:
        """Read a state.

        Raises:
            KernelError: `data` is damaged or from another version.
        """
        try:
            state = json.loads(data)
        except ValueError as exc:
            raise KernelError("damaged state of a tool world") from exc
        self.reject()
        self._server.load(state)

    def describe(self) -> JsonDict:
        """The server's state."""
        return self._server.describe()

    def close(self) -> None:
        """Close the server."""
        self._server.close()
