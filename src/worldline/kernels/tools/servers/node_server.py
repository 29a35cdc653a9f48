"""What servers on Node have in common: tools with schemas, and their refusals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from worldline.kernels.base import Proposal
from worldline.kernels.tools.base import Arguments
from worldline.kernels.tools.servers import zod
from worldline.kernels.tools.servers.replies import Unsure, failed, guessed, told

__all__ = ["NodeServer", "Refused"]


class Refused(Exception):
    """A handler of a tool threw; the message is what the caller reads."""


class NodeServer:
    """A server of the JavaScript SDK: unknown tools and wrong arguments are answered alike by all of them."""

    kind: ClassVar[str]
    schemas: ClassVar[Mapping[str, zod.Schema]]
    """Schema of the arguments, by tool."""

    def serves(self, tool: str) -> bool:
        """Whether the server has a tool of that name."""
        return tool in self.schemas

    def call(self, tool: str, arguments: Arguments) -> Proposal:
        """Check the arguments, run the handler, answer."""
        name = f"{self.kind} {tool}"
        if tool not in self.schemas:
            return failed(f"MCP error -32602: Tool {tool} not found", f"{self.kind} ?", why="no such tool")
        value, wrong = zod.parse(self.schemas[tool], dict(arguments))
        if wrong:
            return failed(zod.refusal(tool, wrong), f"{name} invalid", why="wrong arguments")
        try:
            return told(self.run(tool, value), name, writes=self.writes(tool, value))
        except Refused as refused:
            return failed(str(refused), f"{name} refused")
        except Unsure as unsure:
            return guessed(unsure, name)

    def run(self, tool: str, value: Any) -> str:
        """Run a handler with checked arguments and return its text.

        Raises:
            Refused: The handler throws.
            Unsure: The answer rests on something that is not known.
        """
        raise NotImplementedError

    def writes(self, tool: str, value: Any) -> tuple[str, ...]:
        """What the call changed."""
        return ()
