"""A Python session: an agent sends cells of code and reads what they print."""

from __future__ import annotations

from worldline.domains.code.state import HOME, CodeState, FileContent
from worldline.domains.tools import ToolDomain
from worldline.types import Action, ToolSpec

__all__ = ["CODE", "CODE_TOOLS", "HOME", "LOST", "TIMED_OUT", "CodeState", "FileContent", "refusal"]

CODE_TOOLS = (
    ToolSpec(
        name="python",
        description=(
            "Run a cell of Python code in a session that keeps its variables. The answer is what the cell prints, the "
            "value of its last expression, and a traceback where it fails."
        ),
        parameters={
            "type": "object",
            "properties": {"code": {"type": "string", "description": "The code"}},
            "required": ["code"],
            "additionalProperties": False,
        },
    ),
)
"""Tools of a world that names none."""

TIMED_OUT = "TimeoutError: the cell ran longer than {:g} s; the session was started anew"
"""What answers a cell that takes too long."""
LOST = "RuntimeError: the Python process ended; the session was started anew"
"""What answers a cell that ends its process."""

CODE = ToolDomain(
    name="code",
    state=CodeState,
    package="worldline.domains.code",
    default_tools=CODE_TOOLS,
    text_argument=("python", "code"),
    error_pattern=(
        r"(?m)[\s\S]*?(?:^Traceback \(most recent call last\):|^  File \"<cell \d+>\", line \d+\n|^\w*Error: )"
    ),
)
"""The domain with its built-in prompts."""


def refusal(action: Action) -> str | None:
    """What the tool says to a call that it does not take; None where it takes it."""
    if action.name != "python":
        return f"Error: unknown tool '{action.name}'; the only tool is python"
    for argument in action.arguments:
        if argument != "code":
            return f"Error: python has no argument '{argument}'"
    if "code" not in action.arguments:
        return "Error: python needs the argument 'code'"
    if not isinstance(action.arguments["code"], str):
        return "Error: the argument 'code' of python must be a text"
    return None
