"""A search engine: an agent searches, opens pages and keeps notes."""

from __future__ import annotations

from worldline.domains.search.again import read_again
from worldline.domains.search.state import DocumentSpec, SearchState
from worldline.domains.tools import ToolDomain
from worldline.types import ToolSpec

__all__ = ["SEARCH", "TOOLS", "DocumentSpec", "SearchState"]

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": {"type": "string"}}

TOOLS = (
    ToolSpec(
        name="web_search",
        description="Search the web, with one query or several at once.",
        parameters={
            "type": "object",
            "properties": {
                "query": {**_TEXT, "description": "What to search for."},
                "queries": {**_TEXTS, "description": "Several queries, in place of `query`."},
            },
        },
    ),
    ToolSpec(
        name="web_extractor",
        description="Open a page and get what of it serves a goal.",
        parameters={
            "type": "object",
            "properties": {
                "url": {**_TEXT, "description": "Address of the page."},
                "goal": {**_TEXT, "description": "What the page is opened for."},
            },
            "required": ["url"],
        },
    ),
    ToolSpec(
        name="dict_memory",
        description="Keep notes: texts under keys.",
        parameters={
            "type": "object",
            "properties": {
                "operation": {
                    "type": "string",
                    "description": "add, update, retrieve, retrieve_all, remove or remove_all.",
                },
                "items": {"type": "object", "description": "Texts by key, for add and update."},
                "keys": {**_TEXTS, "description": "Keys, for retrieve and remove."},
            },
            "required": ["operation"],
        },
    ),
)

SEARCH = ToolDomain(
    name="search",
    state=SearchState,
    package="worldline.domains.search",
    default_tools=TOOLS,
    text_argument=("web_search", "query"),
    again=read_again,
)
"""The domain with its built-in prompts."""
