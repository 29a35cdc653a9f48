"""`head` and `tail`."""

from __future__ import annotations

import re
from collections.abc import Callable

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import shell_quote
from worldline.kernels.shell.builtins.shared.options import Options, UsageError, command, parse
from worldline.kernels.shell.builtins.shared.textio import Output, curly

__all__ = ["COMMANDS"]

_LONG = ("bytes=", "lines=", "quiet", "silent", "verbose", "zero-terminated")
_SAME = {
    "--bytes": "-c", "--lines": "-n", "--quiet": "-q", "--silent": "-q", "--verbose": "-v", "--zero-terminated": "-z",
}  # fmt: skip
_UNITS = {"": 1, "b": 512, "kB": 1000, "K": 1024, "KiB": 1024, "k": 1024, "MB": 10**6, "M": 2**20, "MiB": 2**20,
          "m": 2**20, "GB": 10**9, "G": 2**30, "GiB": 2**30}  # fmt: skip

_ZEROS = 50_000_000
"""How many bytes of /dev/zero are handed out."""

_Amount = tuple[str, int]
"""A sign (`-`, `+` or empty) and a count."""


@command()
def head(call: Call) -> Result:
    """Print the start of each file."""
    argv = list(call.argv)
    extra: Options = []
    if argv and (found := re.fullmatch(r"-(\d+)([bkmclqvz]*)", argv[0])):
        argv.pop(0)
        extra = _obsolete(call, found[1], found[2])
    options, names = parse(call, "c:n:qvz0123456789", _LONG, same=_SAME, argv=argv)
    for name, _ in options:
        if name[1].isdigit():
            raise UsageError(f"invalid trailing option -- {name[1]}")
    return _print(call, [*extra, *options], names, _first)


def _obsolete(call: Call, count: str, letters: str) -> Options:
    if set(letters) - set("cqvz"):
        call.unknown("an obsolete option")
    options = [("-c" if "c" in letters else "-n", count)]
    return options + [(f"-{letter}", "") for letter in letters if letter != "c"]


@command()
def tail(call: Call) -> Result:
    """Print the end of each file."""
    argv = list(call.argv)
    extra: Options = []
    if (
        argv
        and len(argv) <= 2
        and (found := re.fullmatch(r"([-+])(\d*)([bcl]?)(f?)", argv[0]))
        and argv[0] not in ("-", "-c")
    ):
        if found[3] == "b" or found[4]:
            call.unknown("an obsolete option")
        argv.pop(0)
        extra = [("-c" if found[3] == "c" else "-n", ("+" if found[1] == "+" else "") + (found[2] or "10"))]
    options, names = parse(
        call, "c:n:fFqs:vz0123456789", (*_LONG, "follow=?", "pid=", "sleep-interval=", "retry", "max-unchanged-stats="),
        same=_SAME, argv=argv,
    )  # fmt: skip
    for name, _ in options:
        if name[1].isdigit():
            raise UsageError(f"option used in invalid context -- {name[1]}", hint=False)
    if {name for name, _ in options} & {"-f", "-F", "--follow", "--retry"}:
        call.unknown("following a file")
    return _print(call, [*extra, *options], names, _last)


def _amount(call: Call, value: str, what: str) -> _Amount:
    found = re.fullmatch(r"([-+]?)(\d+)([a-zA-Z]*)", value)
    if found is None or found[3] not in _UNITS:
        raise UsageError(f"invalid number of {what}: {curly(call, value.lstrip('-'))}", hint=False)
    return found[1], int(found[2]) * _UNITS[found[3]]


def _print(
    call: Call, options: Options, names: list[str], take: Callable[[bytes, bool, _Amount, bytes], bytes]
) -> Result:
    amount: _Amount = ("", 10)
    in_bytes, headers, end = False, len(names) > 1, b"\n"
    for name, value in options:
        if name in ("-c", "-n"):
            in_bytes = name == "-c"
            amount = _amount(call, value, "bytes" if in_bytes else "lines")
        elif name in ("-q", "-v"):
            headers = name == "-v"
        elif name == "-z":
            end = b"\0"
    out = Output(call)
    first = True
    for name in names or ["-"]:
        label = "standard input" if name == "-" else name
        directory = name != "/dev/zero" and _is_directory(call, name)
        if name == "/dev/zero" and take is _first and in_bytes and amount[0] == "" and amount[1] <= _ZEROS:
            if headers:
                call.unknown("a title for bytes of /dev/zero")
            out.write(bytes(amount[1]))
            continue
        data = b"" if directory else out.open(name, f"cannot open {shell_quote(name)} for reading")
        if data is None:
            continue
        if headers:
            out.write((b"" if first else b"\n") + f"==> {label} <==\n".encode())
            first = False
        if directory:
            out.fail(f"error reading {shell_quote(name)}: Is a directory")
        else:
            out.write(take(data, in_bytes, amount, end))
    return out.result()


def _is_directory(call: Call, name: str) -> bool:
    if name == "-":
        return False
    try:
        return call.files.stat(name).kind == "directory"
    except OSError:
        return False


def _lines(data: bytes, end: bytes) -> list[bytes]:
    parts = data.split(end)
    return [part + end for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _first(data: bytes, in_bytes: bool, amount: _Amount, end: bytes) -> bytes:
    sign, count = amount
    if in_bytes:
        return data[: max(0, len(data) - count)] if sign == "-" else data[:count]
    lines = _lines(data, end)
    return b"".join(lines[: max(0, len(lines) - count)] if sign == "-" else lines[:count])


def _last(data: bytes, in_bytes: bool, amount: _Amount, end: bytes) -> bytes:
    sign, count = amount
    skip = max(0, count - 1)
    if in_bytes:
        return data[skip:] if sign == "+" else data[len(data) - min(count, len(data)) :]
    lines = _lines(data, end)
    return b"".join(lines[skip:] if sign == "+" else lines[len(lines) - min(count, len(lines)) :])


COMMANDS: dict[str, Builtin] = {"head": head, "tail": tail}
