"""`wc`, and the old checksums `cksum` and `sum`."""

from __future__ import annotations

import re
import unicodedata
import zlib

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import shell_quote_if_needed
from worldline.kernels.shell.builtins.shared.options import command, parse
from worldline.kernels.shell.builtins.shared.textio import Output, unescape

__all__ = ["COMMANDS", "cell_width", "crc32_posix", "sum_bsd", "sum_sysv"]

_SPACE = re.compile(rb"[ \t\n\v\f\r]+")
_BLANKS = re.compile("[ \t\n\v\f\r\u1680\u2000-\u2006\u2008-\u200a\u205f\u3000]+")
_ORDER = "lwmcL"


def cell_width(char: str) -> int:
    """Return how many columns a character takes, as wcwidth does (0 for one that cannot be printed)."""
    category = unicodedata.category(char)
    if category in ("Mn", "Me", "Cf") and char != "\xad":
        return 0
    if category == "Cc":
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


@command()
def wc(call: Call) -> Result:
    """Count lines, words, characters, bytes and the widest line."""
    options, names = parse(
        call,
        "clLmw",
        ("bytes", "chars", "lines", "words", "files0-from=", "max-line-length"),
        same={"--bytes": "-c", "--chars": "-m", "--lines": "-l", "--words": "-w", "--max-line-length": "-L"},
    )
    if any(name == "--files0-from" for name, _ in options):
        call.unknown("--files0-from")
    wanted = "".join(letter for letter in _ORDER if any(name == f"-{letter}" for name, _ in options)) or "lwc"
    out = Output(call)
    rows: list[tuple[dict[str, int], str | None]] = []
    width = _width(call, names, wanted)

    def show(row: dict[str, int], label: str | None) -> None:
        fields = " ".join(f"{row[letter]:>{width}}" for letter in wanted)
        out.line((fields if label is None else f"{fields} {label}").encode("utf-8", "surrogateescape"))

    for name in names or [None]:  # type: ignore[list-item]
        operand = name or "-"
        if operand != "-" and _is_directory(call, operand):
            out.fail(f"{shell_quote_if_needed(operand, colon=True)}: Is a directory")
            rows.append((dict.fromkeys(_ORDER, 0), name))
            show(*rows[-1])
            continue
        data = out.open(operand, shell_quote_if_needed(operand, colon=True).replace("{", "{{").replace("}", "}}"))
        if data is not None:
            rows.append((_measure(call, data, wanted), name))
            show(*rows[-1])
    if len(names) > 1:
        total = {key: (max if key == "L" else sum)(row[key] for row, _ in rows) if rows else 0 for key in _ORDER}
        show(total, "total")
    return out.result()


def _is_directory(call: Call, name: str) -> bool:
    try:
        return call.files.stat(name).kind == "directory"
    except OSError:
        return False


def _width(call: Call, names: list[str], wanted: str) -> int:
    """Column width: from the sizes of the files, as wc guesses it before it reads anything."""
    if len(names) <= 1 and len(wanted) == 1:
        return 1
    total, floor = 0, 1
    for name in names or ["-"]:
        if name == "-":
            # A redirected file is measured like an operand, a pipe is not.
            if _from_file(call):
                total += len(unescape(call.stdin or ""))
            else:
                floor = 7
            continue
        try:
            stat = call.files.stat(name)
        except OSError:
            continue
        if stat.kind == "file":
            total += stat.size
        else:
            floor = 7
    return max(floor, len(str(total)))


def _from_file(call: Call) -> bool:
    """Whether standard input is a file: `wc < FILE` is all that the script says of wc."""
    found = re.findall(r"(?:^|[;&|({`\n]|\$\(|\b(?:do|then|else)\b)\s*wc\b([^;&|)}`\n]*)", call.script)
    return bool(found) and all(re.search(r"(?<![<0-9&])<(?![<(&])\s*[^\s<]", words) for words in found)


def _measure(call: Call, data: bytes, wanted: str) -> dict[str, int]:
    counts = {"l": data.count(b"\n"), "c": len(data), "w": 0, "m": 0, "L": 0}
    if not {"w", "m", "L"} & set(wanted):
        return counts
    try:
        text = data.decode("ascii" if call.env.get("LC_ALL") in ("C", "POSIX") else "utf-8")
    except UnicodeDecodeError:
        text = ""
        if "m" in wanted or "L" in wanted or _unprintable(data):
            call.unknown("characters of what is not UTF-8")
    if text:
        counts["m"] = len(text)
    if "w" in wanted:
        counts["w"] = _words(text) if text else sum(bool(part) for part in _SPACE.split(data))
    if "L" in wanted:
        counts["L"] = max((_line_width(line) for line in re.split("[\n\r\f]", text)), default=0)
    return counts


def _unprintable(data: bytes) -> bool:
    return re.search(rb"[\x00-\x08\x0e-\x1f\x7f-\xff]", data) is not None


def _words(text: str) -> int:
    """Runs of characters between blanks that hold at least one printable character."""
    found = 0
    for part in (
        text.split() if text.isascii() else re.split("[ \t\n\v\f\r\u1680\u2000-\u2006\u2008-\u200a\u205f\u3000]+", text)
    ):
        if part.isprintable() or any(unicodedata.category(char)[0] != "C" for char in part):
            found += bool(part)
    return found


def _line_width(line: str) -> int:
    width = 0
    for char in line:
        if char == "\t":
            width += 8 - width % 8
        else:
            width += cell_width(char)
    return width


_CRC_TABLE: list[int] = []


def _crc_table() -> list[int]:
    if not _CRC_TABLE:
        for index in range(256):
            value = index << 24
            for _ in range(8):
                value = (value << 1) ^ 0x04C11DB7 if value & 0x80000000 else value << 1
            _CRC_TABLE.append(value & 0xFFFFFFFF)
    return _CRC_TABLE


def crc32_posix(data: bytes) -> int:
    """Return the CRC of POSIX cksum."""
    if len(data) > 1_000_000:
        return _crc_by_zlib(data)
    table, crc = _crc_table(), 0
    length, tail = len(data), bytearray()
    while length:
        tail.append(length & 0xFF)
        length >>= 8
    for byte in data + bytes(tail):
        crc = (crc << 8 & 0xFFFFFFFF) ^ table[crc >> 24 ^ byte]
    return crc ^ 0xFFFFFFFF


_MIRROR = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def _crc_by_zlib(data: bytes) -> int:
    """Compute it with zlib's reflected CRC: mirrored bits, and without its initial value."""
    length, tail = len(data), bytearray()
    while length:
        tail.append(length & 0xFF)
        length >>= 8
    mirrored = zlib.crc32((data + bytes(tail)).translate(_MIRROR), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{mirrored:032b}"[::-1], 2) ^ 0xFFFFFFFF


def sum_bsd(data: bytes) -> tuple[int, int]:
    """Return the checksum and the number of 1024-byte blocks of BSD sum."""
    check = 0
    for byte in data:
        check = ((check >> 1) + ((check & 1) << 15) + byte) & 0xFFFF
    return check, -(-len(data) // 1024)


def sum_sysv(data: bytes) -> tuple[int, int]:
    """Return the checksum and the number of 512-byte blocks of System V sum."""
    total = sum(data)
    folded = (total & 0xFFFF) + (total >> 16)
    return (folded & 0xFFFF) + (folded >> 16), -(-len(data) // 512)


@command()
def sum_command(call: Call) -> Result:
    """Print a 16-bit checksum and a block count."""
    options, names = parse(call, "rs", ("sysv",), same={"--sysv": "-s"})
    sysv = bool(options) and options[-1][0] == "-s"
    out = Output(call)
    for name in names or ["-"]:
        data = out.open(name)
        if data is None:
            continue
        check, blocks = sum_sysv(data) if sysv else sum_bsd(data)
        label = f" {name}" if names else ""
        out.line((f"{check} {blocks}{label}" if sysv else f"{check:05d} {blocks:5d}{label}").encode())
    return out.result()


COMMANDS: dict[str, Builtin] = {"wc": wc, "sum": sum_command}
