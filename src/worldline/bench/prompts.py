"""How much of a prompt the next prompt of a session begins with again: what a server's prefix cache can reuse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from worldline.engines import EngineOptions, EngineParts, build_engine
from worldline.memory import Memory
from worldline.models.base import Message, ModelAnswer, Sampling
from worldline.types import Frozen, Trajectory, Turn, Usage

__all__ = ["PromptReuse", "chained", "prompt_reuse"]


class PromptReuse(Frozen):
    """Bytes of the prompts of sessions, without the last prompt of each, which no other follows."""

    engine: str
    sessions: int
    prompts: int
    total: int
    """Bytes of those prompts."""
    kept: int
    """Bytes of them that the session's next prompt begins with."""

    @property
    def share(self) -> float:
        """Share that is kept, 0..1."""
        return self.kept / self.total if self.total else 0.0


class _Listener:
    """A chat model that keeps the last prompt and answers nothing worth reading."""

    name = "listener"

    def __init__(self) -> None:
        self.prompt = b""

    async def complete(self, messages: Sequence[Message], sampling: Sampling | None = None) -> ModelAnswer:
        """Keep the prompt, as one text with a line of its own before each message."""
        self.prompt = "".join(f"<|{message['role']}|>\n{message['content']}\n" for message in messages).encode()
        return ModelAnswer("<predicted_observation>\n</predicted_observation>", None, "stop", Usage(), self.name)

    async def aclose(self) -> None:
        """Nothing to free."""


def chained(trajectories: Sequence[Trajectory], turns: int) -> Iterator[Trajectory]:
    """Lengthen sessions to so many turns by appending those of the next ones; what is left over is dropped."""
    world, gathered = None, list[Turn]()
    for trajectory in trajectories:
        world = world or trajectory.world
        gathered += trajectory.turns
        if len(gathered) >= turns:
            yield trajectory.model_copy(update={"world": world, "turns": tuple(gathered[:turns])})
            world, gathered = None, []


async def prompt_reuse(trajectories: Sequence[Trajectory], engine: str, memory: Memory | None = None) -> PromptReuse:
    """Lay out the prompt of every turn after the true history, and compare each with the one before.

    Args:
        trajectories: The sessions.
        engine: `model`, `model+memory`, or `grounded`, which is made to ask its model on every turn.
        memory: What evidence is taken from.
    """
    prompts = total = kept = 0
    for trajectory in trajectories:
        listener = _Listener()
        parts = EngineParts(model=listener, memory=memory)
        built = build_engine(engine, trajectory.world, EngineOptions(min_confidence=1.0), parts)
        try:
            before = b""
            for number, turn in enumerate(trajectory.turns):
                await built.predict(turn.action, trajectory.turns[:number])
                if before:
                    prompts, total = prompts + 1, total + len(before)
                    kept += _shared(before, listener.prompt)
                before = listener.prompt
                built.absorb(turn)
        finally:
            built.close()
    return PromptReuse(engine=engine, sessions=len(trajectories), prompts=prompts, total=total, kept=kept)


def _shared(one: bytes, other: bytes) -> int:
    """Length of the common beginning."""
    for index, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return index
    return min(len(one), len(other))
