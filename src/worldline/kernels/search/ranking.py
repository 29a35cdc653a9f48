"""Ranking pages for a query: BM25 with stemming, by tantivy, the title counting double."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import tantivy

from worldline.domains.search import DocumentSpec

__all__ = ["Hit", "Ranking"]

_FIELDS = ("title", "body")
_BOOSTS = {"title": 2.0}
_SNIPPET = 200
"""Most characters of a snippet."""
_HEAP = 15_000_000
_SPARE = 40
"""Further hits that are fetched, so that ties are broken by address and left-out pages are made up for."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One result of a search."""

    url: str
    title: str
    snippet: str
    date: str


class Ranking:
    """An index of pages.

    Args:
        folder: Where the index lies; in memory where None.
    """

    def __init__(self, folder: Path | None = None) -> None:
        builder = tantivy.SchemaBuilder()
        for name in ("url", "date"):
            builder.add_text_field(name, stored=True, tokenizer_name="raw")
        for name in _FIELDS:
            builder.add_text_field(name, stored=True, tokenizer_name="en_stem")
        self._schema = builder.build()
        self._index = tantivy.Index(self._schema, path=None if folder is None else str(folder))

    def add(self, documents: Iterable[DocumentSpec], heap: int = _HEAP) -> None:
        """Add pages, in one segment as long as they fit into `heap` bytes."""
        writer = self._index.writer(heap, 1)
        for page in documents:
            writer.add_document(tantivy.Document(url=page.url, title=page.title, body=page.text, date=page.date))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()

    def search(self, query: str, limit: int, keep: Callable[[str], bool] = lambda url: True) -> list[Hit]:
        """Return the best pages, ties in the order of their addresses.

        Args:
            query: Words; quotes and the like mean what they mean to tantivy, what it cannot parse is left out.
            limit: Most results.
            keep: Whether a page, by its address, is there at all.
        """
        parsed, _ = self._index.parse_query_lenient(query, list(_FIELDS), _BOOSTS)
        searcher = self._index.searcher()
        found = []
        for score, address in searcher.search(parsed, limit + _SPARE).hits:
            document = searcher.doc(address)
            if keep(str(document.get_first("url"))):
                found.append((-round(float(score), 3), str(document.get_first("url")), document))
        found.sort(key=lambda item: item[:2])
        snippets = tantivy.SnippetGenerator.create(searcher, parsed, self._schema, "body")
        snippets.set_max_num_chars(_SNIPPET)
        hits = []
        for _, url, document in found[:limit]:
            body = str(document.get_first("body"))
            told = snippets.snippet_from_doc(document).fragment() or body[:_SNIPPET]
            title, date = str(document.get_first("title")), str(document.get_first("date"))
            hits.append(Hit(url, title, " ".join(told.split()), date))
        return hits

    def page(self, url: str) -> DocumentSpec | None:
        """Return a page by its address."""
        searcher = self._index.searcher()
        query = tantivy.Query.term_query(self._schema, "url", url)
        for _, address in searcher.search(query, 1).hits:
            document = searcher.doc(address)
            text = {name: str(document.get_first(name)) for name in ("title", "body", "date")}
            return DocumentSpec(url=url, title=text["title"], text=text["body"], date=text["date"])
        return None
