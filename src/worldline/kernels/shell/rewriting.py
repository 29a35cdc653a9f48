"""What is put around a command, and in place of some of its words, before the library's shell runs it.

The library's shell keeps variables, functions and the working directory from one run to the next, but neither
options nor traps nor `$?`; and `exit` ends a run, not the session. So each command gets a preamble on its first line
that sets these again, and a last line that reports them. When the last line is not reached, the shell has ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

from worldline.kernels.shell.builtins.shared.textio import escape
from worldline.kernels.shell.jobs import SIGNALS, Job, listing, parse_job, signal_table
from worldline.kernels.shell.paths import expand_path
from worldline.kernels.shell.programs import presence
from worldline.kernels.shell.script import KEYWORDS, SHELL_BUILTINS, Script, parser
from worldline.kernels.shell.session import DEFAULT_OPTIONS, Settled
from worldline.kernels.shell.step import END, STATUS, TYPE, WHERE, Step

__all__ = ["PRINTF_TIME", "native_commands", "unstream", "wrap"]

_LOOKUP = re.compile(
    r"(^|[\n;&|({]\s*|\b(?:then|do|if|else|while|until|!)\s+)(command\s+-v|type\s+-[pP]|type)"
    r"((?:[ \t]+[A-Za-z0-9_][\w.+-]*)+)(?=[ \t]*(?:$|[\n;&|>)12]))",
    re.MULTILINE,
)
_RUN_SHELL = re.compile(r"(?<![\w-])env\s+((?:\w+=[\w./:-]*\s+)+)((?:ba)?sh\b)")
"""`env NAME=VALUE bash ...`, which is the same without `env`."""
PRINTF_TIME = re.compile(
    r"(printf\s+(?:-v\s+\w+\s+)?(['\"])[^'\"%]*)%\(([^)'\"]*)\)T([^'\"%]*\2)((?:\s+-?\d+)?)(?=\s*(?:$|[;&|)>]))"
)
_SIGNAL_LIST = re.compile(r"(^|[;&|(]\s*)(?:kill\s+-(?:l|L)|trap\s+-l)(?=\s*(?:$|[;&|)>]))", re.MULTILINE)
_PRINTING = re.compile(r"(?:printf|echo\s+-\w*e\w*)\s[^|;&\n]*|\$'[^']*'")
_HIGH_BYTES = re.compile(r"(?:\\x[89a-fA-F][0-9a-fA-F]|\\[23][0-7]{2})+")
_QUOTES = re.compile(r"('[^']*'|\"(?:\\.|[^\"\\])*\")")
_STREAMED = re.compile(r"((?<!\|)\|&?\s*)(cat|tr|grep)(?=$|[\s;&|)'\"])")
_EPOCH = re.compile(r"\$(?:EPOCHSECONDS\b|\{EPOCHSECONDS\})")


_HEREDOC = re.compile(r"(?<!<)<<-?\s*(['\"\\]?)(\w+)\1")


def wrap(script: Script, settled: Settled, step: Step, *, persist: bool) -> str:
    """Put the preamble and the report around a command."""
    pieces = (piece if body else _rewrite(piece, script, settled, step) for piece, body in _pieces(script.text))
    text = "".join(pieces)
    if re.search(r"(?<!\\)(?:\\\\)*\\\Z", text):
        text += "\\"  # a backslash with nothing behind it stands for itself
    if not persist:
        return f'{text}\n{END} "$?"'
    return f"{_preamble(script, settled)}{text}\n{_report(script, settled)}"


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Tell the bodies of here-documents from the rest of a script."""
    if "<<" not in text:
        yield text, False
        return
    delimiter, code = None, ""
    for line in text.splitlines(keepends=True):
        if delimiter is not None:
            yield line, True
            if line.strip("\t\n") == delimiter:
                delimiter = None
            continue
        code += line
        found = _HEREDOC.search(line)
        if found is not None:
            delimiter = found[2]
            yield code, False
            code = ""
    if code:
        yield code, False


def _rewrite(text: str, script: Script, settled: Settled, step: Step) -> str:
    """Put in what the library lacks or does otherwise; `text` is the script without its here-documents."""
    text = _look_up(text, script, settled, step)
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
    if step.first_line and "LINENO" in text:
        text = re.sub(r"\$(?:LINENO\b|\{LINENO\})", f"$((LINENO+{step.first_line}))", text)
    if step.state.user_id != 1000:
        text = re.sub(r"\$(?:E?UID\b|\{E?UID\})", str(step.state.user_id), text)
    return _EPOCH.sub(str(int(step.now.timestamp())), text)


def _preamble(script: Script, settled: Settled) -> str:
    parts = []
    for signal, body in settled.traps:
        parts.append(f"trap -- {_quote(body)} {signal}")
    if script.names("SECONDS"):
        parts.append(f"SECONDS={int((settled.clock - settled.started).total_seconds())}")
    for option in sorted(settled.options ^ DEFAULT_OPTIONS, key=lambda name: (name in ("xtrace", "verbose"), name)):
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


def _look_up(text: str, script: Script, settled: Settled, step: Step) -> str:
    """Let our own commands answer `command -v` and `type` of programs that the library does not place rightly."""
    if "command" not in text and "type" not in text:
        return text
    inside = SHELL_BUILTINS | KEYWORDS | settled.functions.keys() | script.functions

    def stand_in(match: re.Match[str]) -> str:
        names = match[3].split()
        if any(name in inside for name in names):
            return match[0]
        if match[2].startswith("type") and not match[2].endswith(("p", "P")):
            plain = all(presence(step.state, name) != "present" or name not in native_commands() for name in names)
            return f"{match[1]}{TYPE} {' '.join(names)}" if plain else match[0]
        return f"{match[1]}{WHERE} {' '.join(names)}"

    return _LOOKUP.sub(stand_in, text)


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
        if part.startswith('"') and not re.search(r"-\w*c\s*$", before):
            start, end = part.find("$("), part.rfind(")")
            if 0 <= start < end:
                parts[index] = part[:start] + unstream(part[start:end]) + part[end:]
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
