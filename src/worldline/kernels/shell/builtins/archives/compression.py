"""`gzip bzip2 xz zstd` and the names under which they decompress."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field

from worldline.kernels.shell.builtins.archives.compressors import (
    FORMATS,
    SUFFIXES,
    NotThisFormat,
    compress,
    decompress,
    is_exact,
    known_suffix,
    zstd_size,
)
from worldline.kernels.shell.builtins.base import Builtin, Call, FileStat, Result
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, parse
from worldline.kernels.shell.builtins.shared.textio import Output, read

__all__ = ["COMMANDS"]

_ALIASES = {
    "gunzip": ("gzip", "d"), "zcat": ("gzip", "dc"), "bunzip2": ("bzip2", "d"), "bzcat": ("bzip2", "dc"),
    "unxz": ("xz", "d"), "xzcat": ("xz", "dc"), "unzstd": ("zstd", "d"), "zstdcat": ("zstd", "dc"),
}  # fmt: skip


@dataclass
class _Job:
    call: Call
    kind: str
    out: Output
    flags: set[str] = field(default_factory=set)
    level: int | None = None
    extreme: bool = False
    inexact: bool = False
    """Something was written whose exact size shows, and is not certain."""

    @property
    def program(self) -> str:
        """The name it was called by."""
        return posixpath.basename(self.call.name)

    def complain(self, message: str, status: int = 1) -> None:
        self.out.raw(message)
        # A warning (2) does not hide an error (1).
        if self.out.status != 1:
            self.out.status = status


def _run(call: Call) -> Result:
    name = posixpath.basename(call.name)
    kind, preset = _ALIASES.get(name, (name, ""))
    job = _Job(call, kind, Output(call), set(preset))
    try:
        options, names = parse(
            call, "123456789cdefhklLnNqrStTvVz",
            ("stdout", "to-stdout", "decompress", "uncompress", "force", "keep", "list", "no-name", "name", "quiet",
             "recursive", "test", "verbose", "fast", "best", "compress"),
            same={"--stdout": "-c", "--to-stdout": "-c", "--decompress": "-d", "--uncompress": "-d", "--force": "-f",
                  "--keep": "-k", "--list": "-l", "--no-name": "-n", "--name": "-N", "--quiet": "-q",
                  "--recursive": "-r", "--test": "-t", "--verbose": "-v", "--fast": "-1", "--best": "-9",
                  "--compress": "-z"},
        )  # fmt: skip
    except UsageError as error:
        if kind == "gzip" and error.message.startswith(("invalid option", "unrecognized")):
            return Result(stderr=f"gzip: {error.message}\nTry `gzip --help' for more information.\n", status=1)
        call.unknown(error.message)
    for option, _ in options:
        letter = option[1]
        if letter.isdigit():
            job.level = int(letter)
        elif letter in "hLVST":
            call.unknown(f"the option {option}")
        elif letter == "e" and kind == "xz":
            job.extreme = True
        elif letter == "e":
            call.unknown("the option -e")
        elif letter == "z":
            job.flags.discard("d")
        else:
            job.flags.add(letter)
    if "t" in job.flags:
        job.flags |= {"d", "c"}
    if job.kind == "zstd":
        job.flags.add("k")
    if "l" in job.flags:
        return _listed(job, names)
    for operand in names or ["-"]:
        _one(job, operand)
    if job.inexact:
        call.unknown("the exact size of what is compressed", guess=job.out.result())
    return job.out.result()


def _one(job: _Job, name: str) -> None:
    if name == "-":
        _stream(job)
        return
    call, kind = job.call, job.kind
    source = name
    try:
        stat = call.files.stat(name)
    except OSError as error:
        suffix = FORMATS[kind].suffix
        if (
            kind == "gzip"
            and "d" in job.flags
            and isinstance(error, FileNotFoundError)
            and not known_suffix(kind, name)
        ):
            source = name + suffix
            try:
                stat = call.files.stat(source)
            except OSError as second:
                job.complain(f"gzip: {source}: {strerror(second)}\n")
                return
        else:
            job.complain(_cannot_open(job, name, error))
            return
    if stat.kind == "directory":
        _directory(job, name)
    elif stat.kind != "file":
        call.unknown("a special file")
    elif "d" in job.flags:
        _unpack(job, source, stat)
    else:
        _pack(job, source, stat)


def _cannot_open(job: _Job, name: str, error: OSError) -> str:
    if job.kind == "bzip2":
        return f"{posixpath.basename(job.call.name)}: Can't open input file {name}: {strerror(error)}.\n"
    if job.kind == "zstd":
        return f"zstd: can't stat {name} : {strerror(error)} -- ignored \n"
    return f"{job.program if job.kind == 'xz' else 'gzip'}: {name}: {strerror(error)}\n"


def _directory(job: _Job, name: str) -> None:
    call = job.call
    if "r" in job.flags and job.kind == "gzip":
        entries = call.files.list(name)
        if "v" in job.flags and len(entries) > 1:
            call.unknown("the order of a directory")
        for entry in entries:
            path = f"{name.rstrip('/')}/{entry}"
            if "d" in job.flags and call.files.stat(path).kind == "file" and not known_suffix("gzip", path):
                job.complain(f"gzip: {path}: unknown suffix -- ignored\n", 2)
                continue
            _one(job, path)
        return
    if job.kind == "gzip":
        job.complain(f"gzip: {name} is a directory -- ignored\n", 2)
    elif job.kind == "bzip2":
        job.complain(f"{posixpath.basename(call.name)}: Input file {name} is a directory.\n")
    elif job.kind == "xz":
        job.complain(f"{job.program}: {name}: Is a directory, skipping\n", 2)
    else:
        job.complain(f"zstd: {name} is a directory -- ignored \n")


def _stream(job: _Job) -> None:
    call = job.call
    if call.stdin is None:
        call.unknown("a terminal or nothing as input")
    data = read(call, "-")
    if "d" not in job.flags:
        if job.kind == "zstd":
            call.unknown("the frame of a stream")
        job.inexact = job.inexact or not is_exact(job.kind, len(data))
        job.out.write(compress(job.kind, data, level=job.level, extreme=job.extreme))
        return
    try:
        text = decompress(job.kind, data)
    except NotThisFormat as error:
        if str(error) or (job.kind == "bzip2" and not data):
            call.unknown(f"{error} input")
        if job.kind in ("gzip", "xz") and {"f", "c"} <= job.flags:
            job.out.write(data)
            return
        job.complain(
            {
                "gzip": f"\ngzip: stdin: {'not in gzip format' if data else 'unexpected end of file'}\n",
                "bzip2": f"{posixpath.basename(call.name)}: (stdin) is not a bzip2 file.\n",
                "xz": f"{job.program}: (stdin): File format not recognized\n",
                "zstd": "zstd: /*stdin*\\: unsupported format \n",
            }[job.kind],
            2 if job.kind == "bzip2" else 1,
        )
        return
    if "t" not in job.flags:
        job.out.write(text)


def _pack(job: _Job, name: str, stat: FileStat) -> None:
    call, kind = job.call, job.kind
    suffix = FORMATS[kind].suffix
    known = known_suffix(kind, name)
    if known and "c" not in job.flags and kind != "zstd" and not (kind == "gzip" and "f" in job.flags):
        if kind == "gzip":
            if "q" not in job.flags:
                job.complain(f"gzip: {name} already has {known} suffix -- unchanged\n", 0)
        elif kind == "bzip2":
            job.complain(f"bzip2: Input file {name} already has {known} suffix.\n")
        else:
            job.complain(f"{job.program}: {name}: File already has '{known}' suffix, skipping\n", 2)
        return
    try:
        data = read(call, name)
    except OSError as error:
        job.complain(_cannot_open(job, name, error))
        return
    stored = "" if "n" in job.flags else posixpath.basename(name)
    packed = compress(
        kind,
        data,
        level=job.level,
        extreme=job.extreme,
        name=stored,
        mtime=0 if "n" in job.flags else int(stat.mtime.timestamp()),
    )
    shown = "c" in job.flags or "v" in job.flags or (kind == "zstd" and "q" not in job.flags)
    job.inexact = job.inexact or (shown and not is_exact(kind, len(data)))
    if "c" in job.flags:
        if "v" in job.flags:
            call.unknown("-v with -c")
        job.out.write(packed)
        return
    if _stored(job, name, name + suffix, packed, stat):
        _tell_packed(job, name, name + suffix, data, packed, stored)


def _stored(job: _Job, source: str, target: str, data: bytes, stat: FileStat) -> bool:
    """Write the result with the source's mode and time, and remove the source."""
    call = job.call
    if call.files.exists(target) and "f" not in job.flags:
        if job.kind == "gzip":
            job.complain(f"gzip: {target} already exists;\tnot overwritten\n", 2)
        elif job.kind == "bzip2":
            job.complain(f"{posixpath.basename(call.name)}: Output file {target} already exists.\n")
        elif job.kind == "xz":
            job.complain(f"{job.program}: {target}: File exists\n")
        else:
            call.unknown("a question")
        return False
    try:
        call.files.write(target, data)
    except OSError as error:
        if job.kind != "gzip":
            call.unknown("an output file that cannot be written")
        job.complain(f"gzip: {target}: {strerror(error)}\n")
        return False
    call.files.chmod(target, stat.mode)
    call.files.utime(target, stat.mtime)
    if "k" not in job.flags:
        call.files.remove(source)
    return True


def _percent(part: int, whole: int) -> str:
    return f"{100.0 * part / whole if whole else 0.0:5.1f}%"


def _tell_packed(job: _Job, name: str, target: str, data: bytes, packed: bytes, stored: str) -> None:
    verb = "created" if "k" in job.flags else "replaced with"
    if job.kind == "gzip" and "v" in job.flags:
        body = len(packed) - 18 - (len(stored.encode()) + 1 if stored else 0)
        job.out.raw(f"{name}:\t{_percent(len(data) - body, len(data))} -- {verb} {target}\n")
    elif job.kind == "bzip2" and "v" in job.flags:
        if not data:
            job.out.raw(f"  {name}:  no data compressed.\n")
            return
        ratio, out = len(data) / len(packed), len(packed)
        job.out.raw(
            f"  {name}: {' ' * (7 - len(name))}{ratio:6.3f}:1, {8.0 * out / len(data):6.3f} bits/byte, "
            f"{100.0 * (1 - out / len(data)):5.2f}% saved, {len(data)} in, {out} out.\n"
        )
    elif job.kind == "xz" and "v" in job.flags:
        job.out.raw(f"{name}: {_xz_sizes(job, packed, data)}\n")
    elif job.kind == "zstd" and "q" not in job.flags:
        ratio = 100.0 * len(packed) / (len(data) or 1)
        job.out.raw(f"{name:<20} :{ratio:6.2f}%   ({zstd_size(len(data))} => {zstd_size(len(packed))}, {target}) \n")


def _tell_tested(job: _Job, name: str, data: bytes, text: bytes) -> None:
    """What `-t` says of a sound file."""
    if job.kind == "zstd" and "q" not in job.flags:
        job.out.raw(f"{name:<20}: {len(text)} bytes \n")
    elif "v" in job.flags and job.kind == "gzip":
        job.out.raw(f"{name}:\t OK\n")
    elif "v" in job.flags and job.kind == "bzip2":
        job.out.raw(f"  {name}: ok\n")
    elif "v" in job.flags and job.kind == "xz":
        job.out.raw(f"{name}: {_xz_sizes(job, data, text)}\n")


def _xz_sizes(job: _Job, packed: bytes, text: bytes) -> str:
    if not text or len(text) > 9999 or len(packed) > 9 * len(text):
        job.call.unknown("sizes of this kind")
    return f"{len(packed)} B / {len(text)} B = {len(packed) / len(text):.3f}"


def _xz_listed(job: _Job, names: list[str]) -> Result:
    """The table of one file."""
    call, out = job.call, job.out
    if len(names) != 1 or "v" in job.flags:
        call.unknown("a listing")
    try:
        data = read(call, names[0])
    except OSError as error:
        out.raw(_cannot_open(job, names[0], error))
        out.status = 1
        return out.result()
    try:
        text = decompress("xz", data)
    except NotThisFormat as error:
        if str(error):
            call.unknown("a damaged file")
        job.complain(f"{job.program}: {names[0]}: File format not recognized\n")
        return out.result()
    if not text or len(text) > 9999 or data.count(FORMATS["xz"].magic) > 1:
        call.unknown("sizes of this kind")
    ratio = len(data) / len(text)
    shown = f"{ratio:.3f}" if ratio <= 9.999 else "---"
    out.line(b"Strms  Blocks   Compressed Uncompressed  Ratio  Check   Filename")
    out.line(
        f"{1:5} {1:7}  {f'{len(data)} B':>11}  {f'{len(text)} B':>11}  {shown:>5}  {'CRC64':<7} {names[0]}".encode()
    )
    return out.result()


def _unpack(job: _Job, name: str, stat: FileStat) -> None:
    call, kind = job.call, job.kind
    known = known_suffix(kind, name)
    command = posixpath.basename(call.name)
    if known is None and "c" not in job.flags:
        if kind == "gzip":
            if "q" not in job.flags:
                job.complain(f"gzip: {name}: unknown suffix -- ignored\n", 2)
        elif kind == "xz":
            if read(call, name).startswith(FORMATS["xz"].magic):
                job.complain(f"{job.program}: {name}: Filename has an unknown suffix, skipping\n", 2)
            else:
                job.complain(f"{job.program}: {name}: File format not recognized\n")
        elif kind == "bzip2":
            job.complain(f"{command}: Can't guess original name for {name} -- using {name}.out\n", 0)
            _unpack_to(job, name, f"{name}.out", stat)
        else:
            job.complain(f"zstd: {name}: unknown suffix (.zst/.tzst/.gz/.tgz/.lzma/.xz/.txz/.lz4/.tlz4 expected). "
                         "Can't derive the output file name. Specify it with -o dstFileName. Ignoring.\n")  # fmt: skip
        return
    target = name[: -len(known)] + SUFFIXES[kind][known] if known else ""
    _unpack_to(job, name, target, stat)


def _unpack_to(job: _Job, name: str, target: str, stat: FileStat) -> None:
    call, kind = job.call, job.kind
    try:
        data = read(call, name)
    except OSError as error:
        job.complain(_cannot_open(job, name, error))
        return
    try:
        text = decompress(kind, data)
    except NotThisFormat as error:
        _damaged(job, name, data, str(error))
        return
    if "t" in job.flags:
        _tell_tested(job, name, data, text)
        return
    if "c" in job.flags:
        job.out.write(text)
        return
    if not _stored(job, name, target, text, stat):
        return
    if kind == "gzip" and "v" in job.flags:
        body = len(data) - 18 - (data.index(b"\0", 10) - 9 if data[3] & 8 else 0)
        verb = "created" if "k" in job.flags else "replaced with"
        job.out.raw(f"{name}:\t{_percent(len(text) - body, len(text))} -- {verb} {target}\n")
    elif "v" in job.flags:
        call.unknown("-dv")
    elif kind == "zstd" and "q" not in job.flags:
        job.out.raw(f"{name:<20}: {len(text)} bytes \n")


def _damaged(job: _Job, name: str, data: bytes, what: str) -> None:
    command = posixpath.basename(job.call.name)
    if what:
        if job.kind == "gzip" and what == "truncated":
            job.complain(f"\ngzip: {name}: unexpected end of file\n")
            return
        job.call.unknown(f"{what} input")
    if job.kind == "gzip":
        if {"f", "c"} <= job.flags:
            job.out.write(data)
        elif not data:
            job.complain(f"\ngzip: {name}: unexpected end of file\n")
        else:
            job.complain(f"\ngzip: {name}: not in gzip format\n")
    elif job.kind == "bzip2":
        job.complain(f"{command}: {name} is not a bzip2 file.\n", 2)
    elif job.kind == "xz":
        if {"f", "c"} <= job.flags:
            job.out.write(data)
        else:
            job.complain(f"{job.program}: {name}: File format not recognized\n")
    else:
        job.complain(f"zstd: {name}: unsupported format \n")


def _listed(job: _Job, names: list[str]) -> Result:
    call, out = job.call, job.out
    if job.kind == "xz":
        return _xz_listed(job, names)
    if job.kind != "gzip" or "v" in job.flags or not names:
        call.unknown("a listing")
    rows: list[tuple[int, int, int, str]] = []
    for name in names:
        source = name if known_suffix("gzip", name) or call.files.exists(name) else f"{name}.gz"
        try:
            data = read(call, source)
        except OSError as error:
            job.complain(f"gzip: {source}: {strerror(error)}\n")
            continue
        known = known_suffix("gzip", source)
        if known is None:
            job.complain(f"gzip: {source}: unknown suffix -- ignored\n", 2)
            continue
        try:
            text = decompress("gzip", data)
        except NotThisFormat:
            job.complain(f"\ngzip: {source}: not in gzip format\n")
            continue
        head = 18 + (data.index(b"\0", 10) - 9 if data[3] & 8 else 0)
        rows.append((len(data), len(text), len(data) - head, re.sub(f"{re.escape(known)}$", "", source)))
    if rows:
        out.line(b"         compressed        uncompressed  ratio uncompressed_name")
    for packed, size, body, name in rows:
        out.line(f"{packed:19d} {size:19d} {_percent(size - body, size)} {name}".encode())
    if len(rows) > 1:
        packed, size = sum(row[0] for row in rows), sum(row[1] for row in rows)
        # The program takes off the head of the last file only.
        body = packed - (rows[-1][0] - rows[-1][2])
        out.line(f"{packed:19d} {size:19d} {_percent(size - body, size)} (totals)".encode())
    return out.result()


COMMANDS: dict[str, Builtin] = dict.fromkeys(("gzip", "bzip2", "xz", "zstd", *_ALIASES), _run)
