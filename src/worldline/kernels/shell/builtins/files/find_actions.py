"""The actions of `find`: printing, running commands, deleting, pruning."""

from __future__ import annotations

import posixpath
import re
from datetime import datetime

from worldline.kernels.shell.builtins.files.find_tests import FindError, Rule, Run, Visit
from worldline.kernels.shell.builtins.files.listing_format import disk_bytes
from worldline.kernels.shell.builtins.files.statting import access_time
from worldline.kernels.shell.builtins.shared.asking import Answers
from worldline.kernels.shell.builtins.shared.messages import quote
from worldline.kernels.shell.builtins.shared.modes import mode_string
from worldline.kernels.shell.builtins.shared.times import gnu_format, zone_of
from worldline.kernels.shell.builtins.system.running import refusal

__all__ = ["ACTIONS", "command_action", "finish_batches", "print_format", "print_to"]

_DIRECTIVE = re.compile(r"\\(0|[0-7]{1,3}|.)|%([-+ #0]*)(\d*)(?:\.(\d+))?([ABCT].|.)|\\\Z|%\Z", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "a": "\a", "b": "\b", "f": "\f", "r": "\r", "v": "\v", "\\": "\\", "0": "\0"}
_LETTERS = {"file": "f", "directory": "d", "symlink": "l", "fifo": "p"}
_NO_DIRECTIVES = frozenset("eijoqrvwxzEIJKLNOQRVWX") - {"i"}
_IN_FOLDER = 'cd "$0" && "$@"'
_TENTHS = {"S": "%S.", "T": "%T.", "X": "%X.", "+": "%F+%T.", "@": "%s."}


def _print(run: Run, visit: Visit) -> bool:
    run.report.out(visit.path + "\n")
    return True


def _print0(run: Run, visit: Visit) -> bool:
    run.report.out(visit.path + "\0")
    return True


def _prune(run: Run, visit: Visit) -> bool:
    visit.prune = True
    return True


def _quit(run: Run, visit: Visit) -> bool:
    run.quit = True
    return True


def _delete(run: Run, visit: Visit) -> bool:
    if visit.path in (".", "./") or visit.name == ".":
        return True
    try:
        run.call.files.remove(visit.path)
    except OSError as error:
        run.report.fail(f"cannot delete {quote(visit.path)}", error)
        return False
    return True


def _ls(run: Run, visit: Visit) -> bool:
    run.call.unknown("the inodes that -ls shows")


ACTIONS: dict[str, Rule] = {
    "-print": _print,
    "-print0": _print0,
    "-prune": _prune,
    "-quit": _quit,
    "-delete": _delete,
    "-ls": _ls,
}


def command_action(run: Run, option: str, words: list[str], *, batch: bool) -> Rule:
    """Build the action of `-exec COMMAND ;` or `-exec COMMAND {} +`."""
    if option == "-okdir" or (option == "-execdir" and batch):
        run.call.unknown(f"{option}")
    if batch:
        if sum("{}" in word for word in words) > 1:
            raise FindError(f"only one instance of {{}} is supported with {option} ... +")
        paths: list[str] = []
        run.batches.append((words[:-1], paths))

        def collect(_: Run, visit: Visit) -> bool:
            paths.append(visit.path)
            return True

        return collect

    answers = Answers(run.call, run.report)

    def execute(run: Run, visit: Visit) -> bool:
        if option == "-ok" and not answers.asked(f"< {words[0]} ... {visit.path} > ? "):
            return False
        if option == "-execdir":
            folder, name = posixpath.split(visit.path)
            argv = [word.replace("{}", f"./{name}") for word in words]
            return _execute(run, ["bash", "-c", _IN_FOLDER, folder or ".", *argv]) == 0
        argv = [word.replace("{}", visit.path) for word in words]
        return _execute(run, argv) == 0

    return execute


def _execute(run: Run, argv: list[str]) -> int:
    result = run.call.run(argv, stdin=run.call.stdin)
    reason = refusal(result)
    if reason is not None:
        run.report.warn(f"{quote(argv[0])}: {reason}")
        return 1
    run.report.add(result)
    return result.status


def finish_batches(run: Run) -> None:
    """Run the commands of `-exec ... +` on what was collected; a failure becomes find's own status."""
    for words, paths in run.batches:
        if paths and _execute(run, words + paths):
            run.report.status = 1


# --- printf


def print_format(template: str, target: str | None = None) -> Rule:
    """Build the action of `-printf`, or of `-fprintf` with the file it writes to."""

    def action(run: Run, visit: Visit) -> bool:
        stop = False

        def one(match: re.Match[str]) -> str:
            nonlocal stop
            if stop:
                return ""
            escape, flags, width, precision, directive = match.groups()
            if escape is not None:
                if escape == "c":
                    stop = True
                    return ""
                if escape in _ESCAPES:
                    return _ESCAPES[escape]
                if escape[0] in "01234567":
                    return chr(int(escape, 8))
                run.call.unknown(f"the escape \\{escape} in -printf")
            if directive is None:
                if match.group() != "%":
                    run.call.unknown("the end of the format of -printf")
                raise FindError("error: % at end of format string")
            if directive in _NO_DIRECTIVES and not (flags or width or precision):
                run.report.warn(f"warning: unrecognized format directive `%{directive}'")
                return match.group()
            return _pad(_directive(run, visit, directive), flags, width, precision, directive)

        text = ""
        position = 0
        for match in _DIRECTIVE.finditer(template):
            text += template[position : match.start()] if not stop else ""
            text += one(match)
            position = match.end()
        text += template[position:] if not stop else ""
        if target is None:
            run.report.out(text)
        else:
            run.saved[target].append(text)
        return True

    return action


def print_to(target: str, end: str) -> Rule:
    """Build the action of `-fprint FILE` and `-fprint0 FILE`: the path, and what ends it."""

    def action(run: Run, visit: Visit) -> bool:
        run.saved[target].append(visit.path + end)
        return True

    return action


def _pad(text: str, flags: str, width: str, precision: str | None, directive: str) -> str:
    if precision is not None:
        text = text[: int(precision)]
    if not width:
        return text
    if "-" in flags:
        return text.ljust(int(width))
    return text.rjust(int(width), "0" if "0" in flags and directive in ("m", "s", "d", "n") else " ")


def _directive(run: Run, visit: Visit, directive: str) -> str:
    stat, path = visit.stat, visit.path
    if directive == "%":
        return "%"
    if directive[0] in "ABCT" and len(directive) == 2:
        moment = stat.mtime if directive[0] == "T" else access_time(run.call, stat)
        if directive[0] == "B":
            run.call.unknown("the time of birth")
        return _time(run, directive[1], moment)
    if directive in "tac":
        moment = stat.mtime if directive == "t" else access_time(run.call, stat)
        local = moment.astimezone(zone_of(run.call))
        return gnu_format("%a %b %e %H:%M:%S.%N0 %Y", local)
    values = {
        "p": lambda: path,
        "f": lambda: visit.name if not path.endswith("/") else posixpath.basename(path.rstrip("/")) + "/",
        "h": lambda: posixpath.dirname(path) or ("." if "/" not in path else "/"),
        "P": lambda: path[len(visit.start) :].lstrip("/"),
        "H": lambda: visit.start,
        "d": lambda: str(visit.depth),
        "s": lambda: str(stat.size),
        "m": lambda: f"{stat.mode:o}",
        "M": lambda: mode_string(stat),
        "u": lambda: stat.owner,
        "g": lambda: stat.group,
        "U": lambda: str(stat.uid),
        "G": lambda: str(stat.gid),
        "n": lambda: str(stat.nlink),
        "k": lambda: str(disk_bytes(stat) // 1024),
        "b": lambda: str(disk_bytes(stat) // 512),
        "l": lambda: run.call.files.readlink(path) if stat.kind == "symlink" else "",
        "y": lambda: _LETTERS[stat.kind],
        "Y": lambda: _behind(run, visit),
    }
    if directive not in values:
        run.call.unknown(f"%{directive} in -printf")
    return values[directive]()


def _behind(run: Run, visit: Visit) -> str:
    if visit.stat.kind != "symlink":
        return _LETTERS[visit.stat.kind]
    try:
        return _LETTERS[run.call.files.stat(visit.path).kind]
    except FileNotFoundError:
        return "N"
    except OSError:
        return "L"


def _time(run: Run, letter: str, moment: datetime) -> str:
    local = moment.astimezone(zone_of(run.call))
    if letter in _TENTHS:
        return gnu_format(_TENTHS[letter] + "%N0", local)
    return gnu_format(f"%{letter}", local)
