"""The client for every OpenAI-compatible endpoint: bounded concurrency, retries, typed errors."""

from __future__ import annotations

import asyncio
import email.utils
import json
import logging
import os
import random
import ssl
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx

from worldline.errors import ConfigError, EndpointError, ModelError, ModelTimeoutError, RateLimitError
from worldline.models.base import Message, ModelAnswer, Sampling
from worldline.models.response import parse_json, read_answer, server_message
from worldline.models.settings import ModelSettings
from worldline.types import JsonDict

__all__ = ["EndpointModel", "merge_sampling"]

_LOG = logging.getLogger(__name__)
_BODY_LIMIT = 64 * 1024 * 1024
_LOCAL = {"localhost", "127.0.0.1", "::1"}
_POOL = 8
"""Connections of one client at most: what its pool does for each request grows with their square."""
_RESERVED = {"model", "messages", "stream", "n"}
_TRANSIENT = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_SLOW_DOWN = {429, 503}
_ABOUT_THE_REQUEST = {400, 413, 422}
"""What is refused with these is refused again, whatever the state of server, key and address."""


def merge_sampling(default: Sampling, wanted: Sampling | None) -> Sampling:
    """Lay what a call asks for over a model's default sampling, field by field."""
    if wanted is None:
        return default
    merged: dict[str, Any] = {}
    for name in ("temperature", "top_p", "top_k", "max_tokens", "seed"):
        value = getattr(wanted, name)
        merged[name] = getattr(default, name) if value is None else value
    return Sampling(**merged, stop=wanted.stop or default.stop, extra={**default.extra, **wanted.extra})


class _TransientError(Exception):
    """A failed try that another one may mend. `after` is how long the server asks to wait, in seconds."""

    def __init__(self, error: ModelError, after: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.after = after


class EndpointModel:
    """A chat model behind `/chat/completions`.

    The key is read from its environment variable for each request and kept nowhere. One client serves any number of
    concurrent calls; `settings.concurrency` of them are in flight at a time, the others wait.

    Args:
        settings: Address, model, sampling, limits.
        name: What tables call it; default the served model's name.

    Raises:
        ConfigError: An environment variable that the settings name is not set.
    """

    def __init__(self, settings: ModelSettings, *, name: str | None = None) -> None:
        self.settings = settings
        self.name = name or settings.model
        self._url = f"{settings.base_url}/chat/completions"
        self._clients: dict[httpx.AsyncClient, int] = {}
        """With the number of calls that each has under way."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._resume_at = 0.0
        self._secrets()

    def __repr__(self) -> str:
        return f"EndpointModel(name={self.name!r}, base_url={self.settings.base_url!r}, model={self.settings.model!r})"

    @property
    def cache_identity(self) -> JsonDict:
        """What tells this model's answers from another's; no key, no headers."""
        return {"base_url": self.settings.base_url, "model": self.settings.model}

    @property
    def context_length(self) -> int | None:
        """Tokens the model can take, prompt and answer together, if known."""
        return self.settings.context_length

    def effective_sampling(self, sampling: Sampling | None) -> Sampling:
        """The sampling a call will be made with."""
        return merge_sampling(self.settings.sampling.sampling(), sampling)

    async def complete(self, messages: Sequence[Message], sampling: Sampling | None = None) -> ModelAnswer:
        """Answer a conversation.

        Answers with HTTP 408, 409, 425, 429, 500, 502-504 or 529, connections that fail or break off, timeouts and
        bodies that break off are tried again; `Retry-After` is honoured, for all calls of this model.

        Raises:
            ConfigError: A key's environment variable is gone, or `sampling.extra` sets a field of the protocol.
            EndpointError: The endpoint is unreachable, refuses the request or does not speak the protocol.
            RateLimitError: It kept answering 429 or 503, or asks to wait longer than `max_wait_s`.
            ModelTimeoutError: It did not answer in time.
            TruncatedError: The token limit was reached before any answer.
            EmptyAnswerError: The model finished without an answer.
        """
        body = self._body(messages, self.effective_sampling(sampling))
        self._bind()
        tries = self.settings.retries + 1
        for attempt in range(tries):
            try:
                async with self._slot() as client:
                    answer = await self._try(client, body)
                return answer if attempt == 0 else replace(answer, tries=attempt + 1)
            except _TransientError as failure:
                delay = self._delay(attempt, failure.after)
                if attempt + 1 == tries or delay is None:
                    raise _final(failure.error, attempt + 1) from failure.__cause__
                _LOG.info("%s: %s; trying again in %.1f s", self.name, failure.error.message, delay)
                if failure.after is not None:
                    self._resume_at = max(self._resume_at, time.monotonic() + failure.after)
            await asyncio.sleep(delay)
        raise AssertionError("unreachable: the last try returns or raises")

    async def aclose(self) -> None:
        """Close the connections; the model opens new ones when it is used again."""
        clients, self._clients = self._clients, {}
        if self._loop is asyncio.get_running_loop():
            for client in clients:
                await client.aclose()

    def _bind(self) -> None:
        """Open the clients of the running event loop; connections and locks cannot be shared between loops."""
        loop = asyncio.get_running_loop()
        if self._clients and self._loop is loop:
            return
        settings, address = self.settings, httpx.URL(self._url)
        # Certificates take long to load, and nothing on this machine's http:// can ask for them.
        trusted = httpx.create_ssl_context() if address.scheme != "http" or address.host not in _LOCAL else False
        number = -(-settings.concurrency // _POOL)
        size = -(-settings.concurrency // number)
        self._clients = dict.fromkeys((self._open(size, address, trusted) for _ in range(number)), 0)
        self._loop, self._slots = loop, asyncio.Semaphore(settings.concurrency)

    def _open(self, size: int, address: httpx.URL, trusted: ssl.SSLContext | bool) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            timeout=httpx.Timeout(self.settings.timeout_s, connect=self.settings.connect_timeout_s, pool=None),
            limits=httpx.Limits(max_connections=size, max_keepalive_connections=size),
            # A proxy of the environment cannot reach this machine's own servers.
            trust_env=address.host not in _LOCAL,
            verify=trusted,
        )

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[httpx.AsyncClient]:
        async with self._slots:
            while (wait := self._resume_at - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            # There are as many slots as connections, so the client with the fewest calls has a free one.
            client = min(self._clients, key=self._clients.__getitem__)
            clients = self._clients
            clients[client] += 1
            try:
                yield client
            finally:
                clients[client] -= 1

    async def _try(self, client: httpx.AsyncClient, body: bytes) -> ModelAnswer:
        began = time.perf_counter()
        try:
            async with (
                asyncio.timeout(self.settings.timeout_s),
                client.stream("POST", self._url, content=body, headers=self._headers()) as response,
            ):
                received = await _read(response)
        except httpx.ConnectError as exc:
            hint = "is the server running, and the address right?"
            raise _TransientError(EndpointError(f"cannot reach {self._url}: {exc}", hint=hint)) from exc
        except (httpx.TimeoutException, TimeoutError) as exc:
            message = f"{self._url} did not answer within {self.settings.timeout_s:g} s"
            if isinstance(exc, httpx.ConnectTimeout):
                message = f"no connection to {self._url} within {self.settings.connect_timeout_s:g} s"
            raise _TransientError(ModelTimeoutError(message, hint="raise timeout_s")) from exc
        except httpx.TransportError as exc:
            raise _TransientError(EndpointError(f"{self._url} broke off its answer: {exc}")) from exc
        except httpx.HTTPError as exc:  # a broken compression, mostly
            raise EndpointError(f"{self._url} answered with a body that cannot be decoded: {exc}") from exc
        if response.status_code != 200:
            raise self._refusal(response, received)
        return self._read_answer(received, time.perf_counter() - began)

    def _read_answer(self, received: bytes, latency_s: float) -> ModelAnswer:
        try:
            data = parse_json(received, self._url)
        except EndpointError as exc:
            # A body that is empty, or starts as an object but does not end as one, was cut off on its way.
            body = received.strip()
            if not body or (body.startswith(b"{") and not body.endswith(b"}")):
                raise _TransientError(EndpointError(f"{self._url} broke off its answer in the JSON")) from exc
            raise
        prices = self.settings.prices
        return read_answer(data, url=self._url, model=self.settings.model, latency_s=latency_s, prices=prices)

    def _refusal(self, response: httpx.Response, received: bytes) -> Exception:
        status = response.status_code
        said = self._scrub(server_message(received))
        message = f"{self._url} answered HTTP {status}{f': {said}' if said else ''}"
        if status in _TRANSIENT:
            error = RateLimitError(message) if status in _SLOW_DOWN else EndpointError(message)
            return _TransientError(error, _retry_after(response.headers))
        if 300 <= status < 400:
            return EndpointError(message, hint="the address redirects: give its final form as base_url")
        refused = EndpointError(message, hint=self._advice(status))
        refused.transient = status not in _ABOUT_THE_REQUEST
        return refused

    def _advice(self, status: int) -> str | None:
        if status in (401, 403):
            variable = self.settings.key_env
            return f"check the key in ${variable}" if variable else "name the key's environment variable in key_env"
        if status == 404:
            return f"is {self.settings.model!r} served there? GET {self.settings.base_url}/models lists what is"
        return None

    def _delay(self, attempt: int, after: float | None) -> float | None:
        """Seconds before the next try; None if the server asks for more patience than we have."""
        settings = self.settings
        if after is not None and after > settings.max_wait_s:
            return None
        backoff = min(settings.backoff_s * 2.0**attempt, settings.max_wait_s) * random.uniform(0.5, 1.0)
        return max(backoff, after or 0.0)

    def _body(self, messages: Sequence[Message], sampling: Sampling) -> bytes:
        clash = sorted(_RESERVED & set(sampling.extra))
        if clash:
            raise ConfigError(f"sampling.extra must not set {', '.join(clash)}")
        body: JsonDict = {"model": self.settings.model, "messages": list(messages)}
        for name in ("temperature", "top_p", "top_k", "max_tokens", "seed"):
            value = getattr(sampling, name)
            if value is not None:
                body[name] = value
        if sampling.stop:
            body["stop"] = list(sampling.stop)
        return json.dumps({**body, **sampling.extra}, ensure_ascii=False).encode("utf-8", "replace")

    def _headers(self) -> dict[str, str]:
        return {**self.settings.headers, "Content-Type": "application/json", **self._secrets()}

    def _secrets(self) -> dict[str, str]:
        """The headers that hold keys, read from the environment.

        Raises:
            ConfigError: A variable is not set, or holds what no header can.
        """
        headers = {name: _variable(variable) for name, variable in self.settings.header_env.items()}
        if self.settings.key_env:
            headers["Authorization"] = f"Bearer {_variable(self.settings.key_env)}"
        return headers

    def _scrub(self, text: str) -> str:
        """Take keys out of what a server says; some repeat them in their error messages."""
        for value in [*self._secrets().values(), *self.settings.headers.values()]:
            secret = value.removeprefix("Bearer ")
            if len(secret) >= 4:
                text = text.replace(secret, "***")
        return text


def _final(error: ModelError, tries: int) -> ModelError:
    error.tries = tries
    if tries > 1:
        error.message = f"{error.message} (tried {tries} times)"
    return error


def _variable(name: str) -> str:
    value = os.environ.get(name, "").strip()
    if not value:
        raise ConfigError(f"the environment variable {name} is not set", hint="it should hold the model's key")
    if not (value.isascii() and value.isprintable()):
        raise ConfigError(f"the environment variable {name} holds characters that cannot be sent as a key")
    return value


async def _read(response: httpx.Response) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_bytes():
        parts.append(part)
        size += len(part)
        if size > _BODY_LIMIT:
            raise EndpointError(f"{response.url} answered with more than {_BODY_LIMIT >> 20} MiB")
    return b"".join(parts)


def _retry_after(headers: httpx.Headers) -> float | None:
    """The `Retry-After` header in seconds (RFC 9110 10.2.3: seconds, or a date)."""
    value = headers.get("retry-after", "").strip()
    if value.replace(".", "", 1).isdigit() and value.isascii():
        return float(value)
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
