"""Making training sets: trajectories stream through filters into rows, and a report says what became of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from worldline.data.asking import asked_turns
from worldline.data.filters import Kept, drawn_turns, filtered
from worldline.data.layout import answer, conversation, prompt
from worldline.data.masking import MaskSettings, TurnClass, classify, kept
from worldline.data.overlap import Reference
from worldline.data.reasoning import Executed, execute, execute_behind, in_words
from worldline.data.rows import Asked, Stage, TrainingMessage, TrainingRow
from worldline.errors import ConfigError, FormatError, KernelError
from worldline.formats.base import first_problem, is_evaluation_only
from worldline.kernels import KERNELS, build_kernel
from worldline.types import Frozen, JsonDict, Source, Trajectory, Turn, drawn

__all__ = [
    "GROUNDED",
    "BuildReport",
    "Checks",
    "DataOptions",
    "Pool",
    "admitted",
    "build_rows",
    "pool_of",
    "rows_of",
    "shortened",
]

Checks = Callable[[Trajectory], dict[int, list[JsonDict]]]
"""Finds the rule checks of a trajectory, by position (from 0)."""

Pool = Literal["cpt", "tuning", "all"]

GROUNDED = ("asked", "guess_exact", "guess_mute")
"""What the `extra` of a row says of a grounded engine's question."""

_FOLLOWING = 3
"""RL: later turns that a row holds, for judging an answer by what follows from it."""
_TRANSITION = (
    "The environment's state before the action:\n{state}\n\nThe action:\n{action}\n\n"
    "Say what this action changes in the environment's state."
)
_NOTHING = "Nothing changes."
_STATE_LENGTH = 8000
"""Characters of the state before a transition; a longer one is cut off."""


class DataOptions(Frozen):
    """How a set is made; the same options and trajectories give the same set."""

    stage: Stage
    seed: int = 0
    pool: Pool | None = None
    """Families to take: `cpt` or `tuning` (SFT and RL), which share none, or `all`. None: the stage's own pool."""
    cpt_share: Annotated[float, Field(gt=0, lt=1)] = 0.6
    """Share of the families in the pool `cpt`."""
    mask: bool = True
    """CPT: mask turns by the information-theoretic classes."""
    mask_settings: MaskSettings = MaskSettings()
    transitions: Annotated[float, Field(ge=0, le=1)] = 0.0
    """CPT: share of turns that are also told as state transitions, as far as a kernel can."""
    state_change: bool = False
    """SFT and RL: the target also tells what changed, and the reward where one is known."""
    allow_simulated: bool = False
    max_characters: Annotated[int, Field(ge=1000)] | None = None
    """Longest row; early turns are dropped whole, and it is noted."""
    max_overlap: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Largest share of n-grams in common with a benchmark (`--against`)."""
    prompts: Path | None = None
    asked: Asked = "model"
    """SFT and RL: whose questions the rows hold."""
    turns_per_trajectory: Annotated[int, Field(ge=1)] = 1
    """SFT and RL: turns to learn of each trajectory at most, of each kind of question."""
    skip_bad: bool = False
    """Leave out, and name, trajectories whose world a kernel cannot set up, instead of raising at the first."""
    notes_share: Annotated[float, Field(ge=0, le=1)] = 0.02
    """Room for the notes of grounded questions (:class:`worldline.engines.EngineOptions`)."""


@dataclass(frozen=True, slots=True)
class _Question:
    """What a model is asked at a turn."""

    turn: int
    messages: tuple[TrainingMessage, ...]
    extra: JsonDict = field(default_factory=dict)
    """What a row says of it; nothing of a plain model's question."""


@dataclass(slots=True)
class BuildReport:
    """What each filter kept, and why the rest was left out."""

    trajectories: int = 0
    turns: int = 0
    rows: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    """Whole trajectories, by reason."""
    unusable: Counter[str] = field(default_factory=Counter)
    """Of these, the trajectories that a kernel could not take, by name and with what was wrong."""
    dropped_turns: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    """CPT: turns by class."""
    trained: Counter[str] = field(default_factory=Counter)
    """CPT: turns of each class that stay in the loss."""
    domains: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    """SFT and RL: rows by how they were asked."""
    unsure: Counter[str] = field(default_factory=Counter)
    """Grounded questions: turns, of all that were followed, at which the engine asks, by domain."""
    guessed: Counter[str] = field(default_factory=Counter)
    """Of these, turns at which the engine's own guess is the truth."""
    teachers: Counter[str] = field(default_factory=Counter)
    """SFT with a teacher: rows by who wrote the reasoning."""
    rollouts: Counter[str] = field(default_factory=Counter)
    """SFT with a teacher: its answers, by what became of them."""
    shortened: int = 0
    """Rows whose early turns were dropped for want of room."""
    characters: int = 0

    def as_record(self) -> JsonDict:
        """Return the report as plain data, counts by the order of their names."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return {
            name: dict(sorted(value.items())) if isinstance(value, Counter) else value for name, value in values.items()
        }

    def count(self, row: TrainingRow) -> None:
        """Count a finished row."""
        self.rows += 1
        self.domains[row.domain] += 1
        self.sources[row.source.value] += 1
        if row.stage != "cpt":
            self.asked[row.extra.get("asked", "model")] += 1
        self.characters += _size(row.messages)

    def add(self, other: BuildReport) -> None:
        """Count what another report counts."""
        for name in self.__slots__:
            mine, its = getattr(self, name), getattr(other, name)
            if isinstance(mine, Counter):
                mine.update(its)
            else:
                setattr(self, name, mine + its)


def pool_of(trajectory: Trajectory, share: float) -> Pool:
    """Which of the two pools a trajectory's family belongs to: told by a hash, so that it never depends on a run."""
    name = trajectory.family or trajectory.id
    return "cpt" if drawn(f"pool:{name}") < share else "tuning"


def build_rows(
    trajectories: Iterable[Trajectory],
    options: DataOptions,
    report: BuildReport,
    *,
    benchmarks: Reference | None = None,
    checks: Checks | None = None,
) -> Iterator[TrainingRow]:
    """Turn trajectories into the rows of a stage, one after the other.

    Args:
        trajectories: What to learn from.
        options: How.
        report: Filled in while the rows are taken.
        benchmarks: Benchmarks that training must not see.
        checks: RL: rule checks of a trajectory by position.

    Raises:
        ConfigError: A trajectory is simulated and that was not asked for.
    """
    for trajectory in admitted(trajectories, options, report):
        yield from rows_of(trajectory, options, report, benchmarks=benchmarks, checks=checks)


def admitted(trajectories: Iterable[Trajectory], options: DataOptions, report: BuildReport) -> Iterator[Trajectory]:
    """Count trajectories and pass on those that may be learned: the cheap part, which has to see all of them in order.

    Raises:
        ConfigError: A trajectory is simulated and that was not asked for.
    """
    seen: set[int] = set()
    for trajectory in trajectories:
        report.trajectories += 1
        report.turns += len(trajectory.turns)
        reason = _refused(trajectory, options, seen)
        if reason is None:
            yield trajectory
        else:
            report.left_out[reason] += 1


def rows_of(
    trajectory: Trajectory,
    options: DataOptions,
    report: BuildReport,
    *,
    benchmarks: Reference | None = None,
    checks: Checks | None = None,
) -> Iterator[TrainingRow]:
    """Make the rows of one trajectory, whatever stands beside it: the costly part.

    Args:
        trajectory: One that `admitted` passed on.
        options: How.
        report: Filled in, but for the number of trajectories and turns.
        benchmarks: Benchmarks that training must not see.
        checks: RL: rule checks of a trajectory by position.

    Raises:
        FormatError: A kernel cannot set its world up, and `options.skip_bad` is not set; names the trajectory.
    """
    shared = benchmarks is not None and _is_in(benchmarks, trajectory, options.max_overlap)
    outcome = Kept((), {}, "in a benchmark") if shared else filtered(trajectory)
    report.dropped_turns.update(outcome.dropped.values())
    if outcome.whole is not None or not outcome.targets:
        report.left_out[outcome.whole or "no turn is left"] += 1
        return
    part = BuildReport()
    try:
        rows = list(_MAKERS[options.stage](trajectory, outcome, options, part, checks))
    except (KernelError, ValidationError) as exc:
        problem = first_problem(exc) if isinstance(exc, ValidationError) else exc.message
        if not options.skip_bad:
            raise _unusable(trajectory, problem) from exc
        report.left_out["a kernel cannot set its world up"] += 1
        report.unusable[_unusable(trajectory, problem).message] += 1
        return
    report.add(part)
    for row in rows:
        short = shortened(row, options, report)
        report.count(short)
        yield short


def _unusable(trajectory: Trajectory, problem: str) -> FormatError:
    file = trajectory.origin.get("file")
    return FormatError(
        f"trajectory {trajectory.id}: a kernel cannot set its world up: {problem}",
        path=file if isinstance(file, str) else None,
        hint="--skip-bad leaves it out",
    )


def _is_in(benchmarks: Reference, trajectory: Trajectory, most: float) -> bool:
    found = benchmarks.found(trajectory)
    return found.same or (found.share or 0.0) > most


def _refused(trajectory: Trajectory, options: DataOptions, seen: set[int]) -> str | None:
    if is_evaluation_only(trajectory):
        return "a benchmark's own row"
    if trajectory.source is not Source.OBSERVED and not options.allow_simulated:
        raise ConfigError(
            f"trajectory {trajectory.id} is simulated", hint="give --allow-simulated to learn from simulations as well"
        )
    wanted: Pool = options.pool or ("cpt" if options.stage == "cpt" else "tuning")
    if wanted != "all" and pool_of(trajectory, options.cpt_share) != wanted:
        return "of the other pool"
    key = int(trajectory.id, 16) if _is_hex(trajectory.id) else hash(trajectory.id)
    if key in seen:
        return "a second time"
    seen.add(key)
    return None


def _is_hex(text: str) -> bool:
    return bool(text) and all(character in "0123456789abcdef" for character in text)


def _row(trajectory: Trajectory, stage: Stage, messages: tuple[TrainingMessage, ...], **more: object) -> TrainingRow:
    values = {
        "stage": stage,
        "domain": trajectory.world.domain,
        "source": trajectory.source,
        "messages": messages,
        "family": trajectory.family,
        "trajectory": trajectory.id,
        **more,
    }
    return TrainingRow.model_validate(values)


def _cpt_rows(
    trajectory: Trajectory, outcome: Kept, options: DataOptions, report: BuildReport, checks: Checks | None
) -> Iterator[TrainingRow]:
    """Every observation is learned, but for masked ones; then single transitions in words."""
    labels: dict[int, TurnClass] = {}
    weights: dict[int, float] = {}
    for number in outcome.targets:
        turn = trajectory.turns[number]
        label = classify(turn, options.mask_settings)
        stays = not options.mask or kept(trajectory.id, number, label, options.mask_settings, options.seed)
        labels[number], weights[number] = label, turn.train if stays else 0.0
        report.labels[label] += 1
        report.trained[label] += bool(weights[number])
    if any(weights.values()):
        yield _row(trajectory, "cpt", conversation(trajectory, weights, dict(labels), options.prompts))
    else:
        report.left_out["every turn is masked"] += 1
    if options.transitions:
        yield from _transition_rows(trajectory, outcome, options)


def _transition_rows(trajectory: Trajectory, outcome: Kept, options: DataOptions) -> Iterator[TrainingRow]:
    """Drawn turns as state, action and what changed, where a kernel knows all three."""
    if trajectory.world.domain not in KERNELS.names():
        return
    kernel = build_kernel(trajectory.world)
    wanted = {
        n for n in outcome.targets if drawn(f"transition:{options.seed}:{trajectory.id}:{n}") < options.transitions
    }
    try:
        for number, turn in enumerate(trajectory.turns[: max(wanted, default=-1) + 1]):
            if number not in wanted:
                kernel.absorb(turn)
                continue
            asked = prompt(trajectory, number, options.prompts)
            done = execute(kernel, turn)
            if done.true and done.changed is not None:
                told = "\n".join(f"- {line}" for line in done.changed) or _NOTHING
                state = json.dumps(done.before, ensure_ascii=False)
                state = state if len(state) <= _STATE_LENGTH else f"{state[:_STATE_LENGTH]}..."
                request = _TRANSITION.format(state=state, action=turn.action.render())
                chat = (
                    asked[0],
                    TrainingMessage(role="user", content=request),
                    TrainingMessage(role="assistant", content=told, weight=1.0, label="transition"),
                )
                yield _row(trajectory, "cpt", chat, turn=number)
    finally:
        kernel.close()


def _questions(trajectory: Trajectory, outcome: Kept, options: DataOptions, report: BuildReport) -> Iterator[_Question]:
    """The turns that SFT and RL learn of a trajectory, with what is asked there."""
    count = options.turns_per_trajectory
    if options.asked != "grounded":
        for number in drawn_turns(outcome, trajectory, options.seed, count):
            yield _Question(number, prompt(trajectory, number, options.prompts))
    if options.asked != "model":
        yield from _grounded_questions(trajectory, outcome, options, report)


def _grounded_questions(
    trajectory: Trajectory, outcome: Kept, options: DataOptions, report: BuildReport
) -> Iterator[_Question]:
    domain = trajectory.world.domain
    if domain not in KERNELS.names():
        report.left_out["no kernel to be grounded in"] += 1
        return
    found = {one.turn: one for one in asked_turns(trajectory, options.prompts, options.notes_share)}
    report.unsure[domain] += len(found)
    report.guessed[domain] += sum(one.guess_exact for one in found.values())
    numbers = drawn_turns(outcome, trajectory, options.seed, options.turns_per_trajectory, among=found)
    if not numbers:
        report.left_out["the grounded engine asks nothing"] += 1
    for number in numbers:
        one = found[number]
        told = ("grounded", one.guess_exact, one.guess_mute)
        yield _Question(number, one.messages, dict(zip(GROUNDED, told, strict=True)))


def _sft_rows(
    trajectory: Trajectory, outcome: Kept, options: DataOptions, report: BuildReport, checks: Checks | None
) -> Iterator[TrainingRow]:
    """A turn with the reasoning that a kernel carried out, where its answer is the true one.

    A grounded engine asks where its kernel is not sure, so the answers to its questions have no reasoning.
    """
    if trajectory.world.domain not in KERNELS.names():
        report.left_out["no kernel to reason with"] += 1
        return
    for question in _questions(trajectory, outcome, options, report):
        number = question.turn
        if question.extra:
            chat = (*question.messages, answer(trajectory, number))
            yield _row(trajectory, "sft", chat, turn=number, extra=question.extra)
            continue
        turn = trajectory.turns[number]
        done = _executed(trajectory, number)
        if not done.true:
            report.left_out["the kernel's answer is not the true one"] += 1
            continue
        target = _target(turn, done) if options.state_change else None
        if options.state_change and target is None:
            report.left_out["what the action changes is not known"] += 1
            continue
        reasoning = in_words(turn.action, done, f"{options.seed}:{trajectory.id}")
        chat = (*question.messages, answer(trajectory, number, reasoning, target))
        yield _row(trajectory, "sft", chat, turn=number, target=target, teacher="executed")


def _executed(trajectory: Trajectory, number: int) -> Executed:
    """Carry a trajectory out up to and with one of its turns."""
    return execute_behind(trajectory.world, trajectory.turns[:number], trajectory.turns[number])


def _target(turn: Turn, done: Executed) -> JsonDict | None:
    """What an answer tells beside the observation; None where it is not known what changed."""
    return None if done.changed is None else {"state_change": list(done.changed), "reward": turn.reward}


def _rl_rows(
    trajectory: Trajectory, outcome: Kept, options: DataOptions, report: BuildReport, checks: Checks | None
) -> Iterator[TrainingRow]:
    """Prompts; the truth and the rule checks stay with the reward."""
    found = checks(trajectory) if checks is not None else {}
    for question in _questions(trajectory, outcome, options, report):
        number = question.turn
        turn = trajectory.turns[number]
        truth = turn.observation.model_dump(mode="json", exclude_defaults=True)
        target: JsonDict | None = None
        if options.state_change and trajectory.world.domain in KERNELS.names():
            done = _executed(trajectory, number)
            target = _target(turn, done)
        yield _row(
            trajectory,
            "rl",
            question.messages,
            turn=number,
            truth=truth,
            checks=tuple(found.get(number, ())),
            target=target,
            extra={
                "world": trajectory.world.model_dump(mode="json", exclude_defaults=True),
                "action": turn.action.model_dump(mode="json", exclude_defaults=True),
                "history": [_told(earlier) for earlier in trajectory.turns[:number]],
                "following": [_told(later) for later in trajectory.turns[number + 1 : number + 1 + _FOLLOWING]],
                **question.extra,
            },
        )


def _told(turn: Turn) -> JsonDict:
    """What a reward needs of another turn: it lets a kernel follow, and sees what later actions were answered."""
    return turn.model_dump(mode="json", exclude_defaults=True, include={"action", "observation", "state_before"})


_MAKERS = {"cpt": _cpt_rows, "sft": _sft_rows, "rl": _rl_rows}


def _size(messages: Iterable[TrainingMessage]) -> int:
    return sum(len(message.content) + len(message.reasoning or "") for message in messages)


def shortened(row: TrainingRow, options: DataOptions, report: BuildReport) -> TrainingRow:
    """Drop the earliest turns, whole, until the row fits; the system message and the last turn always stay."""
    limit = options.max_characters
    messages, total, dropped = list(row.messages), _size(row.messages), 0
    if limit is None or total <= limit:
        return row
    least = 2 if row.stage == "rl" else 3
    while total > limit and len(messages) > least + 1:
        total -= _size(messages[1:3])
        del messages[1:3]
        dropped += 1
    report.shortened += 1
    return row.model_copy(update={"messages": tuple(messages), "extra": {**row.extra, "dropped_turns": dropped}})
