"""A program of ours in a box that answers one JSON object a line, and whose output is kept beside the answers."""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldline.domains.terminal.state import TerminalState
from worldline.errors import SandboxError
from worldline.record.entered import Entered
from worldline.record.sandbox import Box, Limits, Surroundings, resident

__all__ = ["REPLY_FD", "BoxedProgram", "Reply"]

REPLY_FD = 198
"""Where the program writes its answers; requests arrive on standard input."""

_CHUNK = 1 << 16
_MOST_BYTES = 64 << 20
"""Of an answer; no program of ours says more."""
_START_TIMEOUT = 60.0
_WATCH_EVERY = 0.25


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of one request."""

    data: dict[str, Any] | None
    """The answer; None where there was none."""
    output: bytes = b""
    """What the program wrote to standard output and error meanwhile, in order, up to the limit."""
    truncated: bool = False
    killed: str | None = None
    """Why the program was ended: `time`, `memory`, `gone` where it ended by itself, or `forged` where something else in
    the box wrote into its channel."""


class BoxedProgram(Entered):
    """A program in a sandbox without network. Use it as a context manager, in one thread.

    Args:
        state: User, files and clock of the box; both of the program's streams arrive as one.
        command: Program and arguments.
        surroundings: What the world does not declare.
        limits: What the program may use.
        folders: Host folders to show, by their path in the box (`/mnt/...`), read-only.
    """

    def __init__(
        self,
        state: TerminalState,
        command: Sequence[str],
        *,
        surroundings: Surroundings | None = None,
        limits: Limits | None = None,
        folders: Mapping[str, Path] | None = None,
    ) -> None:
        self.limits = limits or Limits()
        merged = state.model_copy(update={"shell": state.shell.model_copy(update={"merged": True})})
        binds = [(folder, place) for place, folder in (folders or {}).items()]
        self._box = Box(merged, command, surroundings or Surroundings(), self.limits, binds)
        self._replies = bytearray()
        self._output = bytearray()
        self._overflow = False
        self._forged = False
        self.ended = False
        self.greeting: dict[str, Any] | None = None
        """The program's first line; None before it was started."""

    def start(self) -> None:
        """Build the box and wait for the program's first line.

        Raises:
            SandboxError: The box cannot be built, or the program does not start.
        """
        try:
            self._box.start()
            process = self._box.process
            assert process.stdin is not None and process.stdout is not None and process.stderr is not None
            self._input = process.stdin.fileno()
            self._streams = [process.stdout.fileno(), process.stderr.fileno()]
            for descriptor in (self._input, *self._streams, self._box.status):
                os.set_blocking(descriptor, False)
            hello = self._wait(b"", time.monotonic() + _START_TIMEOUT)
            if hello.data is None:
                said = hello.output.decode(errors="replace").strip()
                raise SandboxError(f"the boxed program did not start: {said[-500:] or 'no message'}")
            self.greeting = hello.data
            self._box.release_holder()
        except BaseException:
            self.close()
            raise

    def ask(self, request: Any, shape: Mapping[str, type], timeout: float | None = None) -> Reply:
        """Send a request and wait for its answer.

        A program that does not answer in time is ended, and so is one whose channel holds what it would not say: an
        answer of another shape, or one that nothing asked for.

        Args:
            request: JSON data.
            shape: Types of the answer's entries.
            timeout: Seconds; the default is the limits' `wall`.
        """
        if self.ended:
            return Reply(None, killed="gone")
        if self._replies or select.select([self._box.status], [], [], 0)[0]:
            return self._end("forged")
        line = json.dumps(request).encode() + b"\n"
        reply = self._wait(line, time.monotonic() + (self.limits.wall if timeout is None else timeout))
        if reply.data is None or all(isinstance(reply.data.get(name), kind) for name, kind in shape.items()):
            return reply
        return self._end("forged")

    def advance_clock(self, seconds: float) -> None:
        """Let the virtual time go on, by whole seconds."""
        self._box.clock.advance(seconds)

    def _wait(self, line: bytes, deadline: float) -> Reply:
        todo, killed, watch = memoryview(line), None, time.monotonic() + _WATCH_EVERY
        while killed is None:
            reading = [self._box.status, *self._streams]
            ready, writable, _ = select.select(reading, [self._input] if todo else [], [], 0.05)
            if writable:
                todo = self._feed(todo)
            for stream in [stream for stream in self._streams if stream in ready]:
                self._read(stream)
            if self._box.status in ready:
                data = self._answer()
                if data is not None:
                    self._drain()
                    output, cut = self._take()
                    return Reply(data, output, cut)
                killed = "forged" if self._forged else "gone" if self.ended else None
            now = time.monotonic()
            if killed is None and now >= deadline:
                killed = "time"
            elif killed is None and now >= watch:
                watch = now + _WATCH_EVERY
                killed = "memory" if resident(self._box.process.pid) > self.limits.total_memory else None
        return self._end(killed)

    def _end(self, why: str) -> Reply:
        self._drain()
        self.ended = True
        self._box.kill()
        output, cut = self._take()
        return Reply(None, output, cut, why)

    def _feed(self, todo: memoryview) -> memoryview:
        try:
            return todo[os.write(self._input, todo) :]
        except BlockingIOError:
            return todo
        except BrokenPipeError:
            return todo[len(todo) :]

    def _read(self, stream: int) -> bool:
        """Take what a stream holds; False where that is nothing."""
        with suppress(BlockingIOError):
            data = os.read(stream, _CHUNK)
            room = self.limits.output - len(self._output)
            self._output += data[: max(0, room)]
            self._overflow = self._overflow or len(data) > room
            if not data:
                self._streams.remove(stream)
            return bool(data)
        return False

    def _drain(self) -> None:
        for stream in list(self._streams):
            for _ in range(64):
                if not self._read(stream):
                    break

    def _take(self) -> tuple[bytes, bool]:
        data, cut = bytes(self._output), self._overflow
        self._output, self._overflow = bytearray(), False
        return data, cut

    def _answer(self) -> dict[str, Any] | None:
        """The next answer; None where it is not whole yet, is none (`_forged`), or the program is gone (`ended`)."""
        with suppress(BlockingIOError):
            data = os.read(self._box.status, _CHUNK)
            self.ended = not data
            self._replies += data
        line, found, rest = self._replies.partition(b"\n")
        if not found:
            self._forged = len(line) > _MOST_BYTES
            return None
        self._replies = bytearray(rest)
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        self._forged = not isinstance(answer, dict)
        return None if self._forged else answer

    def close(self) -> None:
        """End the box, however far it got."""
        self.ended = True
        self._box.close()
