"""The formats there are, and which one a file is in, told by its content."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from pydantic_core import from_json

from worldline.errors import ConfigError, FormatError
from worldline.formats.base import ArchiveFormat, FolderFormat, Format, WritableFormat
from worldline.formats.folder import InputFolder
from worldline.formats.source import InputFile
from worldline.registry import Registry

__all__ = [
    "Detection",
    "claim",
    "detect_format",
    "format_names",
    "get_format",
    "opened",
    "recognise",
    "writable_format",
]

_FORMATS = Registry(
    "format",
    "worldline.formats",
    {
        "worldline": "worldline.formats.worldline_jsonl:WORLDLINE",
        "agentworldbench": "worldline.formats.agentworldbench:AGENTWORLDBENCH",
        "atif": "worldline.formats.atif:ATIF",
        "mini_swe_agent": "worldline.formats.mini_swe_agent:MINI_SWE_AGENT",
        "openai": "worldline.formats.openai_chat:OPENAI_CHAT",
        "openhands": "worldline.formats.openhands:OPENHANDS",
        "steps": "worldline.formats.steps:STEPS",
        "swe_agent": "worldline.formats.swe_agent:SWE_AGENT",
        "tau_bench": "worldline.formats.tau_bench:TAU_BENCH",
        "tau2": "worldline.formats.tau2:TAU2",
        "harbor": "worldline.formats.harbor:HARBOR",
        "otel_genai": "worldline.formats.otel_genai:OTEL_GENAI",
        "sharegpt": "worldline.formats.sharegpt:SHAREGPT",
        "claude_code": "worldline.formats.claude_code:CLAUDE_CODE",
        "codex": "worldline.formats.codex:CODEX",
        "inspect": "worldline.formats.inspect_log:INSPECT",
        "asciinema": "worldline.formats.asciinema:ASCIINEMA",
    },
)

_GENERAL = ("openai",)
"""Formats whose shape others extend: asked last."""

_LOOKED_AT = 20
"""Lines tried before a file counts as unknown: a damaged first line does not hide the format."""
_ZIP_MAGIC = b"PK\x03\x04"
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


@dataclass(frozen=True, slots=True)
class Detection:
    """The format a file is in, and what told so."""

    name: str
    why: str


def format_names(*, writable: bool = False) -> list[str]:
    """Return the names of all formats, or of those that can also be written."""
    names = _FORMATS.names()
    return [name for name in names if isinstance(get_format(name), WritableFormat)] if writable else names


def get_format(name: str) -> Format:
    """Return the format called `name`.

    Raises:
        ConfigError: There is none; the hint lists those there are.
    """
    return cast(Format, _FORMATS.load(name))


def writable_format(name: str) -> WritableFormat:
    """Return the format called `name`, which must be one that can be written.

    Raises:
        ConfigError: There is none, or it can only be read.
    """
    found = get_format(name)
    if not isinstance(found, WritableFormat):
        raise ConfigError(
            f"format {name!r} can only be read", hint=f"writable: {', '.join(format_names(writable=True))}"
        )
    return found


def detect_format(path: str | Path) -> Detection:
    """Tell a file's format from its content.

    Raises:
        FormatError: It is empty, missing, a directory, not JSON, or JSON of no known shape.
    """
    return recognise(InputFile(path))


def claim(folder: InputFolder, names: Sequence[str] | None = None) -> Detection | None:
    """Tell which format a folder as a whole is in, or None.

    Args:
        folder: The folder.
        names: The formats to ask; all where None.
    """
    for name in _in_order() if names is None else names:
        layout = get_format(name)
        if _is_a(name, FolderFormat) and (why := cast(FolderFormat, layout).claims(folder)) is not None:
            return Detection(name, why)
    return None


def opened(file: InputFile, names: Sequence[str] | None = None) -> Detection | None:
    """Tell which format reads a file as an archive of its own kind, or None.

    Args:
        file: Any file.
        names: The formats to ask; all where None.
    """
    if not file.head().startswith(_ZIP_MAGIC):
        return None
    for name in _in_order() if names is None else names:
        layout = get_format(name)
        if _is_a(name, ArchiveFormat) and (why := cast(ArchiveFormat, layout).opens(file)) is not None:
            return Detection(name, why)
    return None


def recognise(file: InputFile) -> Detection:
    """Tell the format of an open input file, as :func:`detect_format` does."""
    head = file.head()
    if head.startswith(_ZIP_MAGIC) and (archive := opened(file)) is not None:
        return archive
    if not head.strip():
        raise file.error("the file is empty", hint="a trajectory file was expected")
    seen: Any = None
    names = _in_order()
    for value in _values(head):
        if seen is None:
            seen = value
        for name in names:
            why = get_format(name).sniff(value)
            if why is not None:
                return Detection(name, why)
    raise _unknown(file, head, seen)


@cache
def _is_a(name: str, protocol: type[Format]) -> bool:
    """Whether a format has the parts of a protocol: asked of every folder of an import, and slow to find out."""
    return isinstance(get_format(name), protocol)


@cache
def _in_order() -> tuple[str, ...]:
    return tuple(sorted(_FORMATS.names(), key=lambda name: name in _GENERAL))


def _unknown(file: InputFile, head: bytes, seen: Any) -> FormatError:
    shape = "it is not JSON"
    if isinstance(seen, dict):
        shape = f"it holds a JSON object with the keys {', '.join(sorted(map(str, seen))[:8]) or '(none)'}"
    elif isinstance(seen, list):
        shape = "it holds a JSON list of something else"
    elif b"\0" in head[:4096]:
        shape = "it holds NUL bytes: binary, UTF-16 or damaged"
    known = ", ".join(_FORMATS.names())
    return file.error(f"no known trajectory format: {shape}", hint=f"known: {known}; name one with --format")


def _values(head: bytes) -> Iterator[Any]:
    """Yield what the file may hold: its first lines, and the start of it as one cut-off value."""
    head = _SURROGATE_ESCAPE.sub(rb"\\ufffd", head)
    lines = [line for line in io.BytesIO(head) if line.strip()][:_LOOKED_AT]
    for line in lines:
        value = _parse(line, partial=False)
        if isinstance(value, dict | list):
            yield value
    value = _parse(head, partial=True)
    if isinstance(value, dict | list):
        yield value
    value = _parse(lines[0], partial=True)
    if isinstance(value, dict | list):
        yield value


def _parse(data: bytes, *, partial: bool) -> Any:
    try:
        return from_json(data, allow_partial="trailing-strings" if partial else False)
    except ValueError:
        return None
