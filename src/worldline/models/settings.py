"""What one entry of `models.yaml` says about a model: one behind an endpoint, or one on this machine."""

from __future__ import annotations

import re
from typing import Annotated

import httpx
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from worldline.models.base import Sampling
from worldline.types import JsonDict, Usage

__all__ = ["LocalSettings", "ModelSettings", "Prices", "SamplingSettings", "base_url"]

_VERSION_SEGMENT = re.compile(r"v\d+\w*")


def base_url(url: str) -> str:
    """Bring an endpoint's address into the form that `/chat/completions` is appended to.

    A trailing slash and a trailing `/chat/completions` are dropped; `/v1` is appended where no part of the path is a
    version already.

    Raises:
        ValueError: It is no http(s) address, or holds credentials or a query, which would end up in logs.
    """
    try:
        parsed = httpx.URL(url.strip())
    except httpx.InvalidURL as exc:
        raise ValueError("is not an address") from exc
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ValueError("must be an http:// or https:// address")
    if parsed.userinfo or parsed.query or parsed.fragment:
        raise ValueError("must not hold credentials, a query or a fragment (name the key's variable in key_env)")
    path = parsed.path.rstrip("/").removesuffix("/chat/completions")
    if not any(_VERSION_SEGMENT.fullmatch(segment) for segment in path.split("/")):
        path += "/v1"
    return str(parsed.copy_with(path=path))


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SamplingSettings(_Part):
    """Default sampling of a model; what a call asks for goes before it."""

    temperature: Annotated[float, Field(ge=0)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    top_k: int | None = None
    max_tokens: Annotated[int, Field(gt=0)] | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    extra: JsonDict = Field(default_factory=dict)
    """Further fields of the request body (`chat_template_kwargs`, `separate_reasoning`, ...)."""

    def sampling(self) -> Sampling:
        """The same as the value that calls use."""
        return Sampling(**self.model_dump())


class Prices(_Part):
    """US dollars per million tokens."""

    prompt: Annotated[float, Field(ge=0)] = 0.0
    completion: Annotated[float, Field(ge=0)] = 0.0
    """Reasoning tokens included."""
    cached: Annotated[float, Field(ge=0)] | None = None
    """Prompt tokens answered from the server's prefix cache; default the price of any prompt token."""

    def cost(self, usage: Usage) -> float:
        """US dollars of one call."""
        cached = min(usage.cached_tokens, usage.prompt_tokens)
        cached_price = self.prompt if self.cached is None else self.cached
        paid = (usage.prompt_tokens - cached) * self.prompt + cached * cached_price
        return (paid + usage.completion_tokens * self.completion) / 1e6


class ModelSettings(_Part):
    """A model behind an OpenAI-compatible endpoint."""

    base_url: Annotated[str, AfterValidator(base_url)]
    """Address with or without `/v1`."""
    model: Annotated[str, Field(min_length=1)]
    """Name the endpoint serves it under."""
    key_env: str | None = None
    """Environment variable that holds the key; the key itself never stands in a file."""
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    header_env: dict[str, str] = Field(default_factory=dict)
    """Further headers whose values stand in environment variables, by header name."""
    sampling: SamplingSettings = SamplingSettings()
    prices: Prices | None = None
    concurrency: Annotated[int, Field(ge=1)] = 8
    """Requests in flight at the same time."""
    timeout_s: Annotated[float, Field(gt=0)] = 600.0
    """Seconds for one whole answer."""
    connect_timeout_s: Annotated[float, Field(gt=0)] = 10.0
    retries: Annotated[int, Field(ge=0)] = 5
    """Tries after the first one."""
    backoff_s: Annotated[float, Field(ge=0)] = 0.5
    """Seconds before the first retry; doubles each time, up to `max_wait_s`, with jitter."""
    max_wait_s: Annotated[float, Field(ge=0)] = 60.0
    """Longest wait before a retry. A server that asks for a longer one is not asked again."""
    context_length: Annotated[int, Field(gt=0)] | None = None
    """Tokens the model can take, prompt and answer together."""

    @field_validator("headers")
    @classmethod
    def _sendable(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if not (value.isascii() and value.isprintable()):
                raise ValueError(f"the value of {name} holds characters that cannot be sent")
        return headers

    @model_validator(mode="before")
    @classmethod
    def _no_key(cls, values: object) -> object:
        if isinstance(values, dict):
            for name in ("key", "api_key", "token"):
                if name in values:
                    raise ValueError(f"'{name}' must not stand in a file: name its environment variable in 'key_env'")
        return values


class LocalSettings(_Part):
    """A model that is computed in this process."""

    local: str
    """Name of a stored model, a GGUF file, or a Hugging Face folder; `+ADAPTER` behind it puts an adapter on it."""
    threads: Annotated[int, Field(ge=1)] | None = None
    """Threads to compute with."""
    sampling: SamplingSettings = SamplingSettings()
    context_length: Annotated[int, Field(gt=0)] | None = None
    """Tokens of prompt and answer together; memory grows with it."""
