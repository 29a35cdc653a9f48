"""`md5sum sha*sum b2sum cksum`: digests, their check files and their tags."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import shell_quote_if_needed
from worldline.kernels.shell.builtins.shared.options import Options, UsageError, choice, command, parse
from worldline.kernels.shell.builtins.shared.textio import Output, records
from worldline.kernels.shell.builtins.text.counts import crc32_posix, sum_bsd, sum_sysv

__all__ = ["COMMANDS"]

_LONG = ("binary", "check", "ignore-missing", "quiet", "status", "strict", "tag", "text", "warn", "zero")
_SAME = {"--binary": "-b", "--check": "-c", "--text": "-t", "--warn": "-w", "--zero": "-z"}
_TAGS = {"md5": "MD5", "sha1": "SHA1", "sha224": "SHA224", "sha256": "SHA256", "sha384": "SHA384",
         "sha512": "SHA512", "blake2b": "BLAKE2b", "sm3": "SM3"}  # fmt: skip


@dataclass
class _Job:
    """What one call asks for."""

    algorithm: str
    bits: int = 0
    tag: bool = False
    mark: str = " "
    end: bytes = b"\n"
    flags: set[str] = field(default_factory=set)
    any: bool = False
    """Each tagged line says which kind of digest it holds."""

    def digest(self, call: Call, data: bytes) -> str:
        if self.algorithm == "blake2b":
            return hashlib.blake2b(data, digest_size=(self.bits or 512) // 8).hexdigest()
        if self.algorithm == "sm3":
            call.unknown("SM3")
        return hashlib.new(self.algorithm, data).hexdigest()

    @property
    def label(self) -> str:
        """The name in a tagged line."""
        return _TAGS[self.algorithm] + (f"-{self.bits}" if self.algorithm == "blake2b" and self.bits else "")


def _tool(algorithm: str) -> Builtin:
    @command()
    def run(call: Call) -> Result:
        options, names = parse(
            call, "bctwz" + ("l:" if algorithm == "blake2b" else ""),
            (*_LONG, "length=") if algorithm == "blake2b" else _LONG, same={**_SAME, "--length": "-l"},
        )  # fmt: skip
        job = _Job(algorithm)
        _apply(call, job, options)
        return _check(call, job, names) if "c" in job.flags else _print(call, job, names)

    run.__doc__ = f"Print or check {_TAGS[algorithm]} digests."
    return run


def _apply(call: Call, job: _Job, options: Options) -> None:
    for name, value in options:
        if name in ("-b", "-t"):
            job.mark = "*" if name == "-b" else " "
        elif name == "--tag":
            job.tag = True
        elif name == "-z":
            job.end = b"\0"
        elif name == "-l":
            if not value.isdigit() or int(value) % 8:
                call.unknown("the length")
            job.bits = 0 if int(value) == 512 else int(value)
        else:
            job.flags.add(name.lstrip("-"))
    checking = "c" in job.flags
    if job.tag and checking:
        raise UsageError("the --tag option is meaningless when verifying checksums")
    for flag in ("ignore-missing", "status", "warn", "quiet", "strict"):
        if not checking and flag in {"warn" if item == "w" else item for item in job.flags}:
            raise UsageError(f"the --{flag} option is meaningful only when verifying checksums")


def _print(call: Call, job: _Job, names: list[str]) -> Result:
    out = Output(call)
    for name in names or ["-"]:
        data = out.open(name, shell_quote_if_needed(name, colon=True).replace("{", "{{").replace("}", "}}"))
        if data is None:
            continue
        shown, escaped = name, ""
        if job.end == b"\n" and re.search(r"[\\\n\r]", name):
            shown, escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r"), "\\"
        digest = job.digest(call, data)
        line = f"{job.label} ({shown}) = {digest}" if job.tag else f"{digest} {job.mark}{shown}"
        out.write((escaped + line).encode() + job.end)
    return out.result()


def _check(call: Call, job: _Job, names: list[str]) -> Result:
    out = Output(call)
    for name in names or ["-"]:
        data = out.open(name, shell_quote_if_needed(name, colon=True))
        if data is not None:
            _check_one(call, job, out, "standard input" if name == "-" else name, data)
    return out.result()


def _check_one(call: Call, job: _Job, out: Output, listing: str, data: bytes) -> None:
    quiet, status = "quiet" in job.flags or "status" in job.flags, "status" in job.flags
    good = bad_lines = unreadable = mismatched = matched = 0
    for number, raw in enumerate(records(data), 1):
        line = raw.decode("utf-8", "replace").rstrip("\r")
        if line.startswith("#"):
            continue
        entry = _entry(job, line)
        if entry is None:
            bad_lines += 1
            if "w" in job.flags:
                out.raw(
                    f"{call.name}: {listing}: {number}: improperly formatted {_TAGS[job.algorithm]} checksum line\n"
                )
            continue
        good += 1
        wanted, name = entry
        if "ignore-missing" in job.flags and not call.files.exists(name):
            continue
        content = out.open(name, shell_quote_if_needed(name, colon=True).replace("{", "{{").replace("}", "}}"))
        if content is None:
            unreadable += 1
            if not status:
                out.line(f"{name}: FAILED open or read".encode())
        elif job.digest(call, content) == wanted.lower():
            matched += 1
            if not quiet:
                out.line(f"{name}: OK".encode())
        else:
            mismatched += 1
            if not status:
                out.line(f"{name}: FAILED".encode())
    if not good:
        out.fail(f"{listing}: no properly formatted checksum lines found")
        return
    if not status:
        _warn(out, bad_lines, "line is improperly formatted", "lines are improperly formatted")
        _warn(out, unreadable, "listed file could not be read", "listed files could not be read")
        _warn(out, mismatched, "computed checksum did NOT match", "computed checksums did NOT match")
        if "ignore-missing" in job.flags and not matched:
            out.fail(f"{listing}: no file was verified")
    if mismatched or unreadable or ("strict" in job.flags and bad_lines) or not matched:
        out.status = 1


def _warn(out: Output, count: int, one: str, many: str) -> None:
    if count:
        out.warn(f"WARNING: {count} {one if count == 1 else many}")


def _entry(job: _Job, line: str) -> tuple[str, str] | None:
    """Read one line of a check file: the digest and the name."""
    escaped = line.startswith("\\")
    if escaped:
        line = line[1:]
    tagged = re.fullmatch(r"([A-Za-z0-9]+)(?:-(\d+))? ?\((.*)\) ?= ?([0-9a-fA-F]+)", line)
    if tagged and job.any and tagged[1] in _TAGS.values():
        job.algorithm = next(name for name, tag in _TAGS.items() if tag == tagged[1])
    elif job.any:
        return None
    if tagged and tagged[1] == _TAGS[job.algorithm]:
        digest, name = tagged[4], tagged[3]
        if job.algorithm == "blake2b":
            job.bits = int(tagged[2] or 0)
    else:
        plain = re.fullmatch(r"[ \t]*([0-9a-fA-F]+) ([ *])(.+)", line) or re.fullmatch(r"([0-9a-fA-F]+) ()(.+)", line)
        if plain is None:
            return None
        digest, name = plain[1], plain[3]
        if job.algorithm == "blake2b":
            job.bits = 0 if len(digest) == 128 else len(digest) * 4
    size = (job.bits or 512) // 4 if job.algorithm == "blake2b" else hashlib.new(job.algorithm).digest_size * 2
    if len(digest) != size:
        return None
    if escaped:
        name = name.replace("\\n", "\n").replace("\\\\", "\\")
    return digest, name


_OLD: dict[str, Callable[[bytes], tuple[int, int]]] = {"bsd": sum_bsd, "sysv": sum_sysv}


_KINDS = ("bsd", "sysv", "crc", "md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b", "sm3")


@command()
def cksum(call: Call) -> Result:
    """Print checksums: the POSIX CRC, or with `-a` any other kind; or check tagged digests."""
    options, names = parse(
        call, "a:l:bctwz", ("algorithm=", "length=", "untagged", "debug", *_LONG),
        same={**_SAME, "--algorithm": "-a", "--length": "-l"},
    )  # fmt: skip
    given = dict(options)
    algorithm = choice(given["-a"], "--algorithm", _KINDS) if "-a" in given else "crc"
    if "--debug" in given or (set(given) & {"--tag", "-b", "-t"} and algorithm in ("crc", *_OLD)):
        call.unknown("these options")
    job = _Job(algorithm if algorithm in _TAGS else "md5", int(given.get("-l", "0")), tag="--untagged" not in given)
    if "-c" in given:
        if "-a" in given and algorithm not in _TAGS:
            raise UsageError("--check is not supported with --algorithm={bsd,sysv,crc}", hint=False)
        job.any = "-a" not in given
        job.tag = False
        _apply(call, job, [option for option in options if option[0] not in ("-a", "-l", "--untagged")])
        return _check(call, job, names)
    if set(given) & {"--ignore-missing", "--quiet", "--status", "--strict", "-w"}:
        _apply(call, job, [option for option in options if option[0] not in ("-a", "-l", "--untagged")])
    if "-z" in given:
        job.end = b"\0"
    if algorithm in _TAGS:
        return _print(call, job, names)
    out = Output(call)
    for name in names or ["-"]:
        data = _bytes(call, out, name)
        if data is None:
            continue
        label = f" {name}" if names else ""
        if algorithm == "crc":
            out.write(f"{crc32_posix(data)} {len(data)}{label}".encode() + job.end)
            continue
        check, blocks = _OLD[algorithm](data)
        text = f"{check:05d} {blocks:5d}{label}" if algorithm == "bsd" else f"{check} {blocks}{label}"
        out.write(text.encode() + job.end)
    return out.result()


def _bytes(call: Call, out: Output, name: str) -> bytes | None:
    """Read an operand; the POSIX sum takes a directory for an empty file, without a word."""
    if name != "-" and call.files.exists(name) and call.files.stat(name).kind == "directory":
        return b""
    return out.open(name, shell_quote_if_needed(name, colon=True).replace("{", "{{").replace("}", "}}"))


COMMANDS: dict[str, Builtin] = {
    "md5sum": _tool("md5"), "sha1sum": _tool("sha1"), "sha224sum": _tool("sha224"), "sha256sum": _tool("sha256"),
    "sha384sum": _tool("sha384"), "sha512sum": _tool("sha512"), "b2sum": _tool("blake2b"), "cksum": cksum,
}  # fmt: skip
