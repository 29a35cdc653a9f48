"""The commands `dd` and `shred`."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import Report, quote, shell_quote, shell_quote_if_needed, strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, command, parse
from worldline.kernels.shell.builtins.shared.sizes import SizeError, parse_size
from worldline.kernels.shell.builtins.shared.textio import escape, read, stdin

__all__ = ["COMMANDS"]

_OPERANDS = frozenset(
    (
        "bs",
        "cbs",
        "conv",
        "count",
        "ibs",
        "if",
        "iflag",
        "iseek",
        "obs",
        "oflag",
        "of",
        "oseek",
        "seek",
        "skip",
        "status",
    )
)
_CONVERSIONS = ("ucase", "lcase", "notrunc", "swab", "sync", "noerror", "fsync", "fdatasync", "excl", "nocreat")
_LARGEST = 64 * 1024 * 1024


@dataclass
class _Job:
    ibs: int = 512
    obs: int = 512
    count: int | None = None
    skip: int = 0
    seek: int = 0
    source: str = ""
    target: str = ""
    status: str = ""
    conversions: tuple[str, ...] = ()


_OTHER_CONVERSIONS = ("ascii", "ebcdic", "ibm", "block", "unblock", "sparse")
_FLAGS = (
    "append", "binary", "cio", "direct", "directory", "dsync", "noatime", "nocache", "noctty", "nofollow", "nolinks",
    "nonblock", "sync", "text", "fullblock", "count_bytes", "skip_bytes", "seek_bytes",
)  # fmt: skip


def _size(text: str) -> int:
    factors = text.split("x")
    product = 1
    for factor in factors:
        try:
            product *= parse_size(factor)
        except SizeError:
            raise UsageError(f"invalid number: {quote(text)}", hint=False) from None
    return product


def _positive(text: str) -> int:
    number = _size(text)
    if number == 0:
        raise UsageError(f"invalid number: {quote(text)}", hint=False)
    return number


def _read_job(call: Call) -> _Job:
    job = _Job()
    _, operands = parse(call, "", "")
    for operand in operands:
        name, sign, value = operand.partition("=")
        if not sign or name not in _OPERANDS:
            raise UsageError(f"unrecognized operand {quote(operand)}")
        if name == "bs":
            job.ibs = job.obs = _positive(value)
        elif name in ("ibs", "obs"):
            setattr(job, name, _positive(value))
        elif name in ("skip", "iseek"):
            job.skip = _size(value)
        elif name in ("seek", "oseek"):
            job.seek = _size(value)
        elif name == "count":
            job.count = _size(value)
        elif name == "if":
            job.source = value
        elif name == "of":
            job.target = value
        elif name == "status":
            if value not in ("none", "noxfer", "progress"):
                raise UsageError(f"invalid status level: {quote(value)}")
            job.status = value
        elif name == "conv":
            job.conversions = tuple(value.split(","))
            for conversion in job.conversions:
                if conversion not in _CONVERSIONS:
                    if conversion in _OTHER_CONVERSIONS:
                        call.unknown(f"the conversion {conversion}")
                    raise UsageError(f"invalid conversion: {quote(conversion)}")
        elif value not in ("fullblock", "direct", "sync", "dsync", ""):
            for flag in value.split(","):
                if flag not in _FLAGS:
                    raise UsageError(f"invalid {'input' if name == 'iflag' else 'output'} flag: {quote(flag)}")
            call.unknown(f"{name}={value}")
    return job


def _input(call: Call, job: _Job) -> bytes:
    limit = None if job.count is None else job.count * job.ibs
    if job.source in ("/dev/zero", "/dev/urandom", "/dev/random"):
        if limit is None or limit > _LARGEST:
            call.unknown("output without end, or a great deal of it")
        if job.source != "/dev/zero":
            # As random as the real ones, and the same when a session is replayed.
            return random.Random(f"{call.now} {call.cwd} {job.target} {limit}").randbytes(limit)
        return bytes(limit)
    if not job.source:
        data = stdin(call)
    else:
        try:
            data = read(call, job.source)
        except IsADirectoryError as error:
            if job.status not in ("none", "noxfer"):
                call.unknown("how long it takes")
            records = "" if job.status == "none" else "0+0 records in\n0+0 records out\n"
            text = f"error reading {shell_quote(job.source)}: Is a directory\n{records}".rstrip("\n")
            raise UsageError(text, hint=False) from error
        except OSError as error:
            raise UsageError(f"failed to open {shell_quote(job.source)}: {strerror(error)}", hint=False) from error
    start = job.skip * job.ibs
    return data[start:] if limit is None else data[start : start + limit]


def _convert(data: bytes, job: _Job) -> bytes:
    if "ucase" in job.conversions:
        data = data.upper()
    if "lcase" in job.conversions:
        data = data.lower()
    if "swab" in job.conversions:
        swapped = bytearray(data)
        swapped[: len(data) // 2 * 2 : 2], swapped[1::2] = data[1::2], data[: len(data) // 2 * 2 : 2]
        data = bytes(swapped)
    if "sync" in job.conversions and len(data) % job.ibs:
        data += bytes(job.ibs - len(data) % job.ibs)
    return data


def _records(size: int, block: int) -> str:
    return f"{size // block}+{1 if size % block else 0}"


def _rate(size: int) -> str:
    """The last line: sizes as dd shows them, with a time and a speed that differ from run to run."""
    seconds = 3.8127e-05 + size / 4e9
    text = f"{size} byte{'' if size == 1 else 's'}"
    units = []
    for base, suffix in ((1000, "B"), (1024, "iB")):
        value, letters = float(size), iter(["k" if base == 1000 else "K", *"MGT"])
        letter = ""
        while value >= base:
            value, letter = value / base, next(letters)
        if letter:
            units.append(f"{value:.1f} {letter}{suffix}" if value < 9.95 else f"{value:.0f} {letter}{suffix}")
    if units:
        text += f" ({', '.join(units)})"
    speed = size / seconds / 1000
    shown = f"{speed:.1f} kB/s" if speed < 1000 else f"{speed / 1000:.1f} MB/s"
    return f"{text} copied, {seconds:g} s, {shown}\n"


@command()
def _dd(call: Call) -> Result:
    job = _read_job(call)
    data = _input(call, job)
    read_size, data = len(data), _convert(data, job)
    out = ""
    if job.target:
        try:
            _output(call, job, data)
        except OSError as error:
            raise UsageError(f"failed to open {shell_quote(job.target)}: {strerror(error)}", hint=False) from error
    else:
        out = escape(data)
    if job.status == "none":
        return Result(out)
    err = f"{_records(read_size, job.ibs)} records in\n{_records(len(data), job.obs)} records out\n"
    if job.status == "":
        err += _rate(len(data))
    elif job.status == "progress":
        call.unknown("how far dd gets in a second")
    return Result(out, err)


def _output(call: Call, job: _Job, data: bytes) -> None:
    if job.target in ("/dev/null", "/dev/stdout", "/dev/stderr"):
        if job.target != "/dev/null":
            call.unknown("writing to a device")
        return
    start = job.seek * job.obs
    if start + len(data) > _LARGEST:
        call.unknown("a file that large")
    there = call.files.exists(job.target)
    if ("excl" in job.conversions and there) or ("nocreat" in job.conversions and not there):
        call.unknown("conv=excl and conv=nocreat")
    before = call.files.read(job.target) if there and (start or "notrunc" in job.conversions) else b""
    tail = before[start + len(data) :] if "notrunc" in job.conversions else b""
    call.files.write(job.target, before[:start].ljust(start, b"\0") + data + tail)


@command()
def _shred(call: Call) -> Result:
    options, operands = parse(
        call,
        "fn:s:uvxz",
        "exact force iterations= size= random-source= remove=? verbose zero",
        same={"--remove": "-u", "--zero": "-z", "--verbose": "-v", "--force": "-f", "--iterations": "-n"},
    )
    given = dict(options)
    if not operands:
        raise UsageError("missing file operand")
    if not re.fullmatch(r"\d+", given.get("-n", "3")):
        raise UsageError(f"invalid number of passes: {quote(given['-n'])}", hint=False)
    report = Report("shred")
    for operand in operands:
        try:
            if call.files.stat(operand).kind != "file":
                call.unknown("shredding what is no file")
            call.files.append(operand, b"")
        except OSError as error:
            report.fail(f"{shell_quote_if_needed(operand, colon=True)}: failed to open for writing", error)
            continue
        if "-v" in given or not ("-u" in given or "-z" in given):
            call.unknown("what random bytes a file is overwritten with")
        if "-u" in given:
            call.files.remove(operand)
        else:
            size = call.files.stat(operand).size
            call.files.write(operand, bytes(size if "-x" in given else -(-size // 4096) * 4096))
    return report.result()


COMMANDS: dict[str, Builtin] = {"dd": _dd, "shred": _shred}
