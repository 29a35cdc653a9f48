"""Running a Hugging Face folder, or a GGUF file where llama.cpp is missing, with Transformers on the CPU."""

from __future__ import annotations

import importlib.util
import inspect
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from worldline.errors import ConfigError, ModelError, boundary
from worldline.models.adapters.merging import merge_adapter
from worldline.models.backend import Written, check_fits
from worldline.models.base import Message, Sampling
from worldline.models.store import StoredModel
from worldline.models.templates import chat_tokens

__all__ = ["TransformersBackend", "available"]

_EXTRA = {"min_p", "typical_p", "repetition_penalty"}
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


def available() -> bool:
    """Whether the libraries are installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("torch", "transformers"))


class TransformersBackend:
    """Weights in PyTorch; the key-value cache of the last prompt stays.

    Args:
        stored: A Hugging Face folder, or a GGUF file (which needs the `gguf` library and is unpacked to floats); an
            adapter is added to the weights.
        threads: Threads to compute with.
        context: Tokens of prompt and answer together.

    Raises:
        ConfigError: It cannot be loaded, has no chat template, or the adapter does not fit it.
        StorageError: The adapter is damaged.
    """

    def __init__(self, stored: StoredModel, *, threads: int, context: int) -> None:
        import torch

        torch.set_num_threads(threads)
        where: dict[str, Any] = {"local_files_only": True}
        folder = stored.path
        if stored.format == "gguf":
            folder, where["gguf_file"] = stored.path.parent, stored.path.name
        foreign = (OSError, ValueError, RuntimeError, ImportError, KeyError)
        with boundary(ConfigError, f"loading {stored.path}", *foreign), _offline():
            from transformers import AutoModelForCausalLM, AutoTokenizer

            self._tokenizer: Any = AutoTokenizer.from_pretrained(str(folder), **where)
            self._model: Any = AutoModelForCausalLM.from_pretrained(str(folder), dtype=torch.float32, **where)
        if self._tokenizer.chat_template is None:
            raise ConfigError(f"{stored.path} has no chat template", hint="take an instruction-tuned model")
        if stored.adapter is not None:
            merge_adapter(self._model, stored.adapter.path)
        self._template = str(self._tokenizer.chat_template)
        self._model.eval()
        # Its name changed between versions of the library.
        named = inspect.signature(self._model.forward).parameters
        self._cache_argument = "cache" if "cache" in named else "past_key_values"
        self._context = context
        self._seen: list[int] = []
        self._cache: Any = None

    @property
    def reasons(self) -> bool:
        """Whether the model reasons before it answers (see :class:`worldline.models.backend.Backend`)."""
        return "<think>" in self._template

    def count(self, messages: Sequence[Message]) -> int:
        """Tokens of a conversation (see :class:`worldline.models.backend.Backend`)."""
        return len(chat_tokens(messages, self._render, self._special, self._plain))

    def write(
        self, messages: Sequence[Message], sampling: Sampling, stop: threading.Event, opening: str = ""
    ) -> Written:
        """Continue a conversation (see :class:`worldline.models.backend.Backend`)."""
        tokens = chat_tokens(messages, self._render, self._special, self._plain) + self._plain(opening)
        check_fits(tokens, self._context)
        room = self._context - len(tokens)
        limit = min(sampling.max_tokens or room, room)
        cached = self._keep_prefix(tokens)
        with boundary(ModelError, "computing an answer", RuntimeError, ValueError):
            answer = self._generate(tokens, limit, sampling, stop)
        text, finish = self._finish(answer, limit, sampling)
        return Written(opening + text, finish, len(tokens), len(answer), cached)

    def close(self) -> None:
        """Free the weights."""
        self._model = self._cache = None

    def _generate(self, tokens: list[int], limit: int, sampling: Sampling, stop: threading.Event) -> list[int]:
        import torch
        from transformers import StoppingCriteria, StoppingCriteriaList

        stops = list(sampling.stop)
        tokenizer = self._tokenizer

        class Ended(StoppingCriteria):  # type: ignore[misc,unused-ignore]
            """Cancelled, or one of the stop texts was written."""

            def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
                written = tokenizer.decode(input_ids[0][len(tokens) :]) if stops else ""
                ended = stop.is_set() or any(text in written for text in stops)
                return torch.full((input_ids.shape[0],), ended, dtype=torch.bool)

        if sampling.seed is not None:
            torch.manual_seed(sampling.seed)
        ids = torch.tensor([tokens])
        with torch.inference_mode():
            done = self._model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=limit,
                **{self._cache_argument: self._cache},
                stopping_criteria=StoppingCriteriaList([Ended()]),
                pad_token_id=self._tokenizer.pad_token_id or 0,
                **self._settings(sampling),
            )
        self._seen = done[0].tolist()[:-1]  # the last token was chosen, but not yet computed with
        return [int(token) for token in done[0][len(tokens) :]]

    def _finish(self, answer: list[int], limit: int, sampling: Sampling) -> tuple[str, str]:
        ends = self._model.generation_config.eos_token_id
        ends = {ends} if isinstance(ends, int) else set(ends or ())
        stopped = bool(answer) and answer[-1] in ends
        text = str(self._tokenizer.decode(answer, skip_special_tokens=True))
        places = [text.find(end) for end in sampling.stop if end in text]
        if places:
            return text[: min(places)], "stop"
        return text, "stop" if stopped or len(answer) < limit else "length"

    def _keep_prefix(self, tokens: list[int]) -> int:
        """Cut the cache back to what the prompt shares with the last one; at least one token is computed anew."""
        from transformers import DynamicCache

        shared = 0
        for old, new in zip(self._seen, tokens[:-1], strict=False):
            if old != new:
                break
            shared += 1
        if self._cache is None or not shared:
            self._cache, shared = DynamicCache(config=self._model.config), 0
        else:
            surplus = self._cache.get_seq_length() - shared
            if surplus:
                self._cache.crop(-surplus)
        return shared

    def _settings(self, sampling: Sampling) -> dict[str, Any]:
        unknown = sorted(set(sampling.extra) - _EXTRA)
        if unknown:
            raise ConfigError(
                f"a model in Transformers does not know the setting {unknown[0]!r}",
                hint=f"known: {', '.join(sorted(_EXTRA))}",
            )
        if not sampling.temperature:
            # None takes away what the folder's own generation settings say, which greedy search would warn of.
            return {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        chosen = {"top_p": sampling.top_p, "top_k": sampling.top_k}
        named = {name: value for name, value in chosen.items() if value is not None}
        return {"do_sample": True, "temperature": sampling.temperature, **named, **sampling.extra}

    def _render(self, messages: list[Message]) -> str:
        with boundary(ModelError, "laying out the conversation by the model's template", ValueError, TypeError):
            return str(self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    def _special(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def _plain(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True))


@contextmanager
def _offline() -> Iterator[None]:
    """Loading never asks the hub: what is here is what is used."""
    before = {name: os.environ.get(name) for name in _OFFLINE}
    os.environ.update(_OFFLINE)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
