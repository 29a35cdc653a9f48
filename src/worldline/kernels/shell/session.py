"""The state of a shell session between commands, and what is put around a command to keep it.

The library's shell keeps variables, functions and the working directory from one run to the next, but neither
options nor traps nor `$?`; and `exit` ends a run, not the session. So each command gets a preamble on its first line
that sets these again, and a last line that reports them. When the last line is not reached, the shell has ended.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache

from worldline.kernels.shell.builtins.textio import escape
from worldline.kernels.shell.jobs import SIGNALS, Job, listing, parse_job, signal_table
from worldline.kernels.shell.paths import expand_path
from worldline.kernels.shell.programs import presence
from worldline.kernels.shell.script import KEYWORDS, SHELL_BUILTINS, Script, parser
from worldline.kernels.shell.step import END, STATUS, TYPE, WHERE, Step
from worldline.kernels.shell.table import Table

__all__ = ["PRINTF_TIME", "Settled", "functions_after", "native_commands", "settle", "wrap"]

_DEFAULT_OPTIONS = frozenset(("braceexpand", "hashall", "interactive-comments"))
_LOOKUP = re.compile(
    r"(?<![\w-])(command\s+-v|type\s+-[pP]|type)((?:[ \t]+[A-Za-z0-9_][\w.+-]*)+)(?=[ \t]*(?:$|[\n;&|>)12]))",
    re.MULTILINE,
)
_RUN_SHELL = re.compile(r"(?<![\w-])env\s+((?:\w+=[\w./:-]*\s+)+)((?:ba)?sh\b)")
"""`env NAME=VALUE bash ...`, which is the same without `env`."""
PRINTF_TIME = re.compile(
    r"(printf\s+(?:-v\s+\w+\s+)?(['\"])[^'\"%]*)%\(([^)'\"]*)\)T([^'\"%]*\2)((?:\s+-?\d+)?)(?=\s*(?:$|[;&|)>]))"
)
_SIGNAL_LIST = re.compile(r"(^|[;&|(]\s*)kill\s+-(?:l|L)(?=\s*(?:$|[;&|)>]))", re.MULTILINE)
_PRINTING = re.compile(r"(?:printf|echo\s+-\w*e\w*)\s[^|;&\n]*|\$'[^']*'")
_HIGH_BYTES = re.compile(r"(?:\\x[89a-fA-F][0-9a-fA-F]|\\[23][0-7]{2})+")
_QUOTES = re.compile(r"('[^']*'|\"(?:\\.|[^\"\\])*\")")
_STREAMED = re.compile(r"((?<!\|)\|&?\s*)(cat|tr|grep)(?=$|[\s;&|)'\"])")
_EPOCH = re.compile(r"\$(?:EPOCHSECONDS\b|\{EPOCHSECONDS\})")


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
    options: frozenset[str] = _DEFAULT_OPTIONS
    traps: tuple[tuple[str, str], ...] = ()
    """Pairs of signal name and what runs."""
    functions: dict[str, frozenset[str]] = field(default_factory=dict)
    """The commands in the body of each function, and `<` where it redirects."""
    lines: int = 0
    """Lines read so far; counts on in script mode."""
    opaque: tuple[str, ...] = ()
    """What of the shell itself became unknown: `$NAME`, `cwd`, `functions`."""
    jobs: tuple[Job, ...] = ()
    moved: bool = False
    """The working directory was changed, so that there is an `OLDPWD`."""
    loose: bool = field(default=False)
    """A job may still run in the background."""


def wrap(script: Script, settled: Settled, step: Step, *, persist: bool) -> str:
    """Put the preamble and the report around a command."""
    text = _look_up(script, settled, step)
    if "history" in script.programs and step.state.shell.mode != "interactive":
        # A shell that is not interactive keeps no history.
        text = re.sub(r"(^|[;&|(]\s*)history(?=\s*(?:$|[;&|)>]))", r"\1true", text, flags=re.MULTILINE)
    text = _with_jobs(unstream(text), settled, step)
    if not settled.moved and "OLDPWD" in text and not script.programs & {"cd", "pushd", "popd"}:
        text = re.sub(r"\$OLDPWD\b|\$\{OLDPWD\}", "", text)
    text = _PRINTING.sub(lambda match: _HIGH_BYTES.sub(_high_bytes, match[0]), text)
    text = _RUN_SHELL.sub(r"\1\2", text)
    text = _interpreters(text, script, settled, step)
    if "%(" in text:
        text = PRINTF_TIME.sub(lambda match: _printf_time(match, step.now), text)
    if step.state.user_id != 1000:
        text = re.sub(r"\$(?:E?UID\b|\{E?UID\})", str(step.state.user_id), text)
    text = _EPOCH.sub(str(int(step.now.timestamp())), text)
    if not persist:
        return f'{text}\n{END} "$?"'
    return f"{_preamble(script, settled)}{text}\n{_report(script, settled)}"


def _preamble(script: Script, settled: Settled) -> str:
    parts = []
    for signal, body in settled.traps:
        parts.append(f"trap -- {_quote(body)} {signal}")
    if script.names("SECONDS"):
        parts.append(f"SECONDS={int((settled.clock - settled.started).total_seconds())}")
    for option in sorted(settled.options ^ _DEFAULT_OPTIONS, key=lambda name: (name in ("xtrace", "verbose"), name)):
        parts.append(f"set {'-' if option in settled.options else '+'}o {option}")
    if settled.status and "$?" in script.text:
        parts.append(f"{STATUS} {settled.status}")
    if "errexit" in settled.options and parts and parts[-1].startswith(STATUS):
        parts[-1] = f"{parts[-1]} || :"
    return "".join(f"{part}; " for part in parts)


def _report(script: Script, settled: Settled) -> str:
    if settled.traps or script.names("trap"):
        return f'{END} "$?" "$SHELLOPTS" "$(trap -p)"\ntrap - EXIT'
    return f'{END} "$?" "$SHELLOPTS"'


def _quote(text: str) -> str:
    """Quote on one line, so that line numbers count the command's lines only."""
    return "$'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def _look_up(script: Script, settled: Settled, step: Step) -> str:
    """Let our own commands answer `command -v` and `type` of programs that the library does not place rightly."""
    if "command" not in script.text and "type" not in script.text:
        return script.text
    inside = SHELL_BUILTINS | KEYWORDS | settled.functions.keys() | script.functions

    def stand_in(match: re.Match[str]) -> str:
        names = match[2].split()
        if any(name in inside for name in names):
            return match[0]
        if match[1].startswith("type") and not match[1].endswith(("p", "P")):
            plain = all(presence(step.state, name) != "present" or name not in native_commands() for name in names)
            return f"{TYPE} {' '.join(names)}" if plain else match[0]
        return f"{WHERE} {' '.join(names)}"

    return _LOOKUP.sub(stand_in, script.text)


def settle(
    before: Settled, script: Script, step: Step, table: Table, cwd: str, status: int, *, persist: bool
) -> Settled:
    """The state after a command whose run went through."""
    after = Settled(table, step.now, cwd, before.started, status=status, lines=before.lines, opaque=before.opaque)
    after.lines += script.text.count("\n") + 1
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
    return {**before.functions, **dict.fromkeys(script.functions, body)}


def _interpreters(text: str, script: Script, settled: Settled, step: Step) -> str:
    """Let our own Python run scripts that name it in their first line."""
    home = step.state.home
    for name in script.programs:
        if "/" not in name:
            continue
        node = settled.table.nodes.get(expand_path(name, settled.cwd, home))
        first = (node.content or b"").partition(b"\n")[0] if node is not None and node.kind == "file" else b""
        if not first.startswith(b"#!"):
            continue
        program = first[2:].decode("utf-8", "replace").split()
        if program and program[0].endswith("/env"):
            program = program[1:]
        interpreter = program[0].rpartition("/")[2] if program else ""
        if interpreter in ("sh", "bash", "dash"):
            continue
        if not interpreter.startswith("python3") or len(program) > 1:
            step.unknown.append(f"{name} is run by {interpreter or 'nothing'}")
        elif node is not None and node.mode & 0o100:
            text = re.sub(
                rf"(^|[;&|(]\s*){re.escape(name)}(?=\s|$|[;&|)>])", rf"\1python3 {name}", text, flags=re.MULTILINE
            )
        elif script.names("chmod"):
            text = re.sub(rf"([;&|(\n]\s*){re.escape(name)}(?=\s|$|[;&|)>])", rf"\1python3 {name}", text)
    return text


def _with_jobs(text: str, settled: Settled, step: Step) -> str:
    """Answer `jobs`, `kill %N`, `wait %N` and `kill -l` from our own list of jobs."""
    text = _SIGNAL_LIST.sub(lambda match: f"{match[1]}printf %s {_quote(signal_table())}", text)
    started = parse_job(text, settled.jobs)
    if started is not None and step.state.shell.mode != "interactive":
        step.jobs = (*settled.jobs, started)
        return "true"
    jobs = settled.jobs
    # A killed job is forgotten at the next command that does not ask for it.
    step.jobs = tuple(job for job in jobs if not job.signal)
    if not jobs:
        return text
    listed = re.fullmatch(r"\s*jobs\s*", text)
    if listed is not None:
        return f"printf %s {_quote(listing(jobs))}"
    killed = re.fullmatch(r"\s*kill\s+(?:-s\s+|-n\s+|-)?(?:SIG)?(\w+\s+)?%(\d+|%|\+)?\s*", text)
    if killed is not None:
        number = _number(killed[2], jobs)
        signal = SIGNALS.get((killed[1] or "TERM").strip()) or int((killed[1] or "0").strip() or 0)
        if any(job.number == number for job in jobs) and signal in (1, 2, 9, 15):
            step.jobs = tuple(replace(job, signal=signal) if job.number == number else job for job in jobs)
            return "true"
    waited = re.match(r"\s*wait\s+%(\d+|%|\+)(?=\s*(?:;|$|\n))", text)
    if waited is not None:
        number = _number(waited[1], jobs)
        job = next((job for job in jobs if job.number == number and job.signal), None)
        if job is not None:
            step.jobs = tuple(other for other in jobs if other is not job)
            step.unknown.append("whether the shell has forgotten the killed job already")
            return f"{STATUS} {128 + job.signal}{text[waited.end() :]}"
    return text


def _number(word: str | None, jobs: tuple[Job, ...]) -> int:
    return int(word) if word is not None and word.isdigit() else jobs[-1].number


def unstream(text: str) -> str:
    """Keep the library from joining two commands into a stream of its own, past our commands of the same names.

    It does so for `cat`, `tr`, `grep`, `seq` and `yes` next to each other in a pipe, unless one is called by `command`.
    """
    if "|" not in text:
        return text
    parts = _QUOTES.split(text)
    for index, part in enumerate(parts):
        before = parts[index - 1] if index else ""
        if part.startswith("'") and not re.search(r"-\w*c\s*$", before):
            continue
        if part.startswith('"') and "$(" not in part and not re.search(r"-\w*c\s*$", before):
            continue
        parts[index] = _STREAMED.sub(r"\1command \2", part)
    return "".join(parts)


def _high_bytes(match: re.Match[str]) -> str:
    """Bytes that a format names by number, as text that survives the pipes of the library."""
    numbers = re.findall(r"\\x([0-9a-fA-F]{2})|\\([0-7]{3})", match[0])
    return escape(bytes(int(digits, 16) if digits else int(octal, 8) for digits, octal in numbers))


def _printf_time(match: re.Match[str], now: datetime) -> str:
    """Fill in the time of `printf '%(FORMAT)T'`: now, or a literal number of seconds."""
    argument = match[5].strip()
    moment = now if argument in ("", "-1", "-2") else datetime.fromtimestamp(int(argument), UTC)
    shown = moment.strftime(match[3] or "%X").replace("%", "%%")
    return f"{match[1]}{shown}{match[4]}"


@cache
def native_commands() -> frozenset[str]:
    """Names of the commands that the shell library has of its own."""
    return frozenset(parser().capabilities().builtins)


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
