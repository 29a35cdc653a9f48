"""Reasoning written by a model: several answers to each turn, graded, and the best one kept if it is good enough.

The teacher is asked as the student will be, and never sees the truth; what it writes is graded against it. By default
the row takes over the teacher's reasoning and the *true* observation; with target `rollout` the answer is the teacher's
own, and the row counts as simulated unless that answer equals the truth. (Qwen-AgentWorld leaves both open.)

What is asked depends on the turn, the seed and the options alone, so that with a cache before the models a build which
was stopped asks nothing twice.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal, Protocol

from jinja2 import Environment, FileSystemLoader, PackageLoader, StrictUndefined
from pydantic import Field, ValidationError

from worldline.data.building import GROUNDED, BuildReport, DataOptions, build_rows, shortened
from worldline.data.layout import answer_message
from worldline.data.overlap import Reference
from worldline.data.reasoning import Executed, execute_behind, in_words
from worldline.data.rows import TrainingMessage, TrainingRow
from worldline.domains import get_domain
from worldline.domains.answers import OPEN_TAG
from worldline.domains.templating import render
from worldline.errors import ConfigError, EmptyAnswerError, KernelError, ModelError, TruncatedError
from worldline.kernels import KERNELS
from worldline.models.base import Message, ModelAnswer, Sampling
from worldline.models.context import estimate_tokens, turns_to_drop
from worldline.models.watching import WatchedModel
from worldline.types import (
    Action,
    Frozen,
    JsonDict,
    Observation,
    Source,
    Trajectory,
    Turn,
    WorldSpec,
    content_id,
    drawn,
)

__all__ = ["Grade", "Grader", "Rollout", "Teaching", "TeachingOptions", "taught_rows"]

_NEAR = 0.4
"""Mean scores that differ by no more are settled by comparing, where the grader can."""
_MOST_COMPARED = 4
_SAMPLING = Sampling(temperature=0.8, max_tokens=16_384)
"""Where the teacher's own settings say nothing."""
_RESERVED = 4
"""An answer may take a quarter of the teacher's context."""


class TeachingOptions(Frozen):
    """How a teacher is asked, and what of it is kept."""

    rollouts: Annotated[int, Field(ge=1, le=64)] = 3
    """Answers to each turn."""
    threshold: Annotated[float, Field(ge=0, le=5)] = 4.0
    """Least mean of the five dimensions (1 to 5) of an answer that is kept."""
    mix: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of the trajectories whose turns a kernel teaches where it can, in place of the teacher."""
    target: Literal["truth", "rollout"] = "truth"
    """Whether a row's answer is the true observation or the teacher's."""
    vary_prompts: bool = False
    """Whether the row, too, has the prompt drawn from the pool; otherwise the one a model is asked with later."""
    prompts: Path | None = None
    """Folder of templates in place of our pool."""
    window: Annotated[int, Field(ge=1)] = 16
    """Turns under way at the same time."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """An answer of the teacher."""

    number: int
    reasoning: str
    content: str
    """The answer without its reasoning."""


@dataclass(frozen=True, slots=True)
class Grade:
    """What a grader says of an answer."""

    score: float | None
    """Mean of the five dimensions; None: it could not be graded."""
    reason: str | None = None
    """Why there is no score."""


class Grader(Protocol):
    """Grades answers against the truth of a row; what grades lies to the right of this layer."""

    name: str
    compares: bool
    """Whether two answers can be compared."""

    async def grade(self, row: TrainingRow, rollouts: Sequence[Rollout]) -> list[Grade]:
        """Grade answers, in their order."""

    async def compare(self, row: TrainingRow, first: Rollout, second: Rollout) -> float:
        """Say which is nearer to the truth: above 0 the first, below 0 the second, 0 neither or unknown."""

    def close(self) -> None:
        """Free what grading holds."""


@dataclass
class Teaching:
    """A teacher, who grades it, and how.

    Args:
        teacher: Who is asked.
        grader: Grades its answers.
        how: How.
        watched: Further models whose end would make going on pointless: the judge.
    """

    teacher: WatchedModel
    grader: Grader
    how: TeachingOptions = field(default_factory=TeachingOptions)
    watched: Sequence[WatchedModel] = ()

    def check(self) -> None:
        """Make sure that teacher and judge are still there.

        Raises:
            EndpointError: One is not.
        """
        for model in (self.teacher, *self.watched):
            model.check()

    async def aclose(self) -> None:
        """Close the models and the grader."""
        self.grader.close()
        for model in (self.teacher, *self.watched):
            await model.aclose()

    @cached_property
    def sampling(self) -> Sampling:
        """How the teacher is sampled, but for the seed."""
        own = self.teacher.effective_sampling(None) or Sampling()
        most = own.max_tokens or _SAMPLING.max_tokens
        length = self.teacher.context_length
        if length is not None and most is not None:
            most = min(most, length // _RESERVED)
        temperature = _SAMPLING.temperature if own.temperature is None else own.temperature
        return Sampling(temperature=temperature, max_tokens=most)


def taught_rows(
    trajectories: Iterable[Trajectory],
    options: DataOptions,
    report: BuildReport,
    teaching: Teaching,
    *,
    benchmarks: Reference | None = None,
) -> Iterator[TrainingRow]:
    """Turn trajectories into SFT rows whose reasoning a teacher wrote, in the order of the trajectories.

    Args:
        trajectories: What to learn from; the turns are those that `build_rows` would take.
        options: How sets are made.
        report: Filled in while the rows are taken.
        teaching: Who teaches and grades.
        benchmarks: Benchmarks that training must not see.

    Raises:
        ConfigError: A trajectory is simulated, or the answers would be, and that was not asked for.
        EndpointError: The teacher or the judge is gone; what they answered before is in their caches.
    """
    if options.stage != "sft":
        raise ConfigError("a teacher writes rows of sft alone")
    if teaching.how.target == "rollout" and not options.allow_simulated:
        raise ConfigError(
            "answers of a teacher are simulated", hint="give --allow-simulated, or keep the true observations"
        )
    shared = {name: getattr(report, name) for name in ("left_out", "unusable", "dropped_turns", "unsure", "guessed")}
    asked = BuildReport(**shared)
    asking = options.model_copy(update={"stage": "rl", "max_characters": None})
    prompts = build_rows(trajectories, asking, asked, benchmarks=benchmarks)
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        under_way: deque[asyncio.Task[TrainingRow | str]] = deque()
        try:
            while True:
                while len(under_way) < teaching.how.window and (row := next(prompts, None)) is not None:
                    under_way.append(loop.create_task(_taught(row, options, report, teaching)))
                report.trajectories, report.turns = asked.trajectories, asked.turns
                if not under_way:
                    return
                made = loop.run_until_complete(under_way.popleft())
                if isinstance(made, str):
                    report.left_out[made] += 1
                else:
                    row = shortened(made, options, report)
                    report.count(row)
                    report.teachers[row.teacher or ""] += 1
                    yield row
        finally:
            for task in under_way:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*under_way, return_exceptions=True))
            loop.run_until_complete(teaching.aclose())


async def _taught(row: TrainingRow, options: DataOptions, report: BuildReport, teaching: Teaching) -> TrainingRow | str:
    """Make the SFT row of a prompt with its truth, or say why there is none."""
    how = teaching.how
    world, truth = WorldSpec.model_validate(row.extra["world"]), Observation.model_validate(row.truth)
    by_kernel = drawn(f"teacher:{options.seed}:{row.trajectory}") < how.mix
    target = row.target
    done = _executed(row, world, truth) if by_kernel else None
    if done is not None:
        action = Action.model_validate(row.extra["action"])
        reasoning = in_words(action, done, f"{options.seed}:{row.trajectory}")
        return _finished(row, row.messages, answer_message(truth, world, reasoning, target), "executed", target)
    framed, template = _framed(row.messages, how.prompts, f"{options.seed}:{row.id}")
    best, grade = await _best(row, framed, report, teaching, options.seed)
    if best is None or grade is None:
        return "no answer of the teacher is good enough"
    observation = truth
    if how.target == "rollout":
        domain = get_domain(row.domain)
        said = domain.parse_answer(best.content, world)
        if not domain.compare(said, truth).exact:
            observation, target = said, None
            row = row.model_copy(update={"source": Source.SIMULATED})
    told = answer_message(observation, world, best.reasoning, target)
    chat = framed if how.vary_prompts else row.messages
    facts = {"template": template, "rollout": best.number, "score": grade.score, "grader": teaching.grader.name}
    return _finished(row, chat, told, f"endpoint:{teaching.teacher.name}", target, teaching=facts)


def _finished(
    row: TrainingRow,
    prompt: tuple[TrainingMessage, ...],
    told: TrainingMessage,
    teacher: str,
    target: JsonDict | None,
    **extra: object,
) -> TrainingRow:
    extra = {**{key: row.extra[key] for key in GROUNDED if key in row.extra}, **extra}
    changed = {"stage": "sft", "messages": (*prompt, told), "teacher": teacher, "target": target, "extra": extra}
    return row.model_copy(update={**changed, "truth": None, "checks": ()})


def _executed(row: TrainingRow, world: WorldSpec, truth: Observation) -> Executed | None:
    """What a kernel carried out at the row's turn; None where none can be built, or its answer is not the true one."""
    if row.domain not in KERNELS.names():
        return None
    history = map(Turn.model_validate, row.extra["history"])
    turn = Turn(action=Action.model_validate(row.extra["action"]), observation=truth)
    try:
        done = execute_behind(world, history, turn)
    except (KernelError, ValidationError):
        return None
    return done if done.true else None


async def _best(
    row: TrainingRow, prompt: Sequence[TrainingMessage], report: BuildReport, teaching: Teaching, seed: int
) -> tuple[Rollout, Grade] | tuple[None, None]:
    """Ask for answers, grade them, and return the best one that is good enough."""
    messages = _fitted(prompt, teaching)
    numbers = range(teaching.how.rollouts)
    asked = await asyncio.gather(*(_rollout(row, messages, teaching, seed, number) for number in numbers))
    teaching.check()
    rollouts = [one for one in asked if isinstance(one, Rollout)]
    report.rollouts.update(one for one in asked if isinstance(one, str))
    grades = await teaching.grader.grade(row, rollouts) if rollouts else []
    teaching.check()
    good = []
    for rollout, grade in zip(rollouts, grades, strict=True):
        if grade.score is None:
            report.rollouts[grade.reason or "not graded"] += 1
        elif grade.score < teaching.how.threshold:
            report.rollouts["below the threshold"] += 1
        else:
            good.append((rollout, grade))
    if not good:
        return None, None
    chosen = await _nearest(row, good, teaching.grader)
    teaching.check()
    report.rollouts["kept"] += 1
    report.rollouts.update(["not the best"] * (len(good) - 1))
    return chosen


async def _nearest(row: TrainingRow, good: list[tuple[Rollout, Grade]], grader: Grader) -> tuple[Rollout, Grade]:
    """Of good answers, the one that wins most comparisons with those scored alike; else the better, earlier one."""

    def score(one: tuple[Rollout, Grade]) -> float:
        return one[1].score or 0.0

    ranked = sorted(good, key=score, reverse=True)
    best = [one for one in ranked if score(ranked[0]) - score(one) <= _NEAR + 1e-9][:_MOST_COMPARED]
    if not grader.compares or len(best) == 1:
        return ranked[0]
    pairs = [(a, b) for a, b in combinations(range(len(best)), 2) if best[a][0].content != best[b][0].content]
    told = await asyncio.gather(*(grader.compare(row, best[a][0], best[b][0]) for a, b in pairs))
    wins = [0.0] * len(best)
    for (a, b), value in zip(pairs, told, strict=True):
        wins[a] += value
        wins[b] -= value
    return best[max(range(len(best)), key=lambda index: wins[index])]


async def _rollout(
    row: TrainingRow, messages: list[Message], teaching: Teaching, seed: int, number: int
) -> Rollout | str:
    """Ask for one answer; return it, or why it cannot be used."""
    sampling = replace(teaching.sampling, seed=int(content_id([seed, row.id, number], length=7), 16))
    try:
        answer = await teaching.teacher.complete(messages, sampling)
    except TruncatedError:
        return "cut off"
    except EmptyAnswerError:
        return "empty"
    except ModelError:
        return "the teacher failed"
    return _read(answer, number)


def _read(answer: ModelAnswer, number: int) -> Rollout | str:
    if answer.finish_reason == "length":
        return "cut off"
    before, tag, _ = answer.content.rpartition(OPEN_TAG)
    if not tag:
        return "no tagged answer"
    reasoning = (answer.reasoning or before).strip()
    if not reasoning:
        return "no reasoning"
    return Rollout(number, reasoning, answer.content)


def _fitted(prompt: Sequence[TrainingMessage], teaching: Teaching) -> list[Message]:
    """The prompt as the teacher is asked; the oldest turns go where its context is too short."""
    messages: list[Message] = [{"role": message.role, "content": message.content} for message in prompt]
    length = teaching.teacher.context_length
    if length is None:
        return messages
    sizes = [estimate_tokens(message["content"]) for message in messages]
    turns = [sum(sizes[start : start + 2]) for start in range(1, len(messages) - 1, 2)]
    fixed = sizes[0] + sizes[-1] + (teaching.sampling.max_tokens or 0)
    return [messages[0], *messages[1 + 2 * turns_to_drop(turns, fixed=fixed, budget=length) :]]


def _framed(
    messages: tuple[TrainingMessage, ...], folder: Path | None, seed: str
) -> tuple[tuple[TrainingMessage, ...], str]:
    """Put the system message into a template drawn from the pool, and return its name as well.

    Raises:
        ConfigError: There is no template, or it leaves the world out.
    """
    environment = _pool(folder)
    names = sorted(environment.list_templates(extensions=["j2"]))
    if not names:
        raise ConfigError(f"{folder} holds no template", hint="expected files *.j2 with {{ system }} in them")
    name = names[int(drawn(f"template:{seed}") * len(names))]
    system = messages[0].content
    text = render(environment, name, {"system": system})
    if system not in text:
        raise ConfigError(f"the template {name} leaves the world out", hint="it must hold {{ system }}")
    return (messages[0].model_copy(update={"content": text}), *messages[1:]), name.removesuffix(".j2")


@lru_cache(maxsize=8)
def _pool(folder: Path | None) -> Environment:
    loader = PackageLoader("worldline.data", "teacher_prompts") if folder is None else FileSystemLoader(folder)
    return Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, autoescape=False)
