"""The command `file`: the common kinds of text, scripts and archives (libmagic 5.44)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime

from worldline.kernels.shell.builtins.base import Builtin, Call, FileStat, Result
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.options import parse
from worldline.kernels.shell.builtins.shared.textio import read

__all__ = ["COMMANDS"]

_USAGE = """Usage: file [-bcCdEhikLlNnprsSvzZ0] [--apple] [--extension] [--mime-encoding]
            [--mime-type] [-e <testname>] [-F <separator>]  [-f <namefile>]
            [-m <magicfiles>] [-P <parameter=value>] [--exclude-quiet]
            <file> ...
       file -C [-m <magicfiles>]
       file [--help]
"""
_LONG_LINE = 300
_LOOKED_AT = 8192

_INTERPRETERS = {
    "sh": ("POSIX shell script", "text/x-shellscript"),
    "bash": ("Bourne-Again shell script", "text/x-shellscript"),
    "python": ("Python script", "text/x-script.python"),
    "python3": ("Python script", "text/x-script.python"),
}
_PYTHON = (
    re.compile(rb"^from[ \t]+[A-Za-z0-9_.]+[ \t]+import", re.MULTILINE),
    re.compile(rb"^import [_A-Za-z]+ as [A-Za-z]\s*$", re.MULTILINE),
    re.compile(rb"try:.*(?:^\s*except[^\n]*:|finally:)", re.MULTILINE | re.DOTALL),
    re.compile(rb"^class [_A-Za-z]+(\([^\n{]*\))?:([ \t]+pass)?$", re.MULTILINE),
    re.compile(rb"^[ \t]{0,50}def {1,50}\w{1,100}\([A-Za-z*_, ]{0,255}\):$", re.MULTILINE),
    re.compile(rb'\A""".*"""', re.DOTALL),
    re.compile(rb"def __init__[^\n]{0,64}self"),
    re.compile(rb"if __name__[ \t]*==[ \t]*[\"']__main__[\"']"),
)
_PLAIN_PYTHON = re.compile(
    rb"^[ \t]*(?:import [\w., ]+|(?:async )?def \w+\([^\n{};]*\)[^\n{};]*:[^\n{};]*|class \w+[^\n{};]*:[^\n{};]*)$",
    re.MULTILINE,
)
"""Lines by which `file` does not tell Python."""
_C_SOURCE = re.compile(
    rb"^#(include[ \t]*[<\"]|ifndef[ \t]+\w|ifdef[ \t]+\w|define[ \t]+\w)|^(int|void)[ \t]+main\(", re.MULTILINE
)
_SUSPECTS = re.compile(
    rb"^[ \t]*(import|from|def|class|package|public|function|use|require|module|var|let|const|extern|struct|typedef"
    rb"|#!|#[ \t]*(include|define|if|ifdef|ifndef|pragma)|try:|\.[A-Z]|BEGIN|\\documentclass|%|//|/\*|<\?|<!|@|dn:"
    rb"|(From|Subject|To|Received|Return-Path|Message-ID|Date|Path|Xref|Newsgroups|Content-Type|MIME-Version):? "
    rb"|-----BEGIN|\[[^\]\n]*\]"
    rb"|diff |.*\bmain[ \t]*\(|Index: |\*\*\* |--- |\+\+\+ "
    rb"|.*\b(__main__|__init__)|\"\"\"|''')|<[A-Za-z/!?]|^\xef\xbb\xbf"
    rb"|\A(GIF8|BM|MZ|RIFF|ID3|OggS|fLaC|Rar!|PK|7z|SQLite|II|MM|P[1-6]\s|FWS|\{\\rtf|!<arch>|-rom1fs)",
    re.MULTILINE,
)


def _is_json(data: bytes) -> str:
    """Say which kind of JSON a text is as a whole; empty where it is none."""
    text = re.sub(r",(\s*[}\]])", r"\1", data.decode("utf-8", "replace").strip())  # libmagic lets this comma pass
    if text[:1] not in ("{", "["):
        return ""
    try:
        value = json.loads(text)
    except ValueError:
        lines = [line for line in text.split("\n") if line.strip()]
        try:
            values = [json.loads(line) for line in lines]
        except ValueError:
            return ""
        plural = len(values) > 1 and all(isinstance(value, dict | list) for value in values)
        return "New Line Delimited JSON text data" if plural else ""
    return "JSON text data" if isinstance(value, dict | list) else ""


def _is_csv(data: bytes) -> bool:
    """Whether the first ten lines have the same number of commas (libmagic's `is_csv.c`)."""
    commas = fields = lines = 0
    inside = False
    for byte in data:
        if byte == 0x22:
            inside = not inside
        elif inside:
            continue
        elif byte == 0x2C:
            commas += 1
        elif byte == 0x0A:
            lines += 1
            if lines == 10:
                return fields != 0 and fields == commas
            if fields == 0:
                if commas == 0:
                    return False
                fields = commas
            elif fields != commas:
                return False
            commas = 0
    return fields != 0 and lines > 2


def _encoding(data: bytes) -> tuple[str, str]:
    """Return the name of a text's encoding and its MIME charset; empty where it is no text."""
    if re.search(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]", data):
        return "", "binary"
    if data.isascii():
        return "ASCII text", "us-ascii"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        if re.search(rb"[\x80-\x84\x86-\x9f]", data):
            return "", ""
        return "ISO-8859 text", "iso-8859-1"
    bom = " (with BOM)" if data.startswith(b"\xef\xbb\xbf") else ""
    return f"Unicode text, UTF-8{bom} text", "utf-8"


def _endings(data: bytes) -> str:
    """Say what is special about a text's lines."""
    crlf = data.count(b"\r\n")
    lone_cr = data.count(b"\r") - crlf
    lf = data.count(b"\n") - crlf
    text = ""
    longest = max((len(line) for line in re.split(rb"\r\n|\n|\r", data)), default=0)
    if longest > _LONG_LINE:
        text += f", with very long lines ({longest})"
    if not (crlf or lone_cr or lf):
        return text + ", with no line terminators"
    if crlf or lone_cr:
        kinds = [name for name, count in (("CRLF", crlf), ("CR", lone_cr), ("LF", lf)) if count]
        text += f", with {', '.join(kinds)} line terminators"
    if b"\x1b" in data:
        text += ", with escape sequences"
    if b"\b" in data:
        text += ", with overstriking"
    return text


def _script(call: Call, data: bytes) -> tuple[str, str] | None:
    match = re.match(rb"#! ?(\S+)[ \t]*([^\n]*)", data)
    if match is None:
        return None
    program = match.group(1).decode("utf-8", "replace").rpartition("/")[2]
    if program == "env":
        words = match.group(2).decode("utf-8", "replace").split()
        program = words[0] if words else ""
    if program not in _INTERPRETERS:
        call.unknown(f"what file says about scripts for {program}")
    if program == "python" and b"env" not in match.group(1):
        call.unknown("what file says about this Python script")
    return _INTERPRETERS[program]


def _text_kind(call: Call, data: bytes) -> tuple[str, str, str]:
    """Return what a text is (empty: plain), its MIME type, and `executable` for scripts."""
    script = _script(call, data)
    if script is not None:
        return script[0], script[1], " executable"
    head = data[:_LOOKED_AT]
    if head.startswith(b'<?xml version="1.0"'):
        return "XML 1.0 document", "text/xml", ""
    if re.match(rb"\s*(<!DOCTYPE html|<html|<HTML|<!doctype html)", head):
        return "HTML document", "text/html", ""
    if re.match(rb"diff --git |--- .*\n\+\+\+ .*\n@@ ", head):
        return "unified diff output", "text/x-diff", ""
    if _C_SOURCE.search(head):
        return "C source", "text/x-c", ""
    if any(pattern.search(head) for pattern in _PYTHON):
        return "Python script", "", " executable"
    if re.search(rb"^(all:|CFLAGS|VPATH|LDFLAGS|\.PRECIOUS)", head, re.MULTILINE):
        return "makefile script", "text/x-makefile", ""
    head = _PLAIN_PYTHON.sub(b"", head)
    if _SUSPECTS.search(head) and not _harmless(head):
        call.unknown("what file says about this text")
    return "", "text/plain", ""


def _harmless(head: bytes) -> bool:
    """Whether what looks special is only the headings of an INI file."""
    rest = re.sub(rb"^\[[A-Za-z][\w. -]*\]$", b"", head, flags=re.MULTILINE)
    return _SUSPECTS.search(rest) is None and not rest.startswith(head[:20])


def _archive(call: Call, data: bytes) -> tuple[str, str] | None:
    if data.startswith(b"\x1f\x8b\x08"):
        return _gzip(data), "application/gzip"
    if data.startswith(b"BZh"):
        return f"bzip2 compressed data, block size = {chr(data[3])}00k", "application/x-bzip2"
    if data.startswith(b"\xfd7zXZ\0"):
        check = {0: "NONE", 1: "CRC32", 4: "CRC64", 10: "SHA-256"}.get(data[7] & 15)
        return f"XZ compressed data, checksum {check}", "application/x-xz"
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        return "Zstandard compressed data (v0.8+), Dictionary ID: None", "application/zstd"
    if data.startswith(b"PK\x03\x04"):
        version, method = data[4], int.from_bytes(data[8:10], "little")
        name = {0: "store", 8: "deflate"}.get(method)
        if version not in (10, 20) or name is None:
            call.unknown("what file says about this archive")
        text = f"Zip archive data, at least v{version // 10}.{version % 10} to extract, compression method={name}"
        return text, "application/zip"
    if data[257:265] == b"ustar  \0":
        return "POSIX tar archive (GNU)", "application/x-tar"
    if data[257:263] == b"ustar\0":
        return "POSIX tar archive", "application/x-tar"
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) > 28:
        width, height = (int.from_bytes(data[start : start + 4], "big") for start in (16, 20))
        colors = {0: "grayscale", 2: "RGB", 3: "colormap", 4: "gray+alpha", 6: "RGBA"}.get(data[25])
        depth = f"{data[24]}-bit{'/color' if data[25] in (2, 6) else ''} {colors}"
        kind = "interlaced" if data[28] else "non-interlaced"
        return f"PNG image data, {width} x {height}, {depth}, {kind}", "image/png"
    return None


def _gzip(data: bytes) -> str:
    text = "gzip compressed data"
    flags, position = data[3], 10
    if flags & 4:
        position += 2 + int.from_bytes(data[10:12], "little")
    if flags & 8:
        name = data[position : data.index(b"\0", position)].decode("latin-1")
        text += f', was "{name}"'
    stamp = int.from_bytes(data[4:8], "little")
    if stamp:
        text += f", last modified: {datetime.fromtimestamp(stamp, UTC):%a %b} "
        text += f"{datetime.fromtimestamp(stamp, UTC).day:2d} {datetime.fromtimestamp(stamp, UTC):%H:%M:%S %Y}"
    text += {2: ", max compression", 4: ", max speed"}.get(data[8], "")
    text += {3: ", from Unix", 0: ", from FAT filesystem (MS-DOS, OS/2, NT)"}.get(data[9], "")
    return f"{text}, original size modulo 2^32 {int.from_bytes(data[-4:], 'little')}"


def _describe(call: Call, data: bytes) -> tuple[str, str, str]:
    """Return the description of a regular file's content, its MIME type and its charset."""
    if not data:
        return "empty", "inode/x-empty", "binary"
    if len(data) == 1:
        return "very short file (no magic)", "application/octet-stream", "binary"
    archive = _archive(call, data)
    if archive is not None:
        return archive[0], archive[1], "binary"
    encoding, charset = _encoding(data)
    if not encoding:
        if charset == "binary" and len(data) < 64 and not re.match(rb"[\x7f%A-Za-z#!<\x89\xca\xfe\xff]", data):
            return "data", "application/octet-stream", "binary"
        if not data.strip(b"\0"):
            return "data", "application/octet-stream", "binary"
        call.unknown("what file says about this binary")
    kind = _is_json(data)
    if kind:
        mime = "application/json" if not kind.startswith("New") else "application/x-ndjson"
        return kind, mime, charset
    if _is_csv(data):
        return "CSV text", "text/csv", charset
    what, mime, executable = _text_kind(call, data)
    prefix = f"{what}, " if what else ""
    return f"{prefix}{encoding}{executable}{_endings(data)}", mime, charset


def _special(call: Call, path: str, stat: FileStat) -> tuple[str, str]:
    if stat.kind == "directory":
        sticky = "sticky, " if stat.mode & 0o1000 else ""
        return f"{sticky}directory", "inode/directory"
    if stat.kind == "fifo":
        return "fifo (named pipe)", "inode/fifo"
    target = call.files.readlink(path)
    broken = "" if call.files.exists(path) else "broken "
    return f"{broken}symbolic link to {target}", "inode/symlink"


def _one(call: Call, path: str, names: set[str]) -> str:
    try:
        stat = call.files.stat(path, follow="-L" in names or path.endswith("/"))
    except OSError as error:
        return f"cannot open `{path}' ({strerror(error)})"
    if stat.kind != "file":
        text, mime, charset = *_special(call, path, stat), "binary"
    else:
        try:
            text, mime, charset = _describe(call, read(call, path))
        except PermissionError:
            if "-i" in names or "--mime-type" in names:
                call.unknown("the MIME type of what cannot be read")
            return "regular file, no read permission"
    if not mime and names & {"-i", "--mime-type"}:
        call.unknown("the MIME type of this text")
    if "--mime-type" in names:
        return mime
    if "--mime-encoding" in names:
        return charset
    return f"{mime}; charset={charset}" if "-i" in names else text


def _padded(operands: list[str], separator: str) -> Iterator[tuple[str, str]]:
    width = max(len(name) for name in operands)
    for name in operands:
        yield name, f"{name}{separator} " + " " * (width - len(name))


def _file(call: Call) -> Result:
    options, operands = parse(
        call,
        "bcCdEe:f:F:hiklLm:nNprsSvzZ0P:",
        "brief mime mime-type mime-encoding dereference no-dereference separator= no-pad extension keep-going",
        same={
            "--brief": "-b",
            "--mime": "-i",
            "--dereference": "-L",
            "--no-dereference": "-h",
            "--separator": "-F",
            "--no-pad": "-N",
        },
    )
    names = {name for name, _ in options}
    if names - {"-b", "-i", "-L", "-h", "-F", "-N", "--mime-type", "--mime-encoding"}:
        call.unknown(f"options {' '.join(sorted(names))}")
    if not operands:
        return Result(stderr=_USAGE, status=1)
    if "-" in operands:
        call.unknown("looking at standard input")
    out = ""
    for name, head in _padded(operands, dict(options).get("-F", ":")):
        if "-b" in names:
            head = ""
        elif "-N" in names:
            head = f"{name}: "
        out += f"{head}{_one(call, name, names)}\n"
    return Result(out)


COMMANDS: dict[str, Builtin] = {"file": _file}
