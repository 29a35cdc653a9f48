"""The turn that a reward is about, as a row of a training set holds it, and the executed state around it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from worldline.data.rows import TrainingMessage, TrainingRow
from worldline.data.transitions import changes
from worldline.domains import Domain, get_domain
from worldline.errors import FormatError, WorldlineError
from worldline.formats.base import first_problem
from worldline.kernels import KERNELS, Kernel, build_kernel
from worldline.kernels.base import Proposal
from worldline.types import Action, JsonDict, Observation, Turn, WorldSpec

__all__ = ["Aftermath", "Grounds", "GroundsCache", "Moment", "read_moment"]

_MOST_ANSWERS = 64


@dataclass(frozen=True, slots=True)
class Moment:
    """One turn to answer, with the truth."""

    id: str
    world: WorldSpec
    action: Action
    truth: Observation
    messages: tuple[TrainingMessage, ...]
    """The prompt."""
    history: tuple[Turn, ...] | None = None
    """All turns before; None: the row does not hold them, so that nothing can be executed."""
    following: tuple[Turn, ...] = ()
    """Recorded turns right behind it."""
    checks: tuple[JsonDict, ...] = ()
    target: JsonDict | None = None
    """State change and reward that the answer should tell as well."""

    @property
    def domain(self) -> Domain:
        """The domain of its world."""
        return get_domain(self.world.domain)

    def previous(self) -> str | None:
        """What the turn before was answered."""
        if self.history is not None:
            return self.history[-1].observation.text if self.history else None
        told = [message.content for message in self.messages if message.role == "assistant"]
        return told[-1] if told else None


def read_moment(row: TrainingRow) -> Moment:
    """Read the turn of an RL row.

    Raises:
        FormatError: The row holds no truth or no world, or they cannot be read.
    """
    if row.truth is None or "world" not in row.extra:
        raise FormatError(f"row {row.id} holds no truth to reward by", hint="worldline data build rl makes such rows")
    extra = row.extra
    try:
        return Moment(
            id=row.id,
            world=WorldSpec.model_validate(extra["world"]),
            action=Action.model_validate(extra["action"]) if "action" in extra else _shown_action(row),
            truth=Observation.model_validate(row.truth),
            messages=row.messages,
            history=tuple(map(Turn.model_validate, extra["history"])) if "history" in extra else None,
            following=tuple(map(Turn.model_validate, extra.get("following", ()))),
            checks=row.checks,
            target=row.target,
        )
    except ValidationError as exc:
        raise FormatError(f"row {row.id}: {first_problem(exc)}") from exc


def _shown_action(row: TrainingRow) -> Action:
    """Of a row that does not hold its action: the message that shows it, for telling copies."""
    return Action(text=row.messages[-1].content if row.messages else "")


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What executing says once an answer is taken for true."""

    changed: tuple[str, ...]
    """Differences of the state, one a line."""
    followed: tuple[bool, ...]
    """Of each recorded turn behind it: the kernel, having absorbed the answer, is sure and answers as recorded."""


@dataclass(slots=True)
class Grounds:
    """A kernel in the state before a moment, and what it makes of the truth."""

    kernel: Kernel
    before: JsonDict
    proposal: Proposal
    truth: Aftermath
    _known: dict[str, Aftermath] = field(default_factory=dict)

    def after(self, moment: Moment, answer: Observation, steps: int) -> Aftermath:
        """Let a copy of the kernel absorb an answer, then the recorded actions behind it.

        Raises:
            WorldlineError: The kernel cannot follow.
        """
        key = f"{steps} {answer.model_dump_json()}"
        if key not in self._known:
            if len(self._known) >= _MOST_ANSWERS:
                self._known.clear()
            self._known[key] = _followed(self.kernel, self.before, moment, answer, steps)
        return self._known[key]


@dataclass(slots=True)
class GroundsCache:
    """Grounds of the moments that were asked about last: a group of completions shares its prompt.

    Args:
        steps: Recorded turns behind a moment that answers are held against.
        size: Moments that are kept.
        build: What makes a kernel of a world.
    """

    steps: int = 2
    size: int = 64
    build: Callable[[WorldSpec], Kernel] = build_kernel
    _kept: OrderedDict[str, Grounds | None] = field(default_factory=OrderedDict)

    def of(self, moment: Moment) -> Grounds | None:
        """Return a moment's grounds; None where nothing can be executed."""
        if moment.id in self._kept:
            self._kept.move_to_end(moment.id)
            return self._kept[moment.id]
        found = self._kept[moment.id] = self._make(moment)
        while len(self._kept) > self.size:
            _close(self._kept.popitem(last=False)[1])
        return found

    def close(self) -> None:
        """Free all kernels."""
        while self._kept:
            _close(self._kept.popitem()[1])

    def _make(self, moment: Moment) -> Grounds | None:
        if moment.history is None or moment.world.domain not in KERNELS.names():
            return None
        kernel: Any = None
        try:
            kernel = self.build(moment.world)
            for turn in moment.history:
                kernel.absorb(turn)
            before = kernel.describe()
            proposal = kernel.propose(moment.action)
            kernel.reject()
            truth = _followed(kernel, before, moment, moment.truth, self.steps)
        except WorldlineError:
            # a world or a turn that the kernel cannot take: rewards then rest on the truth alone
            if kernel is not None:
                kernel.close()
            return None
        return Grounds(kernel, before, proposal, truth)


def _followed(kernel: Kernel, before: JsonDict, moment: Moment, answer: Observation, steps: int) -> Aftermath:
    trial = kernel.fork()
    try:
        trial.propose(moment.action)
        trial.absorb(Turn(action=moment.action, observation=answer))
        changed = tuple(changes(before, trial.describe()))
        kept = []
        for turn in moment.following[:steps]:
            proposal = trial.propose(turn.action)
            kept.append(proposal.known and moment.domain.compare(proposal.observation, turn.observation).exact)
            trial.absorb(turn)
        return Aftermath(changed, tuple(kept))
    finally:
        trial.close()


def _close(grounds: Grounds | None) -> None:
    if grounds is not None:
        grounds.kernel.close()
