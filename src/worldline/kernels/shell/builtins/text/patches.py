"""Patches as `patch` reads and applies them: unified, context-free hunks, offsets and fuzz."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["Applied", "FilePatch", "Hunk", "Malformed", "apply", "parse", "rejected"]

_HEAD = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)")
_NORMAL = re.compile(rb"(\d+)(?:,(\d+))?([acd])(\d+)(?:,(\d+))?\s*$")


class Malformed(Exception):
    """A hunk does not hold what its head says; `line` is where, `text` what stands there."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line
        self.text = text


@dataclass
class Hunk:
    """One hunk; lines carry ` `, `-` or `+` and their end."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: list[bytes]

    @property
    def before(self) -> list[bytes]:
        """The lines it expects."""
        return [line[1:] for line in self.lines if line[:1] in b" -"]

    @property
    def after(self) -> list[bytes]:
        """The lines it leaves."""
        return [line[1:] for line in self.lines if line[:1] in b" +"]

    def reversed(self) -> Hunk:
        """The hunk that undoes this one."""
        swap = {b"-": b"+", b"+": b"-", b" ": b" "}
        lines = [swap[line[:1]] + line[1:] for line in self.lines]
        return Hunk(self.new_start, self.new_count, self.old_start, self.old_count, _minus_first(lines))


def _minus_first(lines: list[bytes]) -> list[bytes]:
    """Put deletions before insertions in each run, as diff writes them."""
    result: list[bytes] = []
    run: list[bytes] = []
    for line in [*lines, b" "]:
        if line[:1] == b" ":
            result += [item for item in run if item[:1] == b"-"] + [item for item in run if item[:1] == b"+"]
            run = []
            result.append(line)
        else:
            run.append(line)
    return result[:-1]


@dataclass
class FilePatch:
    """What a patch says about one file."""

    old_name: str | None
    new_name: str | None
    hunks: list[Hunk] = field(default_factory=list)
    style: str = "unified"
    old_label: str = ""
    new_label: str = ""


def parse(data: bytes) -> list[FilePatch]:
    """Read unified and normal diffs; text around them is skipped.

    Raises:
        Malformed: A hunk is torn.
        ValueError: Another kind of diff, or git's renames and modes.
    """
    lines = re.findall(rb"[^\n]*\n|[^\n]+", data)
    found: list[FilePatch] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        if line.startswith(b"--- ") and index + 1 < len(lines) and lines[index + 1].startswith(b"+++ "):
            patch = FilePatch(_name(line[4:]), _name(lines[index + 1][4:]))
            patch.old_label, patch.new_label = _text(line[4:]), _text(lines[index + 1][4:])
            found.append(patch)
            index += 2
            while index < len(lines) and (head := _HEAD.match(lines[index])):
                index = _unified(lines, index + 1, head, patch)
            continue
        if line.startswith(b"*** ") or re.match(rb"(rename|copy) (from|to) |(old|new) mode |GIT binary", line):
            raise ValueError("this kind of patch")
        if _NORMAL.match(line):
            if not found or found[-1].style != "normal":
                found.append(FilePatch(None, None, style="normal"))
            index = _normal(lines, index, found[-1])
            continue
        index += 1
    return [patch for patch in found if patch.hunks]


def _text(raw: bytes) -> str:
    return raw.rstrip(b"\r\n").decode("utf-8", "surrogateescape")


def _name(raw: bytes) -> str | None:
    text = _text(raw).split("\t")[0].rstrip(" ")
    if text.startswith('"'):
        raise ValueError("a quoted name")
    return None if text == "/dev/null" else text


def _unified(lines: list[bytes], index: int, head: re.Match[bytes], patch: FilePatch) -> int:
    numbers = [int(head[1]), int(head[2] or 1), int(head[3]), int(head[4] or 1)]
    old, new = numbers[1], numbers[3]
    body: list[bytes] = []
    while old > 0 or new > 0:
        line = lines[index] if index < len(lines) else b""
        mark = line[:1]
        if mark in (b"\n", b""):
            if index >= len(lines):
                # Trailing blank context lines may have been cut off.
                raise Malformed(index, "unexpected end of file in patch")
            line, mark = b" " + line, b" "
        if mark not in b" -+" or (mark == b"-" and old == 0) or (mark == b"+" and new == 0):
            raise Malformed(index + 1, line.rstrip(b"\n").decode("utf-8", "replace"))
        old -= mark in b" -"
        new -= mark in b" +"
        body.append(line if line.endswith(b"\n") else line + b"\n")
        index += 1
        if index < len(lines) and lines[index].startswith(b"\\"):
            body[-1] = body[-1].rstrip(b"\n")
            index += 1
    patch.hunks.append(Hunk(numbers[0], numbers[1], numbers[2], numbers[3], body))
    return index


def _normal(lines: list[bytes], index: int, patch: FilePatch) -> int:
    head = _NORMAL.match(lines[index])
    if head is None:
        return index + 1
    index += 1
    old_start, old_end = int(head[1]), int(head[2] or head[1])
    new_start, new_end = int(head[4]), int(head[5] or head[4])
    body: list[bytes] = []

    def take(prefix: bytes, mark: bytes, count: int) -> None:
        nonlocal index
        for _ in range(count):
            if index >= len(lines) or not lines[index].startswith(prefix):
                raise ValueError("a torn normal diff")
            body.append(mark + lines[index][2:])
            index += 1
            if index < len(lines) and lines[index].startswith(b"\\"):
                body[-1] = body[-1].rstrip(b"\n")
                index += 1

    letter = head[3]
    deleted = 0 if letter == b"a" else old_end - old_start + 1
    inserted = 0 if letter == b"d" else new_end - new_start + 1
    take(b"< ", b"-", deleted)
    if letter == b"c":
        if index >= len(lines) or lines[index] != b"---\n":
            raise ValueError("a torn normal diff")
        index += 1
    take(b"> ", b"+", inserted)
    patch.hunks.append(Hunk(old_start, deleted, new_start, inserted, body))
    return index


@dataclass
class Applied:
    """How one hunk went: where it matched (1-based), with which offset and fuzz; None for a failure."""

    place: int
    offset: int = 0
    fuzz: int = 0
    ok: bool = True


def apply(lines: list[bytes], hunks: list[Hunk], *, fuzz: int = 2) -> tuple[list[bytes], list[Applied]]:
    """Apply hunks in order.

    Args:
        lines: The file's lines with their ends.
        hunks: What to apply.
        fuzz: How many context lines at each end may be ignored.

    Returns:
        The new lines, and for each hunk how it went.
    """
    result: list[bytes] = []
    reports: list[Applied] = []
    at, drift = 0, 0
    for hunk in hunks:
        before = hunk.before
        base = hunk.old_start - 1 if before else hunk.old_start
        guess = base + drift
        found = _locate(lines, hunk, guess, at, fuzz)
        if found is None:
            reports.append(Applied(max(0, guess) + 1, ok=False))
            continue
        place, used, prefix, suffix = found
        drift += place - guess
        result += lines[at : place + prefix]
        after = hunk.after
        result += after[prefix : len(after) - suffix]
        at = place + len(before) - suffix
        reports.append(Applied(hunk.new_start + place - base, place - base, used))
    result += lines[at:]
    return result, reports


def _contexts(hunk: Hunk) -> tuple[int, int]:
    prefix = suffix = 0
    while prefix < len(hunk.lines) and hunk.lines[prefix][:1] == b" ":
        prefix += 1
    while suffix < len(hunk.lines) - prefix and hunk.lines[-1 - suffix][:1] == b" ":
        suffix += 1
    return prefix, suffix


def _locate(lines: list[bytes], hunk: Hunk, guess: int, least: int, most: int) -> tuple[int, int, int, int] | None:
    """Where a hunk fits: place, fuzz used, context lines ignored at its start and end."""
    prefix, suffix = _contexts(hunk)
    before = hunk.before
    context = max(prefix, suffix)
    for fuzz in range(min(most, context) + 1):
        cut_start = max(0, fuzz + prefix - context)
        cut_end = max(0, fuzz + suffix - context)
        wanted = before[cut_start : len(before) - cut_end]

        def fits(place: int, wanted: list[bytes] = wanted, skip: int = cut_start) -> bool:
            start = place + skip
            return place >= 0 and start >= least and lines[start : start + len(wanted)] == wanted

        # A hunk with less context before than after belongs at the start of the file, and the other way round.
        if prefix < suffix and fuzz == 0 and hunk.old_start <= 1 and guess <= 0 and fits(0):
            return 0, fuzz, cut_start, cut_end
        if fits(guess):
            return guess, fuzz, cut_start, cut_end
        for offset in range(1, len(lines) + abs(guess) + 1):
            if fits(guess + offset):
                return guess + offset, fuzz, cut_start, cut_end
            if fits(guess - offset):
                return guess - offset, fuzz, cut_start, cut_end
    return None


def rejected(patch: FilePatch, hunks: list[Hunk]) -> bytes:
    """Return the content of a reject file."""
    parts = [f"--- {patch.old_label}\n+++ {patch.new_label}\n".encode("utf-8", "surrogateescape")]
    for hunk in hunks:
        old = f"{hunk.old_start}" if hunk.old_count == 1 else f"{hunk.old_start},{hunk.old_count}"
        new = f"{hunk.new_start}" if hunk.new_count == 1 else f"{hunk.new_start},{hunk.new_count}"
        parts.append(f"@@ -{old} +{new} @@\n".encode())
        for line in hunk.lines:
            parts.append(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n")
    return b"".join(parts)
