"""Executed reasoning: what a kernel read, ran and changed on the way to a true answer, put into words.

Every step was carried out, and the answer it leads to was compared with reality, so that no step is invented.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from worldline.data.effects import effects
from worldline.domains import get_domain
from worldline.kernels import Kernel, build_kernel
from worldline.types import Action, JsonDict, Observation, Turn, WorldSpec

__all__ = ["Executed", "execute", "execute_behind", "in_words"]

_READS = 12
"""Things that were read and are named."""
_OPENINGS = (
    "What does this action do here?",
    "I work the action out step by step.",
    "Let me follow what the environment does.",
    "First what is asked, then what it meets.",
)
_CLOSINGS = (
    "So the answer is this:",
    "That gives the observation:",
    "Hence what is returned:",
)


@dataclass(frozen=True, slots=True)
class Executed:
    """An action that a kernel carried out."""

    true: bool
    """The kernel was sure, and reality answered the same."""
    steps: tuple[str, ...]
    """What it ran: programs, statements, tools."""
    reads: tuple[str, ...]
    absent: tuple[str, ...]
    """What it looked for and did not find."""
    before: JsonDict
    """The state before it, as the kernel describes it."""
    changed: tuple[str, ...] | None
    """Differences of the state, one a line; none where it is known to be the same, None where that is not known."""
    observation: Observation


def execute(kernel: Kernel, turn: Turn) -> Executed:
    """Carry out a turn's action, compare the answer with what reality gave, and let the kernel follow.

    Args:
        kernel: In the state before the turn; afterwards in the state behind it.
        turn: A recorded turn.
    """
    footprint = kernel.footprint(turn.action) or {}
    before = kernel.describe()
    earlier = kernel.fork()
    try:
        proposal = kernel.propose(turn.action)
        true = proposal.known and get_domain(kernel.domain).compare(proposal.observation, turn.observation).exact
        kernel.absorb(turn)
        changed = effects(before, earlier, kernel, proposal) if true else None
    finally:
        earlier.close()
    return Executed(
        true=true,
        steps=tuple(dict.fromkeys(name for name in proposal.classes if not name.startswith("("))),
        reads=tuple(_named(footprint, absent=False)),
        absent=tuple(_named(footprint, absent=True)),
        before=before,
        changed=changed,
        observation=turn.observation,
    )


def execute_behind(world: WorldSpec, history: Iterable[Turn], turn: Turn) -> Executed:
    """Carry out a turn behind others, in a kernel of its own.

    Raises:
        ConfigError: The domain has no kernel.
        KernelError: The world cannot be set up.
    """
    kernel = build_kernel(world)
    try:
        for earlier in history:
            kernel.absorb(earlier)
        return execute(kernel, turn)
    finally:
        kernel.close()


def in_words(action: Action, done: Executed, seed: str) -> str:
    """Tell an executed action as reasoning; the wording varies with the seed, the facts do not."""
    chance = random.Random(seed)
    parts = [chance.choice(_OPENINGS), f"It is `{_first_line(action.render())}`."]
    if done.steps:
        parts.append(f"It runs {_listed([f'`{step}`' for step in done.steps])}.")
    if done.reads:
        parts.append(f"It reads {_listed(done.reads)}.")
    if done.absent:
        parts.append(f"It meets nothing at {_listed(done.absent)}.")
    if done.changed:
        parts.append("It changes the state:\n" + "\n".join(f"- {line}" for line in done.changed))
    elif done.changed is not None:
        parts.append("It leaves the state as it is.")
    parts += [_outcome(done.observation), chance.choice(_CLOSINGS)]
    return "\n".join(parts)


def _outcome(observation: Observation) -> str:
    lines = len(observation.text.splitlines())
    said = f"{lines} line{'s' if lines != 1 else ''} of output" if lines else "no output"
    if observation.exit_code is not None:
        return f"It ends with status {observation.exit_code} and {said}."
    if observation.is_error:
        return f"It is refused, with {said}."
    return f"It succeeds, with {said}."


def _named(footprint: Mapping[str, str], *, absent: bool) -> list[str]:
    names = [key for key, value in footprint.items() if (value == "absent") == absent]
    return [f"{key} ({footprint[key]})" if key == "cwd" else key for key in names][:_READS]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _first_line(text: str) -> str:
    first, newline, _ = text.partition("\n")
    return f"{first[:200]} ..." if newline or len(first) > 200 else first
