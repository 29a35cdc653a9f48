"""The state of a shell session between commands."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from worldline.kernels.shell.jobs import Job, parse_job
from worldline.kernels.shell.script import Script
from worldline.kernels.shell.step import Step
from worldline.kernels.shell.table import Table

__all__ = ["DEFAULT_OPTIONS", "Settled", "functions_after", "settle"]

_TIMER = re.compile(r"(?:^|[;&|\s])SECONDS=(\d+)(?=[;&|\s]|$)", re.MULTILINE)
DEFAULT_OPTIONS = frozenset(("braceexpand", "hashall", "interactive-comments"))


@dataclass(slots=True)
class Settled:
    """The state that has been settled. It is replaced as a whole, never changed in place, so forks share it."""

    table: Table
    clock: datetime
    cwd: str
    started: datetime
    ended: bool = False
    status: int = 0
    umask: int = 0o022
    options: frozenset[str] = DEFAULT_OPTIONS
    traps: tuple[tuple[str, str], ...] = ()
    """Pairs of signal name and what runs."""
    functions: dict[str, frozenset[str]] = field(default_factory=dict)
    """The commands in the body of each function, `<` where it redirects, and `@LINES` that were read before it."""
    lines: int = 0
    """Lines read so far; counts on in script mode."""
    opaque: tuple[str, ...] = ()
    """What of the shell itself became unknown: `$NAME`, `cwd`, `functions`."""
    jobs: tuple[Job, ...] = ()
    moved: bool = False
    """The working directory was changed, so that there is an `OLDPWD`."""
    loose: bool = field(default=False)
    """A job may still run in the background."""


def settle(
    before: Settled, script: Script, step: Step, table: Table, cwd: str, status: int, *, persist: bool
) -> Settled:
    """The state after a command whose run went through."""
    after = Settled(table, step.now, cwd, before.started, status=status, lines=before.lines, opaque=before.opaque)
    after.lines += script.text.count("\n") + 1
    set_anew = _TIMER.findall(script.text)
    if set_anew and persist:
        after.started = step.now - timedelta(seconds=int(set_anew[-1]))
    if not persist:
        after.cwd, after.umask = before.cwd, before.umask
        return after
    after.ended = step.ended
    after.umask = step.umask
    after.functions = functions_after(before, script)
    after.options = before.options
    after.traps = before.traps
    if step.report:
        after.options = frozenset(step.report[0].split(":")) - {""}
        after.traps = _traps(step.report[1]) if len(step.report) > 1 else before.traps
    after.jobs = step.jobs
    after.moved = before.moved or cwd != before.cwd or script.names("cd") or script.names("pushd")
    after.loose = before.loose or (
        "background" in script.features and not script.names("wait") and parse_job(script.text, ()) is None
    )
    return after


def functions_after(before: Settled, script: Script) -> dict[str, frozenset[str]]:
    """Functions defined once a script has run; where it defines several, each gets the commands of all bodies."""
    if not script.functions:
        return before.functions
    commands = script.analysis.commands
    body = frozenset(command.name for command in commands if command.context == "function_body" and command.name)
    if script.analysis.redirects:
        body |= {"<"}
    body |= {f"@{before.lines}"}
    return {**before.functions, **dict.fromkeys(script.functions, body)}


def _traps(text: str) -> tuple[tuple[str, str], ...]:
    """Read the output of `trap -p`."""
    try:
        words = shlex.split(text)
    except ValueError:
        return ()
    found = []
    while len(words) >= 4 and words[:2] == ["trap", "--"]:
        found.append((words[3], words[2]))
        words = words[4:]
    return tuple(found)
