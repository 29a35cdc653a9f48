"""The baselines of the fidelity table: what a world model must beat to be worth its name."""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Sequence

from bashkit import Bash

from worldline.domains.terminal.state import TerminalState
from worldline.engines.base import Engine, one_span
from worldline.errors import ConfigError, unknown_name
from worldline.kernels import Kernel
from worldline.memory import Memory
from worldline.types import Action, JsonDict, Observation, Origin, Prediction, Turn, WorldSpec

__all__ = ["BASELINES", "BareShell", "Baseline", "MostFrequent", "Nearest", "build_baseline"]

BASELINES = ("most-frequent", "nearest", "bare-shell")
_SHELL_SECONDS = 5.0


class Baseline:
    """What baselines share: no kernel, no state worth describing."""

    name = ""
    kernel: Kernel | None = None

    def absorb(self, turn: Turn) -> None:
        """Learn nothing from what really happened."""

    def fork(self) -> Engine:
        """Refuse: baselines are only measured, teacher-forced."""
        raise ConfigError(f"the baseline {self.name} cannot be forked")

    def describe(self) -> JsonDict:
        """Return nothing."""
        return {}

    def dump(self) -> bytes | None:
        """Return None."""
        return None

    def load(self, data: bytes) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def _prediction(self, observation: Observation, origin: Origin, confidence: float, evidence: str) -> Prediction:
        return Prediction(
            observation=observation,
            origin=origin,
            confidence=confidence,
            spans=one_span(observation.text, origin=origin, confidence=confidence, evidence=evidence),
            engine=self.name,
        )


class MostFrequent(Baseline):
    """Always gives the answer recorded most often."""

    name = "most-frequent"

    def __init__(self, world: WorldSpec, memory: Memory) -> None:
        self._answer = memory.most_frequent(world.domain) or Observation()

    async def predict(self, action: Action, history: Sequence[Turn]) -> Prediction:
        """Return the most frequent answer."""
        return self._prediction(self._answer, Origin.RECALLED, 0.5, "most frequent answer")


class Nearest(Baseline):
    """Gives the answer of the nearest recorded action (BM25 over action text, k = 1)."""

    name = "nearest"

    def __init__(self, world: WorldSpec, memory: Memory) -> None:
        self._world = world
        self._memory = memory

    async def predict(self, action: Action, history: Sequence[Turn]) -> Prediction:
        """Return the nearest transition's observation."""
        found = self._memory.nearest(self._world.domain, action, 1)
        if not found:
            return self._prediction(Observation(), Origin.RECALLED, 0.0, "nothing recorded")
        same = found[0].action.render() == action.render()
        return self._prediction(found[0].observation, Origin.RECALLED, 0.9 if same else 0.5, found[0].id)


class BareShell(Baseline):
    """The shell library as it comes, set up with the world's files, without builtins of ours.

    It lives in its own narration, because there is nothing in it that could follow reality.
    """

    name = "bare-shell"

    def __init__(self, world: WorldSpec, memory: Memory) -> None:
        state = TerminalState.model_validate(world.initial_state)
        self._merged = state.shell.merged
        self._bash = Bash(
            username=state.user,
            hostname=state.hostname,
            env={"HOME": state.home, "USER": state.user, "LOGNAME": state.user, **state.env},
            timeout_seconds=_SHELL_SECONDS,
        )
        files = self._bash.fs()
        for directory in (state.home, "/tmp", state.start_directory):
            files.mkdir(directory, recursive=True)
        for path, spec in state.files.items():
            files.mkdir(path if spec.kind == "directory" else posixpath.dirname(path), recursive=True)
            if spec.kind == "symlink":
                files.symlink(spec.target or "", path)
            elif spec.kind == "file":
                files.write_file(path, base64.b64decode(spec.base64) if spec.base64 else (spec.content or "").encode())
        self._bash.execute_sync(f"cd '{state.start_directory}'")

    async def predict(self, action: Action, history: Sequence[Turn]) -> Prediction:
        """Run the command; this changes the library's state whatever reality says."""
        pieces: list[str] = []
        result = self._bash.execute_sync(
            action.command or "", on_output=lambda out, err: pieces.append(out + err) if self._merged else None
        )
        if self._merged:
            observation = Observation.from_text("".join(pieces), is_error=result.exit_code != 0)
        else:
            observation = Observation.from_streams(result.stdout.encode(), result.stderr.encode(), result.exit_code)
        return self._prediction(observation, Origin.COMPUTED, 0.5, "the bare shell library")


_CLASSES = {cls.name: cls for cls in (MostFrequent, Nearest, BareShell)}


def build_baseline(name: str, world: WorldSpec, memory: Memory) -> Engine:
    """Build a baseline for one trajectory.

    Raises:
        ConfigError: There is no such baseline.
    """
    if name not in _CLASSES:
        raise unknown_name("baseline", name, _CLASSES)
    return _CLASSES[name](world, memory)
