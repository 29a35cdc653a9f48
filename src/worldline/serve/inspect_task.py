"""AgentWorldBench as a task of Inspect AI: `inspect eval worldline/agentworldbench -T data=DIR`.

The evaluated model predicts, the model in the role `grader` judges, with the prompts, the strict reading and the
failures of `worldline bench agentworld`. A sample holds its row's place alone; the history is read when it is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from worldline.bench.agentworld.extraction import extract_prediction, observed_text
from worldline.bench.agentworld.inference import DEFAULT_SAMPLING, lay_out
from worldline.bench.agentworld.judge_prompt import JudgePrompts
from worldline.bench.agentworld.judging import Judge, judge_generation
from worldline.bench.agentworld.records import DIMENSIONS, EvalRow, Generation, Judgement, Outcome
from worldline.bench.agentworld.rows import RowIndex, RowRef, index_rows
from worldline.errors import EmptyAnswerError, TruncatedError, require_extra
from worldline.models.base import Message, ModelAnswer, Sampling
from worldline.models.tokens import EstimateCounter
from worldline.types import Usage, content_id

require_extra("inspect_ai", "inspect")

from inspect_ai import Task, task  # noqa: E402
from inspect_ai.dataset import MemoryDataset, Sample  # noqa: E402
from inspect_ai.model import (  # noqa: E402
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentReasoning,
    GenerateConfig,
    Model,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, mean, metric, scorer, stderr  # noqa: E402
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver  # noqa: E402

__all__ = ["agentworldbench"]

_MESSAGES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
_CLUSTER = "trajectory"
_WORST, _BEST = 1, 5


class _Grader:
    """An Inspect model as a chat model of ours."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.name = str(model.name)

    async def complete(self, messages: Sequence[Message], sampling: Sampling | None = None) -> ModelAnswer:
        """Answer a conversation.

        Raises:
            TruncatedError: The answer was cut off before it began.
            EmptyAnswerError: There is none.
        """
        told = sampling or Sampling()
        config = GenerateConfig(temperature=told.temperature, max_tokens=told.max_tokens, seed=told.seed)
        output = await self.model.generate(_chat(messages), config=config)
        finish, usage = _finish(output), _usage(output)
        reasoning = _reasoning(output)
        if not output.completion.strip():
            kind = TruncatedError if finish == "length" else EmptyAnswerError
            raise kind(
                f"{self.name} gave no answer", raw=output.completion, reasoning=reasoning or "", finish_reason=finish
            )
        return ModelAnswer(
            content=output.completion, reasoning=reasoning, finish_reason=finish, usage=usage, model=output.model
        )

    async def aclose(self) -> None:
        """Inspect closes its models itself."""


def _chat(messages: Sequence[Message]) -> list[ChatMessage]:
    return [_MESSAGES[message["role"]](content=message["content"]) for message in messages]


def _finish(output: ModelOutput) -> str:
    return "length" if output.stop_reason in ("max_tokens", "model_length") else str(output.stop_reason)


def _reasoning(output: ModelOutput) -> str | None:
    content = output.message.content if output.choices else ""
    if isinstance(content, str):
        return None
    found = [part.reasoning for part in content if isinstance(part, ContentReasoning)]
    return "\n".join(found) if found else None


def _usage(output: ModelOutput) -> Usage:
    told = output.usage
    if told is None:
        return Usage(latency_s=output.time or 0.0)
    cached = told.input_tokens_cache_read or 0
    return Usage(
        prompt_tokens=told.input_tokens + cached + (told.input_tokens_cache_write or 0),
        completion_tokens=told.output_tokens,
        reasoning_tokens=told.reasoning_tokens or 0,
        cached_tokens=cached,
        latency_s=output.time or 0.0,
        cost_usd=told.total_cost,
    )


@solver
def true_history(data: str, context: int | None = None) -> Solver:
    """Put the row's system prompt and true history before its last prompt, verbatim."""
    index = _Rows(data)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        reserve = 0 if context is None else context // 2
        request = lay_out(index.row(state.sample_id), context=context, reserve=reserve, counter=EstimateCounter())
        state.messages = _chat(request.messages)
        state.metadata["dropped_turns"] = request.dropped_turns
        return state

    return solve


class _Rows:
    """The rows of a data folder by their keys, indexed when the first one is asked for."""

    def __init__(self, data: str) -> None:
        self._data = data
        self._index: RowIndex | None = None
        self._refs: dict[str, RowRef] = {}

    def row(self, key: str | int) -> EvalRow:
        """Read a row."""
        if self._index is None:
            self._index = index_rows(self._data)
            self._refs = {ref.key: ref for ref in self._index.refs}
        return self._index.read(self._refs[str(key)])


@metric
def macro() -> Metric:
    """Plain mean of the domains' means: the published average."""

    def compute(scores: list[SampleScore]) -> float:
        domains: dict[str, list[float]] = {}
        for one in scores:
            domain = str((one.sample_metadata or {}).get("domain"))
            domains.setdefault(domain, []).append(one.score.as_float())
        means = [sum(values) / len(values) for values in domains.values()]
        return sum(means) / len(means) if means else 0.0

    return compute


_METRICS = {
    "overall": [macro(), mean(), stderr(cluster=_CLUSTER)],
    **{name: [mean(), stderr(cluster=_CLUSTER)] for name in DIMENSIONS},
    "failed": [mean()],
}


@scorer(metrics=_METRICS)
def judged(data: str, judge_prompts: str | None = None, seed: int = 0) -> Scorer:
    """Five dimensions, 0..100 each, by the model in the role `grader`; a failure counts as worst and is marked."""
    index = _Rows(data)
    prompts = JudgePrompts(Path(judge_prompts) if judge_prompts else None)
    judges: list[Judge] = []

    async def score(state: TaskState, target: Target) -> Score:
        if not judges:
            judges.append(Judge(_Grader(get_model(role="grader", required=True))))
        row = index.row(state.sample_id)
        generation = _generation(row, state)
        judgement = await judge_generation(judges[0], row, generation, prompts=prompts, seed=seed)
        return _score(generation, judgement)

    return score


def _generation(row: EvalRow, state: TaskState) -> Generation:
    output = state.output
    finish = _finish(output)
    outcome: Outcome = "ok" if output.completion.strip() else "empty"
    if output.error is not None:
        outcome = "error"
    elif finish == "length":
        outcome = "truncated"
    return Generation(
        key=content_id([row.key, str(state.model), state.epoch, output.completion], length=32),
        row=row.key,
        model=output.model or str(state.model),
        outcome=outcome,
        content=output.completion,
        reasoning=_reasoning(output),
        finish_reason=finish,
        error=None if output.error is None else {"type": "ModelError", "message": output.error, "hint": None},
        usage=_usage(output),
    )


def _score(generation: Generation, judgement: Judgement) -> Score:
    scores = judgement.scores
    marks = {name: float(scores[name]) if scores is not None else float(_WORST) for name in DIMENSIONS}
    percent = {name: 100 * (mark - _WORST) / (_BEST - _WORST) for name, mark in marks.items()}
    found = extract_prediction(generation)
    told = {"strengths": judgement.strengths, "weaknesses": judgement.weaknesses}
    return Score(
        value={"overall": sum(percent.values()) / len(percent), **percent, "failed": float(scores is None)},
        answer=found.text if found is not None else None,
        explanation=judgement.content or (judgement.error or {}).get("message"),
        metadata={
            **{name: list(lines) for name, lines in told.items()},
            "outcome": generation.outcome,
            "judge": judgement.model,
            "judge_tries": judgement.tries,
            "judge_error": judgement.error,
        },
    )


@task
def agentworldbench(
    data: str,
    domain: str | list[str] | None = None,
    rows: int | None = None,
    seed: int = 0,
    context: int | None = None,
    judge_prompts: str | None = None,
) -> Task:
    """Predict the next observation of recorded environments; a judge compares it with the true one.

    Args:
        data: Folder of `DOMAIN_test.jsonl` files, or the published set's name.
        domain: Only these, separated by commas.
        rows: At most so many rows, from all domains alike.
        seed: Of the choice and order of rows, and of the judge.
        context: Tokens that the model can take; older turns are left out. None: any number.
        judge_prompts: Folder of other judge prompts.
    """
    domains = [domain] if isinstance(domain, str) else domain or []
    names = [name.strip() for part in domains for name in part.split(",") if name.strip()]
    index = index_rows(data)
    samples = [_sample(index.read(ref)) for ref in index.select(domains=names, limit=rows, seed=seed)]
    return Task(
        dataset=MemoryDataset(samples, name="agentworldbench", location=data),
        setup=true_history(data, context),
        solver=generate(),
        scorer=judged(data, judge_prompts, seed),
        config=GenerateConfig(temperature=DEFAULT_SAMPLING.temperature, max_tokens=DEFAULT_SAMPLING.max_tokens),
        version=1,
    )


def _sample(row: EvalRow) -> Sample:
    where: dict[str, Any] = {"domain": row.domain, _CLUSTER: row.trajectory, "id": row.id, "turn": row.turn}
    return Sample(id=row.key, input=row.action, target=observed_text(row.truth), metadata=where)
