"""Reading what a chat completions endpoint sent back."""

from __future__ import annotations

import json
import re
from typing import Any

from worldline.errors import EmptyAnswerError, EndpointError, TruncatedError
from worldline.models.base import ModelAnswer
from worldline.models.reasoning import split_reasoning
from worldline.models.settings import Prices
from worldline.types import JsonDict, Usage

__all__ = ["parse_json", "read_answer", "server_message"]

_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_SHOWN = 500


def parse_json(body: bytes, url: str) -> JsonDict:
    """Read a response body as a JSON object.

    Raises:
        EndpointError: It is HTML, not JSON, or JSON of another kind.
    """
    text = body.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as exc:
        if text.lstrip()[:1] == "<":
            raise EndpointError(
                f"{url} answered with a web page{_title(text)} in place of JSON",
                hint="is this the address of the API? it usually ends in /v1",
            ) from exc
        raise EndpointError(f"{url} answered with invalid JSON: {_short(text)}") from exc
    if not isinstance(value, dict):
        raise EndpointError(f"{url} answered with JSON that is not an object: {_short(text)}")
    return value


def server_message(body: bytes) -> str:
    """The error message in a response body, as short plain text; empty if there is none."""
    text = body.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _title(text).strip(" ()") if text.lstrip()[:1] == "<" else _short(text)
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, dict):
        error = next((error[key] for key in ("message", "detail", "error") if error.get(key)), error)
    return _short(error if isinstance(error, str) else json.dumps(error, ensure_ascii=False))


def read_answer(data: JsonDict, *, url: str, model: str, latency_s: float, prices: Prices | None) -> ModelAnswer:
    """Read a chat completion.

    Args:
        data: The response body.
        url: Where it came from, for messages.
        model: The model asked for; the answer names the one the server reports.
        latency_s: Seconds the request took.
        prices: What tokens cost.

    Raises:
        EndpointError: It is no chat completion.
        TruncatedError: The token limit was reached before any answer; holds the reasoning.
        EmptyAnswerError: The model finished without an answer.
    """
    choice = _first_choice(data, url)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise EndpointError(f"{url} answered with a choice that has no message")
    raw = content = _clean(_text(message.get("content")))
    reasoning = _clean(_text(message.get("reasoning")) or _text(message.get("reasoning_content"))) or None
    if reasoning is None:
        reasoning, content = split_reasoning(content)
    finish = choice.get("finish_reason")
    finish = finish if isinstance(finish, str) else "unknown"
    usage = _usage(data.get("usage"), latency_s)
    if prices is not None:
        usage = usage.model_copy(update={"cost_usd": prices.cost(usage)})
    if not content.strip():
        error = _no_answer(message, finish, reasoning or "")
        error.raw, error.finish_reason, error.usage = raw, finish, usage
        raise error
    named = data.get("model")
    named = named if isinstance(named, str) and named else model
    return ModelAnswer(content, reasoning, finish, usage, named, raw=raw)


def _first_choice(data: JsonDict, url: str) -> JsonDict:
    choices = data.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    if data.get("error"):
        raise EndpointError(f"{url} answered with an error: {server_message(json.dumps(data).encode())}")
    if isinstance(choices, list):
        raise EndpointError(f"{url} answered without any choice")
    raise EndpointError(
        f"{url} answered with JSON that is no chat completion (keys: {', '.join(sorted(data)) or 'none'})"
    )


def _no_answer(message: JsonDict, finish: str, reasoning: str) -> TruncatedError | EmptyAnswerError:
    if finish == "length":
        return TruncatedError(
            "the token limit was reached before the model answered",
            reasoning=reasoning,
            hint="raise max_tokens, or turn the model's thinking off",
        )
    if message.get("tool_calls"):
        return EmptyAnswerError("the model called a tool and gave no text")
    if isinstance(message.get("refusal"), str) and message["refusal"]:
        return EmptyAnswerError(f"the model refused: {_short(message['refusal'])}")
    return EmptyAnswerError(f"the model finished without an answer (finish_reason {finish})")


def _usage(value: Any, latency_s: float) -> Usage:
    usage = value if isinstance(value, dict) else {}
    return Usage(
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
        reasoning_tokens=_count(usage.get("completion_tokens_details"), "reasoning_tokens"),
        cached_tokens=_count(usage.get("prompt_tokens_details"), "cached_tokens"),
        latency_s=latency_s,
    )


def _count(value: Any, key: str) -> int:
    number = value.get(key) if isinstance(value, dict) else None
    return number if isinstance(number, int) and number > 0 else 0


def _text(value: Any) -> str:
    """Text content, also where it comes as a list of parts."""
    if isinstance(value, list):
        parts = [part.get("text") for part in value if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _clean(text: str) -> str:
    """Replace lone surrogates, which JSON escapes can smuggle in, by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _title(text: str) -> str:
    found = _TITLE.search(text[:20_000])
    return f" ({_short(found[1].strip())})" if found else ""


def _short(text: str) -> str:
    flat = " ".join(_clean(text).split())
    return flat if len(flat) <= _SHOWN else f"{flat[:_SHOWN]}..."
