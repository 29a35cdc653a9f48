"""The commands `readlink`, `realpath`, `basename`, `dirname` and `pathchk`."""

from __future__ import annotations

import posixpath
import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import Report, quote, shell_quote, shell_quote_if_needed, strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, command, extra_operand, missing_operand, parse
from worldline.kernels.shell.builtins.shared.paths import canonical, inside

__all__ = ["COMMANDS"]

_MISSING = {"-f": "last", "-e": "none", "-m": "all"}


@command()
def _readlink(call: Call) -> Result:
    options, operands = parse(
        call,
        "efmnqsvz",
        "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero",
        same={
            "--canonicalize": "-f",
            "--canonicalize-existing": "-e",
            "--canonicalize-missing": "-m",
            "--no-newline": "-n",
            "--quiet": "-q",
            "--silent": "-q",
            "--verbose": "-v",
            "--zero": "-z",
        },
    )
    names = [name for name, _ in options]
    if not operands:
        raise missing_operand()
    report = Report("readlink")
    if "-n" in names and len(operands) > 1:
        report.warn("ignoring --no-newline with multiple arguments")
    modes = [name for name in names if name in _MISSING]
    for operand in operands:
        try:
            text = canonical(call, operand, missing=_MISSING[modes[-1]]) if modes else call.files.readlink(operand)
        except OSError as error:
            if "-v" in names:
                report.fail(shell_quote_if_needed(operand, colon=True), error)
            report.status = 1
            continue
        end = "\0" if "-z" in names else "" if "-n" in names and len(operands) == 1 else "\n"
        report.out(text + end)
    return report.result()


@command()
def _realpath(call: Call) -> Result:
    options, operands = parse(
        call,
        "eLmPqsz",
        "canonicalize-existing canonicalize-missing relative-to= relative-base= quiet strip no-symlinks zero logical"
        " physical",
        same={
            "--canonicalize-existing": "-e",
            "--canonicalize-missing": "-m",
            "--quiet": "-q",
            "--strip": "-s",
            "--no-symlinks": "-s",
            "--zero": "-z",
            "--logical": "-L",
            "--physical": "-P",
        },
    )
    given = dict(options)
    if not operands:
        raise missing_operand()
    if "-L" in given:
        call.unknown("resolving .. before links")
    modes = [name for name, _ in options if name in _MISSING]
    missing = _MISSING[modes[-1]] if modes else "last"
    links = "-s" not in given
    bases: dict[str, str] = {}
    for option in ("--relative-to", "--relative-base"):
        if option in given:
            try:
                bases[option] = canonical(call, given[option], missing=missing, links=links)
            except OSError as error:
                name = shell_quote_if_needed(given[option], colon=True)
                raise UsageError(f"{name}: {strerror(error)}", hint=False) from error
    report = Report("realpath")
    for operand in operands:
        try:
            path = canonical(call, operand, missing=missing, links=links)
        except OSError as error:
            if "-q" not in given:
                report.fail(shell_quote_if_needed(operand, colon=True), error)
            report.status = 1
            continue
        report.out(_relative(path, bases) + ("\0" if "-z" in given else "\n"))
    return report.result()


def _relative(path: str, bases: dict[str, str]) -> str:
    base, origin = bases.get("--relative-base"), bases.get("--relative-to")
    if base is not None:
        if not inside(path, base) or (origin is not None and not inside(origin, base)):
            return path
        origin = origin or base
    return path if origin is None else posixpath.relpath(path, origin)


def _base(path: str) -> str:
    stripped = path.rstrip("/")
    return stripped.rpartition("/")[2] if stripped else path[:1]


@command()
def _basename(call: Call) -> Result:
    options, operands = parse(
        call,
        "as:z",
        "multiple suffix= zero",
        same={"--multiple": "-a", "--suffix": "-s", "--zero": "-z"},
        permute=False,
    )
    given = dict(options)
    if not operands:
        raise missing_operand()
    suffix = given.get("-s", "")
    paths = operands
    if "-a" not in given and "-s" not in given:
        if len(operands) > 2:
            raise extra_operand(operands[2])
        paths, suffix = operands[:1], operands[1] if len(operands) == 2 else ""
    end = "\0" if "-z" in given else "\n"
    text = ""
    for path in paths:
        base = _base(path)
        if suffix and base.endswith(suffix) and base != suffix:
            base = base[: -len(suffix)]
        text += base + end
    return Result(text)


@command()
def _dirname(call: Call) -> Result:
    options, operands = parse(call, "z", "zero", same={"--zero": "-z"})
    if not operands:
        raise missing_operand()
    end = "\0" if options else "\n"
    return Result("".join(_directory(path) + end for path in operands))


def _directory(path: str) -> str:
    stripped = path.rstrip("/")
    if not stripped:
        return "/" if path else "."
    head, sign, _ = stripped.rpartition("/")
    return (head.rstrip("/") or "/") if sign else "."


@command()
def _pathchk(call: Call) -> Result:
    options, operands = parse(call, "pP", "portability")
    names = {name for name, _ in options}
    if not operands:
        raise missing_operand()
    report = Report("pathchk")
    for path in operands:
        if "-p" in names or "--portability" in names:
            bad = re.search(r"[^A-Za-z0-9._/-]", path)
            if path == "":
                report.fail("empty file name")
            elif bad:
                report.fail(f"nonportable character {quote(bad.group())} in file name {shell_quote(path)}")
            elif any(len(part) > 14 for part in path.split("/")):
                part = next(part for part in path.split("/") if len(part) > 14)
                report.fail(f"limit 14 exceeded by length {len(part)} of file name component {shell_quote(part)}")
        elif path == "" and "-P" in names:
            report.fail("empty file name")
        elif path == "":
            report.fail("'': No such file or directory")
        elif any(len(part.encode()) > 255 for part in path.split("/")):
            call.unknown("what is said about very long names")
        else:
            try:
                call.files.stat(path, follow=False)
            except FileNotFoundError:
                pass
            except OSError as error:
                report.fail(shell_quote_if_needed(path, colon=True), error)
        if ("-P" in names or "--portability" in names) and re.search(r"(^|/)-", path):
            report.fail(f"leading '-' in a component of file name {shell_quote(path)}")
    return report.result()


COMMANDS: dict[str, Builtin] = {
    "readlink": _readlink,
    "realpath": _realpath,
    "basename": _basename,
    "dirname": _dirname,
    "pathchk": _pathchk,
}
