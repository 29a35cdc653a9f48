"""The recorder's end of the box in which the servers run: starts it, hands lines in, gets events out."""

from __future__ import annotations

import json
import os
import select
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from worldline.domains.terminal.state import TerminalState
from worldline.errors import SandboxError
from worldline.record.sandbox import Box, Limits, Surroundings, resident
from worldline.types import JsonDict

__all__ = ["LIMITS", "Hub", "HubLimits"]

LIMITS = Limits(memory=1 << 40, total_memory=3 << 30, disk=256 << 20, cpu=600, processes=512)
"""What the servers of a box may use together; Node reserves far more address space than it uses."""

_START_TIMEOUT = 120.0
_WATCH_EVERY = 0.5
_CHUNK = 1 << 18


class HubLimits:
    """What one server may write between two lines that it is sent."""

    line = 4 << 20
    """Bytes of one line; a longer one is thrown away but for its ends."""
    lines = 20_000
    """Lines; a server that writes more is ended."""
    flood = 256 << 20
    """Bytes of a line that does not end; the server is then ended."""


@cache
def _broker() -> str:
    return files("worldline.record.mcp").joinpath("broker.py").read_text("utf-8")


class Hub:
    """A box full of servers.

    Args:
        state: Files, clock and user of the box.
        surroundings: What the world does not declare.
        binds: Host directories that the box sees, read-only: `(host path, path inside)`.
    """

    def __init__(
        self, state: TerminalState, surroundings: Surroundings, binds: Sequence[tuple[Path, str]] = ()
    ) -> None:
        around = replace(surroundings, root=None, processors=None)  # the servers are installed for this machine
        self._box = Box(state, ["/usr/bin/python3", "-I", "-S", "-c", _broker()], around, LIMITS, binds=binds)
        self._todo = memoryview(b"")
        self._got = bytearray()
        self._events: deque[JsonDict] = deque()
        self._watch = 0.0
        self.lost: str | None = None
        """Why the box is gone."""

    @property
    def now(self) -> datetime:
        """The virtual time."""
        return self._box.clock.now

    def start(self, config: JsonDict) -> None:
        """Build the box and start the servers.

        Args:
            config: `steps`, `servers` and `pages` as the broker takes them.

        Raises:
            SandboxError: The box cannot be built, or a step of the preparation fails.
        """
        limits = {name: getattr(HubLimits, name) for name in ("line", "lines", "flood")}
        try:
            self._box.start()
            for pipe in (self._box.process.stdin, self._box.process.stdout, self._box.process.stderr):
                assert pipe is not None
                os.set_blocking(pipe.fileno(), False)
            self._send(json.dumps({**config, "limits": limits}).encode() + b"\n")
            event = self.wait(time.monotonic() + _START_TIMEOUT)
            if event is None or event["event"] != "ready":
                why = event.get("why") if event else self.lost or "no answer"
                raise SandboxError(f"the servers' box did not start: {why or self._last_words()}")
            self._box.release_holder()
        except BaseException:
            self.close()
            raise

    def send(self, server: str, line: str) -> None:
        """Hand a line to a server."""
        self._send(json.dumps({"to": server, "line": line}).encode() + b"\n")

    def _send(self, data: bytes) -> None:
        self._todo = memoryview(bytes(self._todo) + data)

    def wait(self, deadline: float) -> JsonDict | None:
        """Return the next event, or None at the deadline or where the box is lost (`lost` then says why)."""
        while not self._events:
            if self.lost is not None or time.monotonic() >= deadline:
                return None
            self._exchange(deadline)
        return self._events.popleft()

    def advance(self, elapsed: float) -> None:
        """Move the clock on by what was slept during a call."""
        if self.lost is None:
            self._box.clock.advance(elapsed)

    def _exchange(self, deadline: float) -> None:
        process = self._box.process
        assert process.stdin is not None and process.stdout is not None
        now = time.monotonic()
        timeout = max(0.0, min(deadline - now, _WATCH_EVERY))
        writable = [process.stdin.fileno()] if self._todo else []
        readable, ready, _ = select.select([process.stdout.fileno()], writable, [], timeout)
        if ready:
            try:
                self._todo = self._todo[os.write(process.stdin.fileno(), self._todo) :]
            except BlockingIOError:
                pass
            except BrokenPipeError:
                self._todo = memoryview(b"")
        if readable:
            self._read(process.stdout.fileno())
        if now >= self._watch:
            self._watch = now + _WATCH_EVERY
            if resident(process.pid) > LIMITS.total_memory:
                self.lost = "the servers used too much memory"
                self._box.kill()

    def _read(self, descriptor: int) -> None:
        data = os.read(descriptor, _CHUNK)
        if not data:
            self.lost = self.lost or f"the box ended: {self._last_words()}"
            return
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._got += line
            self._take(bytes(self._got))
            self._got = bytearray()
        self._got += rest

    def _take(self, line: bytes) -> None:
        try:
            event: Any = json.loads(line)
            known = event["event"] in ("ready", "failed") or isinstance(event["from"], str)
        except (ValueError, TypeError, KeyError):
            known = False
        if known:
            self._events.append(event)
        elif self.lost is None:  # only a server that broke into the broker writes anything else
            self.lost = "a server wrote into the recorder's channel"
            self._box.kill()

    def _last_words(self) -> str:
        stderr = self._box.process.stderr
        assert stderr is not None
        try:
            return os.read(stderr.fileno(), 4096).decode("utf-8", "replace").strip() or "no message"
        except OSError:
            return "no message"

    def close(self) -> None:
        """End the box and everything in it."""
        self.lost = self.lost or "closed"
        self._box.close()
