"""A chat model inside this process: weights on this machine, no server."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from worldline.domains.answers import CLOSE_TAG, OPEN_TAG, OPENING
from worldline.errors import EmptyAnswerError, MissingExtraError, TruncatedError, require_extra
from worldline.models.adapters.conversion import gguf_adapter
from worldline.models.backend import Backend, Written
from worldline.models.base import Message, ModelAnswer, Sampling
from worldline.models.endpoint import merge_sampling
from worldline.models.reasoning import split_reasoning
from worldline.models.store import StoredModel, model_folder
from worldline.types import JsonDict, Usage

__all__ = ["THREADS_VARIABLE", "LocalModel", "default_threads", "open_backend", "require_library"]

_LOG = logging.getLogger(__name__)

THREADS_VARIABLE = "WORLDLINE_THREADS"
"""Environment variable with the number of threads that a local model computes with."""

_CONTEXT_LIMIT = 16_384
"""Longest context that is set up unasked: its memory grows with it."""
_ANSWER_PART = 8
"""At most such a part of the context is kept free for an answer where a prompt is fitted to what was trained with."""
_DEFAULT_SAMPLING = Sampling(temperature=0.0, max_tokens=512, seed=0)


class LocalModel:
    """A GGUF file or a Hugging Face folder, with an adapter or without, as a chat model.

    The weights are loaded by the first call and stay until :meth:`aclose`. Calls are computed one after the other in a
    thread of their own. What the last call computed of its prompt is kept, so that a prompt which begins as the one
    before does is only computed from where they part.

    Args:
        stored: The model.
        name: What tables call it; default the model's own name.
        threads: Threads to compute with; default :func:`default_threads`.
        context: Tokens of prompt and answer together; default what the model was made for, or was trained with, at
            most 16384.
        sampling: Default sampling; what is not set there is greedy, 512 tokens, seed 0.
        begin: Where the last message asks for an answer between `<predicted_observation>` tags, begin the answer with
            the opening tag and the words that earlier observations begin with, and end it at the closing tag: small
            models forget them. Never done for a model that reasons before it answers.
    """

    def __init__(
        self,
        stored: StoredModel,
        *,
        name: str | None = None,
        threads: int | None = None,
        context: int | None = None,
        sampling: Sampling | None = None,
        begin: bool = True,
    ) -> None:
        self.stored = stored
        self.name = name or stored.name
        self._note = stored.note
        made_for = min(stored.context or 4096, _CONTEXT_LIMIT)
        self.context_length = context or min(made_for, self._note.context if self._note else made_for)
        # an answer to a prompt that just fits into what it was trained with may go beyond it
        self._room = context or min(made_for, 2 * self.context_length)
        self.threads = threads or default_threads()
        self._sampling = merge_sampling(_DEFAULT_SAMPLING, sampling)
        self._begin = begin
        self._backend: Backend | None = None
        self._executor: ThreadPoolExecutor | None = None

    def __repr__(self) -> str:
        return f"LocalModel({self.name!r}, {str(self.stored.path)!r})"

    @property
    def cache_identity(self) -> JsonDict:
        """What tells this model's answers from another's."""
        stored = self.stored
        weights = stored.sha256 or [str(stored.path), stored.size, stored.path.stat().st_mtime_ns]
        adapter = {"adapter": stored.adapter.sha256} if stored.adapter else {}
        how = {"context": self.context_length, "begin": self._begin}
        return {"local": stored.format, "weights": weights, **adapter, **how}

    def trained_prompts(self, domain: str) -> Path | None:
        """The prompts that it was trained with, if it was trained on the domain; None where nothing says so."""
        note = self._note
        return Path(note.prompts) if note is not None and note.prompts and domain in note.domains else None

    def effective_sampling(self, sampling: Sampling | None) -> Sampling:
        """The sampling a call will be made with."""
        return merge_sampling(self._sampling, sampling)

    async def complete(self, messages: Sequence[Message], sampling: Sampling | None = None) -> ModelAnswer:
        """Answer a conversation.

        A call that is cancelled stops computing at its next token.

        Raises:
            MissingExtraError: No library that can run the model is installed.
            ConfigError: The weights cannot be loaded.
            ModelError: The conversation does not fit into the context.
            TruncatedError: The token limit was reached before any answer.
            EmptyAnswerError: The model finished without an answer.
        """
        stop = threading.Event()
        wanted = self.effective_sampling(sampling)
        if self._executor is None:
            self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"model-{self.name}")
        began = time.perf_counter()
        loop = asyncio.get_running_loop()
        try:
            written = await loop.run_in_executor(self._executor, self._write, list(messages), wanted, stop)
        finally:
            stop.set()
        return self._answer(written, time.perf_counter() - began)

    async def aclose(self) -> None:
        """Free the weights; the next call loads them again."""
        executor, self._executor = self._executor, None
        if executor is not None:
            await asyncio.get_running_loop().run_in_executor(executor, self._unload)
            executor.shutdown(wait=False)

    def _write(self, messages: Sequence[Message], sampling: Sampling, stop: threading.Event) -> Written:
        if self._backend is None:
            self._backend = open_backend(self.stored, threads=self.threads, context=self._room)
        if self._note is not None:
            messages = self._fitted(self._backend, messages, sampling)
        reasons = self._backend.reasons or (self._note is not None and self._note.reasons)
        if self._begin and not reasons and OPEN_TAG in messages[-1]["content"]:
            held = replace(sampling, stop=(*sampling.stop, CLOSE_TAG))
            return self._backend.write(messages, held, stop, OPENING)
        return self._backend.write(messages, sampling, stop)

    def _fitted(self, backend: Backend, messages: Sequence[Message], sampling: Sampling) -> Sequence[Message]:
        """Leave out the earliest turns that do not fit, as is done with the rows that a model is trained on."""
        answer = min(sampling.max_tokens or self.context_length, self.context_length // _ANSWER_PART)
        head = int(bool(messages) and messages[0]["role"] == "system")
        while len(messages) - head > 2 and backend.count(messages) > self.context_length - answer:
            messages = [*messages[:head], *messages[head + 2 :]]
        return messages

    def _unload(self) -> None:
        backend, self._backend = self._backend, None
        if backend is not None:
            backend.close()

    def _answer(self, written: Written, seconds: float) -> ModelAnswer:
        reasoning, content = split_reasoning(written.text)
        usage = Usage(
            prompt_tokens=written.prompt_tokens,
            completion_tokens=written.completion_tokens,
            cached_tokens=written.cached_tokens,
            latency_s=seconds,
            cost_usd=0.0,
        )
        if not content.strip():
            came = {"raw": written.text, "finish_reason": written.finish_reason}
            if written.finish_reason == "length":
                raise TruncatedError(
                    "the token limit was reached before the model answered",
                    reasoning=reasoning or "",
                    usage=usage,
                    hint="raise max_tokens",
                    **came,
                )
            raise EmptyAnswerError(
                "the model finished without an answer", reasoning=reasoning or "", usage=usage, **came
            )
        return ModelAnswer(content, reasoning, written.finish_reason, usage, self.stored.name, raw=written.text)


def default_threads() -> int:
    """`WORLDLINE_THREADS`, or else the processors that this process may use, at most eight."""
    wanted = os.environ.get(THREADS_VARIABLE, "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    return min(len(os.sched_getaffinity(0)), 8)


def open_backend(stored: StoredModel, *, threads: int, context: int) -> Backend:
    """Load a model with the library that can: llama.cpp for GGUF if it is installed, else Transformers.

    Raises:
        MissingExtraError: Neither is installed.
        ConfigError: The weights cannot be loaded, or the adapter does not fit them.
        StorageError: The adapter is damaged, or what llama.cpp loads of it cannot be written.
    """
    from worldline.models import llama, transformer

    require_library(stored)
    if stored.format == "gguf" and llama.available():
        trouble = llama.works(stored.path)
        if trouble is None or not transformer.available():
            adapter = gguf_adapter(stored.adapter, stored.path, model_folder()) if stored.adapter else None
            return llama.LlamaBackend(stored.path, threads=threads, context=context, adapter=adapter)
        _LOG.warning("%s cannot be run by llama.cpp (%s); using Transformers", stored.path, trouble)
    return transformer.TransformersBackend(stored, threads=threads, context=context)


def require_library(stored: StoredModel) -> None:
    """Find out whether a library that can run a model is installed.

    Raises:
        MissingExtraError: None is.
    """
    from worldline.models import llama, transformer

    if transformer.available() or (stored.format == "gguf" and llama.available()):
        for library in ("numpy", "safetensors", "gguf") if stored.adapter else ():
            require_extra(library, "cpu")
        return
    wanted = "llama-cpp-python (or torch, transformers and gguf)" if stored.format == "gguf" else "torch, transformers"
    raise MissingExtraError(f"running {stored.name} needs {wanted}", hint="pip install 'worldline[cpu]'")
