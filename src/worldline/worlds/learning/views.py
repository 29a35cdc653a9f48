"""Where records stand in recorded answers, which of them are of one kind, and what identifies them."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from worldline.domains.tools.names import READ_WORDS, WRITE_WORDS, reads_by_name, words_of
from worldline.types import JsonDict, canonical_json
from worldline.worlds.learning.traces import TracedCall

__all__ = ["Instance", "Kind", "find_kinds", "is_scalar", "reads_only"]

_ALIKE = 0.6
"""Share of common field names from which records are of one kind."""
_RELIABLE = 0.95
"""Share of the instances for which what is said of a key must hold."""
_ASKED = 0.5
"""Share of the calls that must name a record for a field to be its key."""
_MAX_KEY = 3
_MAX_CANDIDATES = 14
_ID_WORDS = frozenset(
    [
        "id",
        "number",
        "code",
        "key",
        "email",
        "uuid",
        "slug",
        "path",
        "sku",
        "name",
        "date",
        "ref",
        "no",
        "username",
        "handle",
        "title",
    ]
)


@dataclass(frozen=True, slots=True)
class Instance:
    """A record in an answer."""

    call: TracedCall
    path: str
    """Steps from the answer to the record (see :class:`worldline.domains.tools.collections.HarvestSpec`)."""
    record: JsonDict

    def named(self, part: str) -> Any:
        """What a key part is here: the record's field, or the argument called like it."""
        return self.record[part] if part in self.record else self.call.arguments.get(part)


@dataclass(slots=True)
class Kind:
    """Records of one kind: a store in the making."""

    fields: frozenset[str]
    """Fields that nearly all of them have."""
    instances: list[Instance] = field(default_factory=list)
    key: tuple[str, ...] = ()
    name: str = ""

    @property
    def views(self) -> dict[tuple[str, str], list[Instance]]:
        """Instances by tool and path."""
        found: dict[tuple[str, str], list[Instance]] = defaultdict(list)
        for instance in self.instances:
            found[instance.call.tool, instance.path].append(instance)
        return dict(found)

    def key_of(self, instance: Instance) -> tuple[str | int, ...] | None:
        """The key of an instance; None where a part of it is missing."""
        key = tuple(instance.named(part) for part in self.key)
        return key if key and all(type(part) in (str, int) for part in key) else None


def is_scalar(value: Any) -> bool:
    """Whether a value may be part of a key."""
    return type(value) in (str, int)


def reads_only(tool: str, calls: Sequence[TracedCall]) -> bool:
    """Whether calls of a tool change nothing: by the verb of its name, otherwise by repeated calls answered alike."""
    named = reads_by_name(tool)
    if named is not None:
        return named
    answers: dict[tuple[int, str], set[str]] = defaultdict(set)
    repeats: Counter[tuple[int, str]] = Counter()
    for call in calls:
        key = call.session, canonical_json(call.arguments)
        answers[key].add(call.text)
        repeats[key] += 1
    repeated = [key for key, count in repeats.items() if count > 1]
    return bool(repeated) and all(len(answers[key]) == 1 for key in repeated)


def find_kinds(calls: Iterable[TracedCall]) -> list[Kind]:
    """Find the kinds of records that answers hold, each with a key and a name; kinds without a key are left out."""
    instances = [instance for call in calls if not call.error for instance in _instances(call)]
    kinds = [kind for kind in _clustered(instances) if _find_key(kind)]
    names: Counter[str] = Counter()
    for kind in sorted(kinds, key=lambda kind: -len(kind.instances)):
        base = _name(kind)
        names[base] += 1
        kind.name = base if names[base] == 1 else f"{base}_{names[base]}"
    return kinds


def _instances(call: TracedCall) -> Iterator[Instance]:
    value = call.value
    if isinstance(value, dict):
        lists = [name for name, item in value.items() if _is_listing(item)]
        others = [item for name, item in value.items() if name not in lists]
        envelope = len(lists) == 1 and len(others) <= 4 and not any(isinstance(item, dict | list) for item in others)
        if envelope and not any(is_scalar(item) and item in call.arguments.values() for item in others):
            for item in value[lists[0]]:
                yield Instance(call, f"{lists[0]}.*", item)
        else:
            yield Instance(call, "", value)
    elif _is_listing(value):
        for item in value:
            yield Instance(call, "*", item)
    elif isinstance(value, list) and value and all(_is_listing(item) for item in value):
        for row in value:
            for item in row:
                yield Instance(call, "*.*", item)


def _is_listing(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _clustered(instances: Sequence[Instance]) -> list[Kind]:
    """Put instances with nearly the same fields together, the most frequent sets of fields first."""
    by_fields: dict[frozenset[str], list[Instance]] = defaultdict(list)
    for instance in instances:
        if instance.record:
            by_fields[frozenset(instance.record)].append(instance)
    kinds: list[Kind] = []
    for fields, members in sorted(by_fields.items(), key=lambda item: (-len(item[1]), sorted(item[0]))):
        for kind in kinds:
            if len(fields & kind.fields) >= _ALIKE * len(fields | kind.fields):
                kind.instances += members
                break
        else:
            kinds.append(Kind(fields, list(members)))
    for kind in kinds:
        counts = Counter(name for instance in kind.instances for name in instance.record)
        kind.fields = frozenset(name for name, count in counts.items() if count >= 0.9 * len(kind.instances))
    return kinds


def _find_key(kind: Kind) -> bool:
    single = [instance for instance in kind.instances if not instance.path]
    kind.key = _asked_key(kind, single) if single else _listed_key(kind)
    return bool(kind.key)


def _asked_key(kind: Kind, single: Sequence[Instance]) -> tuple[str, ...]:
    """The field by which calls ask for a record; otherwise the scalar arguments of the calls that read it."""
    # Who makes a record names other things; who reads one names it.
    asking = [i for i in single if reads_only(i.call.tool, ())] or list(single)
    shares = {}
    for name in kind.fields:
        asked = sum(is_scalar(i.record[name]) and i.record[name] in _scalars(i.call.arguments) for i in asking)
        varied = len({canonical_json(i.record[name]) for i in single if name in i.record})
        if asked >= _ASKED * len(asking) and (varied > 1 or _id_like(name)):
            shares[name] = (asked, _id_like(name), -len(name))
    if shares:
        return (max(shares, key=lambda name: (shares[name], name)),)
    readers = [i for i in asking if reads_only(i.call.tool, ())]
    if not readers:
        return ()
    common = set.intersection(*({n for n, v in i.call.arguments.items() if is_scalar(v)} for i in readers))
    names = sorted(common, key=lambda name: list(readers[0].call.arguments).index(name))
    return tuple(names) if 0 < len(names) <= _MAX_KEY else ()


def _scalars(arguments: Mapping[str, Any]) -> list[Any]:
    return [value for value in arguments.values() if is_scalar(value)]


def _id_like(name: str) -> bool:
    return any(word in _ID_WORDS for word in words_of(name))


def _listed_key(kind: Kind) -> tuple[str, ...]:
    """The fewest fields, or arguments of the listing, that tell the records apart."""
    names: Counter[str] = Counter()
    for instance in kind.instances:
        names.update(name for name, value in {**instance.call.arguments, **instance.record}.items() if is_scalar(value))
    enough = [name for name, count in names.items() if count >= _RELIABLE * len(kind.instances)]
    fields = [name for name in enough if any(name in i.record for i in kind.instances)]
    others = [name for name in enough if name not in fields]
    ranked = sorted(fields, key=lambda name: not _id_like(name)) + sorted(others, key=lambda name: not _id_like(name))
    ranked = ranked[:_MAX_CANDIDATES]
    for size in range(1, _MAX_KEY + 1):
        for parts in itertools.combinations(ranked, size):
            if any(part in fields for part in parts) and _tells_apart(kind, parts):
                return parts
    return ()


def _tells_apart(kind: Kind, parts: tuple[str, ...]) -> bool:
    seen: dict[tuple[Any, ...], str] = {}
    wrong = 0
    for instance in kind.instances:
        key = tuple(instance.named(part) for part in parts)
        told = canonical_json({name: instance.record.get(name) for name in kind.fields})
        wrong += seen.setdefault(key, told) != told
    return wrong <= (1 - _RELIABLE) * len(kind.instances)


def _name(kind: Kind) -> str:
    """Name a store: `order_id` identifies orders; otherwise after the tool that shows most of it, without verbs."""
    for part in kind.key:
        words = words_of(part)
        if (len(words) > 1 and words[-1] == "id") or (len(kind.key) > 1 and len(words) > 1 and words[-1] in _ID_WORDS):
            return _plural("_".join(words[:-1]))
    tools = Counter(i.call.tool for i in kind.instances if reads_only(i.call.tool, ()))
    tool = (tools or Counter(i.call.tool for i in kind.instances)).most_common(1)[0][0]
    words = words_of(tool)
    words = words[: words.index("by")] if "by" in words else words
    while words and words[0] in READ_WORDS | WRITE_WORDS and len(words) > 1:
        words = words[1:]
    words = [word for word in words if word not in ("for", "all", "id", "details", "info", "of")]
    return _plural("_".join(words[:2]))


def _plural(base: str) -> str:
    if not base or not base[0].isalpha():
        return f"records_{base}".rstrip("_")
    return base if base.endswith("s") else f"{base}s"
