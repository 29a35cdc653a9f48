"""Following a screen that was not foreseen: what it shows becomes the screen, what can be read off it the state."""

from __future__ import annotations

import re
from collections.abc import Sequence

from worldline.domains.terminal.ps1 import decode, prompt_pattern, prompt_width
from worldline.domains.terminal.state import ScreenSpec
from worldline.kernels.screen.console import Console
from worldline.kernels.screen.driver import LineDriver
from worldline.kernels.screen.guessing import confirmed, read_column, suspected, written_by
from worldline.kernels.screen.host import Ran, TerminalHost
from worldline.kernels.screen.lines import LineEditor
from worldline.kernels.screen.resyncing import resynchronise
from worldline.kernels.screen.state import State
from worldline.kernels.shell import ShellKernel
from worldline.types import Action, Observation, Turn

__all__ = ["adopt"]


_STARTED = re.compile(r"\[(\d+)\] (\d+)$")
_NOTICE = re.compile(r"\[(\d+)\][-+ ]  (\S.*?)(?: {2,}|(?<=.{24}))\S")
_MISSING = re.compile(r"bash: \S+: command not found\n")
"""What is said of a command that did nothing."""


def adopt(
    shell: ShellKernel,
    spec: ScreenSpec,
    before: State,
    foreseen: State,
    mark: object,
    ran: Sequence[Ran],
    text: str,
    entered: bool,
    known: bool,
) -> State:
    """Settle a turn whose screen was not foreseen, or only guessed.

    Args:
        shell: At the trial's state; brought to the settled one.
        spec: Of the screen.
        before: The terminal before the turn.
        foreseen: The terminal as the trial left it.
        mark: The shell before the turn.
        ran: What the trial ran.
        text: The screen that was seen.
        entered: The last thing typed was Enter, or nothing was typed.
        known: The screen that was foreseen was no guess.
    """
    after = foreseen
    console = Console(shell, after, spec)
    rows = text.split("\n")
    pattern = prompt_pattern(shell.variable("PS1") or spec.prompt, console.around())
    row, match = _last_prompt(rows, pattern)
    directory = _directory(match, shell) if match is not None else None
    outputs = _outputs(rows, pattern)
    if any(not one.known for one in ran):
        shell.go_back(mark)  # type: ignore[arg-type]
        _again(shell, ran, outputs)
    if directory is not None and directory != shell.settled.cwd:
        shell.follow(":", directory)
    _read_jobs(after, rows)
    if any(not one.known and not confirmed(one, outputs) for one in ran) or after.lost or before.lost:
        after.vague_status = True
    if after.display.text() == text and not after.lost:
        after.display.doubt = ""
        if before.shaky and not before.lost:
            after.suspects.clear()  # the program stood as it was thought to
        elif after.task is None:
            _trust(after, shell)
        after.shaky = ""
        return after
    if match is not None and row == len(rows) - 1 and _told_by_job(after, before, rows[row], match):
        after.display.adopt(text, min(len(rows), spec.lines - 1), 0)
        return after
    if match is not None and row == len(rows) - 1 and _runs(after, before, rows[row], match, entered):
        after.display.adopt(text, len(rows), 0)
        after.lost, after.editor = after.lost or "something unknown runs", None
        return after
    if row != len(rows) - 1 and after.pending and after.at_prompt and rows[-1].startswith(">"):
        same = rows[-1] == after.display.line(after.display.row)
        after.display.adopt(text, len(rows) - 1, after.display.column if same else max(len(rows[-1]), 2))
        return after
    if match is None or row != len(rows) - 1:
        was, column_was = after.display.line(after.display.row), after.display.column
        fresh = after.display.column == 0 and after.display.row > 0
        column = 0 if fresh else read_column(rows[-1], was, column_was)
        after.display.adopt(text, min(len(rows) - 1 + fresh, spec.lines - 1), min(column, spec.columns - 1))
        task = after.task
        if task is None:
            after.lost = after.lost or "something unknown has the terminal"
        elif task.program is None or after.lost:
            after.lost = after.lost or ("what a program shows was not foreseen" if task.timing else "")
        else:
            if known or task.program.raw or rows[-1] != was:
                after.shaky = "what a program shows was not foreseen"
            elif after.shaky:
                after.shaky = ""
            after.suspects += [] if after.suspects else [written_by(task.text, shell), *after.program_history.lines]
            resynchronise(task.program, rows, TerminalHost(console.runner))
            if task.program.raw or rows[-1] == was:
                after.display.put_column(column_was)
            return after
        after.suspects += (
            []
            if after.suspects
            else [written_by(task.text, shell) if task is not None else "", *after.program_history.lines]
        )
        after.editor = None
        return after
    if before.lost or after.lost or before.shaky or after.shaky:
        _trust(after, shell)
    _at_prompt(after, console, spec, text, rows, match)
    return after


def _trust(after: State, shell: ShellKernel) -> None:
    """The shell has the terminal again; what was typed at something unknown may have changed files."""
    if after.suspects:
        shell.suspect(suspected("\n".join(after.suspects), shell))
        after.suspects.clear()
    after.shaky = ""


def _told_by_job(after: State, before: State, row: str, match: re.Match[str]) -> bool:
    """Whether what stands behind the last prompt is what a job wrote."""
    if not row[match.end() :].strip() or before.lost or not after.at_prompt:
        return False
    return after.editor is not None and not after.editor.text and any(not job.over for job in before.jobs.jobs)


def _runs(after: State, before: State, row: str, match: re.Match[str], entered: bool) -> bool:
    """Whether what stands behind the last prompt was entered, and runs, rather than being typed still."""
    typed = row[match.end() :]
    if not typed.strip():
        return False
    if after.at_prompt and after.editor is not None and after.editor.text.rstrip() == typed.rstrip():
        return False
    return entered or bool(before.lost)


def _read_jobs(after: State, rows: list[str]) -> None:
    """Take process ids of jobs from the screen, and what is said of them after the last command."""
    last = max((number for number, row in enumerate(rows[:-1]) if row.startswith(rows[-1][:4])), default=len(rows))
    for row in rows[last:] if rows[-1] else ():
        said = _NOTICE.match(row)
        job = after.jobs.find(f"%{said[1]}") if said is not None else None
        if job is None or said is None:
            continue
        job.untold = False
        if said[2] == "Stopped":
            if not job.coming:
                after.jobs.stop(job)
        elif said[2] != "Running":
            after.jobs.remove([job])
    for row in rows:
        found = _STARTED.match(row)
        for job in after.jobs.jobs if found is not None else ():
            if found is not None and job.number == int(found[1]):
                if after.jobs.last_pid == job.pid:
                    after.jobs.last_pid = int(found[2])
                job.pid = int(found[2])
                after.jobs.next_pid = max(after.jobs.next_pid, job.pid + 1)


def _last_prompt(rows: list[str], pattern: re.Pattern[str]) -> tuple[int, re.Match[str] | None]:
    """The last row that begins with a prompt."""
    for number in range(len(rows) - 1, -1, -1):
        match = pattern.match(rows[number] + " ")
        if match is not None:
            return number, match
    return -1, None


def _directory(match: re.Match[str], shell: ShellKernel) -> str | None:
    """The working directory that a prompt shows."""
    found = match.groupdict().get("directory")
    if not found:
        return None
    home = shell.variable("HOME") or shell.state.home
    return home + found[1:] if found.startswith("~") else found


def _at_prompt(
    after: State, console: Console, spec: ScreenSpec, text: str, rows: list[str], match: re.Match[str]
) -> None:
    """The shell reads a line; what stands behind the prompt is typed already."""
    row = rows[-1]
    typed = (row + " ")[match.end() :].rstrip() if match.end() <= len(row) else ""
    pattern = console.shell.variable("PS1") or spec.prompt
    width = match.end() if row else prompt_width(decode(pattern, console.around()))
    kept = after.editor.text if after.editor is not None and after.editor.text.rstrip() == typed else typed
    after.display.adopt(text, len(rows) - 1, min(width + len(kept), spec.columns - 1))
    if after.at_prompt and after.editor is not None and after.editor.text == kept:
        point = after.editor.point
    else:
        point = len(kept)
    after.lost, after.task, after.queue = "", None, ""
    after.jobs.remove([job for job in after.jobs.jobs if job.fore])
    after.driver = LineDriver()
    after.pending.clear()
    after.pending_kinds.clear()
    after.entry = ""
    after.ended = False
    console.shell.revive()
    after.editor = LineEditor(width, spec.columns, text=kept, point=point)


def _outputs(rows: list[str], pattern: re.Pattern[str]) -> dict[str, str]:
    """What stands between the prompts, by the command line that was typed."""
    found: dict[str, str] = {}
    command: str | None = None
    start = 0
    for number, row in enumerate(rows):
        match = pattern.match(row + " ")
        if match is None:
            continue
        if command is not None:
            lines = rows[start:number]
            found[command] = "".join(f"{line}\n" for line in lines)
        command, start = row[match.end() :].strip(), number + 1
    return found


def _again(shell: ShellKernel, ran: Sequence[Ran], outputs: dict[str, str]) -> None:
    """Run the commands of a turn again, following for those that were not known what was seen of them."""
    for one in ran:
        action = Action(name="bash", arguments={"command": one.command})
        if one.known:
            shell.propose(action)
            shell.accept()
            continue
        seen = outputs.get(one.command.strip())
        if seen and confirmed(one, outputs):
            shell.propose(action)
            shell.accept()
        elif seen is not None and _MISSING.fullmatch(seen):
            shell.adjust(status=127)
        elif seen is None:
            shell.follow(one.command, None)
        else:
            shell.absorb(Turn(action=action, observation=Observation.from_text(seen)))
    shell.revive()
