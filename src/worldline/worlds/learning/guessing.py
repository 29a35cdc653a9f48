"""A first world from tool definitions alone: what the names and arguments of tools suggest that they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from worldline.domains.tools.collections import CollectionsSpec, IdSpec, PagingSpec, StoreSpec, ToolRule
from worldline.domains.tools.names import words_of
from worldline.kernels.tools.collections.checking import properties_of, required_of
from worldline.types import JsonDict, ToolSpec, WorldSpec
from worldline.worlds.learning.complaints import guessed_messages
from worldline.worlds.learning.reading import path_text

__all__ = ["guessed_collections", "new_world"]

_VERBS = {
    "create": (
        "create",
        "add",
        "new",
        "insert",
        "book",
        "register",
        "schedule",
        "send",
        "post",
        "make",
        "open",
        "place",
    ),
    "read": ("get", "read", "show", "view", "describe", "fetch", "retrieve", "lookup"),
    "update": ("update", "edit", "modify", "set", "change", "patch", "rename", "move", "reschedule", "put"),
    "delete": ("delete", "remove", "drop", "clear"),
    "list": ("list", "browse", "ls"),
    "search": ("search", "find", "query"),
}
_OPERATION_OF = {verb: operation for operation, verbs in _VERBS.items() for verb in verbs}
_FILLERS = frozenset(
    [
        "a",
        "an",
        "the",
        "all",
        "by",
        "for",
        "of",
        "to",
        "in",
        "on",
        "with",
        "from",
        "my",
        "one",
        "details",
        "detail",
        "info",
        "record",
        "item",
    ]
)
_NATURAL_KEYS = ("id", "key", "name", "path", "email", "uuid", "slug", "code", "uri", "url", "title")
_QUERY = ("query", "q", "text", "term", "keyword", "search", "pattern")
_LIMIT, _OFFSET, _PAGE = ("limit", "count", "max_results", "page_size", "top_k"), ("offset", "skip", "start"), ("page",)
_SCALARS = ("string", "integer", "number")


@dataclass(slots=True)
class _Noun:
    """Tools about things of one kind."""

    tools: dict[str, tuple[str, ToolSpec]] = field(default_factory=dict)
    """Operation and definition by tool name."""

    def doing(self, *operations: str) -> list[ToolSpec]:
        return [tool for operation, tool in self.tools.values() if operation in operations]


def new_world(tools: Sequence[ToolSpec], *, name: str = "", task: str = "", domain: str = "mcp") -> WorldSpec:
    """Make a playable world from tool definitions alone.

    Tools are grouped by the thing their name speaks of and do what their verb says, on a store that starts empty.
    Tools whose name says neither have no rule: what they answer is not known.
    """
    spec = guessed_collections(tools)
    state: JsonDict = {"collections": spec.model_dump(mode="json", exclude_defaults=True)}
    return WorldSpec(domain=domain, name=name, task=task, tools=tuple(tools), initial_state=state)


def guessed_collections(tools: Sequence[ToolSpec]) -> CollectionsSpec:
    """Return stores and rules that names and arguments of tools suggest."""
    nouns: dict[str, _Noun] = {}
    for tool in tools:
        operation, noun = _reading_of(tool)
        if operation and noun:
            nouns.setdefault(noun, _Noun()).tools[tool.name] = (operation, tool)
    stores: dict[str, StoreSpec] = {}
    rules: dict[str, ToolRule] = {}
    for noun, group in nouns.items():
        store = _store_name(noun, stores)
        key, kind = _key_of(noun, group)
        made = group.doing("create")
        given = [tool for tool in made if key in properties_of(tool)]
        ids = None
        if made and len(given) < len(made):
            ids = IdSpec(integer=True) if kind == "integer" else IdSpec(pattern=f"{noun}_{{n}}")
        stores[store] = StoreSpec(key=(key,), closed=bool(made), ids=ids)
        for name, (operation, tool) in group.tools.items():
            rules[name] = _rule(operation, tool, store, key, noun)
    return CollectionsSpec(stores=stores, tools=rules, messages=guessed_messages(tools))


def _reading_of(tool: ToolSpec) -> tuple[str, str]:
    """What a tool does and to what, by its name: its first verb, and the words that are neither verb nor filler."""
    words = words_of(tool.name)
    verb = next((word for word in words if word in _OPERATION_OF), "")
    operation = _OPERATION_OF.get(verb, "")
    rest = words[: words.index("by")] if "by" in words else words
    nouns = [word for word in rest if word != verb and word not in _FILLERS]
    if not operation or not nouns:
        return "", ""
    plural = nouns[-1].endswith("s") and not nouns[-1].endswith("ss")
    if operation == "read" and plural and not required_of(tool):
        operation = "list"
    return operation, "_".join([*nouns[:-1], _singular(nouns[-1])])


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def _store_name(noun: str, taken: Mapping[str, Any]) -> str:
    base = noun if noun.endswith("s") else f"{noun}s"
    base = base if base[0].isalpha() and base.isascii() else "records"
    name, number = base, 2
    while name in taken or name in ("args", "now", "item", "items", "record", "records", "before", "total", "answer"):
        name, number = f"{base}_{number}", number + 1
    return name


def _key_of(noun: str, group: _Noun) -> tuple[str, str]:
    """The argument by which tools ask for a thing, and its type."""
    for tool in [*group.doing("read"), *group.doing("delete", "update"), *group.doing("create")]:
        if name := _key_argument(noun, tool):
            return name, str(properties_of(tool)[name].get("type"))
    return "id", "string"


def _key_argument(noun: str, tool: ToolSpec) -> str:
    properties = properties_of(tool)
    scalar = [name for name, schema in properties.items() if schema.get("type", "string") in _SCALARS]
    last = noun.rsplit("_", 1)[-1]
    own = [name for name in scalar if words_of(name) in ([last, "id"], [*noun.split("_"), "id"], [last], ["id"])]
    natural = [name for natural in _NATURAL_KEYS for name in scalar if words_of(name)[-1:] == [natural]]
    only = scalar if len(scalar) == 1 else []
    return next(iter([*own, *(n for n in natural if n in required_of(tool)), *natural, *only]), "")


def _rule(operation: str, tool: ToolSpec, store: str, key: str, noun: str) -> ToolRule:
    properties = properties_of(tool)
    fields: JsonDict = {"operation": operation, "store": store}
    if operation in ("read", "update", "delete"):
        name = key if key in properties else _key_argument(noun, tool)
        if not name:
            return ToolRule()
        shown = path_text("args", name)
        fields["key"] = f"{{{{ {shown} }}}}"
        fields["missing"] = f"Error: {noun.replace('_', ' ')} {{{{ {shown} }}}} not found"
        if operation == "delete":
            fields["answer"] = f"Deleted {noun.replace('_', ' ')} {{{{ {shown} }}}}"
    elif operation in ("list", "search"):
        query = next((name for name in properties if words_of(name)[-1:] and words_of(name)[-1] in _QUERY), "")
        if operation == "search":
            fields["query"] = query or next(iter(properties), "query")
        paging = {
            part: next((name for name in properties if name in names), "")
            for part, names in (("limit", _LIMIT), ("offset", _OFFSET), ("page", _PAGE))
        }
        if any(paging.values()):
            fields["paging"] = PagingSpec(**paging)
    elif key in properties:
        fields["exists"] = f"Error: {noun.replace('_', ' ')} {{{{ {path_text('args', key)} }}}} already exists"
    return ToolRule(**fields)
