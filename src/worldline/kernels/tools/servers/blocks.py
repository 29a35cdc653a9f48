"""Content blocks of a result as the one text that an agent reads (as `worldline.record.mcp` writes it)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["text_of"]


def text_of(blocks: Sequence[Mapping[str, Any]]) -> str:
    """Join blocks by newlines: texts as they are, stand-ins for the others."""
    return "\n".join(map(_text, blocks))


def _text(block: Mapping[str, Any]) -> str:
    kind = block["type"]
    if kind == "text":
        return str(block["text"])
    if kind == "resource":
        resource = block["resource"]
        return str(resource["text"]) if "text" in resource else f"[resource {resource['uri']}]"
    return f"[link {block['uri']}]" if kind == "resource_link" else f"[{kind} {block['mimeType']}]"
