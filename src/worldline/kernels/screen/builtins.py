"""What an interactive bash does itself about time, jobs, history and input, and the commands that ask the terminal."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from worldline.domains.terminal.commands import Simple
from worldline.domains.terminal.syntax import parse
from worldline.kernels.screen.calling import returned
from worldline.kernels.screen.foreground import LOOPS
from worldline.kernels.screen.history import History
from worldline.kernels.screen.jobs import Job
from worldline.kernels.screen.passwords import Password, asks_password, refused
from worldline.kernels.screen.reading import ReadLine
from worldline.kernels.screen.tasks import Frame, Task
from worldline.kernels.screen.writing import written
from worldline.kernels.shell.programs import presence

if TYPE_CHECKING:
    from worldline.kernels.screen.running import Runner

__all__ = ["BUILTINS", "Builtin", "history_listed", "jobs_listed"]

Builtin = Callable[["Runner", Task, Simple, list[str]], None]

_SLEEP = re.compile(r"(\d+\.?\d*|\.\d+)([smhd]?)")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIGNALS = {
    "": "Terminated", "TERM": "Terminated", "15": "Terminated", "KILL": "Killed", "9": "Killed", "INT": "Interrupt",
    "2": "Interrupt", "HUP": "Hangup", "1": "Hangup", "USR1": "User defined signal 1", "10": "User defined signal 1",
    "USR2": "User defined signal 2", "12": "User defined signal 2", "ALRM": "Alarm clock", "14": "Alarm clock",
    "PIPE": "Broken pipe", "13": "Broken pipe",
}  # fmt: skip
"""What is said of a job that a signal ended."""
_MANY = 20_000
"""No process of a small machine has a number as high."""
_WAKING = frozenset(("", "TERM", "15", "HUP", "1", "KILL", "9"))
"""Signals that end a stopped job, too."""
_NUMBERS = {"Terminated": 143, "Killed": 137, "Hangup": 129, "Interrupt": 130, "Broken pipe": 141, "Alarm clock": 142}


def _say(runner: Runner, task: Task, text: str, status: int = 0) -> None:
    runner.state.display.write(text)
    runner.status(task, status)


def _sleep(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    found = [_SLEEP.fullmatch(word) for word in words]
    task.simple = written(node.text)
    if words and all(word in ("inf", "infinity") for word in words):
        task.forever = True
        runner.fork(task)
        runner.features.add("timing")
        return
    if not words or None in found or any(operator for _, operator in node.tokens):
        runner.whole(task, node.text)
        return
    runner.fork(task)
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
    named = [word for word in words if word.startswith("%")]
    chosen = [job for word in named if (job := table.find(word)) is not None] if named else table.jobs
    missing = "".join(f"bash: jobs: {word}: no such job\n" for word in named if table.find(word) is None)
    if "r" in options:
        chosen = [job for job in chosen if job.state == "Running"]
    if "s" in options:
        chosen = [job for job in chosen if job.state == "Stopped"]
    if "p" in options:
        return missing + "".join(f"{job.pid}\n" for job in chosen)
    text = missing + "".join(table.line(job, pid="l" in options) for job in chosen)
    for job in chosen:
        job.untold = False
    table.remove([job for job in chosen if job.over])
    return text


def _jobs(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    runner.features.add("job")
    wrong = re.fullmatch(r"-[lnprsx]*([^lnprsx])\w*", words[0]) if words else None
    if wrong is not None:
        usage = "jobs: usage: jobs [-lnprs] [jobspec ...] or jobs -x command [args]"
        _say(runner, task, f"bash: jobs: -{wrong[1]}: invalid option\n{usage}\n", 2)
        return
    listed = jobs_listed(runner, words)
    if listed is None:
        runner.unclear(task, node)
    else:
        _say(runner, task, listed, int("no such job\n" in listed))
        if "l" in "".join(word for word in words if word.startswith("-")) and "|" in listed:
            runner.doubt("the processes of a pipe")


def _chosen(runner: Runner, task: Task, name: str, words: list[str]) -> Job | None:
    word = words[0] if words else ""
    job = runner.state.jobs.find(word)
    if job is None or job.over or job.fore:
        _say(runner, task, f"bash: {name}: {word or 'current'}: no such job\n", 1)
        return None
    return job


def _fg(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    runner.features.add("job")
    job = _chosen(runner, task, "fg", words)
    if job is None:
        return
    table = runner.state.jobs
    runner.state.display.write(f"{job.text}{table.started(job)}\n")
    table.prefer(job)
    if job.coming and job.coming != "Stopped":
        ended, job.coming = job.coming, ""
        table.remove([job])
        table.settle()
        _say(runner, task, f"{table.notices()}{ended}\n", _NUMBERS.get(ended, 128))
        return
    job.task.background, job.fore, job.state, job.untold = False, True, "Running", False
    task.frames.append(Frame("job", node, job.number))
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
    said = f"[{job.number}]{table.mark(job)} {job.text} &{table.started(job)}\n"
    job.state, job.task.background, job.untold = "Running", True, False
    table.last_pid = job.pid
    if job.task.program is not None:
        job.state, job.untold = "Stopped", True
    elif job.task.remaining:
        job.task.wake, job.task.remaining = runner.state.now + job.task.remaining, 0.0
    table.choose()
    _say(runner, task, said)
    if job.task.frames and job.task.wake is None and job.task.program is None:
        runner.aside(job.task)


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
    table.settle()
    if words and all(job.over for job in chosen):
        ended = chosen[-1]
        runner.state.display.write(
            table.notices() if ended.state != "Done" and not ended.state.startswith("Exit") else ""
        )
        table.remove(chosen)
        runner.status(task, _NUMBERS.get(ended.state, ended.task.status))
        return
    chosen = [job for job in (chosen if words else table.jobs) if job.state == "Running"]
    if not words and not any_of_them and task.script is None:
        table.remove([job for job in table.jobs if job.over])  # the shell tells of none that ended before
    if not chosen:
        runner.status(task, 0)
        return
    task.waiting = ("any " if any_of_them else "") + " ".join(str(job.number) for job in chosen)
    task.after = None if words else 0
    task.simple = node.text


def _disown(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    runner.features.add("job")
    table = runner.state.jobs
    if words[:1] == ["-h"]:
        job = table.find(words[1] if len(words) > 1 else "")
        named = words[1] if len(words) > 1 else "current"
        _say(runner, task, "" if job else f"bash: disown: {named}: no such job\n", int(job is None))
        return
    if [word for word in words if word.startswith("-") and word != "-a"]:
        runner.unclear(task, node)
        return
    job = table.find(words[0] if words and not words[0].startswith("-") else "")
    if job is None:
        _say(runner, task, f"bash: disown: {words[0] if words else 'current'}: no such job\n", 1)
        return
    table.remove(list(table.jobs) if "-a" in words else [job])
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
    status, ended = 0, 0
    for word in rest:
        job = table.find(word)
        if job is None or job.over or (job.coming and job.coming != "Stopped" and signal in ("0", "CONT", "18")):
            status = int(job is None or job.over)
            if not status:
                continue
            if word.startswith("%"):
                runner.state.display.write(f"bash: kill: {word}: no such job\n")
            elif word == "1" and runner.shell.state.user_id:
                runner.state.display.write("bash: kill: (1) - Operation not permitted\n")
            elif word.isdigit() and (int(word) in range(table.first_pid, table.next_pid) or int(word) > _MANY):
                runner.state.display.write(f"bash: kill: ({word}) - No such process\n")
            else:
                runner.unclear(task, node)
                return
        else:
            ended += _signal(runner, job, signal)
    if ended > 1:
        runner.doubt("in which order the shell hears of the ends of several jobs")
    runner.status(task, status)


def _signal(runner: Runner, job: Job, signal: str) -> bool:
    """Send a signal to a job; tell whether it ended a running one."""
    task = job.task
    running = job.state == "Running"
    if signal == "0" or (running and signal in ("CONT", "18")):
        return False
    if signal in ("STOP", "19", "TSTP", "20"):
        if running:
            task.remaining = max(0.0, (task.wake or 0.0) - runner.state.now)
            task.wake, job.coming = None, "Stopped"
    elif signal in ("CONT", "18"):
        job.state, task.background, job.untold = "Running", True, False
        task.wake, task.remaining = runner.state.now + task.remaining, 0.0
    elif running and (body := runner.trapped(task, signal)) is not None:
        runner.doubt("a signal to a script that traps it")
        task.wake, task.output, task.after = None, "", None
        if body:
            task.frames.append(Frame("list", parse(body)))
        runner.aside(task)
    elif signal in _SIGNALS and (running or signal in _WAKING):
        if runner.catches(job.text):
            runner.doubt("a signal to a program that may catch it")
        job.coming, job.untold = _SIGNALS[signal], not running
        task.wake = None
        task.frames.clear()
        task.status = _NUMBERS.get(job.coming, 128)
        return running
    else:
        job.untold = not running
        if signal not in _SIGNALS:
            runner.doubt("a signal to a job")
    return False


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


def history_listed(history: History, words: Sequence[str]) -> str | None:
    """What `history` or `fc -l` writes; None where it is called in a way that is not gone into."""
    rest = list(words[1:])
    if words[0] == "history":
        if len(rest) > 1 or (rest and not rest[0].isdigit()):
            return None
        return history.listing(int(rest[0]) if rest else None)
    bare = rest[:1] in (["-ln"], ["-nl"])
    if not bare and rest[:1] != ["-l"]:
        return None
    if len(rest) > 3 or any(re.fullmatch(r"-?\d+", word) is None for word in rest[1:]):
        return None
    lines = history.lines[:-1] or history.lines
    places = [len(lines) + number if (number := int(word)) < 0 else number - history.first for word in rest[1:]]
    start = max(0, min(places[0], len(lines))) if places else max(0, len(lines) - 16)
    end = min(places[1] + 1, len(lines)) if len(places) > 1 else len(lines)
    return "".join(f"{'' if bare else history.first + place}\t {lines[place]}\n" for place in range(start, end))


def _fc(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    """`fc -l`, which lists the history; with anything else an editor would be started."""
    runner.features.add("history")
    listed = history_listed(runner.state.history, ["fc", *words])
    if listed is None:
        runner.lose("an editor for the history")
    else:
        _say(runner, task, listed)


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


def _nohup(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    """`nohup`, which says what becomes of the terminal it was started at, and runs a command."""
    redirected = {token.rstrip("&12") or ">" for token, operator in node.tokens if operator}
    errors = any(re.match(r"2>|&>|>&", token) for token, operator in node.tokens if operator)
    if not words or words[0].startswith("-") or redirected - {">", ">>", "2>", "&>", "&>>", "2>>"}:
        runner.whole(task, node.text)
        return
    said = "nohup: ignoring input"
    if not redirected or redirected == {"2>"}:
        said += " and appending output to 'nohup.out'"
    elif not errors:
        said += " and redirecting stderr to stdout"
    place = node.text.index("nohup")
    rest = node.text[:place] + node.text[place + len("nohup") :].lstrip()
    if presence(runner.shell.state, words[0]) == "absent" and "/" not in words[0] and not redirected:
        runner.fork(task)
        _say(runner, task, f"{said}\nnohup: failed to run command '{words[0]}': No such file or directory\n", 127)
        return
    if not redirected:
        rest += " >> nohup.out 2>&1"
    elif not errors:
        rest += " 2>&1"
    if errors:
        runner.execute(re.sub(r"^.*?(?=\s(?:\d?>|&>))", f"echo {shlex.quote(said)} >&2 ", node.text, count=1))
        rest = re.sub(r"(?<![0-9>&])>(?!>|&)", ">>", rest)
    else:
        runner.write(task, f"{said}\n")
    task.frames.append(Frame("list", parse(rest)))


def _su(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    """`su`, which asks for a password that nobody knows."""
    if runner.shell.state.user_id == 0 or any(operator for _, operator in node.tokens):
        runner.whole(task, node.text)
    elif asks_password(words, runner.shell.state.user):
        runner.fork(task)
        runner.ask(task, Password(), node.text)
    elif said := refused(words):
        runner.fork(task)
        _say(runner, task, said, 1)
    else:
        runner.whole(task, node.text)


def _yes(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    """`yes` into nothing, which goes on for ever."""
    operators = [token for token, operator in node.tokens if operator]
    if operators and operators[0] in (">", "1>", "&>") and ("/dev/null", False) in node.tokens and len(operators) < 3:
        runner.fork(task)
        task.forever, task.simple = True, written(node.text)
    else:
        runner.whole(task, node.text)


def _timeout(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    """`timeout` of a `sleep`, or of what takes no time; anything else may be cut off at any place."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("-s", "-k", "--signal", "--kill-after") and rest:
            rest.pop(0)
    inner = rest[1:]
    limit = re.fullmatch(r"(\d+\.?\d*|\.\d+)([smhd]?)", rest[0]) if rest else None
    if inner[:1] == ["tail"] and limit and set(inner[1:]) & {"-f", "-F"} and not any(op for _, op in node.tokens):
        run = runner.execute(shlex.join(word for word in inner if word not in ("-f", "-F")))
        runner.write(task, run.text, run.why)
        runner.features.add("timing")
        task.wake, task.after = runner.state.now + float(limit[1]) * _UNITS[limit[2]], 124
        task.simple = written(node.text)
        return
    if inner and inner[0] != "sleep" and (runner.takes_terminal(inner) or any("sleep" in word for word in inner)):
        runner.lose("what `timeout` lets happen")
        return
    runner.whole(task, node.text)


def _broken(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    """`break` and `continue` of a loop that is gone through."""
    loops = [index for index, frame in enumerate(task.frames) if frame.kind in LOOPS]
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
    "tail": _tail, "fc": _fc, "timeout": _timeout, "nohup": _nohup, "yes": _yes, "su": _su, "return": returned,
    "break": _broken, "continue": _broken,
}  # fmt: skip
"""By name; `kill ` is asked only for jobs."""
