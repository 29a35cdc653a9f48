"""What an interactive bash does itself about time, jobs, history and input, and the commands that ask the terminal."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from worldline.domains.terminal.commands import List, Loop, Node, Other, Simple
from worldline.kernels.screen.jobs import Job
from worldline.kernels.screen.reading import ReadLine
from worldline.kernels.screen.tasks import Task

if TYPE_CHECKING:
    from worldline.kernels.screen.running import Runner

__all__ = ["BUILTINS", "Builtin", "jobs_listed", "written"]

Builtin = Callable[["Runner", Task, Simple, list[str]], None]

_SLEEP = re.compile(r"(\d+\.?\d*|\.\d+)([smhd]?)")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIGNALS = {
    "": "Terminated", "TERM": "Terminated", "15": "Terminated", "KILL": "Killed", "9": "Killed", "INT": "Interrupt",
    "2": "Interrupt", "HUP": "Hangup", "1": "Hangup",
}  # fmt: skip


def written(text: str, node: Node | None = None) -> str:
    """A command as bash writes it down for a list of jobs."""
    if isinstance(node, Loop) and node.kind in ("for", "while", "until"):
        body = f"    {_statements(node.body)};"
        if node.kind == "for":
            return f"for {node.variable} in {node.head};\ndo\n{body}\ndone"
        test = _statements(node.test) if node.test is not None else ""
        return f"{node.kind} {test}; do\n{body}\ndone"
    if isinstance(node, Other) and node.kind == "(":
        return f"( {text[1:-1].strip().rstrip(';')} )"
    return re.sub(r"\s+", " ", text) if "'" not in text and '"' not in text else text


def _statements(node: List) -> str:
    return "; ".join(item.text for item in node.items)


def _say(runner: Runner, task: Task, text: str, status: int = 0) -> None:
    runner.state.display.write(text)
    runner.status(task, status)


def _sleep(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    found = [_SLEEP.fullmatch(word) for word in words]
    task.simple = written(node.text)
    if words and all(word in ("inf", "infinity") for word in words):
        task.forever = True
        runner.features.add("timing")
        return
    if not words or None in found or any(operator for _, operator in node.tokens):
        runner.whole(task, node.text)
        return
    seconds = sum(float(match[1]) * _UNITS[match[2]] for match in found if match is not None)
    runner.features.add("timing")
    task.status = 0
    if seconds <= 0:
        runner.status(task, 0)
        return
    task.wake, task.after = runner.state.now + seconds, 0


def jobs_listed(runner: Runner, words: Sequence[str]) -> str | None:
    """What `jobs` writes; None where it is called in a way that is not gone into."""
    options = "".join(word[1:] for word in words if word.startswith("-"))
    table = runner.state.jobs
    if set(options) - set("lprs") or any(not word.startswith(("-", "%")) for word in words):
        return None
    chosen = [job for word in words if word.startswith("%") if (job := table.find(word)) is not None] or table.jobs
    if "r" in options:
        chosen = [job for job in chosen if job.state == "Running"]
    if "s" in options:
        chosen = [job for job in chosen if job.state == "Stopped"]
    if "p" in options:
        return "".join(f"{job.pid}\n" for job in chosen)
    text = "".join(table.line(job, pid="l" in options) for job in chosen)
    table.jobs = [job for job in table.jobs if not job.over or job not in chosen]
    return text


def _jobs(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    runner.features.add("job")
    listed = jobs_listed(runner, words)
    if listed is None:
        runner.unclear(task, node)
    else:
        _say(runner, task, listed)


def _chosen(runner: Runner, task: Task, name: str, words: list[str]) -> Job | None:
    word = words[0] if words else ""
    job = runner.state.jobs.find(word)
    if job is None or job.over:
        _say(runner, task, f"bash: {name}: {word or 'current'}: no such job\n", 1)
        return None
    return job


def _fg(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    runner.features.add("job")
    job = _chosen(runner, task, "fg", words)
    if job is None:
        return
    table = runner.state.jobs
    table.jobs = [other for other in table.jobs if other is not job]
    runner.state.display.write(f"{job.text}\n")
    job.task.background = False
    runner.resume(task, job.task)


def _bg(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    runner.features.add("job")
    job = _chosen(runner, task, "bg", words)
    if job is None:
        return
    if job.state == "Running":
        _say(runner, task, f"bash: bg: job {job.number} already in background\n")
        return
    table = runner.state.jobs
    mark = table.mark(job)
    table.turn += 1
    job.state, job.order, job.task.background = "Running", table.turn, True
    if job.task.program is not None:
        job.state = "Stopped"
        runner.doubt("a program that reads the terminal from the background")
    elif job.task.remaining:
        job.task.wake, job.task.remaining = runner.state.now + job.task.remaining, 0.0
    _say(runner, task, f"[{job.number}]{mark} {job.text} &\n")


def _wait(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    runner.features.add("job")
    table = runner.state.jobs
    any_of_them = words == ["-n"]
    words = [] if any_of_them else words
    if any(word.startswith("-") for word in words):
        runner.unclear(task, node)
        return
    chosen: list[Job] = []
    for word in words:
        job = table.find(word)
        if job is None:
            if word.startswith("%"):
                _say(runner, task, f"bash: wait: {word}: no such job\n", 127)
            else:
                _say(runner, task, f"bash: wait: pid {word} is not a child of this shell\n", 127)
            return
        chosen.append(job)
    chosen = [job for job in (chosen if words else table.jobs) if job.state == "Running"]
    if not words and not any_of_them and task.script is None:
        table.jobs = [job for job in table.jobs if not job.over]  # the shell tells of none that ended before
    if not chosen:
        runner.status(task, 0)
        return
    task.waiting = ("any " if any_of_them else "") + " ".join(str(job.number) for job in chosen)
    task.after = None if words else 0
    task.simple = node.text


def _disown(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    runner.features.add("job")
    table = runner.state.jobs
    if [word for word in words if word.startswith("-") and word != "-a"]:
        runner.unclear(task, node)
        return
    job = table.find(words[0] if words and not words[0].startswith("-") else "")
    if job is None:
        _say(runner, task, f"bash: disown: {words[0] if words else 'current'}: no such job\n", 1)
        return
    table.jobs = [] if "-a" in words else [other for other in table.jobs if other is not job]
    runner.status(task, 0)


def _kill(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    """`kill` of jobs, or of the last process in the background."""
    runner.features.add("job")
    signal, rest = "", list(words)
    if rest and rest[0] in ("-s", "-n") and len(rest) > 1:
        signal, rest = rest[1], rest[2:]
    elif rest and rest[0].startswith("-"):
        signal, rest = rest[0][1:], rest[1:]
    signal = signal.upper().removeprefix("SIG")
    table = runner.state.jobs
    if not rest:
        runner.unclear(task, node)
        return
    status = 0
    for word in rest:
        job = table.find(word)
        if job is None or job.over:
            status = 1
            if not word.startswith("%"):
                runner.unclear(task, node)
                return
            runner.state.display.write(f"bash: kill: {word}: no such job\n")
        elif signal in ("STOP", "19", "TSTP", "20") and job.state == "Running":
            job.task.remaining = max(0.0, (job.task.wake or 0.0) - runner.state.now)
            job.task.wake = None
            table.stop(job)
            runner.doubt("when a stopped job is told of")
        elif signal in ("CONT", "18") and job.state == "Stopped":
            job.state, job.task.background, job.late = "Running", True, True
            job.task.wake, job.task.remaining = runner.state.now + job.task.remaining, 0.0
        elif job.task.script is not None and "trap" in job.task.script.node.text:
            runner.doubt("a signal to a script that may trap it")
        elif signal in _SIGNALS and job.state == "Running":
            # one that was continued just before is heard of at once
            job.state, job.task.wake, job.late = _SIGNALS[signal], None, not job.late
            job.task.frames.clear()
            job.task.status = 143
        else:
            runner.doubt("a signal to a job")
    runner.status(task, status)


def _history(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    runner.features.add("history")
    history = runner.state.history
    if not words:
        _say(runner, task, history.listing())
    elif words == ["-c"]:
        history.lines.clear()
        runner.status(task, 0)
    elif len(words) == 1 and words[0].isdigit():
        _say(runner, task, history.listing(int(words[0])))
    elif len(words) == 2 and words[0] == "-d" and words[1].isdigit():
        index = int(words[1]) - history.first
        if 0 <= index < len(history.lines):
            del history.lines[index]
            runner.status(task, 0)
        else:
            _say(runner, task, f"bash: history: {words[1]}: history position out of range\n", 1)
    elif words[0] == "-s":
        history.lines[-1:] = [" ".join(words[1:])]
        runner.status(task, 0)
    else:
        runner.unclear(task, node)


def _fc(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    """`fc -l`, which lists the history; with anything else an editor would be started."""
    runner.features.add("history")
    history = runner.state.history
    count = int(words[1][1:]) if len(words) == 2 and re.fullmatch(r"-\d+", words[1]) else 16
    if words[:1] != ["-l"] or (len(words) > 1 and count == 16 and words[1] != "-16") or len(words) > 2:
        runner.lose("an editor for the history")
        return
    before = history.lines[:-1]
    start = max(0, len(before) - count)
    _say(
        runner, task, "".join(f"{history.first + number}\t {before[number]}\n" for number in range(start, len(before)))
    )


def _exit(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    state = runner.state
    if task.script is not None:
        number = words[0] if words else str(task.status)
        if not re.fullmatch(r"\d+", number):
            runner.unclear(task, node)
            return
        runner.leave(task, int(number) & 255)
        return
    if any(job.state == "Stopped" for job in state.jobs.jobs) and not state.warned:
        state.warned = True
        _say(runner, task, f"{node.name}\nThere are stopped jobs.\n", 1)
        return
    if node.name == "logout":
        _say(runner, task, "bash: logout: not login shell: use `exit'\n", 1)
        return
    runner.whole(task, node.text)


def _tput(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    display = runner.state.display
    known = {
        "cols": f"{display.columns}\n", "lines": f"{display.lines}\n", "clear": "\x1b[H\x1b[2J\x1b[3J",
        "home": "\x1b[H", "bold": "\x1b[1m", "sgr0": "\x1b(B\x1b[m", "smul": "\x1b[4m", "rmul": "\x1b[24m",
        "rev": "\x1b[7m", "smso": "\x1b[7m", "rmso": "\x1b[27m", "el": "\x1b[K", "ed": "\x1b[J", "bel": "\x07",
        "civis": "", "cnorm": "", "colors": "256\n", "sc": "\x1b7", "rc": "\x1b8", "cuu1": "\x1b[A", "dim": "\x1b[2m",
    }  # fmt: skip
    if len(words) == 1 and words[0] in known:
        _say(runner, task, known[words[0]])
    elif len(words) == 3 and words[0] == "cup" and all(word.isdigit() for word in words[1:]):
        _say(runner, task, f"\x1b[{int(words[1]) + 1};{int(words[2]) + 1}H")
    elif len(words) == 2 and words[0] in ("setaf", "setab") and words[1].isdigit():
        runner.status(task, 0)
    else:
        runner.unclear(task, node)


def _stty(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    if words == ["size"]:
        _say(runner, task, f"{runner.state.display.lines} {runner.state.display.columns}\n")
    elif words == ["sane"]:
        runner.status(task, 0)
    else:
        runner.unclear(task, node)


def _reset(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    if words:
        runner.unclear(task, node)
        return
    runner.state.display.feed("\x1bc")
    task.wake, task.after, task.simple = runner.state.now + 1.0, 0, node.text
    task.timing = "when `reset` is done"


def _read(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    """`read` at the terminal: a line that is typed becomes variables."""
    if any(token == "<" or token.startswith("<<") for token, operator in node.tokens if operator):
        runner.whole(task, node.text)
        return
    reader = ReadLine.of(words)
    if reader is None or task.background or (reader.seconds == 0 and reader.raw):
        runner.lose("read with these options")
        return
    task.program, task.simple = reader, node.text
    if reader.seconds is not None:
        task.deadline = runner.state.now + reader.seconds
        runner.features.add("timing")
    runner.features.add("read")
    runner.show(task, reader.start(runner.host))


def _tail(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    """`tail -f`, which goes on showing what comes to a file; any other `tail` is run as usual."""
    following = [word for word in words if re.fullmatch(r"-\w*[fF]|--follow", word)]
    rest = [word[:-1] if word in following and len(word) > 2 else word for word in words]
    rest = [word for word in rest if word not in following]
    files = [word for word in rest if not re.match(r"-|\+?\d+$", word)]
    if not following or any(operator for _, operator in node.tokens) or task.background:
        runner.program(task, node.text, runner.expanded(node.tokens))
        return
    if len(files) != 1:
        runner.lose("tail -f of several files")
        return
    runner.features.add("timing")
    run = runner.execute(shlex.join(["tail", *rest]))
    runner.write(task, run.text, run.why)
    if run.status:
        if run.text:
            runner.state.display.write("tail: no files remaining\n")
        runner.status(task, 1)
        return
    task.forever, task.follows, task.simple = True, files[0], node.text
    task.shown = runner.size(files[0])


def _timeout(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    """`timeout` of a `sleep`, or of what takes no time; anything else may be cut off at any place."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("-s", "-k", "--signal", "--kill-after") and rest:
            rest.pop(0)
    inner = rest[1:]
    if inner and inner[0] != "sleep" and (runner.takes_terminal(inner) or any("sleep" in word for word in inner)):
        runner.lose("what `timeout` lets happen")
        return
    runner.whole(task, node.text)


def _broken(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    """`break` and `continue` of a loop that is gone through."""
    loops = [index for index, frame in enumerate(task.frames) if frame.kind in ("for", "cfor", "while")]
    count = int(words[0]) if words and words[0].isdigit() else 1
    if not loops:
        runner.whole(task, shlex.join([node.name, *words]))
        return
    place = loops[max(0, len(loops) - count)]
    del task.frames[place if node.name == "break" else place + 1 :]
    runner.status(task, 0)


BUILTINS: Mapping[str, Builtin] = {
    "sleep": _sleep, "jobs": _jobs, "fg": _fg, "bg": _bg, "wait": _wait, "disown": _disown, "kill ": _kill,
    "history": _history, "exit": _exit, "logout": _exit, "tput": _tput, "stty": _stty, "reset": _reset, "read": _read,
    "tail": _tail, "fc": _fc, "timeout": _timeout, "break": _broken, "continue": _broken,
}  # fmt: skip
"""By name; `kill ` is asked only for jobs."""
