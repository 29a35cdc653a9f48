"""What stood in any record or answer so far: an id that never did was most likely made up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import Undefined

from worldline.domains.comparing import as_json
from worldline.domains.tools.collections import CollectionsSpec
from worldline.kernels.tools.collections.expressions import Unknown, UnknownError

__all__ = ["Seen", "declared_words", "words_in", "words_of_answer"]

_WORD = re.compile(r"[\w#@-](?:[\w#@.:/-]*[\w#@-])?")


@dataclass(frozen=True, slots=True)
class Seen:
    """Texts and numbers that were seen, as expressions see them: `args.id in seen`."""

    declared: frozenset[str]
    here: frozenset[str]
    """Those of the session itself."""

    def __contains__(self, value: Any) -> bool:
        if isinstance(value, Unknown):
            raise UnknownError(value.what)
        return not isinstance(value, Undefined) and (str(value) in self.here or str(value) in self.declared)


def words_in(value: Any) -> Iterator[str]:
    """Yield every text and number in data, names of fields too."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from words_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from words_in(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def words_of_answer(text: str) -> set[str]:
    """Return the texts and numbers of an answer that is JSON, the words of another one."""
    value = as_json(text)
    return set(words_in(value)) if isinstance(value, dict | list) else {*_WORD.findall(text), text}


def declared_words(spec: CollectionsSpec) -> frozenset[str]:
    """Return what stands in the records and recorded answers that a world declares."""
    return frozenset(_declared(spec))


def _declared(spec: CollectionsSpec) -> Iterable[str]:
    for store in spec.stores.values():
        yield from words_in(store.records)
        for entry in store.keyed:
            yield from words_in([*entry.key, entry.record])
    for read in spec.reads:
        if not read.error:
            yield from words_in(read.arguments)
            yield from words_of_answer(read.answer)
