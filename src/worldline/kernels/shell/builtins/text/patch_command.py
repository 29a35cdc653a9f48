"""`patch`."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, parse
from worldline.kernels.shell.builtins.shared.textio import Output, read
from worldline.kernels.shell.builtins.text.diff_command import split_lines
from worldline.kernels.shell.builtins.text.patches import Applied, FilePatch, Hunk, Malformed, apply, rejected
from worldline.kernels.shell.builtins.text.patches import parse as parse_patch

__all__ = ["COMMANDS"]

_SAME = {
    "--strip": "-p", "--reverse": "-R", "--input": "-i", "--output": "-o", "--backup": "-b", "--forward": "-N",
    "--batch": "-t", "--force": "-f", "--silent": "-s", "--quiet": "-s", "--directory": "-d",
    "--remove-empty-files": "-E", "--fuzz": "-F", "--unified": "-u", "--suffix": "-z", "--reject-file": "-r",
}  # fmt: skip


@dataclass
class _Plan:
    strip: int | None = None
    reverse: bool = False
    dry: bool = False
    backup: bool = False
    forward: bool = False
    silent: bool = False
    remove_empty: bool = False
    fuzz: int = 2
    output: str | None = None
    directory: str = ""
    suffix: str = ".orig"


def patch(call: Call) -> Result:
    """Apply a diff to files."""
    try:
        options, names = parse(
            call, "bB:cd:D:eEfF:g:i:lnNo:p:r:RstTuvV:x:Y:z:Z",
            ("strip=", "reverse", "input=", "output=", "backup", "forward", "batch", "force", "silent", "quiet",
             "directory=", "remove-empty-files", "fuzz=", "unified", "suffix=", "dry-run", "verbose", "reject-file=",
             "merge=?", "posix", "binary", "no-backup-if-mismatch", "backup-if-mismatch", "ignore-whitespace"),
            same=_SAME,
        )  # fmt: skip
    except UsageError as error:
        return Result(stderr=f"patch: {error.message}\npatch: Try 'patch --help' for more information.\n", status=2)
    plan, given = _Plan(), dict(options)
    for name, value in options:
        _option(call, plan, name, value)
    if len(names) > 2:
        text = f"patch: {names[2]}: extra operand\npatch: Try 'patch --help' for more information.\n"
        return Result(stderr=text, status=2)
    source = given.get("-i", names[1] if len(names) > 1 else "-")
    try:
        data = read(call, source)
    except OSError as error:
        return Result(stderr=f"patch: **** Can't open patch file {source} : {strerror(error)}\n", status=2)
    if not data:
        return Result()
    try:
        patches = parse_patch(data)
    except ValueError as error:
        call.unknown(str(error))
    except Malformed as error:
        if "unexpected" in error.text:
            call.unknown("a torn patch")
        return Result(stderr=f"patch: **** malformed patch at line {error.line}: {error.text}\n\n", status=2)
    if not patches:
        return Result(stderr="patch: **** Only garbage was found in the patch input.\n", status=2)
    out = Output(call)
    for item in patches:
        _apply_one(call, plan, item, names[0] if names else None, out)
    return out.result()


def _option(call: Call, plan: _Plan, name: str, value: str) -> None:
    if name in ("-p", "-F"):
        if not value.isdigit():
            call.unknown(f"{name} {value}")
        if name == "-p":
            plan.strip = int(value)
        else:
            plan.fuzz = int(value)
    elif name == "-o":
        plan.output = value
    elif name == "-d":
        plan.directory = value
    elif name == "-z":
        plan.suffix = value
    elif name in ("-R", "-b", "-N", "-s", "-E", "--dry-run"):
        field = {"-R": "reverse", "-b": "backup", "-N": "forward", "-s": "silent", "-E": "remove_empty"}
        setattr(plan, field.get(name, "dry"), True)
    elif name not in ("-i", "-u", "-t", "-f", "-n", "--no-backup-if-mismatch"):
        call.unknown(f"the option {name}")


def _stripped(name: str | None, strip: int | None) -> str | None:
    if name is None:
        return None
    if strip is None:
        return posixpath.basename(name)
    parts = [part for part in name.split("/") if part] if strip else [name]
    if name.startswith("/"):
        parts.insert(0, "")
    return "/".join(parts[strip:]) if len(parts) > strip else None


def _inside(plan: _Plan, name: str) -> str:
    """Where a file that the patch names lies."""
    return posixpath.join(plan.directory, name) if plan.directory else name


def _target(call: Call, plan: _Plan, item: FilePatch) -> str | None:
    """Which file a patch is for: of the names that exist the one with the fewest and shortest parts."""
    names = [_stripped(name, plan.strip) for name in (item.old_name, item.new_name)]
    known = [name for name in names if name]
    present = [name for name in known if call.files.exists(_inside(plan, name))]
    made = item.old_name is None or (item.hunks[0].old_count == 0 and item.hunks[0].old_start == 0)
    if present and made and not plan.reverse and any(call.files.stat(_inside(plan, name)).size for name in present):
        call.unknown("a file to make that is there")
    if present:
        return min(present, key=lambda n: (n.count("/"), len(posixpath.basename(n)), len(n)))
    creates = item.old_name is None or (item.hunks[0].old_count == 0 and item.hunks[0].old_start == 0)
    if plan.reverse:
        creates = item.new_name is None
    if not known or not creates:
        return None
    return min(known, key=lambda n: (n.count("/"), len(posixpath.basename(n)), len(n)))


def _apply_one(call: Call, plan: _Plan, item: FilePatch, operand: str | None, out: Output) -> None:
    name = operand or _target(call, plan, item)
    if name is None:
        call.unknown("a patch whose file is not there")
    hunks = [hunk.reversed() for hunk in item.hunks] if plan.reverse else item.hunks
    if plan.reverse:
        item = replace(item, old_label=item.new_label, new_label=item.old_label)
    exists = call.files.exists(_inside(plan, name))
    content = read(call, _inside(plan, name)) if exists else b""
    lines = split_lines(content)
    verb = "checking" if plan.dry else "patching"
    target = name if plan.output is None else plan.output
    if not plan.silent:
        source = f" (read from {name})" if plan.output is not None else ""
        out.write(f"{verb} file {target}{source}\n".encode())
    result, reports = apply(lines, hunks, fuzz=plan.fuzz)
    if not reports[0].ok:
        undone = apply(lines, [hunk.reversed() for hunk in hunks], fuzz=plan.fuzz)[1]
        if undone[0].ok:
            _already(call, plan, item, hunks, name, out)
            return
    _report(plan, reports, out)
    failed = [hunk for hunk, report in zip(hunks, reports, strict=True) if not report.ok]
    mismatch = any(report.offset or report.fuzz or not report.ok for report in reports)
    if failed:
        noun = "hunk" if len(hunks) == 1 else "hunks"
        tail = "" if plan.dry else f" -- saving rejects to file {target}.rej"
        out.write(f"{len(failed)} out of {len(hunks)} {noun} FAILED{tail}\n".encode())
        out.status = 1
    if plan.dry:
        return
    if failed:
        call.files.write(_inside(plan, f"{target}.rej"), rejected(item, failed))
    if (plan.backup or (mismatch and plan.output is None)) and exists:
        call.files.write(_inside(plan, name + plan.suffix), content)
    gone, label = (item.old_name, item.old_label) if plan.reverse else (item.new_name, item.new_label)
    removed = gone is None or "\t1970-01-01 00:00:00" in label
    if not result and (removed or plan.remove_empty) and not failed:
        call.files.remove(_inside(plan, name))
        return
    parent = posixpath.dirname(_inside(plan, target))
    if parent and not call.files.exists(parent):
        call.unknown("a directory that is to be made")
    call.files.write(_inside(plan, target), b"".join(result))


def _report(plan: _Plan, reports: list[Applied], out: Output) -> None:
    for number, report in enumerate(reports, 1):
        if not report.ok:
            out.write(f"Hunk #{number} FAILED at {report.place}.\n".encode())
        elif (report.offset or report.fuzz) and not plan.silent:
            text = f"Hunk #{number} succeeded at {report.place}"
            if report.fuzz:
                text += f" with fuzz {report.fuzz}"
            if report.offset:
                text += f" (offset {report.offset} line{'' if abs(report.offset) == 1 else 's'})"
            out.write(f"{text}.\n".encode())


def _already(call: Call, plan: _Plan, item: FilePatch, hunks: list[Hunk], name: str, out: Output) -> None:
    """The patch seems to be applied: nobody answers the questions, so it is skipped."""
    count = len(hunks)
    if plan.forward:
        out.write(b"Reversed (or previously applied) patch detected!  Skipping patch.\n")
    elif plan.reverse:
        call.unknown("a reversed patch that is not applied")
    else:
        out.write(b"Reversed (or previously applied) patch detected!  Assume -R? [n] \n")
        out.write(b"Apply anyway? [n] \nSkipping patch.\n")
    tail = "" if plan.dry else f" -- saving rejects to file {name}.rej"
    out.write(f"{count} out of {count} hunk{'' if count == 1 else 's'} ignored{tail}\n".encode())
    out.status = 1
    if not plan.dry:
        call.files.write(_inside(plan, f"{name}.rej"), rejected(item, hunks))


COMMANDS: dict[str, Builtin] = {"patch": patch}
