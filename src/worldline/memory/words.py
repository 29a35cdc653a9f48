"""The word index: which recorded actions have most words in common with an asked one, by BM25."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import tantivy

from worldline.errors import StorageError, boundary

__all__ = ["WordIndex", "terms"]

_MAX_TERMS = 200
_MAX_TERM = 100
_QUERY_TERMS = 16
_TIES = 32
"""Texts beyond those asked for that are ranked too, so that of equal scores the first recorded one wins."""
_WORD = re.compile(r"[\w./-]+")
_HEAP_BYTES = 50_000_000
_FOREIGN = (ValueError, OSError, KeyError)
"""What the library raises for damaged files and full disks."""


def terms(text: str) -> list[str]:
    """Split an action into lower-case words that BM25 can match, without query syntax."""
    return [(word.strip("-./") or word)[:_MAX_TERM] for word in _WORD.findall(text.lower())[:_MAX_TERMS]]


class WordIndex:
    """Numbered texts of several domains, ranked by BM25. A text's words carry its domain, so domains never mix.

    Args:
        folder: Where it lies; None keeps it in memory.
        create: Whether to make it where it is missing.

    Raises:
        StorageError: There is none, or it is damaged.
    """

    def __init__(self, folder: Path | None = None, *, create: bool = False) -> None:
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("words", stored=False, tokenizer_name="whitespace", index_option="freq")
        schema.add_integer_field("number", stored=False, fast=True)
        self._where = folder or "in memory"
        self._writer: Any = None
        with self._guard("opening"):
            self._schema = schema.build()
            if folder is None:
                self._index = tantivy.Index(self._schema)
            elif create:
                folder.mkdir(parents=True, exist_ok=True)
                self._index = tantivy.Index(self._schema, path=str(folder))
            else:
                self._index = tantivy.Index.open(str(folder))
            self._index.reload()
        self._searcher = self._index.searcher()

    def _guard(self, what: str) -> Any:
        return boundary(StorageError, f"{what} the word index {self._where}", *_FOREIGN)

    def __len__(self) -> int:
        return int(self._searcher.num_docs)

    def add(self, domain: str, texts: Iterable[tuple[int, str]]) -> None:
        """Add numbered texts; they are found after `commit`."""
        with self._guard("writing"):
            if self._writer is None:
                # One thread, so that texts come into the index in the order of their numbers.
                self._writer = self._index.writer(heap_size=_HEAP_BYTES, num_threads=1)
            mark = _mark(domain)
            for number, text in texts:
                words = " ".join(mark + word for word in terms(text))
                self._writer.add_document(tantivy.Document(words=words, number=number))

    def commit(self) -> None:
        """Make what was added durable, all of it or nothing."""
        if self._writer is not None:
            with self._guard("writing"):
                self._writer.commit()
        self.reload()

    def close(self) -> None:
        """Wait for background merges, and free the writer."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with self._guard("closing"):
                writer.wait_merging_threads()

    def reload(self) -> None:
        """See what was committed since."""
        with self._guard("reading"):
            self._index.reload()
        self._searcher = self._index.searcher()

    def search(self, domain: str, text: str, k: int) -> list[int]:
        """Return the numbers of the `k` texts that score highest, best first."""
        words = self._rarest([_mark(domain) + word for word in terms(text)])
        if not words or k < 1:
            return []
        clauses = [(tantivy.Occur.Should, tantivy.Query.term_query(self._schema, "words", word)) for word in words]
        with self._guard("searching"):
            query = tantivy.Query.boolean_query(clauses)
            hits = self._searcher.search(query, limit=k + _TIES, count=False).hits
            numbers = self._searcher.fast_field_values("number", [address for _, address in hits])
            ranked = sorted((-score, int(number or 0)) for (score, _), number in zip(hits, numbers, strict=True))
            return [number for _, number in ranked[:k]]

    def _rarest(self, words: Sequence[str]) -> Sequence[str]:
        """Keep the rarest words of a long text: they decide the ranking, and bound the time of a query."""
        if len(words) <= _QUERY_TERMS:
            return words
        frequency = {word: self._searcher.doc_freq("words", word) for word in set(words)}
        kept = sorted((word for word in frequency if frequency[word]), key=lambda word: (frequency[word], word))
        chosen = set(kept[:_QUERY_TERMS])
        return [word for word in words if word in chosen]


def _mark(domain: str) -> str:
    return "_".join(domain.split()) + ":"
