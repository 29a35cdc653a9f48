"""What a run will cost and take, before it starts, and the guard that stops it at a budget."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from worldline.bench.agentworld.inference import Generator
from worldline.bench.agentworld.rows import RowIndex, RowRef
from worldline.errors import ConfigError
from worldline.models.base import ChatModel
from worldline.models.settings import Prices
from worldline.types import Frozen, Usage

__all__ = ["Budget", "Estimate", "Rates", "estimate_run", "prices_of", "require_prices"]

_JUDGE_PROMPT, _JUDGE_ANSWER = 2500, 800
"""Tokens of a judge's own instructions and of its answer, about."""
_SMALLEST = 1e-12
"""US dollars below which a sum is nothing but the error of adding."""


class Rates(Frozen):
    """What an estimate assumes about speed and length; printed with it."""

    tokens_per_s: float = 50.0
    """Tokens that one request writes in a second."""
    reasoning: int = 2000
    """Tokens that a model writes before its answer."""


class Estimate(Frozen):
    """What a run will ask for, about."""

    rows: int
    """Rows still to be asked."""
    prompt_tokens: int
    completion_tokens: int
    """The true answers' lengths and the assumed reasoning."""
    judge_prompt_tokens: int = 0
    judge_completion_tokens: int = 0
    rows_with_dropped_turns: int = 0
    longest_prompt: int = 0
    cost_usd: float | None = None
    """None where a price is not known."""
    seconds: float = 0.0
    rates: Rates = Rates()


def prices_of(model: ChatModel | None) -> Prices | None:
    """What a model's tokens cost; nothing for one in this process, None where nobody said."""
    inner = getattr(model, "inner", model)
    settings = getattr(inner, "settings", None)
    if settings is None:
        return Prices()
    prices: Prices | None = settings.prices
    return prices


def estimate_run(
    index: RowIndex,
    refs: Iterable[RowRef],
    generator: Generator,
    judge: ChatModel | None,
    *,
    concurrency: int,
    rates: Rates | None = None,
) -> Estimate:
    """Read the rows and say what asking for them will take; nothing is sent.

    Args:
        index: Where the rows are.
        refs: Those still to be asked.
        generator: The model and how it is asked.
        judge: The judge's model, if answers are judged.
        concurrency: Requests at once.
        rates: Assumptions.

    Raises:
        FormatError: The data has changed.
    """
    rates = rates or Rates()
    prompts: list[int] = []
    truths: list[int] = []
    dropped = 0
    for ref in refs:
        row = index.read(ref)
        request = generator.request(row)
        prompts.append(request.tokens)
        truths.append(generator.counter.count(row.truth))
        dropped += request.dropped_turns > 0
    n = len(prompts)
    answers = sum(truths) + n * rates.reasoning
    judge_in = sum(prompts) + 2 * sum(truths) + n * _JUDGE_PROMPT if judge is not None else 0
    judge_out = n * _JUDGE_ANSWER if judge is not None else 0
    asked = [(generator.model, sum(prompts), answers), *([(judge, judge_in, judge_out)] if judge is not None else [])]
    return Estimate(
        rows=n,
        prompt_tokens=sum(prompts),
        completion_tokens=answers,
        judge_prompt_tokens=judge_in,
        judge_completion_tokens=judge_out,
        rows_with_dropped_turns=dropped,
        longest_prompt=max(prompts, default=0),
        cost_usd=_cost(asked),
        # Judging runs beside inference, so the slower of the two counts.
        seconds=max(answers, judge_out) / rates.tokens_per_s / max(1, min(concurrency, n)),
        rates=rates,
    )


def _cost(asked: Sequence[tuple[ChatModel, int, int]]) -> float | None:
    total = 0.0
    for model, prompt, completion in asked:
        prices = prices_of(model)
        if prices is None:
            return None
        total += prices.cost(Usage(prompt_tokens=prompt, completion_tokens=completion))
    return total


@dataclass
class Budget:
    """Counts what was spent and what the calls under way will cost, and says when to stop.

    What a call will cost is guessed; how far the guesses were off so far corrects the next ones.

    Args:
        limit: US dollars; None for any amount.
        spent: What earlier runs into the same folder cost.
    """

    limit: float | None = None
    spent: float = 0.0
    stopped: bool = False
    reserved: float = 0.0
    """For the calls under way."""
    _guessed: dict[str, float] = field(default_factory=dict)
    _paid: dict[str, float] = field(default_factory=dict)
    _change: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def reserve(self, kind: str, guess: float) -> float | None:
        """Set money aside for a call, waiting for calls under way where it depends on them.

        Args:
            kind: Whose guesses correct this one (`model`, `judge`).
            guess: US dollars.

        Returns:
            What was set aside; None, from then on for every call, where the limit would be passed.
        """
        if self.limit is None:
            return 0.0
        async with self._change:
            while not self.stopped:
                amount = guess * self._correction(kind)
                if self.spent + self.reserved + amount <= self.limit:
                    self.reserved += amount
                    return amount
                if self.reserved <= 0:
                    self.stopped = True
                    self._change.notify_all()
                else:
                    await self._change.wait()
        return None

    async def settle(self, kind: str, reserved: float, guess: float, usage: Usage | None) -> None:
        """Replace what was set aside by what the call cost, or by the guess where nobody says."""
        cost = 0.0 if usage is None else usage.cost_usd
        self.spent += reserved if cost is None else cost
        if self.limit is None:
            return
        async with self._change:
            self.reserved -= reserved
            if self.reserved < _SMALLEST:
                self.reserved = 0.0
            if usage is not None and cost is not None:
                self._guessed[kind] = self._guessed.get(kind, 0.0) + guess
                self._paid[kind] = self._paid.get(kind, 0.0) + cost
            self._change.notify_all()

    def _correction(self, kind: str) -> float:
        guessed = self._guessed.get(kind, 0.0)
        return self._paid[kind] / guessed if guessed > 0 else 1.0


def require_prices(models: Iterable[ChatModel | None]) -> None:
    """Refuse a budget where a price is not known.

    Raises:
        ConfigError: A model has no prices.
    """
    for model in models:
        if model is not None and prices_of(model) is None:
            raise ConfigError(
                f"a budget needs the prices of {model.name}",
                hint="give --model-price or --judge-price PROMPT COMPLETION, in US dollars for a million tokens, or "
                "`prices` in models.yaml",
            )
