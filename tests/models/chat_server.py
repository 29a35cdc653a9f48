"""A real HTTP server on 127.0.0.1 that answers as told, broken answers included."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Reply:
    """One answer. `cut` sends only so many bytes of the body; `delay` seconds pass before anything is sent."""

    body: bytes | str | dict[str, Any] = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: int | None = None
    no_length: bool = False
    trickle: float = 0.0


@dataclass
class Request:
    headers: dict[str, str]
    body: dict[str, Any]
    at: float


def chat(content: Any = "ok", *, finish: str | None = "stop", usage: Any = None, **message: Any) -> dict[str, Any]:
    return {
        "model": "served",
        "choices": [{"message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}],
        "usage": usage,
    }


Responder = Callable[[Request], Reply | Awaitable[Reply]]


class ChatServer:
    """Answers from a list (the last one again and again) or by a function; remembers requests and concurrency."""

    def __init__(self, *replies: Reply | dict[str, Any], responder: Responder | None = None) -> None:
        self.replies = [reply if isinstance(reply, Reply) else Reply(reply) for reply in replies]
        self.responder = responder
        self.requests: list[Request] = []
        self.active = 0
        self.most_active = 0

    async def __aenter__(self) -> ChatServer:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/v1"
        self.tasks: set[asyncio.Task[Any]] = set()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        self.active += 1
        self.most_active = max(self.most_active, self.active)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in head[1:] if line)}
            body = json.loads(await reader.readexactly(int(headers["content-length"])))
            request = Request({":path": head[0], **headers}, body, asyncio.get_running_loop().time())
            self.requests.append(request)
            await self._reply(writer, await self._choose(request))
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.active -= 1
            writer.close()
            self.tasks.discard(task)

    async def _choose(self, request: Request) -> Reply:
        if self.responder is not None:
            told = self.responder(request)
            return told if isinstance(told, Reply) else await told
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    async def _reply(self, writer: asyncio.StreamWriter, reply: Reply) -> None:
        await asyncio.sleep(reply.delay)
        body = json.dumps(reply.body) if isinstance(reply.body, dict) else reply.body
        data = body.encode() if isinstance(body, str) else body
        headers = {"Content-Type": "application/json", "Connection": "close", **reply.headers}
        if not reply.no_length:
            headers["Content-Length"] = str(len(data))
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {reply.status} X\r\n{head}\r\n".encode())
        if reply.trickle:
            for index in range(len(data)):
                writer.write(data[index : index + 1])
                await writer.drain()
                await asyncio.sleep(reply.trickle)
        else:
            writer.write(data[: reply.cut])
        await writer.drain()
