"""`tee` and `iconv`: text on its way from one place to another."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import shell_quote_if_needed, strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, command, parse
from worldline.kernels.shell.builtins.shared.textio import Output, read, stdin

__all__ = ["COMMANDS"]

_ENCODINGS = {
    "utf8": "utf-8", "ascii": "ascii", "usascii": "ascii", "ansix3.41968": "ascii", "iso88591": "latin-1",
    "latin1": "latin-1", "l1": "latin-1", "iso885915": "iso8859-15", "windows1252": "cp1252", "cp1252": "cp1252",
    "utf16le": "utf-16-le", "utf16be": "utf-16-be", "utf32le": "utf-32-le", "utf32be": "utf-32-be",
    "shiftjis": "shift_jis", "sjis": "shift_jis", "eucjp": "euc_jp", "koi8r": "koi8-r", "cp437": "cp437",
    "iso88592": "iso8859-2", "latin2": "iso8859-2", "windows1251": "cp1251", "cp1251": "cp1251", "gb18030": "gb18030",
    "big5": "big5", "cp850": "cp850",
}  # fmt: skip


@command()
def tee(call: Call) -> Result:
    """Copy standard input to files and to standard output."""
    options, names = parse(
        call, "aip", ("append", "ignore-interrupts", "output-error=?"),
        same={"--append": "-a", "--ignore-interrupts": "-i", "--output-error": "-p"},
    )  # fmt: skip
    append = any(name == "-a" for name, _ in options)
    out = Output(call)
    data = stdin(call)
    out.write(data)
    for name in names:
        if name in ("/dev/stdout", "/dev/stderr", "/dev/tty"):
            call.unknown(f"writing to {name}")
        try:
            if append:
                call.files.append(name, data)
            else:
                call.files.write(name, data)
        except OSError as error:
            out.fail(shell_quote_if_needed(name, colon=True), error)
    return out.result()


def _encoding(call: Call, text: str) -> tuple[str, set[str]] | None:
    name, *marks = text.upper().split("//")
    key = re.sub(r"[-_]", "", name.lower())
    if key in ("utf16", "utf32", "ucs2", "ucs4", "unicode", "utf7"):
        call.unknown(f"the encoding {text}")
    if not key:
        return "utf-8", {mark for mark in marks if mark}
    found = _ENCODINGS.get(key)
    if found is None and re.fullmatch(r"(?:utf|iso|cp|windows|latin|ibm|koi|euc|mac|gb|ucs).*", key):
        call.unknown(f"the encoding {text}")
    return None if found is None else (found, {mark for mark in marks if mark})


def iconv(call: Call) -> Result:
    """Convert text from one encoding to another."""
    try:
        options, names = parse(
            call, "f:t:co:ls", ("from-code=", "to-code=", "output=", "list", "silent", "verbose"),
            same={"--from-code": "-f", "--to-code": "-t", "--output": "-o", "--list": "-l", "--silent": "-s"},
        )  # fmt: skip
    except UsageError:
        call.unknown("the usage text")
    given = dict(options)
    if "-l" in given or "--verbose" in given:
        call.unknown("the list of encodings")
    source, target = _encoding(call, given.get("-f", "utf-8")), _encoding(call, given.get("-t", "utf-8"))
    if source is None or target is None:
        wrong = [given.get(key, "") for key, found in (("-f", source), ("-t", target)) if found is None]
        if len(wrong) == 2:
            text = "iconv: failed to start conversion processing: No such file or directory\n"
            call.unknown("two unknown encodings", guess=Result(stderr=text, status=1))
        way = "conversion from" if source is None else "conversion to"
        text = (
            f"iconv: {way} `{wrong[0]}' is not supported\nTry `iconv --help' or `iconv --usage' for more information.\n"
        )
        call.unknown("an unknown encoding", guess=Result(stderr=text, status=1))
    out = Output(call)
    converted = b""
    drops = "-c" in given or "IGNORE" in target[1]
    for name in names or ["-"]:
        try:
            data = read(call, name)
        except OSError as error:
            out.raw(f"iconv: cannot open input file `{name}': {strerror(error)}\n")
            out.status = 1
            continue
        part, place = _converted(call, data, source[0], target, drops)
        converted += part
        if place is not None:
            out.raw(f"iconv: illegal input sequence at position {place}\n")
            out.status = 1
            break
    if "-o" in given:
        if out.status:
            call.unknown("an output file after an error")
        call.files.write(given["-o"], converted)
    else:
        out.write(converted)
    return out.result()


def _converted(
    call: Call, data: bytes, source: str, target: tuple[str, set[str]], drops: bool
) -> tuple[bytes, int | None]:
    """Convert; where that stops, return how far it came and the place in the input."""
    name, marks = target
    result, at = b"", 0
    try:
        text = data.decode(source)
    except UnicodeDecodeError as error:
        if drops:
            call.unknown("bytes that are no text")
        return data[: error.start].decode(source).encode(name, "strict"), error.start
    for char in text:
        try:
            result += char.encode(name)
        except UnicodeEncodeError:
            if "TRANSLIT" in marks:
                call.unknown(f"how {char} is written in {name}")
            if not drops:
                return result, at
        at += len(char.encode(source))
    if drops and len(result.decode(name)) != len(text):
        call.unknown("the status after characters were left out")
    return result, None


COMMANDS: dict[str, Builtin] = {"tee": tee, "iconv": iconv}
