"""Running one command on a trial state: parse, wrap, run, enforce permissions, follow, judge what is known."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from datetime import timedelta

from worldline.domains.terminal.state import TerminalState
from worldline.kernels.shell.access import doubts, expand_path
from worldline.kernels.shell.barriers import NO_BARRIERS, Barriers
from worldline.kernels.shell.dash import dash_doubts, dash_status
from worldline.kernels.shell.machine import Machine, Outcome
from worldline.kernels.shell.messages import reword, syntax_message
from worldline.kernels.shell.script import Script, SyntaxFault, read_script
from worldline.kernels.shell.session import Settled, settle, wrap
from worldline.kernels.shell.step import END, Step
from worldline.kernels.shell.table import Node, Table
from worldline.types import Observation, decode

__all__ = ["Attempt", "attempt"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What running a command gave."""

    observation: Observation
    settled: Settled
    classes: tuple[str, ...]
    doubts: tuple[str, ...]
    ran: tuple[str, ...]
    written: tuple[str, ...]
    refused: bool = False
    """The command did not parse, so nothing ran."""


def attempt(machine: Machine, settled: Settled, text: str, image: bytes) -> Attempt:
    """Run a command. The machine is left at the trial state.

    Args:
        machine: At the settled state.
        settled: The state before.
        text: The command.
        image: The shell's serialised state, to run again from.
    """
    script = read_script(machine.shell, text)
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
        if before.strip() and isinstance(read_script(machine.shell, before), Script):
            first = attempt(machine, settled, before, image)
            seen = first.observation
            joined = _observe(machine.state, _bytes(seen, "stdout"), _bytes(seen, "stderr") + message.encode(), status)
            after = first.settled
            after.status, after.lines = status, settled.lines + len(lines)
            return Attempt(
                joined, after, (*first.classes, "(syntax error)"), (*first.doubts, *doubt), first.ran, first.written
            )
    after = Settled(
        settled.table, settled.clock, settled.cwd, settled.started, False, status, settled.umask, settled.options,
        settled.traps, settled.functions, settled.lines + len(lines), settled.opaque, settled.loose,
    )  # fmt: skip
    if shell.mode == "script" and shell.persist:
        after.ended = True
    observation = _observe(machine.state, b"", message.encode(), status)
    return Attempt(observation, after, ("(syntax error)",), doubt, (), (), refused=True)


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
        self.barriers = NO_BARRIERS

    def go(self) -> Attempt:
        hidden = self._forbidden()
        step, table, outcome = self._once(hidden)
        trespasses = self._trespasses(step, table)
        if trespasses:
            self.machine.install(table, self.settled.table)
            self.machine.restore_shell(self.image)
            step, table, outcome = self._once(hidden | trespasses)
        return self._judge(step, table, outcome)

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
        )
        if hidden:
            step.barriers = Barriers(machine.vfs, settled.table, lambda path: machine.put_back(settled.table, path))
            step.barriers.place(hidden)
        text = wrap(self.script, settled, step, persist=shell.persist)
        if shell.persist and not self._reaches_end(text):
            step.unknown.append("the end of the command swallows what follows")
        if shell.merged:
            text = f"{{ {text}\n}} 2>&1"
        outcome = machine.run(text, step)
        if not shell.persist:
            step.ended = False
            step.status = outcome.status
        step.barriers.lift_all()
        machine.follow(
            table, step.now, settled.umask if step.umask == settled.umask else step.umask, step.trace.written
        )
        return step, table, outcome

    def _reaches_end(self, text: str) -> bool:
        whole = read_script(self.machine.shell, text)
        return isinstance(whole, Script) and END in whole.analysis.command_names

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
            if old is None or new is None:
                parent = table.nodes.get(posixpath.dirname(path)) or before.get(posixpath.dirname(path))
                if parent is not None and not _permits(parent, uid, 2):
                    found.add(path)
            elif old.kind == "file" and old.content != new.content and not _permits(old, uid, 2):
                if _permits(new, uid, 2) and new.mode != old.mode:
                    continue
                found.add(path)
        return found

    # --- judging

    def _judge(self, step: Step, table: Table, outcome: Outcome) -> Attempt:
        state, settled, script = self.state, self.settled, self.script
        stderr_text, _ = decode(outcome.stderr)
        stdout_text, _ = decode(outcome.stdout)
        resolve = lambda path: expand_path(path, settled.cwd, state.home)  # noqa: E731
        first_line = step.first_line
        if state.shell.merged:
            stdout = step.barriers.reword(reword(stdout_text, script.text, state.shell, first_line, script), resolve)
            shown_out = stdout.encode() if stdout != stdout_text else outcome.stdout
            shown_err, stderr = b"", stdout
        else:
            stderr = step.barriers.reword(stderr_text, resolve)
            stderr = reword(stderr, script.text, state.shell, first_line, script)
            shown_err = stderr.encode() if stderr != stderr_text else outcome.stderr
            shown_out = outcome.stdout
        status = outcome.status if step.ended else step.status
        found = list(doubts(script, step, settled.table, settled.cwd, stderr, stdout_text))
        if outcome.error is not None:
            found.append(f"a limit of the kernel: {outcome.error.splitlines()[0]}")
        if outcome.truncated:
            found.append("the output was cut off")
        if state.shell.program == "sh":
            found.extend(dash_doubts(script, stderr))
            status = dash_status(script, stderr, status)
        found.extend(_shell_doubts(settled, script))
        cwd = self.machine.shell_state().cwd
        after = settle(settled, script, step, table, cwd, status, persist=state.shell.persist)
        after.clock = step.now + timedelta(seconds=int(step.slept))
        return Attempt(
            observation=_observe(state, shown_out, shown_err, status),
            settled=after,
            classes=script.classes,
            doubts=tuple(dict.fromkeys(found)),
            ran=tuple(dict.fromkeys(step.ran)),
            written=tuple(sorted(_changed(settled.table, table))),
        )


def _shell_doubts(settled: Settled, script: Script) -> list[str]:
    """What of the shell itself is not known any more."""
    found = []
    for item in settled.opaque:
        if item == "cwd":
            found.append("the working directory is not known")
        elif item.startswith("$") and script.names(item[1:]):
            found.append(f"the value of {item} is not known")
    if any(signal == "DEBUG" for signal, _ in settled.traps) or (script.names("DEBUG") and script.names("trap")):
        found.append("DEBUG traps are not simulated")
    return found


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
