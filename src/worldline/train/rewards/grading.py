"""Grading the answers of a teacher: by a judge, who also compares them in pairs, or by the judge-free rubric."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from worldline.bench.agentworld.judge_prompt import JudgePrompts
from worldline.bench.agentworld.judging import Judge, judge_generation
from worldline.data.rows import TrainingRow
from worldline.data.teaching import Grade, Rollout
from worldline.models.base import ChatModel
from worldline.train.rewards.answer import Answer, read_answer
from worldline.train.rewards.judged import JudgedRubric, eval_row, judge_domain, shown_generation
from worldline.train.rewards.moment import GroundsCache, Moment, read_moment
from worldline.train.rewards.rubric import Rubric, executed_rubric

__all__ = ["JudgeGrader", "RubricGrader"]


@dataclass
class RubricGrader:
    """Grades by the truth and executed state; satisfies :class:`worldline.data.teaching.Grader`."""

    name: str = "rubric"
    compares: bool = False
    cache: GroundsCache = field(default_factory=lambda: GroundsCache(size=1))

    async def grade(self, row: TrainingRow, rollouts: Sequence[Rollout]) -> list[Grade]:
        """Grade answers, in their order."""
        moment = read_moment(row)
        answers = _answers(moment, rollouts)
        grounds = self.cache.of(moment)
        return [_grade(executed_rubric(moment, answer, grounds)) for answer in answers]

    async def compare(self, row: TrainingRow, first: Rollout, second: Rollout) -> float:
        """Say nothing: the rubric's scores are all it knows."""
        return 0.0

    def close(self) -> None:
        """Free the kernel that is held."""
        self.cache.close()


class JudgeGrader:
    """Grades by a judge, by the prompts and the strict reading of the evaluation.

    Args:
        model: The judge.
        prompts: What it is told; default ours.
        concurrency: Answers of one turn that are judged at the same time.
        seed: Of its calls, and of the order in which answers are shown.
        pause: Seconds before a judge that gave no answer is asked again.
    """

    compares = True

    def __init__(
        self,
        model: ChatModel,
        prompts: JudgePrompts | None = None,
        *,
        concurrency: int = 16,
        seed: int = 0,
        pause: float = 1.0,
    ) -> None:
        self.name = model.name
        self._judge = Judge(model)
        self._prompts = prompts or JudgePrompts()
        self._seed = seed
        self._rubric = JudgedRubric(
            self._judge, self._prompts, concurrency=concurrency, again=1, pause=pause, seed=seed
        )

    async def grade(self, row: TrainingRow, rollouts: Sequence[Rollout]) -> list[Grade]:
        """Grade answers, in their order; the judge sees their last tagged blocks and nothing else."""
        moment = read_moment(row)
        asked = [(moment, answer) for answer in _answers(moment, rollouts)]
        return [_grade(rubric) for rubric in await self._rubric.score(asked)]

    async def compare(self, row: TrainingRow, first: Rollout, second: Rollout) -> float:
        """Have two answers compared in both orders: 1 or -1 where both agree, 0 where they do not or fail."""
        moment = read_moment(row)
        shown = eval_row(moment, judge_domain(self._prompts, moment))
        one, other = (shown_generation(shown, answer) for answer in _answers(moment, (first, second)))
        told = await asyncio.gather(
            *(
                judge_generation(
                    self._judge,
                    shown,
                    one,
                    mode="pairwise",
                    prompts=self._prompts,
                    seed=self._seed,
                    repeat=repeat,
                    other=other,
                )
                for repeat in (0, 1)
            )
        )
        votes = {judgement.verdict for judgement in told}
        return {"prediction": 1.0, "other": -1.0}.get(votes.pop() or "", 0.0) if len(votes) == 1 else 0.0

    def close(self) -> None:
        """Nothing to free: the judge's connections are closed by who opened them."""


def _answers(moment: Moment, rollouts: Sequence[Rollout]) -> list[Answer]:
    return [read_answer(rollout.content, moment.domain, moment.world) for rollout in rollouts]


def _grade(rubric: Rubric) -> Grade:
    if rubric.failure is not None:
        return Grade(None, rubric.failure)
    return Grade(rubric.reward / 5)
