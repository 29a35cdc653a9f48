"""Format strings of `hexdump -e`: units of conversions, applied to one block of bytes after the other."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field

from worldline.kernels.shell.builtins.base import Call
from worldline.kernels.shell.builtins.shared.textio import Output

__all__ = ["formatted"]

_UNIT = re.compile(r'\s*(?:(\d+)?\s*/\s*(\d+)|(\d+)(?=\s*"))?\s*"((?:[^"\\]|\\.)*)"')
_CONVERSION = re.compile(r"%(?:%|([-+ #0]*)(\d*)(?:\.(\d+))?(_[aA][dox]|_[cpu]|[diouxXcs]))")
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "\\": "\\",
    '"': '"',
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "0": "\0",
}
_NAMES = {0: "\\0", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}


@dataclass
class _Part:
    """Text, and the conversion that ends it if there is one."""

    text: str
    flags: str = ""
    width: str = ""
    kind: str = ""
    size: int = 0
    """Bytes that it takes."""


@dataclass
class _Unit:
    repeat: int
    fixed: bool
    parts: list[_Part] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)


def formatted(call: Call, texts: list[str], data: bytes, start: int, *, squeeze: bool, out: Output) -> None:
    """Write bytes as the format strings say.

    Args:
        call: The invocation.
        texts: One format string for each `-e`.
        data: The bytes.
        start: Where they lie in the input, for addresses.
        squeeze: Whether blocks that repeat show as one `*`.
        out: Where it goes.
    """
    formats = [_parsed(call, text) for text in texts]
    block = max(sum(unit.repeat * unit.size for unit in units) for units in formats)
    if block == 0:
        call.unknown("a format that takes no bytes")
    for units in formats:
        left = block - sum(unit.repeat * unit.size for unit in units)
        if left and units[-1].size and not units[-1].fixed:
            units[-1].repeat += left // units[-1].size
    last: bytes | None = None
    starred = False
    for at in range(0, len(data), block):
        row = data[at : at + block]
        if squeeze and last is not None and row == last[: len(row)]:
            if not starred:
                out.line(b"*")
            starred = True
            continue
        last, starred = row, False
        for units in formats:
            out.write(_block(units, row + b"\0" * (block - len(row)), len(row), start + at))


def _parsed(call: Call, text: str) -> list[_Unit]:
    units: list[_Unit] = []
    at = 0
    for found in _UNIT.finditer(text):
        if found.start() != at:
            call.unknown("this format")
        at = found.end()
        count = found[1] or found[3]
        unit = _Unit(int(count or 1), count is not None)
        size = int(found[2]) if found[2] else None
        unit.parts = _parts(call, found[4], size)
        units.append(unit)
    if text[at:].strip() or not units:
        call.unknown("this format")
    return units


def _parts(call: Call, text: str, size: int | None) -> list[_Part]:
    body = re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text, flags=re.DOTALL)
    parts: list[_Part] = []
    at = 0
    pending = ""
    for found in _CONVERSION.finditer(body):
        pending += body[at : found.start()]
        at = found.end()
        if found[0] == "%%":
            pending += "%"
            continue
        if found[3] or found[4] == "s" or (found[4] in ("_a", "_A")):
            call.unknown("this format")
        if found[4].startswith("_A"):
            call.unknown("this format")
        takes = 0 if found[4].startswith("_a") else size or (1 if found[4] in ("c", "_c", "_p", "_u") else 4)
        parts.append(_Part(pending, found[1], found[2], found[4], takes))
        pending = ""
    pending += body[at:]
    if "%" in re.sub("%%", "", _CONVERSION.sub("", body)) or (sum(part.size > 0 for part in parts) > 1 and size):
        call.unknown("this format")
    if any(part.size not in (0, 1, 2, 4, 8) for part in parts):
        call.unknown("this format")
    if pending or not parts:
        parts.append(_Part(pending))
    if size and not any(part.size for part in parts):
        parts[-1].size = size
    return parts


def _block(units: list[_Unit], row: bytes, there: int, place: int) -> bytes:
    shown: list[str] = []
    at = 0
    for unit in units:
        for turn in range(unit.repeat):
            for index, part in enumerate(unit.parts):
                text = part.text
                final = turn == unit.repeat - 1 and unit.repeat > 1 and index == len(unit.parts) - 1
                if final and not part.kind and text[-1:].isspace():
                    text = text[:-1]
                shown.append(text)
                if part.kind and at >= there:
                    shown.append(" " * int(part.width or 0))
                elif part.kind:
                    shown.append(_shown(part, row[at : at + part.size], place + at))
                at += part.size
    return "".join(shown).encode()


def _shown(part: _Part, data: bytes, place: int) -> str:
    flags, width, kind = part.flags, part.width, part.kind
    if kind.startswith("_a"):
        return f"%{flags}{width}{kind[-1]}" % place
    if kind in ("c", "_p", "_c", "_u"):
        byte = data[0]
        text = chr(byte) if 32 <= byte < 127 else "." if kind == "_p" else chr(byte)
        if kind == "_c":
            text = _NAMES.get(byte) or (chr(byte) if 32 <= byte < 127 else f"{byte:03o}")
        return f"%{flags.replace('0', '')}{width}s" % text
    code = {1: "b", 2: "h", 4: "i", 8: "q"}[len(data)]
    signed = kind in "di"
    number = int(struct.unpack("<" + (code if signed else code.upper()), data)[0])
    shape = f"%{flags}{width}{'d' if kind in 'iu' else kind}"
    if kind == "o" and "#" in flags:
        shape = f"%{flags.replace('#', '')}{width}o"
        return shape % number if number == 0 else f"%{flags.replace('#', '')}{width}s" % f"0{number:o}"
    return shape % number
