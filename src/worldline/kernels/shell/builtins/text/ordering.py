"""`sort`: GNU's keys, orders and checks in a locale that orders by bytes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import shell_quote_if_needed, strerror
from worldline.kernels.shell.builtins.shared.options import Options, UsageError, choice, command, parse
from worldline.kernels.shell.builtins.shared.textio import Output, curly, is_c_locale, read, records
from worldline.kernels.shell.builtins.shared.versions import version_key

__all__ = ["COMMANDS"]

_LONG = (
    "ignore-leading-blanks", "check=?", "compress-program=", "debug", "dictionary-order", "ignore-case",
    "files0-from=", "general-numeric-sort", "ignore-nonprinting", "key=", "merge", "month-sort", "numeric-sort",
    "human-numeric-sort", "version-sort", "random-sort", "random-source=", "sort=", "output=", "reverse", "stable",
    "batch-size=", "buffer-size=", "field-separator=", "temporary-directory=", "unique", "zero-terminated",
    "parallel=",
)  # fmt: skip
_SAME = {
    "--ignore-leading-blanks": "-b", "--dictionary-order": "-d", "--ignore-case": "-f",
    "--general-numeric-sort": "-g", "--ignore-nonprinting": "-i", "--key": "-k", "--merge": "-m",
    "--month-sort": "-M", "--numeric-sort": "-n", "--human-numeric-sort": "-h", "--version-sort": "-V",
    "--random-sort": "-R", "--output": "-o", "--reverse": "-r", "--stable": "-s", "--field-separator": "-t",
    "--unique": "-u", "--zero-terminated": "-z", "--buffer-size": "-S", "--temporary-directory": "-T",
}  # fmt: skip
_WORDS = {
    "general-numeric": "g", "human-numeric": "h", "month": "M", "numeric": "n", "random": "R", "version": "V",
}  # fmt: skip
_MONTHS = [b"JAN", b"FEB", b"MAR", b"APR", b"MAY", b"JUN", b"JUL", b"AUG", b"SEP", b"OCT", b"NOV", b"DEC"]
_NUMBER = re.compile(rb"[ \t]*(-?)([0-9]*)(?:\.([0-9]*))?")
_GENERAL = re.compile(
    rb"[ \t\n\v\f\r]*([-+]?(?:inf(?:inity)?|nan|0x[0-9a-f]+(?:\.[0-9a-f]*)?(?:p[-+]?\d+)?"
    rb"|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?))",
    re.I,
)
_POSITION = re.compile(r"(\d+)(?:\.(\d+))?([bdfgiMhnRrV]*)")
_SUFFIX = b"KMGTPEZY"


@dataclass(frozen=True)
class Key:
    """One `-k`: where it starts and ends, and how it orders."""

    start: int = 0
    start_char: int = 0
    end: int | None = None
    end_char: int = 0
    flags: frozenset[str] = frozenset()
    end_blanks: bool = False
    start_blanks: bool = False


@command(usage_status=2)
def sort(call: Call) -> Result:
    """Sort, merge or check lines."""
    options, names = parse(call, "bcCdfghik:mMno:rRsS:t:T:uVzy:", _LONG, same=_SAME)
    flags, keys, given = _read_options(call, options)
    if "R" in flags or any("R" in key.flags for key in keys):
        call.unknown("a random order")
    if not is_c_locale(call):
        call.unknown("the order of another locale")
    if "--debug" in given or "--files0-from" in given:
        call.unknown("--debug or --files0-from")
    separator = _separator(call, given.get("-t"))
    if _conflict(flags) or any(_conflict(set(key.flags)) for key in keys):
        raise UsageError(f"options '-{_clash(flags, keys)}' are incompatible", hint=False)
    end = b"\0" if "-z" in given else b"\n"
    ordered = _keys(keys, flags)
    compare = _make_key(ordered, separator, flags, stable="-s" in given or "-u" in given)
    if "-c" in given or "-C" in given:
        return _check(call, names, given, end, compare)
    lines: list[bytes] = []
    for name in names or ["-"]:
        try:
            lines += records(read(call, name), end)
        except OSError as error:
            return _unreadable(name, error)
    lines.sort(key=compare)
    if "-u" in given:
        lines = _unique(lines, compare)
    data = b"".join(line + end for line in lines)
    out = Output(call, 2)
    if "-o" in given:
        try:
            call.files.write(given["-o"], data)
        except OSError as error:
            out.fail(f"open failed: {given['-o']}", error)
    else:
        out.write(data)
    return out.result()


def _unreadable(name: str, error: OSError) -> Result:
    what = "read failed" if isinstance(error, IsADirectoryError) else "cannot read"
    return Result(stderr=f"sort: {what}: {shell_quote_if_needed(name, colon=True)}: {strerror(error)}\n", status=2)


def _read_options(call: Call, options: Options) -> tuple[set[str], list[Key], dict[str, str]]:
    flags: set[str] = set()
    keys: list[Key] = []
    given: dict[str, str] = {}
    for name, value in options:
        if name == "-k":
            keys.append(_key(call, value))
        elif name in ("--sort", "--check"):
            if name == "--check":
                word = choice(value, "--check", ("quiet", "silent", "diagnose-first")) if value else "diagnose-first"
                given["-c" if word == "diagnose-first" else "-C"] = ""
            else:
                flags.add(_WORDS[choice(value, "--sort", list(_WORDS))])
        elif len(name) == 2 and name[1] in "bdfgiMhnRrV":
            flags.add(name[1])
        else:
            if name == "-o" and given.get("-o", value) != value:
                raise UsageError("multiple output files specified", hint=False)
            given[name] = value
    return flags, keys, given


def _conflict(flags: set[str]) -> bool:
    return len(flags & set("gMhnRV")) > 1 or bool(flags & set("gMhn") and flags & set("di"))


def _clash(flags: set[str], keys: list[Key]) -> str:
    """The options that do not go together, in the order in which the message has them."""
    clashing = next((set(key.flags) for key in keys if _conflict(set(key.flags))), flags)
    return "".join(letter for letter in "dfghiMnRV" if letter in clashing - {"f"})


def _separator(call: Call, value: str | None) -> bytes | None:
    if value is None:
        return None
    if value == "":
        raise UsageError("empty tab", hint=False)
    data = value.encode()
    if len(data) > 1:
        if value == "\\0":
            return b"\0"
        shown = value.replace("\\", "\\\\")
        raise UsageError(f"multi-character tab {curly(call, shown)}", hint=False)
    return data


def _key(call: Call, text: str) -> Key:
    def bad(what: str) -> UsageError:
        return UsageError(f"{what}: invalid field specification {curly(call, text)}", hint=False)

    def count(what: str, rest: str) -> UsageError:
        return UsageError(f"{what}: invalid count at start of {curly(call, rest)}", hint=False)

    first, comma, last = text.partition(",")
    found = _POSITION.match(first)
    if found is None:
        raise count("invalid number at field start", text)
    if int(found[1]) == 0:
        raise bad("field number is zero")
    if found[2] is not None and int(found[2]) == 0:
        raise bad("character offset is zero")
    if found.end() != len(first):
        raise bad("stray character in field spec")
    flags = set(found[3])
    key = Key(int(found[1]) - 1, int(found[2] or 1) - 1, start_blanks="b" in flags)
    if comma:
        found = _POSITION.match(last)
        if found is None:
            raise count("invalid number after ','", last)
        if int(found[1]) == 0:
            raise bad("field number is zero")
        if found.end() != len(last):
            raise bad("stray character in field spec")
        flags |= set(found[3])
        offset = int(found[2] or 0)
        end = int(found[1]) if offset == 0 else int(found[1]) - 1
        key = replace(key, end=end, end_char=offset, end_blanks="b" in found[3])
    return replace(key, flags=frozenset(flags - {"b"}))


def _keys(keys: list[Key], flags: set[str]) -> list[Key]:
    """Give keys without options of their own the global ones; without keys the whole line is one."""
    if not keys:
        order = flags - {"b"}
        return [Key(flags=frozenset(flags - {"b"}), start_blanks="b" in flags)] if order or "b" in flags else []
    return [
        replace(key, flags=frozenset(flags - {"b"}), start_blanks="b" in flags, end_blanks="b" in flags)
        if not key.flags and not key.start_blanks and not key.end_blanks
        else key
        for key in keys
    ]


class _Reversed:
    """Orders the other way round."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Reversed) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)


def _make_key(keys: list[Key], separator: bytes | None, flags: set[str], *, stable: bool) -> Callable[[bytes], Any]:
    def make(line: bytes) -> Any:
        parts: list[Any] = []
        for key in keys:
            value = _value(_part(line, key, separator), key.flags)
            parts.append(_Reversed(value) if "r" in key.flags else value)
        if not keys or not stable:
            parts.append(_Reversed(line) if "r" in flags else line)
        return parts

    return make


def _fields(line: bytes, separator: bytes | None) -> list[tuple[int, int]]:
    """Where fields start and end; without a separator a field holds the blanks before it."""
    if separator is not None:
        spans, at = [], 0
        for part in line.split(separator):
            spans.append((at, at + len(part)))
            at += len(part) + 1
        return spans
    return [found.span() for found in re.finditer(rb"[ \t\n]*[^ \t\n]+", line)]


def _part(line: bytes, key: Key, separator: bytes | None) -> bytes:
    if key == Key(flags=key.flags):
        return line
    spans = _fields(line, separator)
    start = spans[key.start][0] if key.start < len(spans) else len(line)
    if key.start_blanks:
        start = _skip(line, start)
    start = min(len(line), start + key.start_char)
    if key.end is None:
        stop = len(line)
    elif key.end_char == 0:
        stop = spans[key.end - 1][1] if key.end <= len(spans) else len(line)
    else:
        stop = spans[key.end][0] if key.end < len(spans) else len(line)
        if key.end_blanks:
            stop = _skip(line, stop)
        stop = min(len(line), stop + key.end_char)
    return line[start : max(start, stop)]


def _skip(line: bytes, at: int) -> int:
    while at < len(line) and line[at : at + 1] in (b" ", b"\t", b"\n"):
        at += 1
    return at


def _value(text: bytes, flags: frozenset[str]) -> Any:
    if "n" in flags:
        return _numeric(text)
    if "h" in flags:
        return _human(text)
    if "g" in flags:
        return _general(text)
    if "M" in flags:
        start = text.lstrip(b" \t")[:3].upper()
        return _MONTHS.index(start) + 1 if start in _MONTHS else 0
    if "d" in flags:
        text = bytes(byte for byte in text if byte in b" \t" or (chr(byte).isalnum() and byte < 128))
    elif "i" in flags:
        text = bytes(byte for byte in text if 32 <= byte < 127)
    if "f" in flags:
        text = text.upper()
    return version_key(text) if "V" in flags else text


def _numeric(text: bytes) -> Decimal:
    found = _NUMBER.match(text)
    if found is None or not (found[2] or found[3]):
        return Decimal(0)
    return Decimal(f"{found[1].decode()}{found[2].decode() or '0'}.{(found[3] or b'').decode() or '0'}") + 0


def _human(text: bytes) -> tuple[int, Decimal]:
    found = _NUMBER.match(text)
    if found is None:
        return 0, Decimal(0)
    value = _numeric(text)
    suffix = text[found.end() : found.end() + 1].replace(b"k", b"K")
    order = _SUFFIX.index(suffix) + 1 if suffix and suffix in _SUFFIX else 0
    if value == 0:
        return 0, value
    return (-order, value) if value < 0 else (order, value)


def _general(text: bytes) -> tuple[int, float]:
    found = _GENERAL.match(text)
    if found is None:
        return 0, 0.0
    try:
        value = float.fromhex(found[1].decode()) if b"x" in found[1].lower() else float(found[1])
    except (ValueError, InvalidOperation):
        return 0, 0.0
    return (1, 0.0) if value != value else (2, value)


def _unique(lines: list[bytes], key: Callable[[bytes], Any]) -> list[bytes]:
    kept: list[bytes] = []
    last: Any = None
    for line in lines:
        value = key(line)
        if not kept or value != last:
            kept.append(line)
        last = value
    return kept


def _check(call: Call, names: list[str], given: dict[str, str], end: bytes, key: Callable[[bytes], Any]) -> Result:
    if len(names) > 1:
        letter = "c" if "-c" in given else "C"
        raise UsageError(f"extra operand '{names[1]}' not allowed with -{letter}", hint=False)
    name = names[0] if names else "-"
    try:
        lines = records(read(call, name), end)
    except OSError as error:
        return _unreadable(name, error)
    for number, (before, line) in enumerate(pairwise(lines), 2):
        if key(line) < key(before) or ("-u" in given and key(line) == key(before)):
            if "-C" in given:
                return Result(status=1)
            return Result(stderr=f"sort: {name}:{number}: disorder: {line.decode('utf-8', 'replace')}\n", status=1)
    return Result()


COMMANDS: dict[str, Builtin] = {"sort": sort}
