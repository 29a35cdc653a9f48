"""Serving a model on this machine as an OpenAI-compatible endpoint: one model, chat completions, no streaming."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import logging
import os
import socket
import time
import uuid
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from worldline.errors import ConfigError, ModelError, WorldlineError, boundary, require_extra
from worldline.models.base import ChatModel, Message, ModelAnswer, Sampling
from worldline.models.local import LocalModel
from worldline.models.store import StoredModel
from worldline.types import JsonDict

__all__ = ["ServedModel", "serve"]

_LOG = logging.getLogger(__name__)
_BODY_LIMIT = 16 * 1024 * 1024
_ROLES = {"system", "user", "assistant"}
_STANDARD = {
    "model",
    "messages",
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "max_completion_tokens",
    "seed",
    "stop",
}
_IGNORED = {"n", "stream", "user", "logprobs", "stream_options"}


class ServedModel:
    """An ASGI application that answers `GET /v1/models` and `POST /v1/chat/completions` with one chat model.

    Args:
        model: The model.
        token: What callers must send as a bearer token; None lets anybody in.
    """

    def __init__(self, model: ChatModel, token: str | None = None) -> None:
        self._model = model
        self._token = token

    async def __call__(self, scope: Mapping[str, Any], receive: Callable[[], Any], send: Callable[..., Any]) -> None:
        """Answer one request (see the ASGI specification)."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        status, value = await self._answer(scope, receive)
        body = json.dumps(value, ensure_ascii=False).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _lifespan(self, receive: Callable[[], Any], send: Callable[..., Any]) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self._model.aclose()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _answer(self, scope: Mapping[str, Any], receive: Callable[[], Any]) -> tuple[int, JsonDict]:
        if not self._allowed(scope):
            return _refusal(HTTPStatus.UNAUTHORIZED, "a bearer token is needed")
        where = (scope["method"], scope["path"])
        if where == ("GET", "/v1/models"):
            return HTTPStatus.OK, {"object": "list", "data": [{"id": self._model.name, "object": "model"}]}
        if where != ("POST", "/v1/chat/completions"):
            return _refusal(HTTPStatus.NOT_FOUND, f"there is no {' '.join(where)} here")
        body = await _read(receive)
        if body is None:
            return _refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request is too large")
        try:
            messages, sampling = _request(body)
        except (ValueError, RecursionError) as error:
            return _refusal(HTTPStatus.BAD_REQUEST, str(error))
        try:
            answer = await self._model.complete(messages, sampling)
        except WorldlineError as error:
            kind = HTTPStatus.BAD_REQUEST if isinstance(error, ConfigError | ModelError) else HTTPStatus(500)
            return _refusal(kind, error.message)
        return HTTPStatus.OK, _completion(answer)

    def _allowed(self, scope: Mapping[str, Any]) -> bool:
        if self._token is None:
            return True
        sent = dict(scope["headers"]).get(b"authorization", b"")
        return hmac.compare_digest(sent, f"Bearer {self._token}".encode())


def serve(
    stored: StoredModel,
    *,
    host: str = "127.0.0.1",
    port: int = 8099,
    threads: int | None = None,
    context: int | None = None,
    token_env: str | None = None,
) -> None:
    """Serve a model until interrupted.

    Args:
        stored: The model.
        host: Address to listen on.
        port: 0 takes a free one; the address that is used is logged and printed by the server.
        threads: Threads to compute with.
        context: Tokens of prompt and answer together.
        token_env: Environment variable that holds the token callers must send.

    Raises:
        ConfigError: No token is named for an address beyond this machine, its variable is not set, or the address
            cannot be listened on.
        MissingExtraError: The server's library, or one that runs the model, is not installed.
    """
    uvicorn = require_extra("uvicorn", "cpu")
    token = os.environ.get(token_env, "") if token_env else None
    if token_env and not token:
        raise ConfigError(f"the environment variable {token_env} is not set")
    if token is None and not _is_loopback(host):
        raise ConfigError(f"{host} can be reached from other machines", hint="ask for a token: --token-env VARIABLE")
    model = LocalModel(stored, threads=threads, context=context)
    with boundary(ConfigError, f"listening on {host}:{port}", OSError):
        listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    with listener:
        config = uvicorn.Config(ServedModel(model, token), log_level="info", access_log=True)
        asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def _read(receive: Callable[[], Any]) -> bytes | None:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > _BODY_LIMIT:
            return None
        if not message.get("more_body"):
            return bytes(body)


def _request(body: bytes) -> tuple[list[Message], Sampling]:
    """Read a request.

    Raises:
        ValueError: It is no request, or asks for what is not offered.
    """
    value = json.loads(body)
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list) or not value["messages"]:
        raise ValueError("a JSON object with `messages` is expected")
    if value.get("stream"):
        raise ValueError("streaming is not offered: leave out `stream`")
    if value.get("n") not in (None, 1):
        raise ValueError("one answer a request: leave out `n`")
    messages = [_message(message) for message in value["messages"]]
    stop = value.get("stop") or []
    limit = value.get("max_completion_tokens", value.get("max_tokens"))
    sampling = Sampling(
        temperature=_number(value, "temperature"),
        top_p=_number(value, "top_p"),
        top_k=_whole(value.get("top_k"), "top_k"),
        max_tokens=_whole(limit, "max_tokens"),
        seed=_whole(value.get("seed"), "seed"),
        stop=(stop,) if isinstance(stop, str) else tuple(map(str, stop)),
        extra={name: item for name, item in value.items() if name not in _STANDARD | _IGNORED},
    )
    return messages, sampling


def _message(value: Any) -> Message:
    if not isinstance(value, dict) or value.get("role") not in _ROLES:
        raise ValueError("a message needs a role: system, user or assistant")
    content = value.get("content")
    if isinstance(content, list):
        content = "".join(part["text"] for part in content if isinstance(part, dict) and part.get("type") == "text")
    if not isinstance(content, str):
        raise ValueError("a message needs a text as its content")
    return Message(role=value["role"], content=content)


def _number(value: JsonDict, name: str) -> float | None:
    found = value.get(name)
    if found is not None and (isinstance(found, bool) or not isinstance(found, int | float)):
        raise ValueError(f"{name} must be a number")
    return found


def _whole(found: Any, name: str) -> int | None:
    if found is not None and type(found) is not int:
        raise ValueError(f"{name} must be a whole number")
    return found


def _refusal(status: HTTPStatus, message: str) -> tuple[int, JsonDict]:
    return status, {"error": {"message": message, "type": status.phrase, "code": status.value}}


def _completion(answer: ModelAnswer) -> JsonDict:
    usage = answer.usage
    message: JsonDict = {"role": "assistant", "content": answer.content}
    if answer.reasoning is not None:
        message["reasoning_content"] = answer.reasoning
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": answer.model,
        "choices": [{"index": 0, "message": message, "finish_reason": answer.finish_reason}],
        "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.prompt_tokens + usage.completion_tokens,
            "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        },
    }
