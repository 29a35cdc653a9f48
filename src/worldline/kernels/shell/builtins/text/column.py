"""`column`: tables and columns (util-linux 2.38)."""

from __future__ import annotations

import json
import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, command, parse
from worldline.kernels.shell.builtins.shared.textio import Output, read
from worldline.kernels.shell.builtins.text.counts import cell_width

__all__ = ["COMMANDS"]

_LONG = (
    "columns=", "fillrows", "input-separator=", "json", "keep-empty-lines", "output-separator=", "output-width=",
    "separator=", "table", "table-columns=", "table-columns-limit=", "table-empty-lines", "table-header-repeat",
    "table-hide=", "table-name=", "table-noextreme=", "table-noheadings", "table-order=", "table-right=",
    "table-truncate=", "table-wrap=", "tree=", "tree-id=", "tree-parent=",
)  # fmt: skip
_SAME = {
    "--columns": "-c", "--fillrows": "-x", "--input-separator": "-s", "--separator": "-s", "--json": "-J",
    "--keep-empty-lines": "-L", "--table-empty-lines": "-L", "--output-separator": "-o", "--output-width": "-c",
    "--table": "-t", "--table-columns": "-N", "--table-columns-limit": "-l", "--table-hide": "-H",
    "--table-name": "-n", "--table-noheadings": "-d", "--table-order": "-O", "--table-right": "-R",
    "--table-truncate": "-T", "--table-wrap": "-W",
}  # fmt: skip


def _width(text: str) -> int:
    return sum(cell_width(char) for char in text)


@command()
def column(call: Call) -> Result:
    """Lay lines out in columns."""
    options, names = parse(call, "c:dE:eH:i:JLl:N:n:O:o:p:R:r:s:T:tW:x", _LONG, same=_SAME)
    given = dict(options)
    if set(given) - {"-c", "-d", "-H", "-J", "-L", "-l", "-N", "-n", "-O", "-o", "-R", "-s", "-t", "-x"}:
        call.unknown("these options")
    if "-c" in given and not given["-c"].isdigit():
        raise UsageError(f"invalid columns argument: '{given['-c']}'", hint=False)
    if set(given) & {"-d", "-H", "-N", "-n", "-O", "-R", "-T", "-W", "-E", "-l"} and not {"-t", "-J"} & set(given):
        raise UsageError("option --table required for all --table-*", hint=False)
    out = Output(call)
    text = ""
    for name in names or ["-"]:
        try:
            text += read(call, name).decode()
        except IsADirectoryError as error:
            out.raw(f"column: read failed: {strerror(error)}\n")
            out.status = 1
        except OSError as error:
            out.raw(f"column: {name}: {strerror(error)}\n")
            out.status = 1
        except UnicodeDecodeError:
            call.unknown("input that is not UTF-8")
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if "-J" in given or "-t" in given:
        _table(call, given, lines, out)
    else:
        _plain(call, given, [line for line in lines if line.strip()], out)
    return out.result()


def _plain(call: Call, given: dict[str, str], entries: list[str], out: Output) -> None:
    width = int(given.get("-c", call.env.get("COLUMNS", str(call.columns or 80))))
    if not entries:
        return
    if "-s" in given or "-L" in given or any("\t" in entry for entry in entries):
        call.unknown("this layout")
    longest = max(_width(entry) for entry in entries)
    if longest >= width:
        for entry in entries:
            out.line(entry.encode())
        return
    step = (longest + 8) & ~7
    columns = max(1, width // step)
    rows = -(-len(entries) // columns)
    if "-x" in given:
        table = [entries[at : at + columns] for at in range(0, len(entries), columns)]
    else:
        table = [entries[row::rows] for row in range(rows)]
    for cells in table:
        line = ""
        for index, cell in enumerate(cells):
            line += cell
            if index < len(cells) - 1:
                line += "\t" * -(-(step - _width(cell)) // 8)
        out.line(line.encode())


def _cells(line: str, separator: str | None, limit: int | None) -> list[str]:
    if separator is None:
        parts = [part for part in re.split("[ \t]+", line.strip(" \t")) if part]
        if limit and len(parts) > limit:
            rest = re.split("[ \t]+", line.strip(" \t"), maxsplit=limit - 1)
            return rest
        return parts
    pattern = "[" + re.escape(separator) + "]"
    return re.split(pattern, line, maxsplit=limit - 1 if limit else 0)


def _chosen(call: Call, text: str, names: list[str], count: int) -> set[int]:
    found: set[int] = set()
    for part in text.split(","):
        if part == "0":
            found |= set(range(count))
        elif part == "-":
            found |= {index for index in range(count) if index >= len(names) or not names[index]}
        elif part.isdigit():
            found.add(int(part) - 1)
        elif part in names:
            found.add(names.index(part))
        else:
            call.unknown(f"the column {part}")
    return found


def _table(call: Call, given: dict[str, str], lines: list[str], out: Output) -> None:
    separator = given.get("-s")
    limit = int(given["-l"]) if given.get("-l", "").isdigit() else None
    header = given["-N"].split(",") if "-N" in given else []
    if "-L" not in given:
        lines = [line for line in lines if line.strip(" \t")]
    elif any(not line.strip() for line in lines):
        call.unknown("empty lines in a table")
    rows = [_cells(line, separator, limit) for line in lines]
    if not rows and "-J" not in given:
        return
    count = max([len(header), *(len(row) for row in rows)])
    if len(header) < count and header and ("-J" in given or "-O" in given):
        call.unknown("columns without a name")
    order = list(range(count))
    if "-O" in given:
        wanted = [index for part in given["-O"].split(",") for index in _chosen(call, part, header, count)]
        order = wanted + [index for index in order if index not in wanted]
    hidden = _chosen(call, given["-H"], header, count) if "-H" in given else set()
    order = [index for index in order if index not in hidden]
    right = _chosen(call, given["-R"], header, count) if "-R" in given else set()
    if "-J" in given:
        if not header:
            raise UsageError("option --table-columns required for --json", hint=False)
        _json(given.get("-n", "table"), header, order, rows, out)
        return
    table = ([header] if header and "-d" not in given else []) + rows
    joiner = given.get("-o", "  ")
    widths = {index: max(_width(row[index]) if index < len(row) else 0 for row in table) for index in order}
    for row in table:
        cells = []
        for place, index in enumerate(order):
            cell = row[index] if index < len(row) else ""
            gap = " " * (widths[index] - _width(cell))
            last = place == len(order) - 1
            if index in right:
                cells.append(gap + cell)
            else:
                cells.append(cell if last else cell + gap)
        out.line(joiner.join(cells).encode())


def _json(name: str, header: list[str], order: list[int], rows: list[list[str]], out: Output) -> None:
    blocks = []
    for row in rows:
        fields = []
        for index in order:
            value = json.dumps(row[index], ensure_ascii=False) if index < len(row) else "null"
            fields.append(f"         {json.dumps(header[index].lower(), ensure_ascii=False)}: {value}")
        blocks.append("{\n" + ",\n".join(fields) + "\n      }")
    body = "      " + ",".join(blocks) + "\n" if blocks else ""
    out.write(f"{{\n   {json.dumps(name)}: [\n{body}   ]\n}}\n".encode())


COMMANDS: dict[str, Builtin] = {"column": column}
