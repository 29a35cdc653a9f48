"""What the tools of a search world answer, whatever stands behind them.

The recorder puts a real corpus behind them, the kernel what it knows. Both share the wording, so that what the
recordings test is knowledge, ranking and consistency, not the spelling of a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from worldline.domains.calls import kind_of
from worldline.domains.search import DocumentSpec
from worldline.kernels.search.ranking import Hit
from worldline.types import Action, Observation

__all__ = ["OPERATIONS", "WHOLE_PAGE", "Pages", "answer", "read_hits", "read_page"]

OPERATIONS = ("add", "update", "retrieve", "retrieve_all", "remove", "remove_all")
WHOLE_PAGE = 1500
"""A page of at most so many characters is given whole, whatever the goal."""

_MOST_QUERIES = 10
_GAP = "[...]"
"""Stands for paragraphs that are left out."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"\w+")
_HIT = re.compile(r"\[(\d+)\] (.*)\nTitle: (.*)\nSnippet: (.*)\nDate: (.*)")
_PAGE = re.compile(
    r"The useful information in (\S+) for user goal (.*) as follows:\n\nEvidence in page:\n(.*)\n\nSummary:\n(.*)",
    re.DOTALL,
)


class Pages(Protocol):
    """The pages behind the tools."""

    def search(self, query: str) -> Sequence[Hit]:
        """Return the results of a query."""

    def page(self, url: str) -> DocumentSpec | None:
        """Return a page; None where there is none under that address."""


def answer(action: Action, pages: Pages, memory: dict[str, str]) -> Observation:
    """Answer a call; `memory` is changed in place."""
    arguments = action.arguments
    if action.name == "web_search":
        text = _search(arguments, pages)
    elif action.name == "web_extractor":
        text = _extract(arguments, pages)
    elif action.name == "dict_memory":
        text = _remember(arguments, memory)
    else:
        text = f"Error: there is no tool named {action.name!r}"
    return Observation.from_text(text, is_error=text.startswith("Error: "))


def _search(arguments: Mapping[str, Any], pages: Pages) -> str:
    unknown = set(arguments) - {"query", "queries"}
    if unknown:
        return f"Error: web_search has no parameter {sorted(unknown)[0]!r}"
    if ("query" in arguments) == ("queries" in arguments):
        return "Error: web_search takes either 'query' or 'queries'"
    queries = arguments["queries"] if "queries" in arguments else [arguments["query"]]
    if not isinstance(queries, list):
        return f"Error: 'queries' must be a list of texts, not {kind_of(queries)}"
    wrong = next((query for query in queries if not isinstance(query, str)), None)
    if wrong is not None or None in queries:
        return f"Error: a query must be a text, not {kind_of(wrong)}"
    if not queries or not all(query.strip() for query in queries):
        return "Error: a query must not be empty"
    if len(queries) > _MOST_QUERIES:
        return f"Error: at most {_MOST_QUERIES} queries at once, not {len(queries)}"
    found = [pages.search(query) for query in queries]
    hits = [hit for hits in found for hit in hits]
    if not hits:
        return f"No results found for {', '.join(repr(query) for query in queries)}."
    blocks = (
        f"[{number}] {hit.url}\nTitle: {hit.title}\nSnippet: {hit.snippet}\nDate: {hit.date}"
        for number, hit in enumerate(hits, 1)
    )
    return "```\n" + "\n\n".join(blocks) + "\n```"


def _extract(arguments: Mapping[str, Any], pages: Pages) -> str:
    unknown = set(arguments) - {"url", "goal"}
    if unknown:
        return f"Error: web_extractor has no parameter {sorted(unknown)[0]!r}"
    url, goal = arguments.get("url"), arguments.get("goal", "")
    if not isinstance(url, str) or not isinstance(goal, str):
        name, value = ("goal", goal) if isinstance(url, str) else ("url", url)
        return f"Error: web_extractor needs a text as {name!r}, not {kind_of(value)}"
    if not re.match(r"https?://[^\s/]+", url):
        return f"Error: {url!r} is no address of a page"
    page = pages.page(url)
    if page is None:
        return f"Error: {url} could not be opened: 404 Not Found"
    evidence = _evidence(page.text, goal)
    summary = " ".join(_SENTENCE.split(" ".join(evidence.split()))[:2])
    return (
        f"The useful information in {url} for user goal {goal} as follows:\n\n"
        f"Evidence in page:\n{evidence}\n\nSummary:\n{page.title}: {summary}"
    )


def _evidence(text: str, goal: str) -> str:
    """A short page whole; of a long one the paragraphs that share most words with the goal, in their order."""
    if len(text) <= WHOLE_PAGE:
        return text
    wanted = {word.lower() for word in _WORD.findall(goal)}
    paragraphs = text.split("\n\n")

    def shared(number: int) -> int:
        return len(wanted & {word.lower() for word in _WORD.findall(paragraphs[number])})

    best = sorted(range(len(paragraphs)), key=lambda number: (-shared(number), number))
    kept, size = set[int](), 0
    for number in best:
        if kept and size + len(paragraphs[number]) > WHOLE_PAGE:
            break
        kept.add(number)
        size += len(paragraphs[number])
    pieces, last = [], -1
    for number in sorted(kept):
        pieces += [_GAP] * (number > last + 1) + [paragraphs[number][: 2 * WHOLE_PAGE]]
        last = number
    return "\n\n".join(pieces + [_GAP] * (last < len(paragraphs) - 1))


def _remember(arguments: Mapping[str, Any], memory: dict[str, str]) -> str:
    operation = arguments.get("operation")
    if operation not in OPERATIONS:
        return f"Error: unknown operation {operation!r}, expected one of {', '.join(OPERATIONS)}"
    if operation in ("add", "update"):
        return _write(operation, arguments.get("items"), memory)
    if operation == "retrieve_all":
        return _shown(memory) if memory else "Memory is empty."
    if operation == "remove_all":
        memory.clear()
        return "Successfully removed all items from memory."
    keys = arguments.get("keys")
    if not isinstance(keys, list) or not keys or not all(isinstance(key, str) for key in keys):
        return f"Error: {operation} needs a list of texts as 'keys'"
    missing = [key for key in keys if key not in memory]
    if missing:
        return f"Error: Key not found: {', '.join(missing)}"
    if operation == "retrieve":
        return _shown({key: memory[key] for key in keys})
    for key in dict.fromkeys(keys):
        del memory[key]
    return f"Successfully removed items of [{', '.join(keys)}] from memory."


def _write(operation: str, items: Any, memory: dict[str, str]) -> str:
    if not isinstance(items, dict) or not items or not all(isinstance(value, str) for value in items.values()):
        return f"Error: {operation} needs texts by key as 'items'"
    there = [key for key in items if key in memory]
    if operation == "add" and there:
        return f"Error: Key already in memory: {', '.join(there)}"
    missing = [key for key in items if key not in memory]
    if operation == "update" and missing:
        return f"Error: Key not found: {', '.join(missing)}"
    memory.update(items)
    done = "added" if operation == "add" else "updated"
    return f"Successfully {done} items of [{', '.join(items)}] {'to' if operation == 'add' else 'in'} memory."


def _shown(items: Mapping[str, str]) -> str:
    return "\n".join(f"{key}: {value}" for key, value in items.items())


def read_hits(text: str) -> list[Hit] | None:
    """Read the results out of an answer of `web_search`; None where the text is no such answer."""
    if text.startswith("No results found for "):
        return []
    if not (text.startswith("```\n") and text.endswith("\n```")):
        return None
    hits: list[Hit] = []
    for block in text[4:-4].split("\n\n"):
        found = _HIT.fullmatch(block)
        if found is None or int(found[1]) != len(hits) + 1:
            return None
        hits.append(Hit(found[2], found[3], found[4], found[5]))
    return hits


def read_page(text: str, goal: str) -> tuple[DocumentSpec, bool] | None:
    """Read a page out of an answer of `web_extractor`: the passages that it gave, and whether these are all."""
    found = _PAGE.fullmatch(text)
    if found is None or found[2] != goal:
        return None
    summary = " ".join(_SENTENCE.split(" ".join(found[3].split()))[:2])
    if not found[4].endswith(f": {summary}"):
        return None
    passages = found[3].split("\n\n")
    given = "\n\n".join(passage for passage in passages if passage != _GAP)
    return DocumentSpec(url=found[1], title=found[4].removesuffix(f": {summary}"), text=given), _GAP not in passages
