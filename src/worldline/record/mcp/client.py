"""JSON-RPC with the servers of a hub, a request at a time.

The `mcp` package's own client would do for talking, but not for recording: it drops fields and lines that do not fit
its types, and checks results by schemas of its own. What is recorded is what the server wrote.
"""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from worldline.errors import SandboxError
from worldline.record.mcp.hub import Hub
from worldline.types import JsonDict

__all__ = ["PROTOCOL", "Conversation", "Reply"]

PROTOCOL = "2025-11-25"
"""Version of the protocol that is asked for."""

CONNECTION_CLOSED, REQUEST_TIMEOUT, METHOD_NOT_FOUND, INTERNAL_ERROR = -32000, -32001, -32601, -32603

_START_TIMEOUT = 60.0
_MOST_PAGES = 100
_SURROGATES = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a request: a result, or an error of the protocol."""

    result: JsonDict | None = None
    code: int = 0
    message: str = ""
    data: Any = None
    failure: str | None = None
    """Why there is no answer of the server: `closed`, `timeout`, `long`, `flood`, `invalid`. None: it answered."""


class Conversation:
    """Speaks to the servers of one hub.

    Args:
        hub: A started hub.
        servers: The names of its servers.
        timeout: Seconds that a call may take.
    """

    def __init__(self, hub: Hub, servers: Iterable[str], timeout: float) -> None:
        self._hub = hub
        self._timeout = timeout
        self._ids = itertools.count()
        self._gone: dict[str, str] = {}
        self._said: dict[str, str] = {}
        self._names = tuple(servers)

    @property
    def ended(self) -> bool:
        """Whether no server is left to answer."""
        return self._hub.lost is not None or len(self._gone) == len(self._names)

    def initialize(self, server: str) -> JsonDict:
        """Shake hands with a server; return what it says of itself.

        Raises:
            SandboxError: It does not answer, or not by the protocol.
        """
        about = {"name": "worldline", "version": "1"}
        params = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": about}
        result = self._settled(server, "initialize", params)
        self._send(server, {"method": "notifications/initialized"})
        info = result.get("serverInfo")
        return info if isinstance(info, dict) else {}

    def list_tools(self, server: str) -> list[JsonDict]:
        """Return the tools of a server as it writes them, those that have a name.

        Raises:
            SandboxError: It does not answer, or not by the protocol.
        """
        tools: list[JsonDict] = []
        cursor: Any = None
        for _ in range(_MOST_PAGES):
            result = self._settled(server, "tools/list", {} if cursor is None else {"cursor": cursor})
            page = result.get("tools")
            if not isinstance(page, list):
                raise SandboxError(f"the server {server} answered tools/list without a list of tools")
            tools += [tool for tool in page if isinstance(tool, dict) and isinstance(tool.get("name"), str)]
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str):
                return tools
        raise SandboxError(f"the server {server} has more than {_MOST_PAGES} pages of tools")

    def call(self, server: str, tool: str, arguments: JsonDict) -> Reply:
        """Call a tool."""
        begin = time.monotonic()
        reply = self._request(server, "tools/call", {"name": tool, "arguments": arguments}, self._timeout)
        self._hub.advance(time.monotonic() - begin)
        return reply

    def _settled(self, server: str, method: str, params: JsonDict) -> JsonDict:
        reply = self._request(server, method, params, _START_TIMEOUT)
        if reply.result is None:
            said = self._said.get(server, "").strip()
            tail = f"; it said: {said[-500:]}" if said else ""
            raise SandboxError(f"the server {server} did not answer {method}: {reply.message}{tail}")
        return reply.result

    def _send(self, server: str, message: JsonDict) -> None:
        self._hub.send(server, json.dumps({"jsonrpc": "2.0", **message}))

    def _request(self, server: str, method: str, params: JsonDict, timeout: float) -> Reply:
        if server in self._gone:
            return Reply(code=CONNECTION_CLOSED, message="Connection closed", failure=self._gone[server])
        number = next(self._ids)
        self._send(server, {"id": number, "method": method, "params": params})
        deadline = time.monotonic() + timeout
        while (event := self._hub.wait(deadline)) is not None:
            reply = self._reply(event, server, number)
            if reply is not None:
                return reply
        if self._hub.lost is not None:
            return Reply(code=CONNECTION_CLOSED, message="Connection closed", data=self._hub.lost, failure="closed")
        self._send(server, {"method": "notifications/cancelled", "params": {"requestId": number, "reason": "timeout"}})
        return Reply(code=REQUEST_TIMEOUT, message="Request timed out", failure="timeout")

    def _reply(self, event: JsonDict, server: str, number: int) -> Reply | None:
        """What an event means for the request under way; None if nothing."""
        sender, kind = event["from"], event["event"]
        if kind in ("exit", "flood"):
            self._gone.setdefault(sender, "flood" if kind == "flood" else "closed")
            self._said[sender] = str(event.get("said", ""))
            if sender != server or kind == "flood":  # its exit follows
                return None
            return Reply(code=CONNECTION_CLOSED, message="Connection closed", failure=self._gone[sender])
        if kind == "long":
            if sender != server:
                return None
            message = f"The answer is too long: {event['size']} bytes"
            return Reply(code=INTERNAL_ERROR, message=message, failure="long")
        for spoken in _messages(event["line"]):
            reply = self._answer(spoken, sender, number if sender == server else None)
            if reply is not None:
                return reply
        return None

    def _answer(self, message: JsonDict, sender: str, number: int | None) -> Reply | None:
        if "method" in message:
            if "id" in message:
                self._decline(sender, message)
            return None
        if number is None or message.get("id", number) not in (number, None) or isinstance(message.get("id"), bool):
            return None
        error, result = message.get("error"), message.get("result")
        if isinstance(error, dict) and isinstance(error.get("code"), int) and isinstance(error.get("message"), str):
            return Reply(code=error["code"], message=error["message"], data=error.get("data"))
        if isinstance(result, dict):
            return Reply(result=result)
        return Reply(code=INTERNAL_ERROR, message="The answer has neither result nor error", failure="invalid")

    def _decline(self, server: str, message: JsonDict) -> None:
        """Answer what a server asks of its client: it has nothing to offer but that it is there."""
        if message["method"] == "ping":
            self._send(server, {"id": message["id"], "result": {}})
        else:
            error = {"code": METHOD_NOT_FOUND, "message": "Method not found"}
            self._send(server, {"id": message["id"], "error": error})


def _messages(line: str) -> Iterator[JsonDict]:
    """The messages of a line; a line that is not JSON holds none (servers log where they should not)."""
    try:
        value = json.loads(line, parse_constant=_refuse)
        if _SURROGATES.search(json.dumps(value, ensure_ascii=False)):
            value = json.loads(_SURROGATES.sub("\ufffd", json.dumps(value, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return
    for message in value if isinstance(value, list) else [value]:
        if isinstance(message, dict):
            yield message


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
