"""A real shell in a box: give it commands, get observations."""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from worldline.errors import SandboxError, SessionError
from worldline.record.driver import clean, driver_text, first_text, shell_arguments
from worldline.record.sandbox import Box, Limits, Surroundings, declared_state, descendants, resident
from worldline.types import Observation, WorldSpec

__all__ = ["CommandResult", "Limits", "RealShell", "Surroundings"]

_CHUNK = 1 << 16
_OVERFLOW_GRACE = 0.5
"""Seconds that a command may go on after its output was cut off."""
_START_TIMEOUT = 60.0
_LINGER, _QUIET = 1.0, 0.1
_WATCH_EVERY = 0.25


@dataclass(slots=True)
class CommandResult:
    """What running one command gave, beside the observation."""

    stdout: bytes
    stderr: bytes
    status: int
    elapsed: float
    """Seconds of real time."""
    truncated: bool = False
    killed: str | None = None
    """Why the recorder ended it: `time`, `output`, `memory` or `processes` (then the whole box)."""
    ended: bool = False
    """The shell is gone: `exit`, `exec`, a fatal error, or the recorder had to end it."""


@dataclass(slots=True)
class _Stream:
    """One output pipe: keeps the first bytes of each command and throws the rest away."""

    descriptor: int
    limit: int
    kept: bytearray = field(default_factory=bytearray)
    overflow: bool = False
    open: bool = True

    def read(self) -> bool:
        """Take what is there; False if nothing is."""
        try:
            data = os.read(self.descriptor, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self.open = False
            return False
        room = self.limit - len(self.kept)
        self.kept += data[:room]
        self.overflow = self.overflow or len(data) > room
        return True

    def take(self) -> tuple[bytes, bool]:
        data, overflow = bytes(self.kept), self.overflow
        self.kept, self.overflow = bytearray(), False
        return data, overflow


class RealShell:
    """A terminal world, for real. Use it as a context manager, in one thread.

    Args:
        world: A world of the terminal domain.
        root: Debian root that the programs come from; the host's if None.
        limits: What the commands may use.
        surroundings: Everything else that the world does not declare; its `root` yields to `root`.

    Raises:
        SandboxError: The sandbox cannot be built; the hint says what is missing.
    """

    def __init__(
        self,
        world: WorldSpec,
        *,
        root: Path | None = None,
        limits: Limits | None = None,
        surroundings: Surroundings | None = None,
    ) -> None:
        self.limits = limits or Limits()
        around = surroundings or Surroundings()
        if root is not None:
            around = replace(around, root=root)
        self.state = state = declared_state(world, around)
        self.ended = False
        self.last: CommandResult | None = None
        """Details of the command run last."""
        self._box = Box(state, shell_arguments(state.shell), around, self.limits)
        self._line = 1
        self._status = 0
        self._traced = False
        self._reports = bytearray()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def now(self) -> datetime:
        """The virtual time: what `date` would show."""
        return self._box.clock.now

    @property
    def rootless(self) -> bool:
        """Whether the box was built without root: system files then show as `nobody`'s."""
        return self._box.rootless

    def start(self) -> None:
        """Build the box and wait for its shell."""
        try:
            self._box.start()
            process = self._box.process
            assert process.stdin is not None and process.stdout is not None and process.stderr is not None
            self._input = process.stdin.fileno()
            self._out = _Stream(process.stdout.fileno(), self.limits.output)
            self._err = _Stream(process.stderr.fileno(), self.limits.output)
            for descriptor in (self._input, self._out.descriptor, self._err.descriptor, self._box.status):
                os.set_blocking(descriptor, False)
            result = self._exchange(first_text(self.state.shell), _START_TIMEOUT)
            if result.ended:
                said = result.stderr.decode(errors="replace").strip()
                raise SandboxError(f"the sandbox did not start: {said or 'no message'}", hint=_hint(said))
            self._box.release_holder()
        except BaseException:
            self.close()
            raise

    def run(self, command: str, timeout: float | None = None) -> Observation:
        """Run one command and return what it answered.

        Args:
            command: A line, or several, of the world's shell.
            timeout: Seconds of real time; the default is the limits' `wall`.

        Returns:
            Streams apart, or one text in a world whose shell merges them. A command that had to be killed has
            status 124 (time) or 137 (output, memory), as `timeout` and the kernel say it; `last.killed` says why.

        Raises:
            SessionError: The shell has ended.
            ActionError: The command cannot be given to a shell.
            SandboxError: The box was lost for a reason that is not the command's.
        """
        if self.ended:
            raise SessionError("the shell has ended", hint="start another session")
        shell = self.state.shell
        text = driver_text(command, shell, last_status=self._status, line=self._line)
        traced = self._traced
        result = self._exchange(text, self.limits.wall if timeout is None else timeout)
        traced = traced or self._traced or "x" in command
        result.stderr = clean(result.stderr, command, shell, traced=traced)
        if shell.merged:
            result.stdout = clean(result.stdout, command, shell, traced=traced)
        # the shell itself may be what finds no room for another process, and end of it
        if b"fork: retry" in result.stderr + result.stdout or (not result.ended and self._box.is_crowded()):
            result.killed, result.ended = "processes", True
        self._settle(command, result)
        if shell.merged:
            text_seen = Observation.from_text(result.stdout + result.stderr, is_error=result.status != 0)
            return text_seen.model_copy(update={"truncated": result.truncated})
        return Observation.from_streams(result.stdout, result.stderr, result.status, truncated=result.truncated)

    def _settle(self, command: str, result: CommandResult) -> None:
        self.last = result
        self._status = result.status
        self.ended = result.ended
        shell = self.state.shell
        if shell.mode == "script" and shell.persist:
            self._line += command.count("\n") + 1
            refused = result.status == 2 and b": syntax error" in result.stderr + result.stdout
            if refused and result.stderr.startswith(b"bash: line"):
                self.ended = True  # a shell that reads a script gives up at what it cannot parse
        self._box.clock.advance(result.elapsed)
        if self.ended:
            self._box.kill()

    def _exchange(self, text: bytes, timeout: float) -> CommandResult:
        """Send driver text and collect output until the shell reports or is gone."""
        begin = time.monotonic()
        wait = _Wait(self, text, begin, begin + timeout)
        report = wait.until_report()
        killed, elapsed = wait.killed, time.monotonic() - begin
        if killed is None:
            self._drain(timeout, report is None)
            if b">(" in text:
                self._linger()
        stdout, cut_out = self._out.take()
        stderr, cut_err = self._err.take()
        if killed is not None and report is None:
            report = self._recover(killed)
        status = _status_of(report, killed, self._box)
        if report is not None:
            self._traced = "x" in report[1]
        return CommandResult(stdout, stderr, status, elapsed, cut_out or cut_err, killed, ended=report is None)

    def _drain(self, timeout: float, at_end: bool) -> None:
        """Read what foreground processes wrote before they ended; it is all in the pipes by now."""
        deadline = time.monotonic() + (min(timeout, 5.0) if at_end else 0.2)
        for stream in (self._out, self._err):
            while stream.open and time.monotonic() < deadline:
                if not stream.read():
                    break

    def _linger(self) -> None:
        """Wait a moment for process substitutions: bash goes on without them, whoever reads its output does not."""
        deadline = time.monotonic() + _LINGER
        streams = [stream.descriptor for stream in (self._out, self._err) if stream.open]
        while time.monotonic() < deadline and select.select(streams, [], [], _QUIET)[0]:
            self._drain(_QUIET, False)

    def _recover(self, why: str) -> tuple[int, str] | None:
        """Kill what the command started; return the shell's report if it lives on, otherwise None."""
        shell = None if why == "processes" else self._box.shell_pid()
        deadline = time.monotonic() + 1.0
        while shell is not None and time.monotonic() < deadline:
            victims = descendants(shell)
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in victims:
                    with suppress(ProcessLookupError):
                        os.kill(pid, number)
            if not victims:
                break
            report = self._await_report(0.05)
            if report is not None:
                self._discard()
                return report
        report = self._await_report(0.1) if shell is not None else None
        if report is None:
            self._box.kill()
        self._discard()
        return report

    def _await_report(self, seconds: float) -> tuple[int, str] | None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            select.select([self._box.status, self._out.descriptor, self._err.descriptor], [], [], min(left, 0.05))
            self._discard()
            state = self._read_report()
            if state is not None:
                return state or None
        return None

    def _discard(self) -> None:
        for stream in (self._out, self._err):
            for _ in range(64):
                if not stream.open or not stream.read():
                    break
            stream.take()

    def _read_report(self) -> tuple[int, str] | tuple[()] | None:
        """The shell's report, `()` if the shell is gone, None if there is none yet."""
        try:
            data = os.read(self._box.status, 256)
        except BlockingIOError:
            return None
        if not data:
            return ()
        self._reports += data
        if b"\0" not in self._reports:
            return None
        line, _, rest = bytes(self._reports).partition(b"\0")
        self._reports = bytearray(rest)
        status, _, options = line.decode("ascii", "replace").partition(" ")
        return int(status), options

    def close(self) -> None:
        """End the box and remove its files; what an EXIT trap would say now nobody hears."""
        self.ended = True
        self._box.close()


class _Wait:
    """Waiting for one command: feeds the shell, keeps the output, watches the limits."""

    def __init__(self, shell: RealShell, text: bytes, begin: float, deadline: float) -> None:
        self.shell = shell
        self.todo = memoryview(text)
        self.deadline = deadline
        self.watch = begin + _WATCH_EVERY
        self.grace: float | None = None
        self.killed: str | None = None

    def until_report(self) -> tuple[int, str] | None:
        """Return the shell's report, or None if it is gone or the command must be killed."""
        shell = self.shell
        poller = select.poll()
        for descriptor in (shell._box.status, shell._out.descriptor, shell._err.descriptor):
            poller.register(descriptor, select.POLLIN)
        poller.register(shell._input, select.POLLOUT)
        while self.killed is None:
            for descriptor, _ in poller.poll(max(1, int(self._next() * 1000))):
                if descriptor == shell._input:
                    if not self._feed():
                        poller.unregister(descriptor)
                elif descriptor == shell._box.status:
                    report = shell._read_report()
                    if report is not None:
                        return report or None
                else:
                    stream = shell._out if descriptor == shell._out.descriptor else shell._err
                    if not stream.read() and not stream.open:
                        poller.unregister(descriptor)
            self._check_limits()
        return None

    def _next(self) -> float:
        return max(0.0, min(self.deadline, self.watch) - time.monotonic())

    def _feed(self) -> bool:
        """Write some of the text; False when there is no more to write."""
        try:
            self.todo = self.todo[os.write(self.shell._input, self.todo) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:
            return False
        return len(self.todo) > 0

    def _check_limits(self) -> None:
        now, shell = time.monotonic(), self.shell
        if now >= self.deadline:
            self.killed = "time"
        elif now >= self.watch:
            self.watch = now + _WATCH_EVERY
            if shell._out.overflow or shell._err.overflow:
                self.grace = now + _OVERFLOW_GRACE if self.grace is None else self.grace
                self.killed = "output" if now >= self.grace else None
            elif b"fork: retry" in shell._err.kept or b"fork: retry" in shell._out.kept:
                self.killed = "processes"
            elif resident(shell._box.process.pid) > shell.limits.total_memory:
                self.killed = "memory"


def _status_of(report: tuple[int, str] | None, killed: str | None, box: Box) -> int:
    if killed is not None:
        return 124 if killed == "time" else 137
    if report is not None:
        return report[0]
    code = box.process.wait()
    return code if code >= 0 else 128 - code


def _hint(said: str) -> str:
    if "ermission denied" in said or "not permitted" in said:
        return "user namespaces may be switched off: see `sysctl kernel.unprivileged_userns_clone`"
    return "`worldline doctor` says what the recorder needs"
