"""What servers of the low-level Python SDK 1 have in common: JSON schemas check the arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from worldline.kernels.base import Proposal
from worldline.kernels.tools.base import Arguments
from worldline.kernels.tools.servers.replies import Unsure, failed, guessed, told

__all__ = ["ListServer"]


class ListServer:
    """A server whose tools take at most one text each; what goes wrong in a handler is an ordinary answer."""

    kind: ClassVar[str]
    parameters: ClassVar[Mapping[str, str | None]]
    """Name of the one parameter, by tool; None: the tool takes none."""

    def serves(self, tool: str) -> bool:
        """Whether the server has a tool of that name."""
        return tool in self.parameters

    def call(self, tool: str, arguments: Arguments) -> Proposal:
        """Check the arguments, run the handler, answer."""
        name = f"{self.kind} {tool}"
        if tool not in self.parameters:
            text = f"Error: Unknown tool: {tool}" if arguments else "Error: Missing arguments"
            return told(text, f"{self.kind} ?", why="no such tool")
        parameter = self.parameters[tool]
        if parameter is not None:
            wrong = _wrong(parameter, arguments)
            if wrong:
                return failed(f"Input validation error: {wrong}", f"{name} invalid", why="wrong arguments")
        try:
            return self.run(tool, "" if parameter is None else str(arguments[parameter]))
        except Unsure as unsure:
            return guessed(unsure, name)

    def run(self, tool: str, value: str) -> Proposal:
        """Run a handler.

        Raises:
            Unsure: The answer rests on something that is not known.
        """
        raise NotImplementedError


def _wrong(parameter: str, arguments: Arguments) -> str:
    """What jsonschema says first, in the words of its version 4."""
    if parameter not in arguments:
        return f"{parameter!r} is a required property"
    value = arguments[parameter]
    return "" if isinstance(value, str) else f"{value!r} is not of type 'string'"
