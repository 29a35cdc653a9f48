"""Summaries of differences: --stat, --numstat, --shortstat, --dirstat, --summary."""

from __future__ import annotations

from dataclasses import dataclass

from worldline.kernels.git.changes import FileChange
from worldline.kernels.git.linediff import lines_of
from worldline.kernels.git.patch import PatchStyle, changed_lines, is_binary, quoted
from worldline.kernels.shell.builtins.text.counts import cell_width as char_width

__all__ = ["Counted", "cell_width", "count", "numstat", "rename_name", "shortstat", "stat", "summary"]

_WIDTH = 80


@dataclass(frozen=True, slots=True)
class Counted:
    """How many lines of a file came and went."""

    change: FileChange
    added: int
    deleted: int
    binary: tuple[int, int] | None = None
    """Sizes before and after, of a binary file."""


def cell_width(text: str) -> int:
    """Columns that a text takes."""
    return sum(char_width(char) for char in text)


def count(change: FileChange, old: bytes, new: bytes, style: PatchStyle) -> Counted:
    """Count the lines of a file that changed."""
    if change.unmerged or old == new:
        return Counted(change, 0, 0, (len(old), len(new)) if is_binary(old) and not change.unmerged else None)
    if not style.text and (is_binary(old) or is_binary(new)):
        return Counted(change, 0, 0, (len(old), len(new)))
    found = changed_lines(lines_of(old), lines_of(new), style)
    return Counted(change, sum(c.inserted for c in found), sum(c.deleted for c in found))


def rename_name(old: str, new: str) -> str:
    """`dir/{a => b}/file`."""
    if quoted(old) != old or quoted(new) != new:
        return f"{quoted(old)} => {quoted(new)}"
    start = 0
    for index, (one, two) in enumerate(zip(old, new, strict=False)):
        if one != two:
            break
        if one == "/":
            start = index + 1
    stop = 0
    limit = min(len(old), len(new)) - (start - 1 if start else 0)
    for index in range(1, limit + 1):
        if index > len(old) or index > len(new) or old[-index] != new[-index]:
            break
        if old[-index] == "/":
            stop = index
    middle_old = old[start : max(start, len(old) - stop)]
    middle_new = new[start : max(start, len(new) - stop)]
    tail = old[len(old) - stop :] if stop else ""
    if not start and not stop:
        return f"{old} => {new}"
    return f"{old[:start]}{{{middle_old} => {middle_new}}}{tail}"


def _name(change: FileChange) -> str:
    return rename_name(change.source, change.path) if change.source is not None else quoted(change.path)


def numstat(counted: list[Counted]) -> str:
    """Numbers for programs."""
    lines = []
    for item in counted:
        numbers = (
            "-\t-"
            if item.binary is not None and item.change.old != item.change.new
            else f"{item.added}\t{item.deleted}"
        )
        lines.append(f"{numbers}\t{_name(item.change)}\n")
    return "".join(lines)


def shortstat(counted: list[Counted]) -> str:
    """The last line of a --stat."""
    counted = [item for item in counted if not item.change.unmerged]
    if not counted:
        return ""
    added, deleted = sum(item.added for item in counted), sum(item.deleted for item in counted)
    text = f" {len(counted)} file{'s' * (len(counted) != 1)} changed"
    if added or not deleted:
        text += f", {added} insertion{'s' * (added != 1)}(+)"
    if deleted or not added:
        text += f", {deleted} deletion{'s' * (deleted != 1)}(-)"
    return text + "\n"


def _scale(number: int, width: int, most: int) -> int:
    return 0 if not number else 1 + number * (width - 1) // most


def stat(counted: list[Counted], width: int = _WIDTH, name_width: int = 0) -> str:
    """Bars of plus and minus signs and the sum."""
    if not counted:
        return ""
    names = [_name(item.change) for item in counted]
    longest = max(cell_width(name) for name in names)
    most = max((item.added + item.deleted for item in counted if item.binary is None), default=0)
    unmerged = 8 if any(item.change.unmerged for item in counted) else 0
    digits = len(str(most))
    if any(item.binary is not None for item in counted):
        digits = max(digits, 3)
    width = max(width, 16 + 6 + digits)
    bin_width = max(
        (len(str(a)) + len(str(b)) + 4 + 6 for item in counted if item.binary for a, b in [item.binary]), default=0
    )
    graph = max(most, unmerged, bin_width - digits if bin_width else 0) if (unmerged or bin_width) else most
    named = min(longest, name_width) if name_width else longest
    if named + digits + 6 + graph > width:
        if graph > width * 3 // 8 - digits - 6:
            graph = max(width * 3 // 8 - digits - 6, 6)
        if named > width - digits - 6 - graph:
            named = width - digits - 6 - graph
        else:
            graph = width - digits - 6 - named
    lines = [_row(item, name, named, digits, graph, most) for item, name in zip(counted, names, strict=True)]
    return "".join(lines) + shortstat(counted)


def _row(item: Counted, name: str, named: int, digits: int, graph: int, most: int) -> str:
    shown, prefix = name, ""
    if cell_width(name) > named:
        keep = max(0, named - 3)
        shown = name[-keep:] if keep else ""
        prefix = "..."
        slash = shown.find("/")
        if slash >= 0:
            shown = shown[slash:]
    pad = " " * max(0, named - len(prefix) - cell_width(shown))
    start = f" {prefix}{shown}{pad} | "
    if item.change.unmerged:
        return f"{start}{'Unmerged':>{digits}}\n"
    if item.binary is not None:
        old, new = item.binary
        text = f"{'Bin':>{digits}}"
        same = (
            item.change.old is not None and item.change.new is not None and item.change.old.sha == item.change.new.sha
        )
        return f"{start}{text}\n" if same else f"{start}{text} {old} -> {new} bytes\n"
    added, deleted = item.added, item.deleted
    if graph < most:
        total = _scale(added + deleted, graph, most)
        if total < 2 and added and deleted:
            total = 2
        if added < deleted:
            added = _scale(added, graph, most)
            deleted = total - added
        else:
            deleted = _scale(deleted, graph, most)
            added = total - deleted
    sum_text = f"{item.added + item.deleted:>{digits}}"
    bar = "+" * added + "-" * deleted
    return f"{start}{sum_text}{' ' + bar if bar else ''}\n"


def summary(changes: list[FileChange]) -> str:
    """Files that came, went, moved or changed their mode."""
    lines = []
    for change in changes:
        old, new = change.old, change.new
        if change.unmerged:
            continue
        if old is None and new is not None:
            lines.append(f" create mode {new.mode:06o} {quoted(change.path)}\n")
        elif new is None and old is not None:
            lines.append(f" delete mode {old.mode:06o} {quoted(change.path)}\n")
        elif old is not None and new is not None:
            mode = f"mode change {old.mode:06o} => {new.mode:06o}"
            if change.source is not None:
                word = "copy" if change.copied else "rename"
                lines.append(f" {word} {rename_name(change.source, change.path)} ({change.percent}%)\n")
                if old.mode != new.mode:
                    lines.append(f" {mode}\n")
            elif old.mode != new.mode:
                lines.append(f" {mode} {quoted(change.path)}\n")
    return "".join(lines)
