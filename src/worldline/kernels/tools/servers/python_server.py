"""What servers of the Python SDK 2 have in common: typed tools whose arguments pydantic checks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ValidationError

from worldline.kernels.base import Proposal
from worldline.kernels.tools.base import Arguments
from worldline.kernels.tools.servers.replies import Unsure, failed, guessed, told

__all__ = ["Crashed", "PythonServer", "ToolFailed", "as_recorded", "json_in"]

_PYDANTIC = "2.14"
"""Version of the library in the recorded servers; its messages name it."""


class ToolFailed(Exception):
    """A tool failed as it foresaw; the message follows `Error executing tool NAME: `."""


class Crashed(Exception):
    """A tool failed in a way that it did not foresee; the caller reads only that it did."""


class PythonServer:
    """A server that answers unknown tools by an error of the protocol, and wrong arguments as pydantic words them."""

    kind: ClassVar[str]
    models: ClassVar[Mapping[str, type[BaseModel]]]
    """Model of the arguments, by tool."""

    def serves(self, tool: str) -> bool:
        """Whether the server has a tool of that name."""
        return tool in self.models

    def call(self, tool: str, arguments: Arguments) -> Proposal:
        """Check the arguments, run the tool, answer."""
        name = f"{self.kind} {tool}"
        if tool not in self.models:
            return failed(f"MCP error -32602: Unknown tool: {tool}", f"{self.kind} ?", why="no such tool")
        prefix = f"Error executing tool {tool}"
        try:
            value = self.checked(tool, arguments)
        except ValidationError as error:
            return failed(f"{prefix}: {as_recorded(error)}", f"{name} invalid", why="wrong arguments")
        try:
            return told(self.run(tool, value), name, writes=self.writes(tool, value))
        except ToolFailed as failure:
            return failed(f"{prefix}: {failure}", f"{name} refused")
        except Crashed:
            return failed(prefix, f"{name} refused", why="the tool crashes")
        except Unsure as unsure:
            guess = f"{prefix}: {unsure.guess}" if unsure.failed else unsure.guess
            return guessed(Unsure(str(unsure), guess, failed=unsure.failed), name)

    def checked(self, tool: str, arguments: Arguments) -> Any:
        """Return the model of a call's arguments.

        Raises:
            ValidationError: They are wrong.
        """
        model = self.models[tool]
        return model.model_validate({key: _parsed(model, key, value) for key, value in arguments.items()})

    def run(self, tool: str, value: Any) -> str:
        """Run a tool with checked arguments and return its text.

        Raises:
            ToolFailed: It fails.
            Crashed: It fails without a message.
            Unsure: The answer rests on something that is not known.
        """
        raise NotImplementedError

    def writes(self, tool: str, value: Any) -> tuple[str, ...]:
        """What the call changed."""
        return ()


def _parsed(model: type[BaseModel], key: str, value: Any) -> Any:
    field = model.model_fields.get(key)
    return value if field is None else json_in(value, field.annotation)


def json_in(value: Any, annotation: Any) -> Any:
    """Read a list or an object out of a text that is given for anything but a text, as the library does."""
    if not isinstance(value, str) or annotation is str:
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return value if isinstance(found, str | int | float) else found


def as_recorded(error: ValidationError) -> str:
    """The message of an error, as the library's recorded version words it."""
    return re.sub(r"(https://errors\.pydantic\.dev/)\d+\.\d+/", rf"\g<1>{_PYDANTIC}/", str(error))
