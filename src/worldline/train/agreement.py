"""Whether an adapter on its base answers as the merged model does, token by token."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldline.errors import ConfigError, require_extra
from worldline.models.adapters.merging import merge_adapter
from worldline.models.base import Message
from worldline.models.store import StoredModel
from worldline.models.templates import chat_tokens
from worldline.train.material import held_out_rows
from worldline.train.pretrained import HuggingFaceTokens, load_model, load_tokenizer
from worldline.train.recipe import ModelRecipe, Recipe
from worldline.train.tokens import Encoder

__all__ = ["Agreement", "agreement"]

_ANSWER = 32
"""Tokens of each answer that are compared."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two models agree."""

    prompts: int
    tokens: int
    """Of the greedy answers of the one."""
    same: int
    """Tokens of these that the other would choose as well, after the same tokens before."""


def agreement(recipe: Recipe, merged: Path, base: StoredModel, adapter: Path, prompts: int) -> Agreement:
    """Compare greedy answers to held-out prompts.

    Args:
        recipe: How the model was trained, and by which prompts it is asked.
        merged: Folder of the merged model, whose answers count.
        base: The base; an adapter that it has is part of `adapter` already.
        adapter: Folder of the adapter.
        prompts: How many prompts of the dev split.

    Raises:
        ConfigError: A model cannot be loaded, or no prompt fits into the context.
        MissingExtraError: PyTorch or Transformers is not installed.
    """
    torch: Any = require_extra("torch", "train")
    require_extra("transformers", "train").utils.logging.disable_progress_bar()
    tokenizer = load_tokenizer(recipe, merged)
    asked = _prompts(recipe, HuggingFaceTokens(tokenizer), prompts)
    whole = load_model(recipe, tokenizer, merged).eval()
    with torch.inference_mode():
        answers = [_answer(whole, ids, tokenizer) for ids in asked]
        del whole
        start = ModelRecipe(start=str(base.path), chat_template=recipe.model.chat_template, dtype=recipe.model.dtype)
        put_on = load_model(recipe.model_copy(update={"model": start}), tokenizer).eval()
        merge_adapter(put_on, adapter)
        same = sum(_same(put_on, ids, answer) for ids, answer in zip(asked, answers, strict=True))
    return Agreement(len(asked), sum(map(len, answers)), same)


def _prompts(recipe: Recipe, tokens: HuggingFaceTokens, count: int) -> list[list[int]]:
    how = recipe.evaluation.model_copy(update={"split": "dev", "rows": count})
    rows = held_out_rows(recipe.model_copy(update={"evaluation": how}), "sft")
    encoder = Encoder(tokens, max(1, recipe.context - _ANSWER))
    fitted = [encoder.fitted_prompt(row.messages[:-1]) for row in rows]
    found = [
        chat_tokens(
            [Message(role=m.role, content=m.content) for m in messages],
            lambda shown: tokens.render(shown, True),
            tokens.structure,
            tokens.content,
        )
        for messages in fitted
        if messages
    ]
    if not found:
        raise ConfigError(f"no held-out prompt fits into {recipe.context} tokens", hint="check none: --check 0")
    return found


def _answer(model: Any, ids: list[int], tokenizer: Any) -> list[int]:
    torch: Any = require_extra("torch", "train")
    given = torch.tensor([ids])
    greedy = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
    done = model.generate(
        given,
        attention_mask=torch.ones_like(given),
        max_new_tokens=_ANSWER,
        pad_token_id=tokenizer.pad_token_id,
        **greedy,
    )
    return [int(token) for token in done[0][len(ids) :]]


def _same(model: Any, ids: list[int], answer: list[int]) -> int:
    torch: Any = require_extra("torch", "train")
    logits = model(torch.tensor([[*ids, *answer]])).logits[0, len(ids) - 1 : -1]
    return sum(int(chosen) == token for chosen, token in zip(logits.argmax(-1), answer, strict=True))
