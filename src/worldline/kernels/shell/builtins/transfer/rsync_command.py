"""`rsync` between directories of one machine (version 3.5.0): what is sent, deleted, shown."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.modes import permission_string
from worldline.kernels.shell.builtins.transfer.rsync_filters import FilterError
from worldline.kernels.shell.builtins.transfer.rsync_list import Entry, FileList
from worldline.kernels.shell.builtins.transfer.rsync_options import Refusal, RsyncOptions, read_options
from worldline.kernels.shell.builtins.transfer.rsync_transfer import Transfer

__all__ = ["COMMANDS"]

_REMOTE = re.compile(r"^(?:rsync://|[^/]*:)")
_PARTIAL = (
    "rsync error: some files/attrs were not transferred (see previous errors) (code 23) at main.c(1394)"
    " [sender=3.5.0]\n"
)
_SELECTING = "rsync error: errors selecting input/output files, dirs (code 3) at main.c({}) [Receiver=3.5.0]\n"


def _rsync(call: Call) -> Result:
    try:
        options, operands = read_options(call)
        return _run(call, options, operands)
    except Refusal as refusal:
        return Result(stderr=refusal.text, status=refusal.status)
    except FilterError as error:
        status = 11 if "(code 11)" in str(error) else 1
        return Result(stderr=str(error), status=status)


def _run(call: Call, options: RsyncOptions, operands: list[str]) -> Result:
    if options.on("version") or options.on("V"):
        call.unknown("the text of --version", Result("rsync  version 3.5.0  protocol version 32\n"))
    if not operands or options.on("help") or (call.argv == ["-h"]):
        call.unknown("the text of --help")
    if any(_REMOTE.match(operand) for operand in operands):
        call.unknown("another machine")
    if options.doubts:
        call.unknown(options.doubts[0])
    if options.files_from is not None:
        options.flags["R"] = options.flags.get("R", 1)
        options.flags["d"] = 1
        if "r" not in _given_letters(call):
            options.flags["r"] = 0
    listing = options.on("list-only") or len(operands) == 1
    if listing and not options.on("r"):
        options.flags["d"] = 1
    files = FileList(call, options)
    sources = operands if len(operands) == 1 else operands[:-1]
    if options.files_from is not None:
        names = files.read_names(options.files_from)
        if len(sources) > 1:
            call.unknown("several sources beside --files-from")
        for name in names:
            files.add_listed(sources[0], name)
    else:
        for source in sources:
            files.add(source)
    entries = files.sorted()
    if listing:
        return _listing(options, files, entries)
    return _send(call, options, files, entries, operands[-1])


def _given_letters(call: Call) -> str:
    """Letters of the short options, and of `--recursive`; `-a` does not count as `-r` beside `--files-from`."""
    words = [word[1:] for word in call.argv if re.match(r"-[A-Za-z]", word)]
    return "".join(words) + ("r" if "--recursive" in call.argv else "")


def _listing(options: RsyncOptions, files: FileList, entries: list[Entry]) -> Result:
    kinds = {"directory": "d", "symlink": "l", "file": "-", "fifo": "p"}
    lines = []
    for entry in entries:
        arrow = f" -> {entry.target}" if entry.target and options.on("l") else ""
        mode = kinds[entry.stat.kind] + permission_string(entry.stat.mode)
        when = entry.mtime.strftime("%Y/%m/%d %H:%M:%S")
        size = f"{entry.stat.size:,}"
        lines.append(f"{mode} {size:>14} {when} {entry.path}{arrow}\n")
    failed = bool(files.errors)
    errors = "".join(files.errors) + (_PARTIAL if failed else "")
    return Result("".join([*files.messages, *lines]), errors, 23 if failed else 0)


def _send(call: Call, options: RsyncOptions, files: FileList, entries: list[Entry], target: str) -> Result:
    shown = (options.on("v") or options.on("i")) and not options.on("q")
    out = [*files.messages] if not options.on("q") else []
    transfer = Transfer(call, options, target)
    if entries:
        refusal, created = _destination(call, options, entries, target, transfer)
        if refusal is not None:
            return refusal
        if created and shown:
            out.append(f"created directory {target.rstrip('/') or '/'}\n")
        transfer.failed = bool(files.errors)
        transfer.run(entries)
        out += transfer.lines()
    errors = "".join(files.errors)
    failed = bool(files.errors)
    if failed:
        errors += _PARTIAL
    if options.delete and failed and not options.on("ignore-errors"):
        call.unknown("deleting after an error")
    result = Result("".join(out), errors, 23 if failed else 0)
    counted = options.on("progress") or options.on("stats") or options.on("P") or options.noisy
    if (options.on("v") or counted) and not (options.on("q") and not counted):
        if options.on("v"):
            header = "sending incremental file list\n" if options.on("r") else ""
            result = Result(header + result.stdout + "\n", errors, result.status)
        call.unknown("how many bytes the protocol takes", result)
    return result


def _destination(
    call: Call, options: RsyncOptions, entries: list[Entry], target: str, transfer: Transfer
) -> tuple[Result | None, bool]:
    """Find out where the files go; returns the refusal, if any, and whether a directory was made."""
    files = call.files
    single = len(entries) == 1 and not entries[0].directory
    try:
        there = files.stat(target)
    except FileNotFoundError:
        there = None
    except OSError as error:
        text = f'rsync: [Receiver] ERROR: cannot stat destination "{_shown(call, target)}": {strerror(error)}'
        return Result(stderr=f"{text} ({error.errno})\n" + _SELECTING.format(789), status=3), False
    if there is not None and there.kind == "directory":
        return None, False
    if there is not None:
        if single:
            transfer.single = True
            return None, False
        message = "ERROR: destination must be a directory when copying more than 1 file\n"
        if len(entries) == 1:
            call.unknown("a directory over a file")
        return Result(stderr=message + _SELECTING.format(777), status=3), False
    if len(entries) == 1 and entries[0].directory and not options.on("r"):
        call.unknown("a lone directory that is given a new name")
    parent = target.rstrip("/").rpartition("/")[0] or ("/" if target.startswith("/") else ".")
    if not files.exists(parent) and not options.on("mkpath"):
        path = files.absolute(target)
        if single and not target.endswith("/"):
            folder = path.rpartition("/")[0]
            text = f'rsync: [Receiver] change_dir#3 "{folder}" failed: No such file or directory (2)\n'
            return Result(stderr=text + _SELECTING.format(855), status=3), False
        text = f'rsync: [Receiver] mkdir "{path}" failed: No such file or directory (2)\n'
        return Result(
            stderr=text + "rsync error: error in file IO (code 11) at main.c(808) [Receiver=3.5.0]\n", status=11
        ), False
    if single and not target.endswith("/"):
        transfer.single = True
        return None, False
    transfer.create()
    return None, True


def _shown(call: Call, target: str) -> str:
    path = call.files.absolute(target)
    return f"{path}/" if target.endswith("/") and path != "/" else path


COMMANDS: dict[str, Builtin] = {"rsync": _rsync}
