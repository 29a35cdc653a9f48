"""How `ls` lays out entries: long lines, one per line, columns, commas."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo

from worldline.kernels.shell.builtins.base import FileStat
from worldline.kernels.shell.builtins.shared.messages import display, quote, shell_quote, shell_quote_if_needed
from worldline.kernels.shell.builtins.shared.modes import mode_string
from worldline.kernels.shell.builtins.shared.sizes import human, scaled
from worldline.kernels.shell.builtins.shared.times import gnu_format

__all__ = ["Entry", "Layout", "disk_bytes", "render", "short_date", "text_width"]

_HALF_YEAR = timedelta(seconds=31556952 // 2)
_COLORS = {"directory": "01;34", "symlink": "01;36", "fifo": "33"}


@dataclass
class Entry:
    """A name to show; `stat` is None where nothing but the name is needed."""

    name: str
    stat: FileStat | None
    target: str = ""
    behind: FileStat | None = None
    """What a symbolic link leads to, where that is shown."""


@dataclass
class Layout:
    """How to show entries."""

    zone: tzinfo
    now: datetime
    format: str = ""
    """`1`, `l`, `C`, `x` or `m`."""
    human: str = ""
    indicator: str = ""
    quoting: str = ""
    hide_control: bool = False
    style: tuple[str, str] = ("%b %e  %Y", "%b %e %H:%M")
    """Formats of old and of recent times."""
    width: int = 80
    tab: int = 8
    block: int = 0
    block_suffix: str = ""
    owner: bool = True
    group: bool = True
    numeric: bool = False
    author: bool = False
    blocks: bool = False
    inode: bool = False
    zero: bool = False
    color: bool = False
    padded: bool = False
    """A blank stands before names without quotes, since others have them."""


def disk_bytes(stat: FileStat) -> int:
    """Return the bytes that a file takes on disk, in blocks of 4096.

    A directory whose size is no multiple of a block lives on a file system in memory and takes none.
    """
    if stat.kind == "file":
        return scaled(stat.size, 4096) * 4096
    if stat.kind == "directory" and stat.size % 4096 == 0:
        return stat.size
    return 0


def short_date(moment: datetime, now: datetime, zone: tzinfo, style: tuple[str, str]) -> str:
    """Return the time as `ls -l` shows it: with the clock within the last half year, otherwise with the year."""
    recent = now - _HALF_YEAR < moment < now
    return gnu_format(style[recent], moment.astimezone(zone))


def text_width(text: str) -> int:
    """Return the columns that a text takes on a terminal."""
    return sum(
        0
        if unicodedata.combining(char) or unicodedata.category(char) == "Cc"
        else 2
        if unicodedata.east_asian_width(char) in "WF"
        else 1
        for char in text
    )


def render(entries: list[Entry], layout: Layout, *, total: bool = False) -> str:
    """Lay out entries.

    Args:
        entries: In order.
        layout: How to show them.
        total: Whether they are all of a directory, so that `-l` and `-s` start with a line of their blocks.
    """
    styled = layout.quoting in ("shell", "shell-escape") and (
        layout.format == "l" or (layout.width and layout.format in "Cx")
    )
    layout.padded = bool(styled) and any(shell_quote_if_needed(entry.name) != entry.name for entry in entries)
    text = ""
    if total and (layout.format == "l" or layout.blocks):
        text = f"total {_block_text(sum(disk_bytes(entry.stat) for entry in entries if entry.stat), layout)}\n"
    if not entries:
        return text
    if layout.format == "l":
        return text + _long(entries, layout)
    names = _with_blocks(entries, layout)
    end = "\0" if layout.zero else "\n"
    if layout.format == "1":
        return text + "".join(name + end for name in _colored(names, entries, layout))
    widths = [text_width(name) for name in names]
    names = _colored(names, entries, layout)
    if layout.format == "m":
        return text + _commas(names, widths, layout.width)
    if layout.width == 0:
        return text + "  ".join(names) + "\n"
    return text + _columns(names, widths, layout)


def _name(entry: Entry, layout: Layout) -> str:
    name = entry.name
    if layout.hide_control:
        name = display(name)
    style = layout.quoting
    if style in ("shell", "shell-escape"):
        quoted = shell_quote_if_needed(name)
        return f" {quoted}" if layout.padded and quoted == name else quoted
    if style in ("shell-always", "shell-escape-always"):
        return shell_quote(name)
    if style == "c":
        return f'"{_escaped(name, quotes=True)}"'
    if style in ("locale", "clocale"):
        return quote(name)
    if style == "c-maybe":
        quoted = _escaped(name, quotes=True)
        return f'"{quoted}"' if quoted != name else name
    if style == "escape":
        return _escaped(name).replace(" ", "\\ ")
    return name


def _escaped(name: str, *, quotes: bool = False) -> str:
    text = ""
    for char in name.replace("\\", "\\\\"):
        if char == '"' and quotes:
            text += '\\"'
        elif char in "\a\b\t\n\v\f\r":
            text += "\\" + "abtnvfr"["\a\b\t\n\v\f\r".index(char)]
        else:
            text += f"\\{ord(char):03o}" if ord(char) < 32 or ord(char) == 127 else char
    return text


def _indicator(stat: FileStat | None, style: str) -> str:
    if stat is None or not style:
        return ""
    if stat.kind == "directory":
        return "/"
    if style == "p":
        return ""
    if stat.kind == "file":
        return "*" if style == "F" and stat.mode & 0o111 else ""
    return {"symlink": "@", "fifo": "|"}[stat.kind]


def _paint(stat: FileStat | None, text: str, orphan: bool = False) -> str:
    """Put the built-in colours of `ls` around a name."""
    if stat is None:
        return text
    code = _COLORS.get(stat.kind, "")
    if stat.kind == "file" and stat.mode & 0o6000:
        code = "37;41" if stat.mode & 0o4000 else "30;43"
    elif stat.kind == "file" and stat.mode & 0o111:
        code = "01;32"
    elif stat.kind == "directory" and stat.mode & 0o1002:
        code = "30;42" if stat.mode & 0o1002 == 0o1002 else "34;42" if stat.mode & 2 else "37;44"
    return f"\033[{code}m{text}\033[0m" if code else text


def _colored(names: list[str], entries: list[Entry], layout: Layout) -> list[str]:
    """Colour names that already carry blocks and indicator."""
    if not layout.color:
        return names
    result = []
    for name, entry in zip(names, entries, strict=True):
        plain = _name(entry, layout)
        tail = _indicator(entry.stat, layout.indicator)
        head = name[: len(name) - len(plain) - len(tail)]
        result.append(head + _paint(entry.stat, plain) + tail)
    return _first_reset(result)


def _first_reset(texts: list[str]) -> list[str]:
    for index, text in enumerate(texts):
        if "\033[" in text:
            texts[index] = text.replace("\033[", "\033[0m\033[", 1)
            break
    return texts


def _block_text(size: int, layout: Layout) -> str:
    if layout.human and not layout.block:
        return human(size, si=layout.human == "si")
    return f"{scaled(size, layout.block or 1024)}{layout.block_suffix}"


def _with_blocks(entries: list[Entry], layout: Layout) -> list[str]:
    names = [_name(entry, layout) + _indicator(entry.stat, layout.indicator) for entry in entries]
    if layout.inode:
        names = [f"{_inode(entry)} {name}" for entry, name in zip(entries, names, strict=True)]
    if not layout.blocks:
        return names
    sizes = [_block_text(disk_bytes(entry.stat), layout) if entry.stat else "?" for entry in entries]
    width = max(map(len, sizes)) if layout.format != "m" else 0
    return [f"{size.rjust(width)} {name}" for size, name in zip(sizes, names, strict=True)]


def _inode(entry: Entry) -> int:
    """A number in the place of an inode; the real one is not known."""
    return 1000 + (entry.stat.inode if entry.stat else 0)


def _long(entries: list[Entry], layout: Layout) -> str:
    rows: list[list[str]] = []
    for entry in entries:
        stat = entry.stat
        if stat is None:
            continue
        size = human(stat.size, si=layout.human == "si") if layout.human else str(stat.size)
        if layout.block and not layout.human:
            size = f"{scaled(stat.size, layout.block)}{layout.block_suffix}"
        rows.append(
            [
                _block_text(disk_bytes(stat), layout) if layout.blocks else "",
                mode_string(stat),
                str(stat.nlink),
                str(stat.uid) if layout.numeric else stat.owner,
                str(stat.gid) if layout.numeric else stat.group,
                (str(stat.uid) if layout.numeric else stat.owner) if layout.author else "",
                size,
                short_date(stat.mtime, layout.now, layout.zone, layout.style),
            ]
        )
    widths = [max(len(row[column]) for row in rows) for column in range(8)]
    lines = []
    for entry, row in zip(entries, rows, strict=True):
        parts = [str(_inode(entry))] if layout.inode else []
        parts += [row[0].rjust(widths[0])] if layout.blocks else []
        parts += [row[1], row[2].rjust(widths[2])]
        names = ([3] if layout.owner else []) + ([4] if layout.group else []) + ([5] if layout.author else [])
        for column in names:
            aligned = row[column].rjust(widths[column]) if layout.numeric else row[column].ljust(widths[column])
            parts.append(aligned)
        parts += [row[6].rjust(widths[6]), row[7].ljust(widths[7]), _long_name(entry, layout)]
        lines.append(" ".join(parts))
    end = "\0" if layout.zero else "\n"
    return "".join(line + end for line in (_first_reset(lines) if layout.color else lines))


def _long_name(entry: Entry, layout: Layout) -> str:
    name = _name(entry, layout)
    if layout.color:
        name = _paint(entry.stat, name)
    if entry.stat is None or entry.stat.kind != "symlink":
        return name + _indicator(entry.stat, layout.indicator)
    target = _name(Entry(entry.target, None), replace(layout, padded=False))
    if layout.color:
        target = _paint(entry.behind, target)
    return f"{name} -> {target}{_indicator(entry.behind, layout.indicator)}"


def _commas(names: list[str], widths: list[int], line: int) -> str:
    text, position = "", 0
    for index, (name, width) in enumerate(zip(names, widths, strict=True)):
        if index:
            if not line or position + 2 + width + (2 if index < len(names) - 1 else 0) <= line:
                text, position = text + ", ", position + 2
            else:
                text, position = text + ",\n", 0
        text, position = text + name, position + width
    return text + "\n"


def _columns(names: list[str], widths: list[int], layout: Layout) -> str:
    """Fill columns as GNU ls does: as many as fit, each as wide as its widest name and two blanks."""
    count = len(names)
    by_columns = layout.format == "C"
    columns, chosen = 1, [max(widths)]
    for candidate in range(min(count, max(1, layout.width // 3)), 0, -1):
        rows = -(-count // candidate)
        sizes = [0] * candidate
        for index, width in enumerate(widths):
            column = index // rows if by_columns else index % candidate
            sizes[column] = max(sizes[column], width + (2 if column < candidate - 1 else 0))
        if all(sizes) and sum(max(size, 3) if i < candidate - 1 else size for i, size in enumerate(sizes)) < (
            layout.width
        ):
            columns, chosen = candidate, [max(size, 3) for size in sizes]
            break
    rows = -(-count // columns)
    lines = []
    for row in range(rows):
        indexes = range(row, count, rows) if by_columns else range(row * columns, min(count, (row + 1) * columns))
        text, position, start = "", 0, 0
        for column, index in enumerate(indexes):
            if column:
                text, position = text + _indent(position, start, layout.tab), start
            text, position = text + names[index], position + widths[index]
            start += chosen[column]
        lines.append(text + "\n")
    return "".join(lines)


def _indent(position: int, target: int, tab: int) -> str:
    text = ""
    while position < target:
        if tab and target // tab > (position + 1) // tab:
            text, position = text + "\t", position + tab - position % tab
        else:
            text, position = text + " ", position + 1
    return text
