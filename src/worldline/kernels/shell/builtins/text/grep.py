"""`grep`: the shell library's matcher over files that we choose, read and name as GNU grep does."""

from __future__ import annotations

import errno
import fnmatch
import posixpath
import re
from dataclasses import dataclass, field

from worldline.kernels.shell.builtins.archives.compressors import NotThisFormat, decompress
from worldline.kernels.shell.builtins.base import Builtin, Call, Result, Unknown
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.native import run_native
from worldline.kernels.shell.builtins.shared.options import Options, UsageError, parse
from worldline.kernels.shell.builtins.shared.order import directory_order
from worldline.kernels.shell.builtins.shared.textio import escape, read, stdin

__all__ = ["COMMANDS"]

_SHORT = "0123456789A:B:C:D:EFGHILPTUVX:abcd:e:f:hilm:noqRrsuvwxyZz"
_LONG = (
    "extended-regexp", "fixed-strings", "basic-regexp", "perl-regexp", "regexp=", "file=", "ignore-case",
    "no-ignore-case", "word-regexp", "line-regexp", "null-data", "no-messages", "invert-match", "max-count=",
    "byte-offset", "line-number", "line-buffered", "with-filename", "no-filename", "label=", "only-matching", "quiet",
    "silent", "binary-files=", "text", "directories=", "devices=", "recursive", "dereference-recursive", "include=",
    "exclude=", "exclude-from=", "exclude-dir=", "files-without-match", "files-with-matches", "count", "initial-tab",
    "null", "before-context=", "after-context=", "context=", "group-separator=", "no-group-separator", "color=?",
    "colour=?", "binary", "unix-byte-offsets",
)  # fmt: skip
_SAME = {
    "--extended-regexp": "-E", "--fixed-strings": "-F", "--basic-regexp": "-G", "--perl-regexp": "-P",
    "--regexp": "-e", "--file": "-f", "--ignore-case": "-i", "--word-regexp": "-w", "--line-regexp": "-x",
    "--null-data": "-z", "--no-messages": "-s", "--invert-match": "-v", "--max-count": "-m", "--byte-offset": "-b",
    "--line-number": "-n", "--with-filename": "-H", "--no-filename": "-h", "--only-matching": "-o", "--quiet": "-q",
    "--silent": "-q", "--text": "-a", "--directories": "-d", "--recursive": "-r", "--dereference-recursive": "-R",
    "--files-without-match": "-L", "--files-with-matches": "-l", "--count": "-c", "--null": "-Z",
    "--before-context": "-B", "--after-context": "-A", "--context": "-C", "--color": "--colour", "-y": "-i",
    "--binary": "-U",
}  # fmt: skip
_TROUBLE = "Usage: grep [OPTION]... PATTERNS [FILE]...\nTry 'grep --help' for more information.\n"


_MESSAGES = re.compile(
    r"grep: (?:.*: binary file matches|Unmatched .*|Invalid .*|Trailing backslash|missing closing parenthesis"
    r"|character class syntax is .*)"
)


@dataclass
class _Job:
    passed: list[str] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    recursive: bool = False
    follow: bool = False
    skip_directories: bool = False
    included: list[str] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    excluded_directories: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    trouble: bool = False
    mixed: bool = False
    coloured: bool = False


def grep(call: Call) -> Result:
    """Print lines that match patterns."""
    name = posixpath.basename(call.name)
    job = _Job()
    try:
        options, operands = parse(call, _SHORT, _LONG, same=_SAME)
    except UsageError as error:
        return Result(stderr=f"grep: {error.message}\n{_TROUBLE}", status=2)
    presets = {"egrep": ["-E"], "fgrep": ["-F"], "rgrep": []}.get(name, [])
    job.passed += presets
    job.recursive = name == "rgrep"
    wrong = _options(call, job, options)
    if wrong is not None:
        return Result(stderr=f"grep: {wrong}\n", status=2)
    if not job.patterns:
        if not operands:
            return Result(stderr=_TROUBLE, status=2)
        job.patterns = ["-e", operands.pop(0)]
    _refuse(call, job)
    _collect(call, job, operands)
    answer = _answer(call, job, operands)
    if job.mixed:
        call.unknown("the order in which a directory is read", guess=answer)
    return answer


def _options(call: Call, job: _Job, options: Options) -> str | None:
    digits = ""
    for name, value in options:
        letter = name[1:]
        if letter.isdigit():
            digits += letter
        elif name in ("-e", "-f"):
            job.patterns += [name, value]
            if name == "-f" and value != "-":
                try:
                    job.files[call.files.absolute(value)] = read(call, value)
                except OSError as error:
                    return f"{value}: {strerror(error)}"
        elif name in ("-r", "-R"):
            job.recursive, job.follow = True, job.follow or name == "-R"
        elif name in ("--include", "--exclude", "--exclude-dir"):
            field = {"--include": "included", "--exclude": "excluded", "--exclude-dir": "excluded_directories"}[name]
            getattr(job, field).append(value)
        elif name == "-d":
            if value not in ("skip", "read", "recurse"):
                call.unknown("the action for directories")
            job.recursive, job.skip_directories = job.recursive or value == "recurse", value == "skip"
        elif name == "--colour":
            job.coloured = value == "always"
            if value not in ("never", "auto", "", "always"):
                call.unknown("this choice of colours")
        elif name in ("-A", "-B", "-C"):
            if not value.isdigit():
                return f"{value}: invalid context length argument"
            job.passed += [name, value]
        elif name == "-m":
            if not re.fullmatch(r"-?\d+", value):
                return "invalid max count"
            job.passed += [name, value]
        elif name in ("--label", "--group-separator"):
            job.passed.append(f"{name}={value}")
        elif name in ("--no-group-separator", "--no-ignore-case", "--line-buffered"):
            job.passed += [name] if name == "--no-group-separator" else []
        elif len(name) == 2 and letter in "EFGPiwxzsvbnHhoqaLlcZUI":
            job.flags.add(letter)
            job.passed += [] if letter == "U" else [name]
        else:
            call.unknown(f"the option {name}")
    if digits:
        job.passed += ["-C", digits]
    return None


def _refuse(call: Call, job: _Job) -> None:
    """Give up on patterns that the library reads otherwise."""
    for option, pattern in zip(job.patterns[::2], job.patterns[1::2], strict=True):
        if option != "-e" or "F" in job.flags:
            continue
        if "E" in job.flags and re.search(r"[*+?}]\?|[*+?}]\+|\(\?", pattern):
            call.unknown("repeated repetition")
        if "P" not in job.flags and re.search(r"\[\^?\]?[^]]*\[[.=]", pattern):
            call.unknown("collating elements")


def _collect(call: Call, job: _Job, operands: list[str]) -> None:
    """Read what is to be searched; directories are walked where that was asked for."""
    if not operands:
        operands.append("." if job.recursive else "-")
        if job.recursive:
            _walk(call, job, ".", top=True)
            return
    for name in operands:
        if name == "-":
            job.shown.append(name)
            continue
        try:
            stat = call.files.stat(name)
        except OSError as error:
            _problem(job, name, error)
            continue
        if stat.kind == "directory":
            if job.recursive:
                _walk(call, job, name.rstrip("/") or "/", top=False)
            elif not job.skip_directories:
                _problem(job, name, IsADirectoryError(errno.EISDIR, ""))
                if job.flags & {"c", "L"}:
                    job.files[call.files.absolute(name)] = b""
                    job.shown.append(name)
        elif stat.kind == "file":
            if _wanted(job, posixpath.basename(name)):
                _take(call, job, name)
        else:
            call.unknown("a special file")


def _problem(job: _Job, name: str, error: OSError) -> None:
    job.trouble = True
    if "s" not in job.flags:
        job.problems.append(f"grep: {name}: {strerror(error)}\n")


def _wanted(job: _Job, name: str) -> bool:
    if any(fnmatch.fnmatchcase(name, pattern) for pattern in job.excluded):
        return False
    return not job.included or any(fnmatch.fnmatchcase(name, pattern) for pattern in job.included)


def _take(call: Call, job: _Job, name: str) -> None:
    try:
        job.files[call.files.absolute(name)] = read(call, name)
    except OSError as error:
        _problem(job, name, error)
        return
    job.shown.append(name)


def _walk(call: Call, job: _Job, name: str, *, top: bool) -> None:
    try:
        names = call.files.list(name)
        if len(names) > 1:
            try:
                names = directory_order(call, name)
            except Unknown:
                job.mixed = True
    except OSError as error:
        _problem(job, name, error)
        return
    for entry in names:
        path = entry if top else posixpath.join(name, entry)
        stat = call.files.stat(path, follow=False)
        if stat.kind == "symlink":
            if not job.follow:
                continue
            stat = call.files.stat(path)
        if stat.kind == "directory":
            if not any(fnmatch.fnmatchcase(entry, pattern.rstrip("/")) for pattern in job.excluded_directories):
                _walk(call, job, path, top=False)
        elif stat.kind == "file" and _wanted(job, entry):
            _take(call, job, path)


def _answer(call: Call, job: _Job, operands: list[str]) -> Result:
    named = "h" not in job.flags and ("H" in job.flags or job.recursive or len(operands) > 1)
    problems = "".join(job.problems)
    if not job.shown:
        return Result(stderr=problems, status=2 if job.trouble else 1)
    argv = ["grep", *job.passed, *(["-H"] if named and "H" not in job.flags else []), *job.patterns]
    if job.shown != ["-"]:
        argv += job.shown if "-" in job.shown else ["--", *job.shown]
    piped = stdin(call) if "-" in job.shown else None
    answer = run_native(argv, stdin=piped, files=job.files, cwd=call.cwd)
    if answer.error is not None:
        call.unknown(answer.error)
    if job.coloured:
        return Result(escape(_coloured(call, job, answer.stdout, named=named)), problems + answer.stderr, answer.status)
    stderr = re.sub(
        r"Parsing error .*: Opening parenthesis without closing.*", "missing closing parenthesis", answer.stderr
    )
    for line in stderr.splitlines():
        if not _MESSAGES.fullmatch(line):
            call.unknown(f"the wording of {line!r}")
    if job.mixed and (len(answer.stdout.splitlines()) < 2 or "q" in job.flags):
        job.mixed = False
    status = answer.status
    if job.trouble and not ("q" in job.flags and status == 0):
        status = 2
    return Result(escape(answer.stdout), problems + stderr, status)


_START, _RESET = b"\x1b[01;31m\x1b[K", b"\x1b[m\x1b[K"


def _coloured(call: Call, job: _Job, lines: bytes, *, named: bool) -> bytes:
    """Mark the matches in plain lines of output; other parts of the output have colours of their own."""
    letters = job.flags - {"E", "F", "G", "P", "i", "w", "x"}
    if letters or named or set(job.passed) & {"-A", "-B", "-C"} or job.trouble:
        call.unknown("colours beside matches")
    shown = []
    for line in lines.splitlines(keepends=True):
        argv = ["grep", *job.passed, *job.patterns, "-o", "-b"]
        found = run_native(argv, stdin=line, files=job.files, cwd=call.cwd)
        at, parts = 0, []
        for match in found.stdout.splitlines():
            place, _, text = match.partition(b":")
            start = int(place)
            parts += [line[at:start], _START, text, _RESET]
            at = start + len(text)
        shown.append(b"".join(parts) + line[at:])
    return b"".join(shown)


def zgrep(call: Call) -> Result:
    """Search in compressed files."""
    try:
        options, operands = parse(call, _SHORT, _LONG, same=_SAME)
    except UsageError as error:
        call.unknown(error.message)
    flags = {name[1] for name, _ in options}
    if any(len(name) > 2 or value for name, value in options) or flags - set("inocvwxEFP") or len(operands) != 2:
        call.unknown("these options")
    pattern, name = operands
    try:
        data = read(call, name)
    except OSError as error:
        return Result(stderr=f"gzip: {name}: {strerror(error)}\n", status=2)
    try:
        data = decompress("gzip", data)
    except NotThisFormat:
        if data.startswith(b"\x1f\x8b"):
            call.unknown("a damaged file")
    argv = ["grep", *(f"-{flag}" for flag in sorted(flags)), "-e", pattern]
    answer = run_native(argv, stdin=data, files={}, cwd=call.cwd)
    if answer.error is not None or answer.stderr:
        call.unknown(answer.error or answer.stderr)
    return Result(escape(answer.stdout), "", answer.status)


COMMANDS: dict[str, Builtin] = {"grep": grep, "egrep": grep, "fgrep": grep, "rgrep": grep, "zgrep": zgrep}
