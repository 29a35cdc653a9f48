"""The edits of `edit_file`: what is replaced, and the diff that tells of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from worldline.kernels.tools.servers.js import trim
from worldline.kernels.tools.servers.line_patch import file_patch
from worldline.kernels.tools.servers.node_server import Refused

__all__ = ["apply_edits", "fenced_patch", "unix_lines"]

_MARGIN = re.compile(r"[\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*")


def unix_lines(text: str) -> str:
    """Turn CRLF into LF."""
    return text.replace("\r\n", "\n")


def apply_edits(content: str, edits: Sequence[Mapping[str, str]]) -> str:
    """Apply edits one after the other.

    Raises:
        Refused: One of them matches nowhere, not even with white space at the ends of lines left out.
    """
    for edit in edits:
        old, new = unix_lines(edit["oldText"]), unix_lines(edit["newText"])
        if old in content:
            content = content.replace(old, new, 1)
            continue
        found = _loosely(content.split("\n"), old.split("\n"), new.split("\n"))
        if found is None:
            raise Refused(f"Could not find exact match for edit:\n{edit['oldText']}")
        content = found
    return content


def _loosely(lines: list[str], old: list[str], new: list[str]) -> str | None:
    wanted = [trim(line) for line in old]
    for start in range(len(lines) - len(old) + 1):
        if [trim(line) for line in lines[start : start + len(old)]] == wanted:
            margin = _margin(lines[start])
            shifted = [_shifted(line, place, old, margin) for place, line in enumerate(new)]
            return "\n".join([*lines[:start], *shifted, *lines[start + len(old) :]])
    return None


def _shifted(line: str, place: int, old: Sequence[str], margin: str) -> str:
    """Give a new line the indentation of the place it comes to."""
    own = _margin(line)
    if place == 0:
        return margin + line[len(own) :]
    before = _margin(old[place]) if place < len(old) else ""
    if before and own:
        return margin + " " * max(0, len(own) - len(before)) + line[len(own) :]
    return line


def _margin(line: str) -> str:
    found = _MARGIN.match(line)
    return found[0] if found is not None else ""


def fenced_patch(path: str, old: str, new: str) -> str:
    """The diff in a fence that is longer than any in it."""
    patch, fence = file_patch(path, old, new), "```"
    while fence in patch:
        fence += "`"
    return f"{fence}diff\n{patch}{fence}\n\n"
