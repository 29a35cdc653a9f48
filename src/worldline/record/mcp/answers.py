"""What an agent sees of a server's answer: an observation."""

from __future__ import annotations

import json
from typing import Any

from worldline.record.mcp.client import Reply
from worldline.types import JsonDict, Observation

__all__ = ["observation"]


def observation(reply: Reply) -> Observation:
    """Turn the reply to a call into an observation.

    `text` is the text blocks of the result, joined by newlines; of another block a stand-in (`[image image/png]`,
    `[resource URI]`, `[link URI]`) or, of an embedded resource, its text. An error of the protocol shows as `MCP error
    CODE: MESSAGE`. `is_error` is the result's `isError`.

    `data` holds `content` where a block is more than its text, `structuredContent` where it says more than the text,
    `error` with the data of a protocol error, and `failure` where the server did not answer (`closed`, `timeout`,
    `long`, `flood`, `invalid`).
    """
    if reply.result is None:
        return _failed(reply)
    blocks = reply.result.get("content", [])
    if not isinstance(blocks, list) or not all(_is_block(block) for block in blocks):
        message = "The result's content is not a list of blocks"
        return _failed(Reply(code=-32603, message=message, failure="invalid"))
    text = "\n".join(_text(block) for block in blocks)
    data: JsonDict = {}
    if any(set(block) != {"type", "text"} for block in blocks) or len(blocks) > 1:
        data["content"] = blocks
    structured = reply.result.get("structuredContent")
    if structured is not None and not _says_the_same(structured, text):
        data["structuredContent"] = structured
    return Observation(text=text, is_error=reply.result.get("isError") is True, data=data or None)


def _failed(reply: Reply) -> Observation:
    data: JsonDict = {}
    if reply.failure is not None:
        data["failure"] = reply.failure
    if reply.data is not None:
        data["error"] = reply.data
    return Observation(text=f"MCP error {reply.code}: {reply.message}", is_error=True, data=data or None)


def _is_block(block: Any) -> bool:
    return isinstance(block, dict) and isinstance(block.get("type"), str)


def _text(block: JsonDict) -> str:
    kind = block["type"]
    if kind == "text":
        return str(block.get("text", ""))
    if kind == "resource":
        resource = block.get("resource")
        if isinstance(resource, dict):
            return resource["text"] if isinstance(resource.get("text"), str) else f"[resource {resource.get('uri')}]"
    if kind == "resource_link":
        return f"[link {block.get('uri')}]"
    return f"[{kind} {block.get('mimeType', 'of unknown type')}]"


def _says_the_same(structured: Any, text: str) -> bool:
    """Whether the text is the structured content as JSON, or its only value as text or JSON."""
    only = next(iter(structured.values())) if isinstance(structured, dict) and len(structured) == 1 else None
    if only == text:
        return True
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return bool(value == structured or (only is not None and value == only))
