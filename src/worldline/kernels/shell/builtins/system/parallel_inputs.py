"""Where GNU parallel takes its inputs from: `:::`, `::::`, `-a`, standard input; and how sources combine."""

from __future__ import annotations

import re
from itertools import product

from worldline.kernels.shell.builtins.base import Call
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.textio import escape

__all__ = ["InputError", "read_inputs"]


class InputError(Exception):
    """An input source cannot be read."""


def read_inputs(
    call: Call,
    sources: list[tuple[str, list[str]]],
    files: list[str],
    *,
    linked: bool,
    column: str | None,
    delimiter: str,
) -> list[list[str]]:
    """Return the rows of inputs, one for each job.

    Args:
        call: The invocation.
        sources: Of the command line, each with its mark (`:::`, `::::`, `:::+`, `::::+`).
        files: Given with `-a`.
        linked: Whether sources are read side by side.
        column: Regular expression that parts a line into columns, or None.
        delimiter: What ends a value in a file.

    Raises:
        InputError: A file cannot be read.
    """
    groups: list[list[list[str]]] = []
    for name in files:
        groups.append([_read(call, name, delimiter)])
    for mark, words in sources:
        found = [_read(call, name, delimiter) for name in words] if mark.startswith("::::") else [words]
        for values in found:
            if mark.endswith("+") and groups:
                groups[-1].append(values)
            else:
                groups.append([values])
    if not groups:
        groups.append([_read(call, "-", delimiter)])
    if linked:
        groups = [[values for group in groups for values in group]]
    rows = [[word for part in choice for word in part] for choice in product(*map(_side_by_side, groups))]
    if column is not None:
        rows = [[piece for word in row for piece in re.split(column, word)] for row in rows]
    return rows


def _side_by_side(group: list[list[str]]) -> list[list[str]]:
    """Read sources in step; the shorter ones start again."""
    if len(group) == 1:
        return [[word] for word in group[0]]
    if not all(group):
        return []
    longest = max(map(len, group))
    return [[values[index % len(values)] for values in group] for index in range(longest)]


def _read(call: Call, name: str, delimiter: str) -> list[str]:
    if name == "-":
        text = call.stdin or ""
    else:
        try:
            text = escape(call.files.read(name))
        except OSError as error:
            raise InputError(f"{name}: {strerror(error)}") from error
    parts = text.split(delimiter)
    if not parts[-1]:
        parts.pop()
    return parts
