"""`cat tac rev nl`: whole files, line by line."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.options import UsageError, command, parse
from worldline.kernels.shell.builtins.shared.textio import Output, curly

__all__ = ["COMMANDS"]


@command()
def cat(call: Call) -> Result:
    """Concatenate files, with GNU's marks for lines and invisible characters."""
    options, names = parse(
        call,
        "AbeEnstTuv",
        ("number-nonblank", "number", "squeeze-blank", "show-nonprinting", "show-ends", "show-tabs", "show-all"),
        same={
            "--number-nonblank": "-b", "--number": "-n", "--squeeze-blank": "-s", "--show-nonprinting": "-v",
            "--show-ends": "-E", "--show-tabs": "-T", "--show-all": "-A",
        },
    )  # fmt: skip
    flags = {name[1] for name, _ in options}
    for letter, meaning in (("A", "vET"), ("e", "vE"), ("t", "vT")):
        if letter in flags:
            flags |= set(meaning)
    out = Output(call)
    whole = shown = b""
    for name in names or ["-"]:
        data = out.open(name)
        if data is None:
            continue
        whole += data
        now = _marked(whole, flags) if flags - {"u"} else whole
        if not now.startswith(shown):
            call.unknown("marks at the end of a file without a newline")
        out.write(now[len(shown) :])
        shown = now
    return out.result()


def _marked(data: bytes, flags: set[str]) -> bytes:
    lines = []
    number, blank = 0, False
    for line in data.splitlines(keepends=True) if b"\r" not in data else _split(data):
        ended = line.endswith(b"\n")
        body = line[:-1] if ended else line
        if "s" in flags and not body and blank:
            continue
        blank = not body and ended
        if ("b" in flags and body) or ("n" in flags and "b" not in flags):
            number += 1
            prefix = b"%6d\t" % number
        else:
            prefix = b""
        carriage = "E" in flags and ended and body.endswith(b"\r")
        if carriage:
            body = body[:-1]
        shown = _visible(body, flags) + (b"^M" if carriage else b"")
        lines.append(prefix + shown + (b"$" if ended and "E" in flags else b"") + (b"\n" if ended else b""))
    return b"".join(lines)


def _split(data: bytes) -> list[bytes]:
    return re.findall(rb"[^\n]*\n|[^\n]+", data)


def _visible(body: bytes, flags: set[str]) -> bytes:
    if "v" not in flags:
        return body.replace(b"\t", b"^I") if "T" in flags else body
    shown = bytearray()
    for byte in body:
        if byte == 9 and "T" not in flags:
            shown.append(9)
            continue
        if byte >= 128:
            shown += b"M-"
            byte -= 128
        shown += b"^" + bytes([byte ^ 64]) if byte < 32 or byte == 127 else bytes([byte])
    return bytes(shown)


@command()
def tac(call: Call) -> Result:
    """Print files with their lines in reverse."""
    options, names = parse(
        call, "brs:", ("before", "regex", "separator="),
        same={"--before": "-b", "--regex": "-r", "--separator": "-s"},
    )  # fmt: skip
    given = dict(options)
    if "-r" in given:
        call.unknown("-r")
    separator = given.get("-s", "\n").encode()
    if not separator:
        call.unknown("an empty separator")
    out = Output(call)
    for name in names or ["-"]:
        data = out.open(name, "failed to open '{}' for reading", directory="{}: read error")
        if not data:
            continue
        pieces = data.split(separator)
        if "-b" in given:
            parts = [pieces[0], *(separator + piece for piece in pieces[1:])]
        else:
            parts = [piece + separator for piece in pieces[:-1]] + [pieces[-1]]
        out.write(b"".join(reversed(parts)))
    return out.result()


@command()
def rev(call: Call) -> Result:
    """Reverse the characters of each line."""
    options, names = parse(call, "0", ("zero",), same={"--zero": "-0"})
    end = b"\0" if options else b"\n"
    out = Output(call)
    for name in names or ["-"]:
        data = out.open(name, "cannot open {}", directory="{}: 0")
        if data is None:
            continue
        try:
            lines = data.decode().split(end.decode())
        except UnicodeDecodeError:
            call.unknown("input that is not UTF-8")
        out.write(end.decode().join(line[::-1] for line in lines).encode())
    return out.result()


@command()
def nl(call: Call) -> Result:
    """Number lines."""
    options, names = parse(
        call,
        "h:b:f:v:i:pl:s:w:n:d:",
        ("header-numbering=", "body-numbering=", "footer-numbering=", "starting-line-number=", "line-increment=",
         "no-renumber", "join-blank-lines=", "number-separator=", "number-width=", "number-format=",
         "section-delimiter="),
        same={
            "--header-numbering": "-h", "--body-numbering": "-b", "--footer-numbering": "-f",
            "--starting-line-number": "-v", "--line-increment": "-i", "--no-renumber": "-p",
            "--join-blank-lines": "-l", "--number-separator": "-s", "--number-width": "-w", "--number-format": "-n",
            "--section-delimiter": "-d",
        },
    )  # fmt: skip
    given = dict(options)
    out = Output(call)
    chunks = [data for name in names or ["-"] if (data := out.open(name)) is not None]
    lines: list[bytes] = []
    for data in chunks:
        lines += data.split(b"\n")[: -1 if data.endswith(b"\n") or not data else None]
    _number(call, given, lines, out)
    return out.result()


def _integer(call: Call, given: dict[str, str], key: str, default: int, what: str) -> int:
    value = given.get(key)
    if value is None:
        return default
    if not re.fullmatch(r"[-+]?\d+", value):
        raise UsageError(f"invalid {what}: {curly(call, value)}", hint=False)
    return int(value)


def _number(call: Call, given: dict[str, str], lines: list[bytes], out: Output) -> None:
    start = _integer(call, given, "-v", 1, "starting line number")
    step = _integer(call, given, "-i", 1, "line number increment")
    width = _integer(call, given, "-w", 6, "line number field width")
    join = _integer(call, given, "-l", 1, "line number of blank lines")
    shape = given.get("-n", "rn")
    if shape not in ("ln", "rn", "rz"):
        raise UsageError(f"invalid line numbering format: {curly(call, shape)}")
    if "-d" in given or "-p" in given or width < 1 or join < 1:
        call.unknown("section delimiters or an odd width")
    separator = given.get("-s", "\t").encode()
    styles = {"header": given.get("-h", "n"), "body": given.get("-b", "t"), "footer": given.get("-f", "n")}
    sections = {b"\\:\\:\\:": "header", b"\\:\\:": "body", b"\\:": "footer"}
    section, number, blanks = "body", start, 0
    for line in lines:
        if line in sections:
            section = sections[line]
            number = start
            out.line(b"")
            continue
        numbered, blanks = _takes_number(call, styles[section], line, blanks, join)
        if numbered:
            text = {"ln": f"{number:<{width}}", "rn": f"{number:>{width}}", "rz": f"{number:0{width}}"}[shape]
            out.line(text.encode() + separator + line)
            number += step
        else:
            out.line(b" " * (width + len(separator)) + line)


def _takes_number(call: Call, style: str, line: bytes, blanks: int, join: int) -> tuple[bool, int]:
    """Whether a line is numbered, and how many blank lines in a row there were by then."""
    if style == "a":
        if line or join == 1:
            return True, 0
        blanks += 1
        return (True, 0) if blanks == join else (False, blanks)
    if style == "t":
        return bool(line), 0
    if style == "n":
        return False, 0
    if style.startswith("p"):
        if re.search(r"[\\+?{}()|]|\[:", style[1:]):
            call.unknown("a basic regular expression")
        return re.search(style[1:].encode(), line) is not None, 0
    raise UsageError(f"invalid body numbering style: {curly(call, style)}")


COMMANDS: dict[str, Builtin] = {"cat": cat, "tac": tac, "rev": rev, "nl": nl}
