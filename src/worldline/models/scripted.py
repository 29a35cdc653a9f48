"""A chat model whose answers are written down beforehand: for tests, examples and demonstrations."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

import worldline.errors
from worldline.errors import ConfigError, EmptyAnswerError, ModelError, boundary
from worldline.models.base import Message, ModelAnswer, Sampling
from worldline.models.reasoning import split_reasoning
from worldline.types import Usage

__all__ = ["ANY", "ScriptEntry", "ScriptedModel"]

ANY = "*"
"""Key of a mapping's answer to everything else."""

ScriptEntry = str | ModelAnswer | ModelError
"""An answer as text (`<think>` and all), as a whole, or the error to raise."""

Script = (
    Sequence[ScriptEntry]
    | Mapping[str, ScriptEntry]
    | Callable[[Sequence[Message]], ScriptEntry | Awaitable[ScriptEntry]]
)

_ACTION = re.compile(r"^(`{3,})json\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)
_FIELDS = {"match", "content", "reasoning", "finish_reason", "usage", "error", "message"}


class ScriptedModel:
    """Answers from a list (in order), a mapping, or a function.

    A mapping is looked up by the last user message as a whole, then by the command of its first action, then by
    :data:`ANY`. `calls` keeps every conversation it was asked.

    Args:
        script: The answers.
        name: What tables call it.
    """

    def __init__(self, script: Script, *, name: str = "scripted") -> None:
        self.name = name
        self.calls: list[list[Message]] = []
        self._script = script
        self._next = 0

    def __repr__(self) -> str:
        return f"ScriptedModel(name={self.name!r})"

    @classmethod
    def from_file(cls, path: Path) -> ScriptedModel:
        """Read a script: YAML or JSON (a list, or a mapping by command), or JSON lines (one entry a line).

        An entry is a text, or `{content, reasoning, finish_reason, usage}`, or `{error: TYPE, message}` to fail. Where
        every entry of a list has a `match`, the list is a mapping.

        Raises:
            ConfigError: The file cannot be read, or an entry is none of these.
        """
        with boundary(ConfigError, f"reading the script {path}", OSError, ValueError, yaml.YAMLError, RecursionError):
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".jsonl":
                value: Any = [json.loads(line) for line in text.split("\n") if line.strip()]
            else:
                value = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
        if isinstance(value, list) and value and all(isinstance(item, dict) and "match" in item for item in value):
            value = {str(item["match"]): item for item in value}
        if isinstance(value, dict):
            return cls({str(key): _entry(item, f"{path}: {key!r}") for key, item in value.items()}, name=path.stem)
        if isinstance(value, list):
            return cls(
                [_entry(item, f"{path}: entry {number}") for number, item in enumerate(value, 1)], name=path.stem
            )
        raise ConfigError(f"{path}: a script is a list of answers, or a mapping from commands to answers")

    async def complete(self, messages: Sequence[Message], sampling: Sampling | None = None) -> ModelAnswer:
        """Give the next answer of the script.

        Raises:
            ModelError: The script says so, or has no answer.
        """
        self.calls.append(list(messages))
        entry = await self._choose(messages)
        if isinstance(entry, ModelError):
            raise entry
        if isinstance(entry, ModelAnswer):
            return entry
        reasoning, content = split_reasoning(entry)
        if not content.strip():
            raise EmptyAnswerError("the script's answer is empty")
        return ModelAnswer(content, reasoning, "stop", Usage(), self.name, raw=entry)

    async def aclose(self) -> None:
        """Nothing to free."""

    async def _choose(self, messages: Sequence[Message]) -> ScriptEntry:
        script = self._script
        if callable(script):
            told = script(messages)
            return await told if inspect.isawaitable(told) else told
        if isinstance(script, Mapping):
            last = next((message["content"] for message in reversed(messages) if message["role"] == "user"), "")
            for key in (last, _command(last), ANY):
                if key is not None and key in script:
                    return script[key]
            raise ModelError("the script has no answer to this", hint=f"add one under {_command(last) or last[:200]!r}")
        if self._next >= len(script):
            raise ModelError(f"the script has only {len(script)} answers")
        self._next += 1
        return script[self._next - 1]


def _command(message: str) -> str | None:
    """The command of the first fenced JSON action of a message, or the text that its keystrokes type."""
    found = _ACTION.search(message)
    if found is None:
        return None
    try:
        value = json.loads(found[2])
    except ValueError:
        return None
    if isinstance(value, list):  # keystrokes: what is typed
        return "".join(str(entry.get("keystrokes", "")) for entry in value if isinstance(entry, dict))
    arguments = value.get("arguments", value) if isinstance(value, dict) else None
    command = arguments.get("command") if isinstance(arguments, dict) else None
    return command if isinstance(command, str) else None


def _entry(value: Any, where: str) -> ScriptEntry:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict) or set(value) - _FIELDS or not ({"content", "error"} & set(value)):
        raise ConfigError(f"{where} is no answer", hint="a text, {content, reasoning, ...} or {error, message}")
    if "error" in value:
        kind = getattr(worldline.errors, str(value["error"]), None)
        if not (isinstance(kind, type) and issubclass(kind, ModelError)):
            raise ConfigError(f"{where}: {value['error']!r} is no model error")
        return kind(str(value.get("message", "the script says so")))
    reasoning = value.get("reasoning")
    with boundary(ConfigError, where, ValueError, TypeError):
        return ModelAnswer(
            content=str(value["content"]),
            reasoning=None if reasoning is None else str(reasoning),
            finish_reason=str(value.get("finish_reason", "stop")),
            usage=Usage(**(value.get("usage") or {})),
            model="scripted",
        )
