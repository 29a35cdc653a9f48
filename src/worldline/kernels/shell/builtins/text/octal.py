"""`od`."""

from __future__ import annotations

import re
import struct

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.options import UsageError, choice, command, parse
from worldline.kernels.shell.builtins.shared.textio import Output, curly

__all__ = ["COMMANDS"]

_SHORT = {"a": "a", "b": "o1", "c": "c", "d": "u2", "f": "f4", "i": "d4", "l": "d8", "o": "o2", "s": "d2", "x": "x2",
          "h": "x2", "B": "o2", "D": "u4", "F": "f8", "H": "x4", "I": "d8", "L": "d8", "O": "o4", "X": "x4",
          "e": "f8"}  # fmt: skip
_SIZES = {"C": 1, "S": 2, "I": 4, "L": 8, "F": 4, "D": 8}
_NAMES = [
    "nul", "soh", "stx", "etx", "eot", "enq", "ack", "bel", "bs", "ht", "nl", "vt", "ff", "cr", "so", "si", "dle",
    "dc1", "dc2", "dc3", "dc4", "nak", "syn", "etb", "can", "em", "sub", "esc", "fs", "gs", "rs", "us", "sp",
]  # fmt: skip
_ESCAPES = {0: "\\0", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}
_WIDTHS = {
    "o": {1: 3, 2: 6, 4: 11, 8: 22},
    "x": {1: 2, 2: 4, 4: 8, 8: 16},
    "u": {1: 3, 2: 5, 4: 10, 8: 20},
    "d": {1: 4, 2: 6, 4: 11, 8: 20},
    "f": {4: 15, 8: 24},
    "a": {1: 3},
    "c": {1: 3},
}
_BYTES = {"b": 512, "k": 1024, "K": 1024, "m": 2**20, "M": 2**20, "": 1}

_Type = tuple[str, int, bool]


@command()
def od(call: Call) -> Result:
    """Show bytes as numbers and characters."""
    options, names = parse(
        call, "A:abcdeDfFhHiIj:lLN:oOS::st:vw::xXB",
        ("address-radix=", "skip-bytes=", "read-bytes=", "endian=", "format=", "output-duplicates", "strings=?",
         "traditional", "width=?"),
        same={"--address-radix": "-A", "--skip-bytes": "-j", "--read-bytes": "-N", "--format": "-t",
              "--output-duplicates": "-v", "--strings": "-S", "--width": "-w"},
    )  # fmt: skip
    types: list[_Type] = []
    radix, skip, limit, squeeze, width = "o", 0, None, True, None
    order, shortest = "<", None
    for name, value in options:
        if name == "-A":
            if value not in ("d", "o", "x", "n"):
                raise UsageError(
                    f"invalid output address radix '{value}'; it must be one character from [doxn]", hint=False
                )
            radix = value
        elif name in ("-j", "-N"):
            amount = _amount(call, value, name)
            skip, limit = (amount, limit) if name == "-j" else (skip, amount)
        elif name == "-t":
            types += _types(call, value)
        elif name == "-v":
            squeeze = False
        elif name == "--endian":
            order = ">" if choice(value, "--endian", ("little", "big")) == "big" else "<"
        elif name == "-S":
            shortest = _amount(call, value, name) if value else 3
        elif name == "-w":
            width = _amount(call, value, name) if value else 32
        elif name[1:] in _SHORT:
            types += _types(call, _SHORT[name[1:]])
        else:
            call.unknown(f"the option {name}")
    if any(re.fullmatch(r"\+.*", name) for name in names):
        call.unknown("an old style offset")
    types = types or [("o", 2, False)]
    out = Output(call)
    parts = [out.open(name) for name in names or ["-"]]
    if all(part is None for part in parts) and not any(_is_directory(call, name) for name in names):
        return out.result()
    data = b"".join(part for part in parts if part is not None)
    if skip > len(data):
        out.fail("cannot skip past end of combined input")
        return out.result()
    data = data[skip:] if limit is None else data[skip : skip + limit]
    if shortest is not None:
        _strings(data, shortest, radix, skip, out)
        return out.result()
    largest = max(size for _, size, _ in types)
    step = width if width else 16
    if step % largest:
        call.unknown("a width that is no multiple")
    if order == ">":
        data = _swapped(call, data, types)
    _rows(data, types, radix, skip, step, squeeze, out)
    return out.result()


def _is_directory(call: Call, name: str) -> bool:
    return name != "-" and call.files.exists(name) and call.files.stat(name).kind == "directory"


def _swapped(call: Call, data: bytes, types: list[_Type]) -> bytes:
    """Turn the bytes of each number round."""
    sizes = {size for _, size, _ in types}
    if len(sizes) != 1 or len(data) % max(sizes) or any(text for _, _, text in types):
        call.unknown("this order of bytes")
    size = max(sizes)
    return b"".join(data[at : at + size][::-1] for at in range(0, len(data), size))


def _strings(data: bytes, shortest: int, radix: str, start: int, out: Output) -> None:
    """Show what is printable and ends with a zero byte."""
    for found in re.finditer(rb"[ -~]{%d,}(?=\0)" % max(1, shortest), data):
        place = _place(radix, start + found.start())
        out.line((place + " " if place else "").encode() + found[0])


def _amount(call: Call, text: str, option: str) -> int:
    found = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)([bkKmM]?)", text)
    if found is None:
        raise UsageError(f"invalid {option} argument '{text}'", hint=False)
    number = int(found[1], 16 if found[1][:2].lower() == "0x" else 8 if found[1].startswith("0") else 10)
    return number * _BYTES[found[2]]


def _types(call: Call, text: str) -> list[_Type]:
    found: list[_Type] = []
    at = 0
    for part in re.finditer(r"([acdfoux])(\d+|[CSILFD])?(z)?", text):
        if part.start() != at:
            call.unknown(f"the type {text}")
        at = part.end()
        kind, size_text = part[1], part[2]
        if kind in "ac":
            size = 1
        elif size_text is None:
            size = 8 if kind == "f" else 4
        else:
            size = _SIZES[size_text] if size_text in _SIZES else int(size_text)
        if size not in _WIDTHS.get(kind, {}):
            call.unknown(f"the type {text}")
        found.append((kind, size, part[3] is not None))
    if at != len(text) and text[at] not in "acdfoux":
        raise UsageError(f"invalid character '{text[at]}' in type string {curly(call, text)}", hint=False)
    if at != len(text) or not found:
        raise UsageError(f"invalid type string {curly(call, text)}", hint=False)
    return found


def _rows(data: bytes, types: list[_Type], radix: str, start: int, step: int, squeeze: bool, out: Output) -> None:
    # All types share the columns: each field is as wide as the widest needs.
    largest = max(size for _, size, _ in types)
    pitch = max((_WIDTHS[kind][size] + 1) * (largest // size) for kind, size, _ in types)
    last: bytes | None = None
    starred = False
    for at in range(0, len(data), step):
        row = data[at : at + step]
        if squeeze and row == last and len(row) == step:
            if not starred:
                out.line(b"*")
            starred = True
            continue
        last, starred = row, False
        for index, item in enumerate(types):
            place = _place(radix, start + at) if index == 0 else " " * len(_place(radix, 0))
            out.line((place + _line(row, item, step, pitch, largest)).encode())
    if radix != "n":
        out.line(_place(radix, start + len(data)).encode())


def _place(radix: str, number: int) -> str:
    return {"o": f"{number:07o}", "d": f"{number:07d}", "x": f"{number:06x}", "n": ""}[radix]


def _line(row: bytes, item: _Type, step: int, pitch: int, largest: int) -> str:
    kind, size, text = item
    width = _WIDTHS[kind][size]
    fields = largest // size
    cells = []
    padded = row + b"\0" * (-len(row) % size)
    for index in range(0, len(padded), size):
        # What is left of a block's width goes before its fields, spread evenly.
        place = index // size % fields
        blank = pitch - fields * width
        before = blank * (fields - place) // fields - blank * (fields - place - 1) // fields
        cells.append(" " * before + _cell(padded[index : index + size], kind, width))
    shown = "".join(cells)
    if text:
        full = pitch * (step // largest)
        shown = f"{shown:<{full}}  >" + "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row) + "<"
    return shown


def _cell(data: bytes, kind: str, width: int) -> str:
    if kind == "c":
        byte = data[0]
        text = _ESCAPES.get(byte) or (chr(byte) if 32 <= byte < 127 else f"{byte:03o}")
        return f"{text:>{width}}"
    if kind == "a":
        byte = data[0] & 127
        text = "del" if byte == 127 else _NAMES[byte] if byte <= 32 else chr(byte)
        return f"{text:>{width}}"
    if kind == "f":
        return f"{_float(data):>{width}}"
    code = {1: "b", 2: "h", 4: "i", 8: "q"}[len(data)]
    number = int(struct.unpack("<" + (code if kind == "d" else code.upper()), data)[0])
    if kind == "o":
        return f"{number:0{width}o}"
    return f"{number:0{width}x}" if kind == "x" else f"{number:>{width}}"


def _float(data: bytes) -> str:
    """The shortest text that reads back as the same number."""
    code = "<f" if len(data) == 4 else "<d"
    number = float(struct.unpack(code, data)[0])
    if number != number:
        return "-nan" if data[-1] & 0x80 else "nan"
    small = abs(number) < (1.17549435e-38 if len(data) == 4 else 2.2250738585072014e-308)
    text = ""
    for digits in range(1 if small else 6 if len(data) == 4 else 15, 18):
        text = f"{number:.{digits}g}"
        try:
            if struct.pack(code, float(text)) == data:
                break
        except OverflowError:
            continue
    return text


COMMANDS: dict[str, Builtin] = {"od": od}
