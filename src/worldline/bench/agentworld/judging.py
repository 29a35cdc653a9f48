"""Asking a judge about one generation: laid out safely, read strictly, tried again, recorded whatever happens.

An endpoint that holds answers to a JSON schema is asked to; one that refuses the request for it is asked in words.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from worldline.bench.agentworld.diagnostics import GUI_DOMAINS, diagnostics
from worldline.bench.agentworld.extraction import extract_prediction, observed_text
from worldline.bench.agentworld.judge_answer import (
    AnswerForm,
    JudgeAnswerError,
    read_choice,
    read_scores,
    response_format,
    without_reasoning,
)
from worldline.bench.agentworld.judge_prompt import JudgePrompts, Question
from worldline.bench.agentworld.records import EvalRow, Generation, Judgement, JudgeMode, Outcome
from worldline.errors import EmptyAnswerError, EndpointError, InputError, ModelError, TruncatedError
from worldline.models import EndpointModel
from worldline.models.base import ChatModel, ModelAnswer, Sampling
from worldline.models.context import estimate_tokens
from worldline.types import JsonDict, Usage, content_id

__all__ = ["JUDGE_SAMPLING", "TRIES", "Judge", "answer_order", "judge_generation", "judgeable", "judgement_key"]

TRIES = 3
"""Calls at most until a judge's answer can be read (as in the public evaluation)."""

JUDGE_SAMPLING = Sampling(temperature=0.6, max_tokens=32_768)
"""What applies where neither the call nor the judge's own settings say (as in the public evaluation)."""

_SMALLEST_RESERVE = 256
_RESERVED_SHARE = 4
"""An answer may take a quarter of the judge's context."""


@dataclass(slots=True)
class Judge:
    """A chat model in the role of a judge, with what is found out about it on the way.

    One instance serves any number of concurrent calls.
    """

    model: ChatModel
    sampling: Sampling | None = None
    """Goes before the model's own settings."""
    context_length: int | None = None
    """Tokens of prompt and answer together; default what the model says, None: no limit known."""
    count: Callable[[str], int] = estimate_tokens
    """How many tokens a text takes."""
    structured: bool | None = None
    """Whether to ask for answers held to a schema; None: of endpoints. One that refuses is asked in words."""

    _form: AnswerForm | None = field(default=None, init=False)
    _tried: bool = field(default=False, init=False)
    _probing: asyncio.Lock = field(default_factory=asyncio.Lock, init=False, repr=False)

    @property
    def name(self) -> str:
        """What tables and keys call it."""
        return self.model.name

    def effective_sampling(self) -> Sampling:
        """The sampling that calls are made with, but for the seed."""
        effective = getattr(self.model, "effective_sampling", None)
        told: Sampling | None = effective(self.sampling) if effective is not None else self.sampling
        told = told or Sampling()
        temperature = JUDGE_SAMPLING.temperature if told.temperature is None else told.temperature
        most = JUDGE_SAMPLING.max_tokens if told.max_tokens is None else told.max_tokens
        return replace(told, temperature=temperature, max_tokens=self._reserve(most or 0))

    def room(self) -> int | None:
        """Tokens that a question may take."""
        length = self._context_length()
        return None if length is None else length - (self.effective_sampling().max_tokens or 0)

    def _context_length(self) -> int | None:
        known: int | None = getattr(self.model, "context_length", None)
        return self.context_length if self.context_length is not None else known

    def _reserve(self, most: int) -> int:
        length = self._context_length()
        return most if length is None else min(most, max(_SMALLEST_RESERVE, length // _RESERVED_SHARE))

    def forms(self) -> tuple[AnswerForm, ...]:
        """Ways to ask for the answer's form, the first of which is tried first."""
        if self._form is not None:
            return (self._form,)
        offered = isinstance(getattr(self.model, "inner", self.model), EndpointModel)
        wanted = offered if self.structured is None else self.structured
        return ("json_schema", "json_object", "words") if wanted else ("words",)

    async def ask(self, question: Question, prompts: JudgePrompts, sampling: Sampling) -> _Answered:
        """Put a question once.

        As long as it is not known which form of answers the endpoint can be held to, one call at a time finds it out.

        Raises:
            ModelError: No answer.
            ConfigError: A prompt cannot be used.
        """
        if self._tried or len(self.forms()) == 1:
            return await self._ask(question, prompts, sampling)
        async with self._probing:
            if not self._tried:
                try:
                    return await self._ask(question, prompts, sampling)
                finally:
                    self._tried = True
        # those that waited meanwhile go on side by side
        return await self._ask(question, prompts, sampling)

    async def _ask(self, question: Question, prompts: JudgePrompts, sampling: Sampling) -> _Answered:
        forms = self.forms()
        for form in forms:
            try:
                answered = await self._ask_for(form, question, prompts, sampling)
            except EndpointError as error:
                if form == forms[-1] or not _about_the_form(error):
                    raise
            else:
                self._form = form
                return answered
        raise AssertionError("unreachable: the last form returns or raises")

    async def _ask_for(
        self, form: AnswerForm, question: Question, prompts: JudgePrompts, sampling: Sampling
    ) -> _Answered:
        held = response_format(form, question.mode)
        request = prompts.request(question, structured=held is not None, room=self.room(), count=self.count)
        if held is not None:
            sampling = replace(sampling, extra={"response_format": held, **sampling.extra})
        answer = await self.model.complete(request.messages, sampling)
        return _Answered(answer, request.dropped_turns, form)


@dataclass(frozen=True, slots=True)
class _Answered:
    """An answer, and what the call was made with."""

    answer: ModelAnswer
    dropped_turns: int
    form: AnswerForm


def _about_the_form(error: EndpointError) -> bool:
    """Whether a request may have been refused for the form of answer it asks for; some servers say so with 500."""
    return not error.transient or re.search(r"response_format|json_schema", error.message) is not None


def _as_judge(judge: Judge | ChatModel) -> Judge:
    return judge if isinstance(judge, Judge) else Judge(judge)


def judgeable(generation: Generation) -> bool:
    """Whether there is anything to judge: a failed or empty generation is never sent to a judge."""
    return extract_prediction(generation) is not None


def judgement_key(
    judge: Judge | ChatModel,
    row: EvalRow,
    generation: Generation,
    *,
    mode: JudgeMode = "rubric",
    prompts: JudgePrompts,
    seed: int = 0,
    repeat: int = 0,
    other: Generation | None = None,
) -> str:
    """Content hash of everything that a judgement depends on; the arguments are those of :func:`judge_generation`.

    Raises:
        ConfigError: There is no prompt for the row's domain.
    """
    judge = _as_judge(judge)
    return content_id(
        {
            "generation": generation.key,
            "other": other.key if other is not None else None,
            "judge": _identity(judge),
            "mode": mode,
            "prompts": prompts.version(row.domain, mode),
            "sampling": asdict(judge.effective_sampling()),
            "seed": seed,
            "repeat": repeat,
        },
        length=32,
    )


def _identity(judge: Judge) -> JsonDict:
    """What tells a judge from another; not its address, so that a server may move to another port."""
    known: JsonDict = getattr(judge.model, "cache_identity", None) or {"name": judge.name}
    return {name: value for name, value in known.items() if name != "base_url"}


async def judge_generation(
    judge: Judge | ChatModel,
    row: EvalRow,
    generation: Generation,
    *,
    mode: JudgeMode = "rubric",
    prompts: JudgePrompts,
    seed: int = 0,
    repeat: int = 0,
    other: Generation | None = None,
    tries: int = TRIES,
) -> Judgement:
    """Have one generation judged.

    In `turing` and `pairwise` two answers are shown in an order drawn by the seed; an odd `repeat` shows the order of
    the even one before it reversed. `pairwise` without `other` sets the prediction against the truth itself.

    Args:
        judge: Who is asked. A :class:`Judge` remembers what is found out about the endpoint from call to call.
        row: What was to be predicted.
        generation: What is judged.
        mode: How.
        prompts: What the judge is told.
        seed: Of sampling and order.
        repeat: Number of this judgement among several of the same generation.
        other: In `pairwise`, the generation that this one is compared with.
        tries: Calls at most until an answer can be read.

    Returns:
        The judgement. Where there is nothing to judge, or the judge fails, it says so: `scores` and `verdict` are
        None and `error` says why; `tries` is the number of calls.

    Raises:
        ConfigError: There is no prompt for the row's domain, or it cannot be used.
        InputError: `generation` is no generation of the row.
    """
    if generation.row != row.key or (other is not None and other.row != row.key):
        raise InputError(f"the generation {generation.key} is not one of the row {row.key}")
    judge = _as_judge(judge)
    key = judgement_key(judge, row, generation, mode=mode, prompts=prompts, seed=seed, repeat=repeat, other=other)
    sampling = judge.effective_sampling()
    known: JsonDict = {
        "key": key,
        "generation": generation.key,
        "row": row.key,
        "mode": mode,
        "repeat": repeat,
        "model": judge.name,
        "prompt_version": prompts.version(row.domain, mode),
        "sampling": _plain(sampling),
        "seed": seed,
    }
    if mode == "pairwise" and other is not None:
        known |= {"other": other.key, "other_model": other.model}
    asked = _question(row, generation, mode, seed, repeat, other)
    if asked is None:
        error = {"type": "NoPrediction", "message": "there is no prediction to judge", "hint": None}
        return Judgement(**known, outcome="empty", error=error, tries=0)
    question, shown = asked
    trial = _Trial(usage=None)
    for attempt in range(tries):
        await trial.put(judge, question, prompts, replace(sampling, seed=_call_seed(seed, repeat, attempt)), shown)
        if trial.done:
            break
    return Judgement(**{**known, **trial.record()})


def _question(
    row: EvalRow, generation: Generation, mode: JudgeMode, seed: int, repeat: int, other: Generation | None
) -> tuple[Question, tuple[str, ...]] | None:
    """Return the question, and what the answers A and B are; None where there is nothing to judge."""
    found = extract_prediction(generation)
    if found is None:
        return None
    if mode == "rubric":
        counted = diagnostics(generation) if row.domain in GUI_DOMAINS else None
        return Question(row, mode, (found.text,), counted), ()
    texts = {"prediction": found.text, "truth": observed_text(row.truth)}
    if mode == "pairwise" and other is not None:
        second = extract_prediction(other)
        if second is None:
            return None
        texts["other"] = second.text
    shown = answer_order(row, generation, mode=mode, seed=seed, repeat=repeat, other=other)
    return Question(row, mode, tuple(texts[name] for name in shown)), shown


def answer_order(
    row: EvalRow, generation: Generation, *, mode: JudgeMode, seed: int, repeat: int, other: Generation | None = None
) -> tuple[str, str]:
    """Say what the answers A and B of a judgement in `turing` or `pairwise` are: `prediction`, `truth`, `other`."""
    rival = other if mode == "pairwise" else None
    drawn = content_id([seed, row.key, generation.key, rival.key if rival is not None else None, repeat // 2])
    what = "truth" if rival is None else "other"
    return (what, "prediction") if (int(drawn, 16) + repeat) % 2 else ("prediction", what)


def _call_seed(seed: int, repeat: int, attempt: int) -> int:
    """A seed of its own for each call: the same one would only fetch the same unreadable answer again."""
    return seed if not repeat and not attempt else int(content_id([seed, repeat, attempt], length=7), 16)


def _plain(sampling: Sampling) -> JsonDict:
    return {name: value for name, value in asdict(sampling).items() if value not in (None, (), {})}


@dataclass(slots=True)
class _Trial:
    """The calls about one question, as far as they have come."""

    usage: Usage | None
    tries: int = 0
    done: bool = False
    said: dict[str, Any] = field(default_factory=dict)
    """Fields of the record that follow from the last call."""

    async def put(
        self, judge: Judge, question: Question, prompts: JudgePrompts, sampling: Sampling, shown: tuple[str, ...]
    ) -> None:
        """Ask once and note what came of it."""
        self.tries += 1
        try:
            answered = await judge.ask(question, prompts, sampling)
        except (TruncatedError, EmptyAnswerError) as error:
            self._unanswered(error)
            return
        except ModelError as error:
            # The client has tried its best already.
            self.done, self.said = True, {"outcome": "error", "error": error.as_record()}
            return
        answer = answered.answer
        self._pay(answer.usage)
        self.said = {
            "outcome": "truncated" if answer.finish_reason == "length" else "ok",
            "model": answer.model,
            "content": answer.as_sent,
            "reasoning": answer.reasoning if answer.raw in (None, answer.content) else None,
            "finish_reason": answer.finish_reason,
            "dropped_turns": answered.dropped_turns,
            "sampling": {**_plain(sampling), "form": answered.form},
        }
        self._read(answer, question.mode, shown)

    def _read(self, answer: ModelAnswer, mode: JudgeMode, shown: tuple[str, ...]) -> None:
        text = without_reasoning(answer.as_sent)
        try:
            if mode == "rubric":
                read = read_scores(text)
                self.said |= {"scores": read.scores, "strengths": read.strengths, "weaknesses": read.weaknesses}
            else:
                self.said["verdict"] = shown["AB".index(read_choice(text))]
        except JudgeAnswerError as error:
            self.said["error"] = error.as_record()
        else:
            self.done = True

    def _unanswered(self, error: TruncatedError | EmptyAnswerError) -> None:
        outcome: Outcome = "truncated" if isinstance(error, TruncatedError) else "empty"
        self.said = {"outcome": outcome, "error": error.as_record(), "finish_reason": error.finish_reason}
        self.said |= {"content": error.raw, "reasoning": error.reasoning or None}
        self._pay(error.usage)

    def _pay(self, usage: Usage | None) -> None:
        if usage is None or self.usage is None:
            self.usage = self.usage or usage
            return
        before, costs = self.usage, [u.cost_usd for u in (self.usage, usage) if u.cost_usd is not None]
        self.usage = Usage(
            prompt_tokens=before.prompt_tokens + usage.prompt_tokens,
            completion_tokens=before.completion_tokens + usage.completion_tokens,
            reasoning_tokens=before.reasoning_tokens + usage.reasoning_tokens,
            cached_tokens=before.cached_tokens + usage.cached_tokens,
            latency_s=before.latency_s + usage.latency_s,
            cost_usd=sum(costs) if costs else None,
        )

    def record(self) -> JsonDict:
        """The fields of the judgement that the calls decide."""
        return {**self.said, "usage": self.usage, "tries": self.tries}
