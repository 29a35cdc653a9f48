"""Measuring what was trained: held-out turns, asked through the same path as `worldline bench real --engine model`.

One thing is done here that the bench leaves to estimates: how much of a history fits. Training fitted rows by the
model's own tokenizer, and a model over bytes takes three times the tokens that are estimated, so prompts are fitted
here as rows are there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from worldline.bench.metrics import BenchRow, TurnScore
from worldline.bench.suite import Suite, load_suite, measure
from worldline.data.rows import TrainingMessage
from worldline.engines import EngineOptions, EngineParts
from worldline.memory.shipped import shipped_memory
from worldline.models.base import ChatModel, Message, ModelAnswer, Sampling
from worldline.models.local import LocalModel
from worldline.models.store import describe
from worldline.train.pretrained import HuggingFaceTokens, load_tokenizer
from worldline.train.recipe import Recipe
from worldline.train.tokens import Encoder
from worldline.types import JsonDict, Trajectory

__all__ = ["FittedModel", "evaluate_folder", "figures", "held_out_suite"]


class FittedModel:
    """A chat model that is asked with as many of the latest turns as fit, whole, as rows were in training.

    Args:
        inner: The model.
        encoder: Of its tokenizer, for as many tokens as a prompt may have.
        prompts: What it was trained with, if not the domain's own.
    """

    def __init__(self, inner: ChatModel, encoder: Encoder, prompts: Path | None = None) -> None:
        self._inner = inner
        self._encoder = encoder
        self._prompts = prompts
        self.name = inner.name

    def trained_prompts(self, domain: str) -> Path | None:
        """The prompts that it was trained with."""
        return self._prompts

    async def complete(self, messages: Sequence[Message], sampling: Sampling | None = None) -> ModelAnswer:
        """Answer a conversation (see :class:`worldline.models.base.ChatModel`)."""
        asked = tuple(TrainingMessage(role=m["role"], content=m["content"]) for m in messages)
        kept = self._encoder.fitted_prompt(asked) or asked
        return await self._inner.complete([Message(role=m.role, content=m.content) for m in kept], sampling)

    async def aclose(self) -> None:
        """Free the weights."""
        await self._inner.aclose()


def held_out_suite(recipe: Recipe) -> Suite:
    """The held-out turns of a recipe: whole sessions of its split, drawn by the recipe's seed.

    Raises:
        ConfigError: There are none.
    """
    how = recipe.evaluation
    return load_suite(how.domain, how.split).sampled(how.turns, recipe.seed)


def evaluate_folder(
    folder: Path,
    recipe: Recipe,
    *,
    suite: Suite | None = None,
    engine: str = "model",
    on_done: Callable[[Trajectory], None] | None = None,
) -> tuple[BenchRow, list[TurnScore]]:
    """Measure a model folder, greedily decoded, and return its row of the fidelity table with the scored turns.

    Args:
        folder: A Hugging Face folder.
        recipe: Says which turns, by which prompts, and how long answers may be.
        suite: In place of :func:`held_out_suite`.
        engine: `model` alone, or another engine with it.
        on_done: Called with every finished trajectory.

    Raises:
        ConfigError: The folder cannot be loaded.
        MissingExtraError: No library that can run it is installed.
    """
    how = recipe.evaluation
    suite = suite or held_out_suite(recipe)
    memory = shipped_memory(how.domain)
    sampling = Sampling(temperature=0.0, seed=0, max_tokens=how.max_tokens)
    tokens = HuggingFaceTokens(load_tokenizer(recipe, folder))
    inner = LocalModel(describe(folder), threads=recipe.threads, context=recipe.context)
    model = FittedModel(inner, Encoder(tokens, max(1, recipe.context - how.max_tokens)), recipe.data.prompts)
    parts = EngineParts(model=model, memory=memory, prompts=recipe.data.prompts, sampling=sampling)
    rows, scores = measure(
        suite,
        [engine],
        memory=memory,
        options=EngineOptions(seed=0, notes_share=how.notes_share),
        parts=parts,
        on_engine=None if on_done is None else lambda _: on_done,
    )
    return rows[0], scores[engine]


def figures(row: BenchRow) -> JsonDict:
    """Return the figures of a row that training is judged by."""
    names = (
        "n",
        "exact",
        "exact_ci",
        "exact_session_determined",
        "structured",
        "error_agreement",
        "rouge_l",
        "failures",
    )
    return {name: getattr(row, name) for name in names}
