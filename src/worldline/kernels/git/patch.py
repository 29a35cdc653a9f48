"""Differences as text: hunks with headers, binary notes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from worldline.kernels.git.changes import FileChange
from worldline.kernels.git.linediff import line_changes, lines_of
from worldline.kernels.git.objects import TreeEntry
from worldline.kernels.shell.builtins.text.differences import Change

__all__ = ["PatchStyle", "blank_key", "changed_lines", "file_patch", "hunks", "is_binary", "quoted"]

_FUNCTION = re.compile(rb"[A-Za-z_$]")
_WIDE = 80
_LOOK = 8000


@dataclass(slots=True)
class PatchStyle:
    """How patches look."""

    context: int = 3
    between: int = 0
    old_prefix: str = "a/"
    new_prefix: str = "b/"
    full_index: bool = False
    abbrev: int = 7
    text: bool = False
    space: str = ""
    """Which white space makes no difference: `-w`, `-b`, `--ignore-space-at-eol` or nothing."""
    blank_lines: bool = False
    function_context: bool = False
    short: Callable[[str, int], str] = field(default=lambda sha, length: sha[:length])


def quoted(path: str, prefix: str = "") -> str:
    """Show a path as git does: in C quotes where it holds special characters."""
    data = (prefix + path).encode("utf-8", "surrogateescape")
    if not re.search(rb'[\x00-\x1f"\\\x7f-\xff]', data):
        return prefix + path
    names = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
    return '"' + "".join(
        "\\" + names[byte] if byte in names else chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}" for byte in data
    ) + '"'  # fmt: skip


def is_binary(data: bytes) -> bool:
    """Whether git takes a file for binary."""
    return b"\0" in data[:_LOOK]


def blank_key(line: bytes, space: str) -> bytes:
    """What of a line counts when white space is ignored."""
    if space == "-w":
        return re.sub(rb"[ \t\n\v\f\r]+", b"", line)
    if space == "-b":
        return re.sub(rb"[ \t\v\f\r\n]+", b" ", line.rstrip(b" \t\n\v\f\r"))
    if space == "--ignore-space-at-eol":
        return line.rstrip(b" \t\n\v\f\r")
    return line.rstrip(b"\r\n") if space == "--ignore-cr-at-eol" else line


def changed_lines(old: list[bytes], new: list[bytes], style: PatchStyle) -> list[Change]:
    """The changes between two lists of lines, white space looked at as the style says."""
    if style.space:
        keys = [[blank_key(line, style.space) for line in side] for side in (old, new)]
        found = line_changes(keys[0], keys[1], (old, new))
    else:
        found = line_changes(old, new)
    if style.blank_lines:
        found = [
            change
            for change in found
            if any(
                line.strip() for line in old[change.old_start : change.old_end] + new[change.new_start : change.new_end]
            )
        ]
    return found


def _range(start: int, count: int) -> str:
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


def _heading(lines: list[bytes], start: int, stop: int) -> bytes | None:
    """The last line before a hunk that looks like the start of a function."""
    for index in range(start - 1, stop - 1, -1):
        if _FUNCTION.match(lines[index]):
            return lines[index][:_WIDE].rstrip()
    return None


def _line(prefix: bytes, line: bytes) -> bytes:
    return prefix + line if line.endswith(b"\n") else prefix + line + b"\n\\ No newline at end of file\n"


def hunks(old: bytes, new: bytes, style: PatchStyle) -> bytes:
    """The hunks between two texts; nothing where no line differs."""
    left, right = lines_of(old), lines_of(new)
    groups: list[list[Change]] = []
    for change in changed_lines(left, right, style):
        if groups and change.old_start - groups[-1][-1].old_end <= 2 * style.context + style.between:
            groups[-1].append(change)
        else:
            groups.append([change])
    parts: list[bytes] = []
    heading, looked = b"", 0
    for group in groups:
        before = min(style.context, group[0].old_start, group[0].new_start)
        after = min(style.context, len(left) - group[-1].old_end, len(right) - group[-1].new_end)
        a, b = group[0].old_start - before, group[-1].old_end + after
        c, d = group[0].new_start - before, group[-1].new_end + after
        heading, looked = _heading(left, a, looked) or heading, a
        head = f"@@ -{_range(a, b - a)} +{_range(c, d - c)} @@".encode()
        parts.append(head + (b" " + heading if heading else b"") + b"\n")
        at = group[0].new_start - before
        for change in group:
            parts += [_line(b" ", line) for line in right[at : change.new_start]]
            parts += [_line(b"-", line) for line in left[change.old_start : change.old_end]]
            parts += [_line(b"+", line) for line in right[change.new_start : change.new_end]]
            at = change.new_end
        parts += [_line(b" ", line) for line in right[at:d]]
    return b"".join(parts)


def _sides(change: FileChange, style: PatchStyle) -> tuple[str, str]:
    return quoted(change.old_path, style.old_prefix), quoted(change.path, style.new_prefix)


def _header(change: FileChange, style: PatchStyle) -> list[str]:
    old, new = change.old, change.new
    first, second = _sides(change, style)
    lines = [f"diff --git {first} {second}"]
    if old is None and new is not None:
        lines.append(f"new file mode {new.mode:06o}")
    elif new is None and old is not None:
        lines.append(f"deleted file mode {old.mode:06o}")
    elif old is not None and new is not None and old.mode != new.mode:
        lines += [f"old mode {old.mode:06o}", f"new mode {new.mode:06o}"]
    if change.source is not None:
        word = "copy" if change.copied else "rename"
        lines.append(f"similarity index {change.percent}%")
        lines += [f"{word} from {quoted(change.source)}", f"{word} to {quoted(change.path)}"]
    if old is None or new is None or old.sha != new.sha:
        names = [_name(entry, style) for entry in (old, new)]
        mode = f" {old.mode:06o}" if old is not None and new is not None and old.mode == new.mode else ""
        lines.append(f"index {names[0]}..{names[1]}{mode}")
    return lines


def _name(entry: TreeEntry | None, style: PatchStyle) -> str:
    length = 40 if style.full_index else style.abbrev
    return "0" * length if entry is None else style.short(entry.sha, length)


def file_patch(change: FileChange, old: bytes, new: bytes, style: PatchStyle) -> bytes:
    """The whole patch of one file.

    Args:
        change: What became of it.
        old: Content before.
        new: Content after.
        style: How it looks.
    """
    if change.unmerged:
        return f"* Unmerged path {quoted(change.path)}\n".encode("utf-8", "surrogateescape")
    if change.status == "T":
        parts = (FileChange(change.path, change.old, None), FileChange(change.path, None, change.new))
        return file_patch(parts[0], old, b"", style) + file_patch(parts[1], b"", new, style)
    head = _header(change, style)
    first, second = _sides(change, style)
    names = ("/dev/null" if change.old is None else first, "/dev/null" if change.new is None else second)
    body = b""
    if old != new:
        if not style.text and (is_binary(old) or is_binary(new)):
            body = f"Binary files {names[0]} and {names[1]} differ\n".encode("utf-8", "surrogateescape")
        else:
            body = hunks(old, new, style)
            if body:
                tabs = ["\t" if " " in name else "" for name in names]
                head += [f"--- {names[0]}{tabs[0]}", f"+++ {names[1]}{tabs[1]}"]
    if not body and (style.space or style.blank_lines) and len(head) == 2 and head[1].startswith("index "):
        return b""
    return "".join(line + "\n" for line in head).encode("utf-8", "surrogateescape") + body
