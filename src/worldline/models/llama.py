"""Running a GGUF file with llama.cpp (the `llama-cpp-python` library)."""

from __future__ import annotations

import importlib.util
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from worldline.errors import ConfigError, ModelError, boundary
from worldline.models.backend import Written, check_fits
from worldline.models.base import Message, Sampling
from worldline.models.templates import chat_tokens
from worldline.types import JsonDict

__all__ = ["PORTABLE_BUILD", "LlamaBackend", "answer_schema", "available", "bounded_schema", "works"]

PORTABLE_BUILD = "CMAKE_ARGS='-DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON'"
"""Build settings for processors that announce more than they can."""

_LOG = logging.getLogger(__name__)
_EXTRA = {"min_p", "typical_p", "repeat_penalty", "frequency_penalty", "presence_penalty", "logit_bias"}
_FREE_TEXT, _ENTRIES = 512, 2
"""Characters of a text, and entries of a list, where neither a schema nor a token limit bounds them."""
_PROBE = """
import sys, llama_cpp
model = llama_cpp.Llama(sys.argv[1], n_ctx=64, n_threads=1, verbose=False)
model.create_completion([model.token_bos()], max_tokens=1)
"""


def answer_schema(response_format: Any) -> JsonDict | None:
    """Return the JSON schema that a `response_format` holds answers to; None where there is no `response_format`.

    Both notations in use are read: `{"type": "json_schema", "json_schema": {"schema": ...}}` and
    `{"type": "json_object", "schema": ...}`; without a schema, any object is one.

    Raises:
        ConfigError: It is neither.
    """
    if response_format is None or response_format == {"type": "text"}:
        return None
    if isinstance(response_format, dict):
        named = response_format.get("json_schema")
        kinds = {
            "json_schema": named.get("schema") if isinstance(named, dict) else None,
            "json_object": response_format.get("schema", {"type": "object"}),
        }
        schema = kinds.get(str(response_format.get("type")))
        if isinstance(schema, dict):
            return schema
    raise ConfigError("response_format is not one that is known", hint="json_schema or json_object, with a schema")


def bounded_schema(schema: JsonDict, characters: int) -> JsonDict:
    """Bound what a schema leaves open: a small model that may write on in a text never comes to its end.

    Args:
        schema: A JSON schema.
        characters: Longest text where the schema names no length; a list without one has at most two entries, each a
            quarter as long.
    """
    bounded = {
        name: bounded_schema(value, characters) if isinstance(value, dict) and name != "items" else value
        for name, value in schema.items()
    }
    if schema.get("type") == "string" and not {"enum", "const", "maxLength", "format", "pattern"} & schema.keys():
        bounded["maxLength"] = characters
    if schema.get("type") == "array":
        bounded.setdefault("maxItems", _ENTRIES)
        if isinstance(schema.get("items"), dict):
            bounded["items"] = bounded_schema(schema["items"], max(1, characters // 4))
    return bounded


def available() -> bool:
    """Whether the library is installed."""
    return importlib.util.find_spec("llama_cpp") is not None


@cache
def works(path: Path) -> str | None:
    """Compute one token in a process of its own: a build for another processor dies there, not here.

    Returns:
        None if it works, otherwise what happened.
    """
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, str(path)], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode == 0:
        return None
    if done.returncode < 0:
        return f"llama.cpp died of signal {-done.returncode} at its first token"
    return (done.stderr.strip().splitlines() or ["it failed without a word"])[-1]


class LlamaBackend:
    """One GGUF file in llama.cpp; the key-value cache of the last prompt stays.

    Args:
        path: The file.
        threads: Threads to compute with.
        context: Tokens of prompt and answer together.
        adapter: GGUF file of an adapter to put on it (see :mod:`worldline.models.adapters.conversion`).

    Raises:
        ConfigError: It cannot be loaded, or the library was built for another processor.
    """

    def __init__(self, path: Path, *, threads: int, context: int, adapter: Path | None = None) -> None:
        import llama_cpp
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        trouble = works(path)
        if trouble is not None:
            raise ConfigError(
                f"{path} cannot be run: {trouble}",
                hint=f"if the library was built for another processor, build it anew with {PORTABLE_BUILD}",
            )
        with boundary(ConfigError, f"loading {path}", OSError, ValueError, RuntimeError):
            self._llama: Any = llama_cpp.Llama(
                str(path),
                n_ctx=context,
                n_threads=threads,
                n_threads_batch=threads,
                lora_path=str(adapter) if adapter else None,
                verbose=False,
            )
        self._context = context
        template = self._llama.metadata.get("tokenizer.chat_template")
        self._template = str(template or "")
        if template is None:
            raise ConfigError(f"{path} has no chat template", hint="take an instruction-tuned model")
        names = (self._name(self._llama.token_eos()), self._name(self._llama.token_bos()))
        self._formatter = Jinja2ChatFormatter(template=template, eos_token=names[0], bos_token=names[1])

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
        import llama_cpp

        tokens = chat_tokens(messages, self._render, self._special, self._plain) + self._plain(opening)
        check_fits(tokens, self._context)
        cached = self._llama.longest_token_prefix(self._llama.input_ids[: self._llama.n_tokens].tolist(), tokens)
        criteria = llama_cpp.StoppingCriteriaList([lambda ids, scores: stop.is_set()])
        with boundary(ModelError, "computing an answer", RuntimeError, ValueError):
            done = self._llama.create_completion(
                tokens, stop=list(sampling.stop), stopping_criteria=criteria, **self._settings(sampling)
            )
        choice, usage = done["choices"][0], done["usage"]
        return Written(
            text=opening + choice["text"],
            finish_reason=choice["finish_reason"] or "stop",
            prompt_tokens=len(tokens),
            completion_tokens=usage["completion_tokens"],
            cached_tokens=min(cached, len(tokens)),
        )

    def close(self) -> None:
        """Free the weights."""
        self._llama.close()

    def _settings(self, sampling: Sampling) -> dict[str, Any]:
        from llama_cpp import LlamaGrammar

        extra = dict(sampling.extra)
        grammar = extra.pop("grammar", None)
        schema = answer_schema(extra.pop("response_format", None))
        unknown = sorted(set(extra) - _EXTRA)
        if unknown:
            raise ConfigError(
                f"a local model does not know the setting {unknown[0]!r}", hint=f"known: {', '.join(sorted(_EXTRA))}"
            )
        if grammar is not None:
            with boundary(ConfigError, "reading the grammar", ValueError, RuntimeError):
                extra["grammar"] = LlamaGrammar.from_string(str(grammar), verbose=False)
        elif schema is not None:
            with boundary(ConfigError, "reading the JSON schema", ValueError, RuntimeError, KeyError):
                held = bounded_schema(schema, sampling.max_tokens or _FREE_TEXT)
                extra["grammar"] = LlamaGrammar.from_json_schema(json.dumps(held), verbose=False)
        chosen = {"temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": sampling.top_k}
        named = {name: value for name, value in chosen.items() if value is not None}
        return {"max_tokens": sampling.max_tokens, "seed": sampling.seed, **named, **extra}

    def _render(self, messages: list[Message]) -> str:
        with boundary(ModelError, "laying out the conversation by the model's template", ValueError):
            return str(self._formatter(messages=messages).prompt)

    def _special(self, text: str) -> list[int]:
        return list(self._llama.tokenize(text.encode(), add_bos=False, special=True))

    def _plain(self, text: str) -> list[int]:
        return list(self._llama.tokenize(text.encode(), add_bos=False, special=False)) if text else []

    def _name(self, token: int) -> str:
        return str(self._llama.detokenize([token], special=True).decode("utf-8", "replace")) if token >= 0 else ""
