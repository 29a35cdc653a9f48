"""Running one command on a trial state: parse, wrap, run, enforce permissions, follow, judge what is known."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from bashkit import BashError

from worldline.domains.terminal.state import TerminalState
from worldline.kernels.shell.access import doubts, suspects
from worldline.kernels.shell.barriers import Barriers
from worldline.kernels.shell.dash import dash_doubts, dash_status
from worldline.kernels.shell.jobs import parse_job
from worldline.kernels.shell.machine import Machine, Outcome
from worldline.kernels.shell.messages import bare_messages, reword, syntax_message
from worldline.kernels.shell.paths import expand_path
from worldline.kernels.shell.rewriting import wrap
from worldline.kernels.shell.script import Script, SyntaxFault, parser, read_script
from worldline.kernels.shell.session import Settled, functions_after, settle
from worldline.kernels.shell.step import END, Step
from worldline.kernels.shell.table import Node, Table
from worldline.types import Observation, decode

__all__ = ["Attempt", "attempt"]

_RESTRICTIVE = re.compile(r"\bchmod\s+(?:-\w+\s+)*(?:0?[0-37][0-7]{2}\b(?<!7[0-7]{2})|0?[45][0-7]{2}\b|[ugoa]*[-=]\w*)")
_JOB_CONTROL = re.compile(r"\s*(?:jobs|kill\s+(?:-\S+\s+)*(?:\w+\s+)?%\d*|kill\s+-[lL]\b[^;&]*|kill\s+-s\s+\w+\s+1)\s*")
"""What is answered from our own list of jobs."""
_UNTRACED = frozenset(("loop", "if", "condition", "arithmetic", "function", "pipe", "substitution", "background"))
"""Features whose `set -x` lines the library leaves out or orders differently."""
_SETTING = re.compile(
    r"(?<![\w-])(?:set|shopt|alias|unalias|trap|exec|source|\.|eval|declare|typeset|local|readonly|enable|hash|ulimit|"
    r"getopts|pushd|popd|dirs|coproc|complete|bind|unset|IFS|OLDPWD|PS4|OPTIND|disown)(?![\w-])"
)
"""What changes the shell in ways that its variables do not show."""
_ERRORS_ELSEWHERE = re.compile(r"2>|&>|\|&|>&")
_OWN_MESSAGE = re.compile(r"^(?:bash|sh): line \d+: |^\x01absent:|: command not found\. ", re.MULTILINE)
_UNDONE = re.compile(
    r"^bash: (?:line \d+: )?[^\n]*(?:error token is \"|bad substitution|readonly variable)[^\n]*\n\Z", re.M
)
"""What ends a command but not the shell, as the last thing said."""
_ENDING = re.compile(r"\b(?:exit|exec|set\s+-\w*e)\b")
_IN_FUNCTION = re.compile(r"^main: line \d+: ", re.MULTILINE)
_PARTED = "\x02\n"
_SCRIPT_LINE = re.compile(r"^((?:\.{1,2}/|/)(?!(?:usr/)?bin/bash:)[^\s:]+): line (\d+): ", re.MULTILINE)
_REPLACEMENT = "\ufffd".encode()
_FATAL = re.compile(r"^\w+: (?:line \d+: )?(\w+): ([^\n]*)\n\Z", re.MULTILINE)
"""A message about a variable, as the last thing said."""
_FATAL_DASH = re.compile(r"^sh: \d+: \w+: (?!not found)[^\n]*\n\Z", re.MULTILINE)
"""`chmod` that takes a permission away from the owner."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What running a command gave."""

    observation: Observation
    settled: Settled
    classes: tuple[str, ...]
    doubts: tuple[str, ...]
    ran: tuple[str, ...]
    written: tuple[str, ...]
    shell_changed: bool = True
    """Variables, functions or options may have changed."""
    limited: bool = False
    """A limit of the kernel was reached."""
    slept: float = 0.0
    """Virtual seconds that its commands slept."""
    programs: int = 0
    """Processes that were started for programs, as far as they are counted."""


def attempt(machine: Machine, settled: Settled, text: str, image: bytes) -> Attempt:
    """Run a command. The machine is left at the trial state.

    Args:
        machine: At the settled state.
        settled: The state before.
        text: The command.
        image: The shell's serialised state, to run again from.
    """
    script = read_script(text)
    if isinstance(script, SyntaxFault):
        return _refuse(machine, settled, text, script, image)
    return _Run(machine, settled, script, image).go()


def _refuse(machine: Machine, settled: Settled, text: str, fault: SyntaxFault, image: bytes) -> Attempt:
    """A command that does not parse: the lines before the fault run, then the shell complains."""
    shell = machine.state.shell
    lines = text.split("\n")
    said = syntax_message(fault, text, shell, settled.lines if shell.mode == "script" else 0)
    doubt = () if said is not None else (f"the wording of a syntax error: {fault.message}",)
    message, status = said or ("", 2)
    for count in range(len(lines) - 1, 0, -1):
        before = "\n".join(lines[:count])
        if before.strip() and isinstance(read_script(before), Script):
            first = attempt(machine, settled, before, image)
            seen = first.observation
            if first.settled.ended:
                return first
            joined = _observe(machine.state, _bytes(seen, "stdout"), _bytes(seen, "stderr") + message.encode(), status)
            after = first.settled
            after.status, after.lines = status, settled.lines + len(lines)
            after.ended = shell.mode == "script" and shell.persist and ": syntax error" in message
            return Attempt(
                joined, after, (*first.classes, "(syntax error)"), (*first.doubts, *doubt), first.ran, first.written
            )
    after = replace(settled, status=status, lines=settled.lines + len(lines))
    if shell.mode == "script" and shell.persist and (said is None or ": syntax error" in message):
        after.ended = True
    observation = _observe(machine.state, b"", message.encode(), status)
    return Attempt(observation, after, ("(syntax error)",), doubt, (), (), shell_changed=False)


def _bytes(observation: Observation, field: str) -> bytes:
    text = observation.text if observation.merged and field == "stdout" else getattr(observation, field) or ""
    return text.encode()


def _observe(state: TerminalState, stdout: bytes, stderr: bytes, status: int) -> Observation:
    if state.shell.merged:
        return Observation.from_text(stdout + stderr, is_error=status != 0)
    return Observation.from_streams(stdout, stderr, status)


class _Run:
    """One command that parses, on its way."""

    def __init__(self, machine: Machine, settled: Settled, script: Script, image: bytes) -> None:
        self.machine = machine
        self.settled = settled
        self.script = script
        self.image = image
        self.state = machine.state
        self.joined = False
        self.warning = ""
        """What bash says before anything runs."""

    def go(self) -> Attempt:
        before = self.machine.fingerprint()
        hidden = self._forbidden()
        step, table, outcome = self._once(hidden)
        trespasses = self._trespasses(step, table)
        if trespasses:
            self.machine.install(table, self.settled.table)
            self.machine.restore_shell(self.image)
            step, table, outcome = self._once(hidden | trespasses)
        found = self._judge(step, table, outcome)
        changed = bool(self.script.functions) or _SETTING.search(self.script.text) is not None
        return replace(found, shell_changed=changed or self.machine.fingerprint() != before)

    def _once(self, hidden: set[str]) -> tuple[Step, Table, Outcome]:
        """Run once, with some paths out of the library's reach."""
        machine, settled, shell = self.machine, self.settled, self.state.shell
        table = settled.table.copy()
        step = Step(
            self.state,
            table,
            machine.stamps,
            settled.clock,
            text=self.script.text,
            first_line=settled.lines if shell.mode == "script" and shell.persist else 0,
            umask=settled.umask,
            merging=self.script.merging(merged=shell.merged),
            emptied={
                name: frozenset(expand_path(word, settled.cwd, self.state.home) for word in words)
                for name, words in self.script.emptied().items()
            },
            shows=self.script.shows if self.state.screen is not None else None,
            suspects=suspects(self.script, settled.functions, settled.table, settled.cwd, self.state.home),
        )
        if hidden:
            step.barriers = Barriers(machine.vfs, settled.table, machine.restorer(settled.table))
            step.barriers.place(hidden)
        text = wrap(self.script, settled, step, persist=shell.persist)
        swallowed = False
        if not self._reaches_end(text):
            closed = self._close_heredoc(text, step)
            if closed is None:
                step.unknown.append("the end of the command swallows what follows")
                swallowed = True
            text = closed or text
        self.joined = shell.merged and "statements" in self.script.features
        if self.joined:
            text = f"{{ {text}\n}} 2>&1"
        outcome = machine.run(text, step)
        if outcome.error is not None or swallowed:
            step.ended, step.status = False, outcome.status
        step.barriers.lift_all()
        only = None if hidden else step.suspects
        if only is None or only:
            machine.follow(table, step.now, step.umask, step.trace.written, only)
        if self._word_files(table, step.first_line) and re.search(r"\b(?:wc|ls|stat|du)\b", self.script.text):
            step.unknown.append("the size of a file that messages went to")
        return step, table, outcome

    def _script_lines(self, said: bytes, table: Table) -> bytes:
        """Count the first line of scripts that run by it, which the library does not."""
        if b": line " not in said:
            return said
        text, raw = decode(said)
        if raw is not None:
            return said

        def count(match: re.Match[str]) -> str:
            node = table.nodes.get(expand_path(match[1], self.settled.cwd, self.state.home))
            first = node is None or (node.content or b"").startswith(b"#!")
            return f"{match[1]}: line {int(match[2]) + first}: "

        return _SCRIPT_LINE.sub(count, text).encode()

    def _word_files(self, table: Table, first_line: int) -> bool:
        """Put the shell's own words into the files that its messages went to; tell whether there were any."""
        if not _ERRORS_ELSEWHERE.search(self.script.text):
            return False
        found = False
        before = self.settled.table.nodes
        for path in _changed(self.settled.table, table):
            node, old = table.nodes.get(path), before.get(path)
            if node is None or node.kind != "file" or not node.content or (old and old.content == node.content):
                continue
            text, _ = decode(node.content)
            worded = self._messages(text, functions_after(self.settled, self.script), first_line)
            if worded != text:
                self.machine.rewrite(path, worded.encode(), table)
                found = True
        return found

    def _messages(self, text: str, functions: Mapping[str, frozenset[str]], first_line: int) -> str:
        """Word the shell's messages where they do not go to its error stream."""
        if not _ERRORS_ELSEWHERE.search(self.script.text) or not _OWN_MESSAGE.search(text):
            return bare_messages(text)
        # A message may stand in the middle of a line, where a variable holds it.
        parted = re.sub(r"(?<=[^\n])(?=bash: line \d+: )", _PARTED, text)
        return reword(parted, self.script.text, self.state.shell, first_line, self.script, functions).replace(
            _PARTED, ""
        )

    def _reaches_end(self, text: str) -> bool:
        try:
            return END in parser().analyze(text).command_names
        except BashError:
            return False

    def _close_heredoc(self, text: str, step: Step) -> str | None:
        """End a here-document that the command leaves open; bash warns and goes on."""
        opened = list(re.finditer(r"(?<!<)<<-?\s*(['\"]?)(\w+)\1", self.script.text))
        if not opened or self.state.shell.program != "bash":
            return None
        delimiter = opened[-1][2]
        body, _, report = text.rpartition(f"\n{END} ")
        closed = f"{body}\n{delimiter}\n{END} {report}"
        if not self._reaches_end(closed):
            return None
        line = self.script.text.count("\n", 0, opened[-1].start()) + 1 + step.first_line
        last = self.script.text.count("\n") + 1 + step.first_line
        place = "bash: " if self.state.shell.mode == "interactive" else f"bash: line {last}: "
        self.warning = f"{place}warning: here-document at line {line} delimited by end-of-file (wanted `{delimiter}')\n"
        return closed

    # --- permissions

    def _forbidden(self) -> set[str]:
        """Paths the user may not read or search, and that the script names."""
        uid = self.state.user_id
        if uid == 0:
            return set()
        found: set[str] = set()
        reads = any(not redirect.is_write for redirect in self.script.analysis.redirects)
        reads = reads or self.script.names("source") or self.script.names(".") or "./" in self.script.text
        for path, node in self.settled.table.nodes.items():
            if node.mode & 0o555 == 0o555 or (node.kind == "file" and node.mode & 0o444 == 0o444):
                continue
            if node.kind == "directory":
                closed = not _permits(node, uid, 1)
            else:
                closed = node.kind == "file" and reads and not _permits(node, uid, 4)
            if (
                closed
                and posixpath.basename(path) in self.script.text
                and not any(path.startswith(other + "/") for other in found)
            ):
                found.add(path)
        return found

    def _trespasses(self, step: Step, table: Table) -> set[str]:
        """Paths that the library wrote though the user may not."""
        uid, before = self.state.user_id, self.settled.table.nodes
        if uid == 0:
            return set()
        found = set()
        for path in _changed(self.settled.table, table):
            if path in step.trace.written:
                continue
            old, new = before.get(path), table.nodes.get(path)
            place = path if old is not None and new is not None else posixpath.dirname(path)
            if place == path and (old is None or new is None or old.kind != "file" or old.content == new.content):
                continue
            then, now = before.get(place), table.nodes.get(place)
            if then is not None and now is not None and then.mode == now.mode:
                if not _permits(then, uid, 2):
                    found.add(path)
            elif any(node is not None and not _permits(node, uid, 2) for node in (then, now)):
                step.unknown.append(f"whether {path} could be written before its mode changed")
        return found

    def _changed_modes(self, table: Table) -> list[str]:
        """Redirections from files whose mode this very command changed, which the library does not heed."""
        found: list[str] = []
        uid = self.state.user_id
        if not uid:
            return found
        restrictive = _RESTRICTIVE.search(self.script.text)
        if restrictive is not None:
            rest = self.script.text[restrictive.end() :]
            if re.search(r"[<>]\s*(?!/dev/null|&|\()[\w./$\"'~]", rest) or re.search(r"\bcd\b", rest):
                found.append("what the shell itself was refused after a mode had changed")
        return found

    # --- judging

    def _end(self, step: Step, stderr: str, status: int) -> int:
        """How the shell ends where the library ends otherwise: after fatal errors, and `exit` with too much."""
        if "exit: too many arguments" in stderr and not step.ended and len(self.script.analysis.commands) == 1:
            step.ended = True
            return 1
        text = self.script.text
        if step.ended and self.state.shell.program == "bash" and _fatal(stderr, text):
            if self.state.shell.mode == "interactive":
                step.ended = False  # such an error ends the command only
                return 1
            if any(self.script.names(name) for name in functions_after(self.settled, self.script)):
                step.unknown.append("the place of an error that may be inside a function")
            return 127 if status == 1 else status
        joined = self.joined or self.state.shell.mode == "interactive"
        if step.ended and joined and _UNDONE.search(stderr) and not _ENDING.search(text):
            step.ended = self.settled.options & {"errexit"} != frozenset()
            return 1
        if step.ended and status == 1 and _FATAL_DASH.search(stderr):
            return 2
        return status

    def _judge(self, step: Step, table: Table, outcome: Outcome) -> Attempt:
        state, settled, script = self.state, self.settled, self.script
        if "process-substitution" in script.features and "2>" not in script.text:
            # The library drops what commands inside `<(...)` complain about; they do so before the one that reads.
            lost = "".join(text for text in step.errors if text.encode() not in outcome.stderr + outcome.stdout)
            outcome = replace(outcome, stderr=lost.encode() + outcome.stderr)
        outcome = replace(outcome, stderr=self._script_lines(outcome.stderr, table))
        if state.shell.merged or _ERRORS_ELSEWHERE.search(script.text):
            outcome = replace(outcome, stdout=self._script_lines(outcome.stdout, table))
        stderr_text, _ = decode(self.warning.encode() + outcome.stderr)
        if self.warning and not state.shell.merged:
            outcome = replace(outcome, stderr=self.warning.encode() + outcome.stderr)
        stdout_text, _ = decode(outcome.stdout)
        resolve = lambda path: expand_path(path, settled.cwd, state.home)  # noqa: E731
        first_line = step.first_line
        functions = functions_after(settled, script)
        if state.shell.merged and not self.joined:
            outcome = replace(outcome, stdout=outcome.stderr + outcome.stdout, stderr=b"")
            stdout_text = stderr_text + stdout_text
        if state.shell.merged:
            stdout = step.barriers.reword(
                reword(stdout_text, script.text, state.shell, first_line, script, functions), resolve
            )
            shown_out = stdout.encode() if stdout != stdout_text else outcome.stdout
            shown_err, stderr = b"", stdout
        else:
            stderr = step.barriers.reword(stderr_text, resolve)
            stderr = reword(stderr, script.text, state.shell, first_line, script, functions)
            shown_err = stderr.encode() if stderr != stderr_text else outcome.stderr
            stdout = self._messages(stdout_text, functions, first_line)
            shown_out = stdout.encode() if stdout != stdout_text else outcome.stdout
        if "bashkit" in stdout_text or "bashkit" in stderr_text:
            # The library shows itself, in its /proc for instance; that is nobody's answer.
            shown_out, shown_err, stdout_text, stderr = b"", b"", "", ""
            step.unknown.append("what the shell library makes up")
        status = outcome.status if step.ended else step.status
        status = self._end(step, stderr, status)
        if step.ended and state.shell.mode == "interactive" and script.names("exit"):
            shown_err, shown_out = (shown_err, shown_out + b"exit\n") if state.shell.merged else (b"exit\n", shown_out)
        found = list(doubts(script, step, settled.table, settled.cwd, stderr, stdout_text, functions))
        if state.shell.mode == "script" and _IN_FUNCTION.search(stderr + stdout):
            marks = {mark for body in functions.values() for mark in body if mark.startswith("@")}
            if len(marks) > 1 or (_IN_FUNCTION.search(stdout) and not state.shell.merged):
                found.append("the place of a message from inside a function")
        if outcome.error is not None:
            found.append(f"a limit of the kernel: {outcome.error.splitlines()[0]}")
        if outcome.truncated:
            found.append("the output was cut off")
        if _REPLACEMENT in outcome.stdout and _REPLACEMENT not in script.text.encode():
            found.append("bytes that are not text were lost on the way")
        if state.shell.program == "sh":
            found.extend(dash_doubts(script, stderr))
            status = dash_status(script, stderr, status)
        found.extend(_shell_doubts(settled, script, after_cwd := self.machine.shell_state().cwd))
        found.extend(self._changed_modes(table))
        node = table.nodes.get(after_cwd)
        if after_cwd != settled.cwd and node is not None and state.user_id and not _permits(node, state.user_id, 1):
            found.append(f"{after_cwd} may not be entered")
        after = settle(settled, script, step, table, after_cwd, status, persist=state.shell.persist)
        after.clock = step.now + timedelta(seconds=int(step.slept))
        after.ended = after.ended and state.shell.persist
        return Attempt(
            observation=_observe(state, shown_out, shown_err, status),
            settled=after,
            classes=script.classes,
            doubts=tuple(dict.fromkeys(found)),
            ran=tuple(dict.fromkeys(step.ran)),
            written=tuple(sorted(_changed(settled.table, table))),
            limited=outcome.error is not None or outcome.truncated,
            slept=step.slept,
            programs=step.programs,
        )


def _fatal(stderr: str, text: str) -> bool:
    """Whether bash gave up over an unset variable: under `set -u`, or `${NAME:?message}`."""
    match = _FATAL.search(stderr)
    if match is None:
        return False
    return match[2] == "unbound variable" or re.search(rf"\$\{{{match[1]}:?\?", text) is not None


def _shell_doubts(settled: Settled, script: Script, cwd: str) -> list[str]:
    """What of the shell itself is not known any more, or not simulated."""
    found = []
    if settled.loose or settled.jobs or ("background" in script.features and parse_job(script.text, ()) is None):
        ours = settled.jobs and not settled.loose and _JOB_CONTROL.fullmatch(script.text)
        if not ours and any(script.names(name) for name in ("jobs", "kill", "pkill", "fg", "disown", "pgrep", "ps")):
            found.append("jobs that run in the background are not simulated")
    traced = "xtrace" in settled.options or re.search(
        r"\bset\s+-\w*x|\bset\s+-o\s+xtrace|\b(?:ba)?sh\s+-\w*x", script.text
    )
    if traced and script.features & _UNTRACED:
        found.append("set -x of compound commands is not simulated")
    if re.search(r"\$\{[^}`]*`", script.text):
        found.append("backquotes inside ${...} are not simulated")
    for item in settled.opaque:
        if item == "cwd":
            found.append("the working directory is not known")
        elif item.startswith("$") and _reads(script, item[1:]):
            found.append(f"the value of {item} is not known")
    if any(signal == "ERR" for signal, _ in settled.traps):
        found.append("ERR traps of a shell that evaluates commands fire twice or once")
    if any(signal == "DEBUG" for signal, _ in settled.traps) or (script.names("DEBUG") and script.names("trap")):
        found.append("DEBUG traps are not simulated")
    return found


def _reads(script: Script, name: str) -> bool:
    """Whether a script may use a variable."""
    if script.programs & _BY_NAME or script.features & {"arithmetic", "condition", "array"}:
        return script.names(name)
    return re.search(rf"\$(?:\{{[#!]?)?{re.escape(name)}(?!\w)", script.text) is not None


_BY_WORDS = "declare typeset local export readonly eval let printf read env printenv set unset test [ source . bash sh"
_BY_NAME = frozenset(_BY_WORDS.split())
"""Commands that use variables by their bare names."""


def _permits(node: Node, uid: int, want: int) -> bool:
    shift = 6 if node.uid == uid else 3 if node.gid == uid else 0
    return (node.mode >> shift) & want == want


def _changed(before: Table, after: Table) -> set[str]:
    """Paths whose nodes differ, apart from directories whose time alone changed."""
    found = {path for path in before.nodes if path not in after.nodes}
    for path, node in after.nodes.items():
        old = before.nodes.get(path)
        if old is node:
            continue
        if old is not None and node.kind == old.kind == "directory" and (node.mode, node.uid) == (old.mode, old.uid):
            continue
        if old != node:
            found.add(path)
    return found
