"""The command `stat`."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from worldline.kernels.shell.builtins.base import Builtin, Call, FileStat, Result, Unknown
from worldline.kernels.shell.builtins.files.listing_format import disk_bytes
from worldline.kernels.shell.builtins.shared.messages import Report, shell_quote, shell_quote_if_needed
from worldline.kernels.shell.builtins.shared.modes import mode_string
from worldline.kernels.shell.builtins.shared.options import command, missing_operand, parse
from worldline.kernels.shell.builtins.shared.times import iso_stamp, zone_of
from worldline.kernels.shell.table import STANDARD_DIRECTORIES

__all__ = ["COMMANDS", "access_time"]

_SPEC = re.compile(r"%([-+ #0']*)(\d*)(\.\d+)?([HL]?)(.)", re.DOTALL)
_TYPES = {"file": 0o100000, "directory": 0o040000, "symlink": 0o120000, "fifo": 0o010000}
_ESCAPES = {"n": "\n", "t": "\t", "a": "\a", "b": "\b", "f": "\f", "r": "\r", "v": "\v", "\\": "\\", '"': '"'}
_STRINGS = "AFNGUxyzwn"


def access_time(call: Call, stat: FileStat) -> datetime:
    """Return when a file was last read, changed in status or made, where all these are the same moment.

    Raises:
        Unknown: Time has gone on since the session's start, or the file's time was set.
    """
    if stat.mtime == call.now == call.world.clock:
        return stat.mtime
    call.unknown("times of access, status change and birth")


def _type_name(stat: FileStat) -> str:
    if stat.kind == "file":
        return "regular file" if stat.size else "regular empty file"
    return {"directory": "directory", "symlink": "symbolic link", "fifo": "fifo"}[stat.kind]


def _value(call: Call, path: str, stat: FileStat, letter: str) -> str:
    zone = zone_of(call)
    if letter in "xXzZwW":
        moment = access_time(call, stat)
        if letter == "w" or letter == "W":
            call.unknown("the time of birth")
        return iso_stamp(moment, zone) if letter.islower() else str(int(moment.timestamp()))
    if letter == "N":
        shown = shell_quote(path)
        return f"{shown} -> {shell_quote(call.files.readlink(path))}" if stat.kind == "symlink" else shown
    values: dict[str, Callable[[], str]] = {
        "a": lambda: f"{stat.mode:o}",
        "A": lambda: mode_string(stat),
        "b": lambda: str(disk_bytes(stat) // 512),
        "B": lambda: "512",
        "f": lambda: f"{_TYPES[stat.kind] | stat.mode:x}",
        "F": lambda: _type_name(stat),
        "g": lambda: str(stat.gid),
        "G": lambda: "UNKNOWN" if stat.group.isdigit() else stat.group,
        "h": lambda: _links(call, path, stat),
        "n": lambda: path,
        "o": lambda: "4096",
        "s": lambda: str(stat.size),
        "t": lambda: "0",
        "T": lambda: "0",
        "u": lambda: str(stat.uid),
        "U": lambda: "UNKNOWN" if stat.owner.isdigit() else stat.owner,
        "y": lambda: iso_stamp(stat.mtime, zone),
        "Y": lambda: str(int(stat.mtime.timestamp())),
    }
    if letter not in values:
        if letter in "CdDimrR":
            call.unknown(f"what stat shows for %{letter}")
        return "?"
    return values[letter]()


def _links(call: Call, path: str, stat: FileStat) -> str:
    if call.files.absolute(path) in STANDARD_DIRECTORIES and stat.kind == "directory":
        call.unknown(f"what else is in {path}")
    return str(stat.nlink)


def _check_escapes(text: str) -> str:
    """Return the warnings about escapes that are none."""
    odd = re.findall(r"\\(?:[0-7]{1,3}|x[0-9a-fA-F]{1,2}|([^abefnrtv\\\"0-7x]))", text, re.DOTALL)
    return "".join(f"stat: warning: unrecognized escape '\\{letter}'\n" for letter in odd if letter)


def _expand(call: Call, template: str, path: str, stat: FileStat) -> str:
    def one(match: re.Match[str]) -> str:
        flags, width, precision, device, letter = match.groups()
        if letter == "%":
            return "%"
        if device or (precision and letter not in _STRINGS):
            call.unknown(f"the format {match.group()}")
        text = _value(call, path, stat, letter)
        if precision:
            if letter in "xyzw":
                call.unknown(f"the format {match.group()}")
            text = text[: int(precision[1:])]
        if "#" in flags and letter in "af":
            text = ("0x" if letter == "f" else "0") + text
        if width:
            size = int(width)
            zero = "0" in flags and letter not in _STRINGS
            text = text.ljust(size) if "-" in flags else text.rjust(size, "0" if zero else " ")
        return text

    return _SPEC.sub(one, template)


def _unescape(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        body = match.group(1)
        if body in _ESCAPES:
            return _ESCAPES[body]
        if body[0] in "01234567":
            return chr(int(body, 8))
        if body == "e":
            return "\x1b"
        return chr(int(body[1:], 16)) if body[0] == "x" and len(body) > 1 else body

    return re.sub(r"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)", one, text, flags=re.DOTALL)


@command()
def _stat(call: Call) -> Result:
    options, operands = parse(
        call,
        "c:fLt",
        "dereference file-system format= printf= terse cached=",
        same={"--format": "-c", "--dereference": "-L", "--file-system": "-f", "--terse": "-t"},
    )
    template, end, follow, special, escapes = None, "\n", False, "", ""
    for name, value in options:
        if name == "-c":
            template, end = value, "\n"
        elif name == "--printf":
            template, end = _unescape(value), ""
            escapes = _check_escapes(value)
        elif name == "-L":
            follow = True
        elif name != "--cached":
            special = name
    if not operands:
        raise missing_operand()
    report, vague = Report("stat"), False
    if escapes and len(operands) > 1:
        call.unknown("warnings about several files")
    for operand in operands:
        try:
            if operand == "-":
                call.unknown("what standard input is")
            stat = call.files.stat(operand, follow=follow)
        except OSError as error:
            what = "read file system information for" if special == "-f" else "statx"
            report.fail(f"cannot {what} {shell_quote(operand)}", error)
            continue
        if special:
            call.unknown(f"what {special} shows")
        if template is None:
            report.out(_usual(call, operand, stat))
            vague = True
        else:
            report.out(_expand(call, template, operand, stat) + end)
            report.raw_err(escapes)
    if vague:
        raise Unknown("stat: device, inode and times of a file", report.result())
    return report.result()


def _usual(call: Call, path: str, stat: FileStat) -> str:
    """What stat shows without a format, with a guess at what is not known."""
    name = shell_quote_if_needed(path)
    if stat.kind == "symlink":
        name += f" -> {shell_quote_if_needed(call.files.readlink(path))}"
    stamp = iso_stamp(stat.mtime, zone_of(call))
    return (
        f"  File: {name}\n"
        f"  Size: {stat.size:<10}\tBlocks: {disk_bytes(stat) // 512:<10} IO Block: 4096   {_type_name(stat)}\n"
        f"Device: 0,41\tInode: {stat.inode or 1000:<11} Links: {stat.nlink}\n"
        f"Access: ({stat.mode:04o}/{mode_string(stat)})  Uid: ({stat.uid:5d}/{stat.owner:>8})"
        f"   Gid: ({stat.gid:5d}/{stat.group:>8})\n"
        f"Access: {stamp}\nModify: {stamp}\nChange: {stamp}\n Birth: {stamp}\n"
    )


COMMANDS: dict[str, Builtin] = {"stat": _stat}
