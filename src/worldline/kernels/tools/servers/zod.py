"""Arguments as servers on Node check them: schemas that refuse with the messages of zod 4.

A schema is a callable `(value, path, issues) -> value`; what it refuses is added to `issues`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from worldline.kernels.tools.servers.js import SAFE_INTEGER, as_number, type_name

__all__ = [
    "UNDEFINED",
    "Path",
    "Schema",
    "array",
    "boolean",
    "coerced_boolean",
    "coerced_integer",
    "default",
    "enum",
    "number",
    "optional",
    "parse",
    "record",
    "refusal",
    "text",
    "url",
]

UNDEFINED: Any = object()
"""What a key that was not given holds."""

_INFINITE = "Invalid input: expected number, received Infinity"
"""What is said of a number too large for JavaScript."""

Path = tuple[str | int, ...]
Issues = list[tuple[str, Path]]
Schema = Callable[[Any, Path, Issues], Any]


def _received(value: Any) -> str:
    return "undefined" if value is UNDEFINED else type_name(value)


def _expected(kind: str, value: Any, path: Path, issues: Issues) -> Any:
    issues.append((f"Invalid input: expected {kind}, received {_received(value)}", path))
    return value


def text(value: Any, path: Path, issues: Issues) -> Any:
    """A string."""
    return value if isinstance(value, str) else _expected("string", value, path, issues)


def url(value: Any, path: Path, issues: Issues) -> Any:
    """A string that is a URL."""
    if not isinstance(value, str):
        return _expected("string", value, path, issues)
    if not is_url(value):
        issues.append(("Invalid URL", path))
    return value


def is_url(value: str) -> bool:
    """Whether a text is a URL with a scheme, roughly as the WHATWG parser takes it."""
    try:
        parts = urlsplit(value.strip())
    except ValueError:
        return False
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", parts.scheme):
        return False
    return bool(parts.netloc) if parts.scheme in ("http", "https", "ws", "wss", "ftp") else True


def number(least: float | None = None, most: float | None = None) -> Schema:
    """A number between two bounds."""

    def check(value: Any, path: Path, issues: Issues) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return _expected("number", value, path, issues)
        if not math.isfinite(as_number(value)):
            issues.append((_INFINITE, path))
            return value
        if least is not None and value < least:
            issues.append((f"Too small: expected number to be >={least}", path))
        if most is not None and value > most:
            issues.append((f"Too big: expected number to be <={most}", path))
        return value

    return check


def boolean(value: Any, path: Path, issues: Issues) -> Any:
    """True or false."""
    return value if isinstance(value, bool) else _expected("boolean", value, path, issues)


def coerced_boolean(value: Any, path: Path, issues: Issues) -> Any:
    """A boolean, or a text that says one."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        issues.append(("Invalid input", path))
        return value
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    issues.append((f'Expected boolean or "true"/"false" string, received "{value}"', path))
    return value


def coerced_integer(value: Any, path: Path, issues: Issues) -> Any:
    """Whatever `Number(value)` makes a positive integer."""
    real = math.nan if value is UNDEFINED else as_number(value)
    if math.isnan(real):
        return _expected("number", math.nan, path, issues)
    if math.isinf(real):
        issues.append((_INFINITE, path))
        return real
    if not real.is_integer():
        issues.append(("Invalid input: expected int, received number", path))
        return real
    if abs(real) > SAFE_INTEGER:
        bound = "Too big: expected int to be <=" if real > 0 else "Too small: expected int to be >=-"
        issues.append((f"{bound}{SAFE_INTEGER}", path))
    if real < 1:
        issues.append(("Too small: expected number to be >=1", path))
    return int(real)


def enum(*options: str) -> Schema:
    """One of several texts."""
    shown = "|".join(f'"{option}"' for option in options)
    message = f"Invalid option: expected one of {shown}" if len(options) > 1 else f"Invalid input: expected {shown}"

    def check(value: Any, path: Path, issues: Issues) -> Any:
        if not isinstance(value, str) or value not in options:
            issues.append((message, path))
        return value

    return check


def array(item: Schema, least: int = 0) -> Schema:
    """A list of so many items at least."""

    def check(value: Any, path: Path, issues: Issues) -> Any:
        if not isinstance(value, list | tuple):
            return _expected("array", value, path, issues)
        if len(value) < least:
            issues.append((f"Too small: expected array to have >={least} items", path))
        return [item(entry, (*path, place), issues) for place, entry in enumerate(value)]

    return check


def optional(schema: Schema) -> Schema:
    """The same, or nothing."""
    return lambda value, path, issues: value if value is UNDEFINED else schema(value, path, issues)


def default(schema: Schema, fallback: Any) -> Schema:
    """The same, or a value of its own where nothing is given."""
    return lambda value, path, issues: fallback if value is UNDEFINED else schema(value, path, issues)


def record(**shape: Schema) -> Schema:
    """An object; keys it does not name are dropped, the others come in its own order."""

    def check(value: Any, path: Path, issues: Issues) -> Any:
        if not isinstance(value, Mapping):
            return _expected("object", value, path, issues)
        found = {key: schema(value.get(key, UNDEFINED), (*path, key), issues) for key, schema in shape.items()}
        return {key: entry for key, entry in found.items() if entry is not UNDEFINED}

    return check


def parse(schema: Schema, arguments: Any) -> tuple[Any, list[str]]:
    """Check arguments.

    Returns:
        What the handler gets, and the messages of what is wrong, each with its place.
    """
    issues: Issues = []
    value = schema(arguments, (), issues)
    return value, [f"{message} at {_dotted(path)}" if path else message for message, path in issues]


def refusal(tool: str, messages: Sequence[str]) -> str:
    """The text of the error that answers a call with wrong arguments."""
    return f"MCP error -32602: Input validation error: Invalid arguments for tool {tool}: " + "\n".join(messages)


def _dotted(path: Path) -> str:
    shown = str(path[0])
    for part in path[1:]:
        shown += f"[{part}]" if isinstance(part, int) else f".{part}"
    return shown
