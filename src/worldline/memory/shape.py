"""The shape of an action: what stays when its own values (names, paths, patterns, numbers) are taken out.

Two actions of one shape call the same programs or the same tool with the same kinds of arguments in the same
places; the values that differ are *slots*. A value that occurs twice is one slot.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from worldline.types import Action, canonical_json

__all__ = ["MAX_SLOTS", "Shape", "general_footprint", "paths_named", "presence", "shape_of"]

MAX_SLOTS = 24
"""Actions with more values than this are too particular to have a like."""
_MAX_CHARACTERS = 2000

_TOKENS = re.compile(
    r"\s+"
    r"|'[^']*'|\"(?:[^\"\\]|\\.)*\""
    r"|\|\||&&|;;|<<-?|>>|\d?>&\d|&>|[|&;()<>]"
    r"|(?:\\.|[^\s|&;()<>'\"])+"
    r"|.",
    re.DOTALL,
).findall
"""Blanks, quoted strings, operators, words, and whatever is none of these."""
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?\Z").match
_PATTERN = re.compile(r"[*?\[\]$`^\\]").search
_BLANK = re.compile(r"\s").search
_UNUSUAL = re.compile(r"[\s\d*?\[\]$`^\\]").search
_OPTION = re.compile(r"-{1,2}[A-Za-z][\w-]*\Z").match
_ASSIGNS = re.compile(r"[A-Za-z_]\w*=").match
_MARKS = re.compile(r"[\x01\x02]").search
"""Characters that mark slots in a shape's key; no action worth re-grounding holds them."""
_OPENERS = frozenset({"|", "||", "&&", ";", "&", "(", ";;"})
_KEYWORDS = frozenset({"if", "then", "elif", "else", "fi", "for", "in", "do", "done", "while", "until", "case", "esac"})
_KEYWORDS |= {"function", "time", "!", "{", "}", "[", "[["}
_PREFIXES = frozenset({"sudo", "env", "exec", "command", "builtin", "nohup", "nice", "xargs"})
_WITH_SUBCOMMANDS = frozenset({"git", "pip", "pip3", "apt", "apt-get", "docker", "npm", "yarn", "cargo", "go", "dnf"})
_WITH_SUBCOMMANDS |= {"systemctl", "kubectl", "conda", "brew", "yum", "poetry", "uv", "gh", "aws"}


@dataclass(frozen=True, slots=True)
class Shape:
    """An action without its own values."""

    key: str
    """Text that two actions share if and only if they have the same shape; empty: too long or too particular."""
    slots: tuple[str, ...]
    """The values taken out, in order of their first occurrence."""


def shape_of(action: Action) -> Shape:
    """Take the values out of an action."""
    if action.text is None and action.command is None:
        return _shape_of_call(action.name, canonical_json(action.arguments))
    return _shape_of_text(action.render())


class _Slots:
    """Numbers values by first occurrence."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}

    def place(self, value: str) -> str:
        number = self.values.setdefault(value, len(self.values))
        kind = "w"
        if _UNUSUAL(value) is not None:
            kind = "n" if _NUMBER(value) else "p" if _PATTERN(value) else "t" if _BLANK(value) else "w"
        return f"\x01{number}{kind}\x01"


@lru_cache(maxsize=4096)
def _shape_of_text(text: str) -> Shape:
    if len(text) > _MAX_CHARACTERS or _MARKS(text):
        return Shape("", ())
    slots = _Slots()
    return _finished("".join(_pieces(text, slots)), slots)


def _pieces(text: str, slots: _Slots) -> list[str]:
    expect_program, subcommand = True, False
    pieces = []
    for token in _TOKENS(text):
        first = token[0]
        if first.isspace():
            if "\n" in token:
                expect_program, subcommand, token = True, False, "\n"
            else:
                token = " "
        elif first in "'\"":
            token = first + slots.place(token[1:-1]) + first if len(token) > 2 else token
            expect_program = subcommand = False
        elif first in "|&;()<>" or (token[-2:-1] == "&" and ">&" in token):
            if token in _OPENERS:
                expect_program, subcommand = True, False
        else:
            program, after = expect_program, subcommand
            subcommand = program and token in _WITH_SUBCOMMANDS
            expect_program = program and (token in _KEYWORDS or token in _PREFIXES or _assigns(token))
            token = _word(token, slots, literal=program or after)
        pieces.append(token)
    return pieces


def _assigns(token: str) -> bool:
    return "=" in token and _ASSIGNS(token) is not None


def _word(token: str, slots: _Slots, *, literal: bool) -> str:
    if "=" in token and (_ASSIGNS(token) or token[0] == "-"):
        name, _, value = token.partition("=")
        return f"{name}={slots.place(value)}" if value else token
    if literal or token in _KEYWORDS or (token[0] == "-" and _OPTION(token)):
        return token
    return slots.place(token)


@lru_cache(maxsize=4096)
def _shape_of_call(name: str, arguments: str) -> Shape:
    if len(arguments) > _MAX_CHARACTERS or _MARKS(name):
        return Shape("", ())
    slots = _Slots()
    return _finished(f"\x02{name}\x02{canonical_json(_emptied(json.loads(arguments), slots))}", slots)


def _emptied(value: Any, slots: _Slots) -> Any:
    if isinstance(value, dict):
        return {key: _emptied(value[key], slots) for key in sorted(value)}
    if isinstance(value, list):
        return [_emptied(item, slots) for item in value]
    if isinstance(value, bool) or value is None or value == "":
        return value
    return slots.place(value if isinstance(value, str) else canonical_json(value))


def _finished(key: str, slots: _Slots) -> Shape:
    if len(slots.values) > MAX_SLOTS:
        return Shape("", ())
    return Shape(key, tuple(slots.values))


def _named_by(value: str, values: Mapping[str, str]) -> str:
    """The absolute path that a slot's value would name."""
    if value == "~" or value.startswith("~/"):
        value = values.get("home", "~") + value[1:]
    return posixpath.normpath(posixpath.join(values.get("cwd", "/"), value))


def paths_named(shape: Shape, values: Mapping[str, str]) -> list[str]:
    """Return the absolute paths that an action's values would name, where the working directory is known."""
    return [_named_by(value, values) for value in shape.slots if _is_name(value)] if "cwd" in values else []


def _is_name(value: str) -> bool:
    return 0 < len(value) < 200 and "\n" not in value and "\0" not in value and value not in (".", "/")


def general_footprint(footprint: Mapping[str, str], shape: Shape, values: Mapping[str, str]) -> dict[str, str]:
    """Take an action's own values, working directory and home out of the paths of its footprint."""
    names = {_named_by(value, values): f"<{n}>" for n, value in enumerate(shape.slots) if _is_name(value)}
    cwd, home = values.get("cwd"), values.get("home")
    found: dict[str, str] = {}
    for path, content in footprint.items():
        if path == "cwd":
            continue
        found[_general_path(path, names, cwd, home)] = content
    return found


def _general_path(path: str, names: Mapping[str, str], cwd: str | None, home: str | None) -> str:
    if path in names:
        return names[path]
    for place, mark in ((cwd, "<cwd>"), (home, "<home>")):
        if place and (path == place or path.startswith(place.rstrip("/") + "/")):
            return mark + path[len(place.rstrip("/")) :]
    return path


def presence(footprint: Mapping[str, str], shape: Shape, values: Mapping[str, str]) -> str:
    """Say of each slot whether it names something there (`+`), absent (`-`), not told (`?`) or no name (`.`)."""
    marks = []
    for value in shape.slots:
        content = footprint.get(_named_by(value, values)) if _is_name(value) else None
        marks.append({None: ".", "absent": "-", "unknown": "?"}.get(content, "+"))
    return "".join(marks)
