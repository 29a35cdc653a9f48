"""Text on its way out: safe for terminals, one line for machines."""

from __future__ import annotations

import json
import re
import sys
from typing import Any
from unicodedata import category

__all__ = ["json_text", "print_text", "visible"]

_UNSAFE = re.compile("[\ud800-\udfff\u0085\u2028\u2029]")
"""What is escaped in JSON: lone surrogates, which no encoding takes, and what some readers take for a line's end."""


def visible(text: str) -> str:
    """Return text that is safe to send to a terminal: control and formatting characters are written as escapes.

    Simulated output is foreign text: raw escape sequences could retitle or clear the reader's terminal, and marks
    such as U+202E could turn what is read around.
    """
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or c.isprintable() or category(c) == "Zs" else _escape(c) for c in text)


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def json_text(value: Any, indent: int | None = None) -> str:
    """Serialise a value as JSON: one line that every reader takes for one, unless an indent is given."""
    return _UNSAFE.sub(_escape_json, json.dumps(value, ensure_ascii=False, indent=indent))


def print_text(text: str) -> None:
    """Write text to standard output as UTF-8, whatever the locale says, and at once."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def _escape_json(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"
