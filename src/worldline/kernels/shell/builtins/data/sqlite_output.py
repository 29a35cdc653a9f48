"""How the `sqlite3` shell prints rows."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from worldline.kernels.shell.builtins.text.counts import cell_width

__all__ = ["MODES", "Style", "UnknownStyle", "plan_text", "quoted", "rows_text", "text_of"]

Value = None | int | float | str | bytes

MODES = frozenset(
    ["list", "csv", "column", "line", "json", "box", "markdown", "table", "tabs", "html", "quote", "insert", "ascii"]
)


class UnknownStyle(Exception):
    """These rows cannot be printed exactly."""


@dataclass
class Style:
    """The settings that `.mode`, `.headers` and their like change."""

    mode: str = "list"
    headers: bool = False
    separator: str = "|"
    newline: str = "\n"
    null: str = ""
    table: str = "table"
    widths: list[int] = field(default_factory=list)


def _real(value: float) -> str:
    if math.isinf(value):
        return "-Inf" if value < 0 else "Inf"
    if value == 0:
        return "0.0"
    text = f"{value:.15g}"
    if "e" in text:
        mantissa, _, exponent = text.partition("e")
        if "." not in mantissa:
            mantissa += ".0"
        return f"{mantissa}e{exponent}"
    return text if "." in text else f"{text}.0"


def text_of(value: Value, null: str = "") -> str:
    """A value as text."""
    if value is None:
        return null
    if isinstance(value, float):
        return _real(value)
    if isinstance(value, bytes):
        return value.split(b"\0")[0].decode("utf-8", "replace")
    return str(value)


def quoted(value: Value) -> str:
    """A value as an SQL literal."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, str):
        if "\n" in value or "\r" in value:
            raise UnknownStyle
        return "'" + value.replace("'", "''") + "'"
    return _real(value) if isinstance(value, float) else str(value)


def _csv(text: str, separator: str) -> str:
    special = any((char <= " " and char != " ") or char in "\"'" or ord(char) >= 127 for char in text)
    if not text or special or " " in text or separator in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def _json(value: Value) -> str:
    if isinstance(value, bytes):
        raise UnknownStyle
    if isinstance(value, float):
        return _real(value)
    return json.dumps(value, ensure_ascii=False)


def _width(text: str) -> int:
    return sum(cell_width(char) for char in text)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _center(text: str, width: int) -> str:
    room = width - _width(text)
    return " " * (room // 2) + text + " " * (room - room // 2)


def _grid(style: Style, names: Sequence[str], cells: list[list[str]]) -> str:
    if any("\n" in cell or "\t" in cell for row in cells for cell in row) or style.widths:
        raise UnknownStyle
    widths = [max([_width(name), *(_width(row[index]) for row in cells)]) for index, name in enumerate(names)]
    lines: list[str] = []
    if style.mode == "column":
        if style.headers:
            lines.append("  ".join(_pad(name, width) for name, width in zip(names, widths, strict=True)))
            lines.append("  ".join("-" * width for width in widths))
        lines += ["  ".join(_pad(cell, width) for cell, width in zip(row, widths, strict=True)) for row in cells]
        return "".join(f"{line}\n" for line in lines)
    bar = "│" if style.mode == "box" else "|"

    def row(values: Sequence[str], *, middle: bool = False) -> str:
        shown = [_center(v, w) if middle else _pad(v, w) for v, w in zip(values, widths, strict=True)]
        return f"{bar} " + f" {bar} ".join(shown) + f" {bar}"

    def rule(left: str, cross: str, right: str, dash: str) -> str:
        return left + cross.join(dash * (width + 2) for width in widths) + right

    body = [row(values) for values in cells]
    if style.mode == "box":
        lines = [rule("┌", "┬", "┐", "─"), row(names, middle=True), rule("├", "┼", "┤", "─"), *body]
        lines.append(rule("└", "┴", "┘", "─"))
    elif style.mode == "table":
        edge = rule("+", "+", "+", "-")
        lines = [edge, row(names, middle=True), edge, *body, edge]
    else:
        lines = [row(names, middle=True), rule("|", "|", "|", "-"), *body]
    return "".join(f"{line}\n" for line in lines)


def _html(style: Style, names: Sequence[str], rows: Sequence[Sequence[Value]]) -> str:
    def cell(text: str) -> str:
        pairs = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;"))
        for char, entity in pairs:
            text = text.replace(char, entity)
        return text

    head = "<TR>" + "\n".join(f"<TH>{cell(name)}</TH>" for name in names) + "\n</TR>\n" if style.headers else ""
    lines = ["<TR>" + "\n".join(f"<TD>{cell(text_of(v, style.null))}</TD>" for v in row) + "\n</TR>\n" for row in rows]
    return head + "".join(lines)


def plan_text(rows: Sequence[Sequence[Any]], parent: int, prefix: str) -> str:
    """The tree that EXPLAIN QUERY PLAN shows, below one node."""
    children = [row for row in rows if row[1] == parent]
    text = ""
    for index, row in enumerate(children):
        last = index == len(children) - 1
        text += f"{prefix}{'`--' if last else '|--'}{row[3]}\n"
        text += plan_text(rows, row[0], prefix + ("   " if last else "|  "))
    return text


def rows_text(style: Style, names: Sequence[str], rows: Sequence[Sequence[Value]]) -> str:
    """Print the rows of one statement.

    Raises:
        UnknownStyle: The style, or a value in it, is not simulated.
    """
    if not rows:
        return ""
    mode = style.mode
    if mode in ("column", "box", "table", "markdown"):
        return _grid(style, names, [[text_of(value, style.null) for value in row] for row in rows])
    lines: list[str] = []
    if mode in ("list", "tabs", "ascii"):
        separator = "\t" if mode == "tabs" else style.separator
        if style.headers:
            lines.append(separator.join(names))
        lines += [separator.join(text_of(value, style.null) for value in row) for row in rows]
        return "".join(line + style.newline for line in lines)
    if mode == "csv":
        end = "\r\n" if style.newline == "\r\n" else style.newline
        if style.headers:
            lines.append(style.separator.join(_csv(name, style.separator) for name in names))
        for row in rows:
            cells = [
                style.null if value is None else _csv(text_of(value), style.separator)
                if isinstance(value, str) else text_of(value)
                for value in row
            ]  # fmt: skip
            lines.append(style.separator.join(cells))
        return "".join(line + end for line in lines)
    if mode == "line":
        width = max(5, *(len(name) for name in names))
        blocks = [
            "".join(f"{name:>{width}} = {text_of(value, style.null)}\n" for name, value in zip(names, row, strict=True))
            for row in rows
        ]
        return "\n".join(blocks)
    if mode == "json":
        keys = [json.dumps(name, ensure_ascii=False) for name in names]
        objects = [
            "{" + ",".join(f"{key}:{_json(value)}" for key, value in zip(keys, row, strict=True)) + "}" for row in rows
        ]
        return "[" + ",\n".join(objects) + "]\n"
    if mode == "quote":
        if style.headers:
            lines.append(",".join(quoted(name) for name in names))
        lines += [",".join(quoted(value) for value in row) for row in rows]
    elif mode == "html":
        return _html(style, names, rows)
    elif mode == "insert":
        columns = "(" + ",".join(names) + ")" if style.headers else ""
        lines += [f"INSERT INTO {style.table}{columns} VALUES({','.join(quoted(v) for v in row)});" for row in rows]
    else:
        raise UnknownStyle
    return "".join(f"{line}\n" for line in lines)
