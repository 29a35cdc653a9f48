"""`xxd` and `hexdump`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, command, parse
from worldline.kernels.shell.builtins.shared.textio import Output, read, unescape
from worldline.kernels.shell.builtins.text.hexformat import formatted

__all__ = ["COMMANDS"]


@dataclass
class _Dump:
    """How xxd shows bytes."""

    style: str = "hex"
    columns: int | None = None
    group: int | None = None
    length: int | None = None
    seek: int = 0
    upper: bool = False
    reverse: bool = False
    capital: bool = False
    decimal: bool = False
    skips: bool = False
    """Several rows of zeros in a row show as one `*`."""
    offset: int = 0
    name: str | None = None
    """What the C variable is called."""


_LETTERS = {"a": "autoskip", "b": "bits", "C": "capitalize", "d": "decimal", "e": "little", "i": "include",
            "p": "plain", "r": "revert", "u": "uppercase", "E": "EBCDIC"}  # fmt: skip
_VALUES = {"c": "cols", "g": "groupsize", "l": "len", "s": "seek", "o": "offset", "n": "name", "R": "color"}


def _number(call: Call, text: str) -> int:
    try:
        return int(text, 8) if re.fullmatch(r"[-+]?0[0-7]+", text) else int(text, 0)
    except ValueError:
        call.unknown(f"the number {text}")


def _options(call: Call) -> tuple[_Dump, list[str]]:
    """Read xxd's options, which may be one letter or a word after one dash or two."""
    plan, words, names = _Dump(), list(call.argv), []
    while words:
        word = words.pop(0)
        if word == "--":
            names += words
            break
        if not word.startswith("-") or word == "-":
            names.append(word)
            continue
        text = word.lstrip("-")
        if text in ("ps", "postscript", "plain"):
            text = "p"
        letter = next((key for key, long in {**_LETTERS, **_VALUES}.items() if text == long), text[:1])
        if letter in _LETTERS and text in (letter, _LETTERS[letter]):
            _flag(call, plan, letter)
        elif letter in _VALUES and letter != "R":
            value = text[1:] if text != _VALUES[letter] and len(text) > 1 else words.pop(0) if words else ""
            if letter == "n":
                plan.name = value
                continue
            number = _number(call, value)
            field = {"c": "columns", "g": "group", "l": "length", "s": "seek", "o": "offset"}[letter]
            setattr(plan, field, number)
        else:
            call.unknown(f"the option {word}")
    return plan, names


def _flag(call: Call, plan: _Dump, letter: str) -> None:
    if letter == "E":
        call.unknown(f"the option -{letter}")
    if letter in "beip":
        plan.style = {"b": "bits", "e": "little", "i": "include", "p": "plain"}[letter]
    plan.upper |= letter == "u"
    plan.skips |= letter == "a"
    plan.reverse |= letter == "r"
    plan.capital |= letter == "C"
    plan.decimal |= letter == "d"


def xxd(call: Call) -> Result:
    """Show bytes in hexadecimal, or turn such a text back."""
    plan, names = _options(call)
    out = Output(call, 2)
    try:
        data = read(call, names[0] if names else "-")
    except IsADirectoryError as error:
        out.fail(strerror(error))
        return out.result()
    except OSError as error:
        out.fail(names[0], error)
        return out.result()
    if plan.columns is not None and plan.columns > 256 and plan.style != "plain":
        return Result(stderr="xxd: invalid number of columns (max. 256).\n", status=1)
    if len(names) > 1 and not plan.reverse:
        result = _forward(call, plan, names, data, Output(call, 2))
        call.files.write(names[1], unescape(result.stdout))
        return Result("", result.stderr, result.status)
    if plan.reverse:
        restored = _reverted(call, plan, data)
        if len(names) > 1:
            call.files.write(names[1], restored)
        else:
            out.write(restored)
        return out.result()
    return _forward(call, plan, names, data, out)


def _forward(call: Call, plan: _Dump, names: list[str], data: bytes, out: Output) -> Result:
    """Dump what was read."""
    start = max(0, len(data) + plan.seek) if plan.seek < 0 else plan.seek
    if start > len(data) and names:
        call.unknown("a start beyond the end")
    data = data[start:]
    if plan.length is not None:
        data = data[: plan.length]
    if plan.style == "include":
        _include(plan, plan.name or (names[0] if names and names[0] != "-" else None), data, out)
    elif plan.style == "plain":
        width = 30 if plan.columns is None else plan.columns
        text = data.hex()
        text = text.upper() if plan.upper else text
        step = 2 * width if width > 0 else max(1, len(text))
        for at in range(0, len(text), step):
            out.line(text[at : at + step].encode())
    else:
        _rows(plan, data, start + plan.offset, out)
    return out.result()


def _rows(plan: _Dump, data: bytes, start: int, out: Output) -> None:
    default = {"hex": (16, 2), "bits": (6, 1), "little": (16, 4)}[plan.style]
    columns = default[0] if plan.columns is None else plan.columns
    group = default[1] if plan.group is None else plan.group
    if columns < 1 or columns > 256:
        columns = default[0] if columns < 1 else 256
    if group < 1 or group > columns:
        group = columns
    size = 8 if plan.style == "bits" else 2
    width = columns * size + -(-columns // group) - 1
    skipped = 0
    for at in range(0, len(data), columns):
        row = data[at : at + columns]
        if plan.skips and not any(row) and at + columns < len(data):
            skipped += 1
            if skipped > 1:
                if skipped == 2:
                    out.line(b"*")
                continue
        else:
            skipped = 0
        cells = [f"{byte:08b}" if size == 8 else f"{byte:02X}" if plan.upper else f"{byte:02x}" for byte in row]
        groups = []
        for index in range(0, len(cells), group):
            part = cells[index : index + group]
            if plan.style == "little":
                part = ["  "] * (group - len(part)) + part[::-1]
            groups.append("".join(part))
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        place = f"{start + at:08d}" if plan.decimal else f"{start + at:08x}"
        gap = "  "
        body = " ".join(groups)
        out.line(f"{place}: {body:<{width}}{gap}{shown}".encode())


def _include(plan: _Dump, name: str | None, data: bytes, out: Output) -> None:
    columns = 12 if plan.columns is None else max(1, plan.columns)
    label = re.sub(r"[^A-Za-z0-9_]", "_", name) if name else ""
    if label[:1].isdigit():
        label = "__" + label
    if plan.capital:
        label = label.upper()
    prefix = "0X" if plan.upper else "0x"
    cells = [f"{prefix}{byte:02X}" if plan.upper else f"0x{byte:02x}" for byte in data]
    rows = ["  " + ", ".join(cells[at : at + columns]) for at in range(0, len(cells), columns)]
    text = ",\n".join(rows)
    if name:
        out.line(f"unsigned char {label}[] = {{".encode())
    if text:
        out.line(text.encode())
    if name:
        tail = "LEN" if plan.capital else "len"
        out.write(f"}};\nunsigned int {label}_{tail} = {len(data)};\n".encode())


def _reverted(call: Call, plan: _Dump, data: bytes) -> bytes:
    if plan.style == "plain":
        text = re.sub(rb"[ \t\r\n]", b"", data)
        if re.search(rb"[^0-9a-fA-F]", text):
            call.unknown("a text that is not plain hexadecimal")
        return bytes.fromhex(text[: len(text) // 2 * 2].decode())
    if plan.style != "hex":
        call.unknown("going back from this style")
    result = bytearray()
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        found = re.match(rb"([0-9a-fA-F]+): ?((?:[0-9a-fA-F]{2,}(?: |$))*)", line)
        if found is None:
            call.unknown("a line that is no dump")
        place = int(found[1], 16) - plan.seek
        if place < len(result):
            call.unknown("places that go back")
        result += bytes(place - len(result))
        result += bytes.fromhex(found[2].replace(b" ", b"").decode())
    return bytes(result)


def _amount(text: str, what: str) -> int:
    found = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)([bkmKM]?)", text)
    if found is None:
        raise UsageError(f"failed to parse {what}: '{text}': Invalid argument", hint=False)
    number = int(found[1], 16 if found[1][:2].lower() == "0x" else 8 if found[1].startswith("0") else 10)
    return number * {"": 1, "b": 512, "k": 1024, "K": 1024, "m": 2**20, "M": 2**20}[found[2]]


@command()
def hexdump(call: Call) -> Result:
    """Show bytes in one of hexdump's styles."""
    options, names = parse(
        call, "bcCde:f:n:os:vxL::",
        ("one-byte-octal", "one-byte-char", "canonical", "two-bytes-decimal", "two-bytes-octal", "two-bytes-hex",
         "format=", "format-file=", "length=", "skip=", "no-squeezing", "color=?"),
        same={"--one-byte-octal": "-b", "--one-byte-char": "-c", "--canonical": "-C", "--two-bytes-decimal": "-d",
              "--two-bytes-octal": "-o", "--two-bytes-hex": "-x", "--format": "-e", "--length": "-n", "--skip": "-s",
              "--no-squeezing": "-v"},
    )  # fmt: skip
    styles = ["-C"] if call.name == "hd" else []
    skip, length, squeeze = 0, None, True
    formats = []
    for name, value in options:
        if name in ("-n", "-s"):
            number = _amount(value, "length" if name == "-n" else "offset")
            skip, length = (number, length) if name == "-s" else (skip, number)
        elif name == "-v":
            squeeze = False
        elif name == "-e":
            formats.append(value)
        elif name in ("-b", "-c", "-C", "-d", "-o", "-x"):
            styles.append(name)
        else:
            call.unknown(f"the option {name}")
    if len(styles) > 1 or (styles and formats):
        call.unknown("several styles")
    out = Output(call)
    data = b""
    failed = 0
    for name in names or ["-"]:
        part = None
        try:
            part = read(call, name)
        except IsADirectoryError as error:
            out.raw(f"{call.name}: {name}: {strerror(error)}\n")
        except OSError as error:
            failed += 1
            out.raw(f"{call.name}: {name}: {strerror(error)}\n")
        data += part or b""
    if failed and failed == len(names):
        out.raw(f"{call.name}: all input file arguments failed\n")
        out.status = 1
        return out.result()
    if failed:
        out.status = 1
    data = data[skip:]
    data = data if length is None else data[:length]
    if formats:
        formatted(call, formats, data, skip, squeeze=squeeze, out=out)
    elif data:
        _styled(styles[0] if styles else "", data, skip, squeeze, out)
    return out.result()


def _styled(style: str, data: bytes, start: int, squeeze: bool, out: Output) -> None:
    last: bytes | None = None
    starred = False
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        if squeeze and row == last and len(row) == 16:
            if not starred:
                out.line(b"*")
            starred = True
            continue
        last, starred = row, False
        out.line(_row(style, row, start + at).encode())
    place = start + len(data)
    out.line((f"{place:08x}" if style == "-C" else f"{place:07x}").encode())


_NAMED = {0: "\\0", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}


def _row(style: str, row: bytes, place: int) -> str:
    if style == "-C":
        cells = [f"{byte:02x}" for byte in row] + ["  "] * (16 - len(row))
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        return f"{place:08x}  {' '.join(cells[:8])}  {' '.join(cells[8:])}  |{shown}|"
    if style in ("-b", "-c"):
        cells = [f" {byte:03o}" if style == "-b" else f" {_char(byte):>3}" for byte in row]
        return f"{place:07x}{''.join(cells):<64}"
    padded = row + b"\0" * (len(row) % 2)
    words = [padded[index] | padded[index + 1] << 8 for index in range(0, len(padded), 2)]
    shape = {"-d": "   {:05d}", "-o": "  {:06o}", "-x": "    {:04x}"}.get(style, " {:04x}")
    cells = [shape.format(word) for word in words]
    return f"{place:07x}{''.join(cells):<{8 * len(shape.format(0))}}"


def _char(byte: int) -> str:
    return _NAMED.get(byte) or (chr(byte) if 32 <= byte < 127 else f"{byte:03o}")


COMMANDS: dict[str, Builtin] = {"xxd": xxd, "hexdump": hexdump, "hd": hexdump}
