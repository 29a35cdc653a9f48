"""`pgrep pkill pidof killall ps -C` for programs of which no process runs."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.options import UsageError, parse

__all__ = ["COMMANDS"]

_RUNNING = frozenset(
    [
        "/usr/bin/bwrap",
        "--args",
        "/usr/bin/bash",
        "--norc",
        "--noprofile",
        "/run/setup",
        "merged",
        "apart",
        "setpriv",
        "--reuid",
        "--regid",
        "--clear-groups",
        "--inh-caps=-all",
        "--bounding-set=-all",
        "while",
        "read",
        "IFS",
        "BASH_EXECUTION_STRING",
        "dash",
        "sh",
        "systemd",
        "init",
    ]
)
"""Words in the command lines of what runs beside a command: the shell and what started it."""
_LATER = re.compile(r"^(?:cat|head|tail|wc|grep|sort|uniq|cut|tr|sed|awk|xargs|tee|less|more|python3?|perl)$")
"""Programs that may run at the same time, in the same pipe."""
_PGREP_LONG = (
    "signal= count delimiter= list-name list-full full pgroup= group= newest oldest parent= session= terminal= euid="
    " uid= exact inverse pidfile= older= runstates= ignore-case ns= nslist= lightweight cgroup= echo queue="
)
_PGREP_SAME = {
    "--count": "-c",
    "--list-name": "-l",
    "--list-full": "-a",
    "--full": "-f",
    "--exact": "-x",
    "--echo": "-e",
}
_PS_HEADERS = {"pid": "    PID", "comm": "COMMAND", "pid,comm": "    PID COMMAND", "cmd": "CMD", "args": "COMMAND"}


def _may_run(name: str, *, exact: bool) -> bool:
    """Whether a process may match a pattern."""
    try:
        pattern = re.compile(name)
    except re.error:
        return True
    match = pattern.fullmatch if exact else pattern.search
    return bool(_LATER.match(name)) or any(match(word) or match(word.rpartition("/")[2]) for word in _RUNNING)


def _pgrep(call: Call) -> Result:
    argv = [word for word in call.argv if not re.fullmatch(r"-(?:\d+|SIG[A-Z0-9]+|[A-Z]{3,}\d?)", word)]
    try:
        options, operands = parse(call, "cd:lafg:G:noP:s:t:u:U:xvF:O:r:iweq:", _PGREP_LONG, same=_PGREP_SAME, argv=argv)
    except UsageError:
        call.unknown("the text of the usage")
    given = {name for name, _ in options}
    if not operands and not given - {"-c", "-l", "-a", "-f", "-x", "-e"}:
        hint = f"{call.name}: no matching criteria specified\nTry `{call.name} --help' for more information.\n"
        return Result(stderr=hint, status=2)
    if len(operands) != 1 or given & {"-v", "--inverse"} or _may_run(operands[0], exact="-x" in given):
        call.unknown("which processes run")
    return Result("0\n" if "-c" in given else "", status=1)


def _pidof(call: Call) -> Result:
    names = [word for word in call.argv if not word.startswith("-")]
    if not names or any(_may_run(re.escape(name), exact=True) for name in names):
        call.unknown("which processes run")
    return Result(status=1)


def _killall(call: Call) -> Result:
    names = [word for word in call.argv if not word.startswith("-")]
    odd = [
        word for word in call.argv if word.startswith("-") and not re.fullmatch(r"-(?:\d+|[A-Z0-9]{3,}|q|e|v)", word)
    ]
    if odd or not names or any(_may_run(re.escape(name), exact=True) for name in names):
        call.unknown("which processes run")
    quiet = "-q" in call.argv
    return Result(stderr="" if quiet else "".join(f"{name}: no process found\n" for name in names), status=1)


def _ps(call: Call) -> Result:
    try:
        options, operands = parse(call, "C:o:fh", "no-headers no-heading headers format=", same={"--format": "-o"})
    except UsageError:
        call.unknown("which processes run")
    names = [name for option, value in options if option == "-C" for name in re.split(r"[,\s]+", value)]
    if not names or operands or any(_may_run(re.escape(name), exact=True) for name in names):
        call.unknown("which processes run")
    formats = [value for option, value in options if option == "-o"]
    if any(option in ("-h", "--no-headers", "--no-heading") for option, _ in options):
        return Result(status=1)
    if not formats:
        full = any(option == "-f" for option, _ in options)
        header = "UID          PID    PPID  C STIME TTY          TIME CMD" if full else "    PID TTY          TIME CMD"
        return Result(f"{header}\n", status=1)
    if all(field.endswith("=") for value in formats for field in re.split(r"[,\s]+", value)):
        return Result(status=1)
    shown = _PS_HEADERS.get(",".join(formats))
    if shown is None:
        call.unknown("the header of these columns")
    return Result(f"{shown}\n", status=1)


COMMANDS: dict[str, Builtin] = {
    "pgrep": _pgrep,
    "pkill": _pgrep,
    "pidof": _pidof,
    "killall": _killall,
    "ps": _ps,
}
