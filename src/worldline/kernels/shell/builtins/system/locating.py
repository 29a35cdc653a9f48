"""Where things are: `namei`, `mountpoint`, `whereis`; and `taskset`, which runs a command somewhere."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result, Unknown
from worldline.kernels.shell.builtins.shared.messages import Report, strerror
from worldline.kernels.shell.builtins.shared.modes import mode_string
from worldline.kernels.shell.builtins.shared.options import UsageError, command, parse
from worldline.kernels.shell.builtins.shared.paths import canonical
from worldline.kernels.shell.builtins.system.running import refusal
from worldline.kernels.shell.programs import presence

__all__ = ["COMMANDS"]

_LETTERS = {"file": "-", "directory": "d", "symlink": "l", "fifo": "p"}


@command()
def _namei(call: Call) -> Result:
    options, operands = parse(
        call,
        "mnolvxZ",
        "long modes mountpoints nosymlinks owners vertical context",
        same={"--long": "-l", "--modes": "-m", "--owners": "-o", "--nosymlinks": "-n", "--vertical": "-v"},
    )
    names = {name for name, _ in options}
    if names - {"-m", "-o", "-l", "-n"} or not operands:
        call.unknown("this way of listing")
    report = Report("namei")
    for operand in operands:
        report.out(f"f: {operand}\n")
        if operand.startswith("/"):
            call.unknown("the directories above")
        report.lines(_steps(call, operand, names))
    return report.result()


def _steps(call: Call, path: str, names: set[str]) -> list[str]:
    lines, place = [], ""
    for part in (part for part in path.split("/") if part):
        place = f"{place}/{part}" if place else part
        try:
            stat = call.files.stat(place, follow=False)
        except OSError:
            call.unknown("what is missing")
        if stat.kind == "symlink":
            call.unknown("where a link leads")
        if part == "..":
            call.unknown("the directory above")
        mode = mode_string(stat) if names & {"-m", "-l"} else _LETTERS[stat.kind]
        owner = f" {stat.owner} {stat.group}" if names & {"-o", "-l"} else ""
        lines.append(f"{'' if '-l' in names else ' '}{mode}{owner} {part}")
    return lines


def _mountpoint(call: Call) -> Result:
    try:
        options, operands = parse(
            call, "dqx", "fs-devno quiet devno nofollow", same={"--quiet": "-q", "--fs-devno": "-d"}
        )
    except UsageError as error:
        return error.result("mountpoint")
    if len(operands) != 1 or {name for name, _ in options} - {"-q"}:
        call.unknown("the device of a mount point")
    path, quiet = operands[0], bool(options)
    try:
        call.files.stat(path)
    except OSError as error:
        return Result(stderr="" if quiet else f"mountpoint: {path}: {strerror(error)}\n", status=1)
    place = canonical(call, path)
    if place != "/" and (place == call.world.home or not place.startswith(call.world.home + "/")):
        call.unknown(f"what is mounted at {path}")
    if place == "/":
        return Result("" if quiet else f"{path} is a mountpoint\n")
    return Result("" if quiet else f"{path} is not a mountpoint\n", status=32)


def _whereis(call: Call) -> Result:
    if not call.argv or any(word.startswith("-") for word in call.argv):
        call.unknown("the options of whereis")
    known = all(presence(call.world, name) == "absent" for name in call.argv)
    text = "".join(f"{name}:\n" for name in call.argv)
    if not known:
        raise Unknown("whereis: where programs and their manuals lie", Result(text))
    return Result(text)


def _taskset(call: Call) -> Result:
    try:
        options, words = parse(call, "apc", "all-tasks pid cpu-list", same={"--cpu-list": "-c"}, permute=False)
    except UsageError as error:
        return error.result("taskset")
    if {name for name, _ in options} - {"-c"} or len(words) < 2 or not re.fullmatch(r"0x1|1|0|0-1|0,1", words[0]):
        call.unknown("which processors there are")
    if words[0] == "0" and not options:
        call.unknown("a mask of no processor")
    result = call.run(words[1:], stdin=call.stdin)
    reason = refusal(result)
    if reason is not None:
        return Result(stderr=f"taskset: failed to execute {words[1]}: {reason}\n", status=result.status)
    return result


def _colrm(call: Call) -> Result:
    if len(call.argv) > 2 or not all(word.isdigit() and int(word) for word in call.argv):
        call.unknown("these columns")
    text = call.stdin or ""
    if re.search(r"[\t\b]|[^\x00-\x7f]", text):
        call.unknown("columns of tabs and wide characters")
    first = int(call.argv[0]) if call.argv else 0
    last = int(call.argv[1]) if len(call.argv) > 1 else 0
    if not first:
        return Result(text)
    lines = [line[: first - 1] + (line[last:] if last else "") for line in text.split("\n")]
    return Result("\n".join(lines))


COMMANDS: dict[str, Builtin] = {
    "namei": _namei,
    "mountpoint": _mountpoint,
    "whereis": _whereis,
    "taskset": _taskset,
    "colrm": _colrm,
}
