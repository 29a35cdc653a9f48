"""A real Python session in a sandbox."""

from __future__ import annotations

import random
import time
from importlib.resources import files
from typing import Any

from worldline.domains.code import LOST, TIMED_OUT, CodeState, refusal
from worldline.domains.terminal.state import TerminalState
from worldline.errors import SessionError
from worldline.record.boxed import BoxedProgram
from worldline.record.chance_words import CHANCE_WORDS
from worldline.record.entered import Entered
from worldline.record.sandbox import Limits, Surroundings, declared_state
from worldline.types import Action, Observation, WorldSpec, content_id

__all__ = ["CodeEnvironment", "undeclared_files"]

_LIMITS = Limits(memory=768 << 20, total_memory=900 << 20, processes=32, disk=64 << 20, output=128 << 10)
"""`memory` is what a cell can meet: asking for more is a MemoryError."""
_RUNNER = "/run/tool/runner.py"
_GRACE = 10.0
"""Seconds that a cell may take beyond the tool's own limit before the whole box is given up."""


class CodeEnvironment(Entered):
    """Satisfies :class:`worldline.record.environment.Environment`.

    Args:
        world: A world of the domain `code`.
        surroundings: Gives the clock where the world declares none, and the files that an open world does not declare.
    """

    def __init__(self, world: WorldSpec, surroundings: Surroundings) -> None:
        self.state = CodeState.model_validate(world.initial_state)
        self.ended = False
        runner = files("worldline.record.code").joinpath("runner.py").read_text(encoding="utf-8")
        placed: dict[str, Any] = dict(undeclared_files(world, self.state, surroundings))
        placed |= {path: {"content": spec.text, "base64": spec.base64} for path, spec in self.state.files.items()}
        box: dict[str, Any] = {"files": {**placed, _RUNNER: runner}, "env": self.state.env}
        if self.state.clock is None:
            box["clock"] = declared_state(WorldSpec(domain="terminal"), surroundings).clock
        else:
            box["clock"] = self.state.clock
        command = ["/usr/bin/python3", "-u", "-E", "-s", _RUNNER]
        self._program = BoxedProgram(
            TerminalState.model_validate(box), command, surroundings=surroundings, limits=_LIMITS
        )

    def start(self) -> None:
        """Build the box and start Python.

        Raises:
            SandboxError: There can be no box.
        """
        self._program.start()

    def step(self, action: Action) -> Observation:
        """Run a cell."""
        if self.ended:
            raise SessionError("the Python session has ended", hint="start another session")
        refused = refusal(action)
        if refused is not None:
            return Observation.from_text(refused, is_error=True)
        timeout = self.state.timeout
        begin = time.monotonic()
        asked = {"code": action.arguments["code"], "timeout": timeout}
        reply = self._program.ask(asked, {"came": str}, timeout + _GRACE)
        self._program.advance_clock(time.monotonic() - begin)
        if reply.data is None:
            self.ended = True
            return Observation.from_text(LOST, is_error=True)
        came = reply.data["came"]
        if came in ("lost", "late"):
            return Observation.from_text(LOST if came == "lost" else TIMED_OUT.format(timeout), is_error=True)
        seen = Observation.from_text(reply.output, is_error=came == "1")
        return seen.model_copy(update={"truncated": reply.truncated})

    def versions(self) -> dict[str, str]:
        """Version of Python."""
        if self._program.greeting is None:
            with CodeEnvironment(WorldSpec(domain="code"), Surroundings()) as fresh:
                return fresh.versions()
        return {"python3": str(self._program.greeting["version"])}

    def close(self) -> None:
        """End the box."""
        self.ended = True
        self._program.close()


_NAMES = ("inbox.txt", "orders.csv", "old/report.md", "limits.json", "words.txt")


def undeclared_files(world: WorldSpec, state: CodeState, surroundings: Surroundings) -> dict[str, str]:
    """Draw the files that an open world does not declare, by path; none where the world is complete."""
    if state.complete:
        return {}
    elsewhere = [surroundings.days_later, surroundings.other_machine, surroundings.order_seed]
    dice = random.Random(content_id([world.model_dump(mode="json"), elsewhere]))
    chosen = dice.sample(_NAMES, dice.choice((2, 3)))
    return {f"/home/user/{name}": "".join(_line(dice) for _ in range(dice.randint(2, 9))) for name in sorted(chosen)}


def _line(dice: random.Random) -> str:
    return f"{dice.choice(CHANCE_WORDS)},{dice.choice(CHANCE_WORDS)},{dice.randrange(1000)}\n"
