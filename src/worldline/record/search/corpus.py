"""The collection behind the recorded search engine, indexed once on this machine."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import platformdirs

from worldline.domains.search import DocumentSpec
from worldline.errors import ConfigError, StorageError, boundary
from worldline.kernels.search.ranking import Hit, Ranking
from worldline.record.search.sources import SOURCES, read_source
from worldline.types import JsonDict

__all__ = ["CORPUS", "Corpus", "build_corpus", "open_corpus"]

CORPUS = "dictionaries"
"""Name of the collection in a world's `corpus`."""

_HEAP = 1_000_000_000
_VERSION = 2


class Corpus:
    """The collection, or another one in its place.

    Args:
        ranking: Index of all pages.
        other: Seed of another collection: a quarter of the pages is missing there, and the others read differently.
            None: the collection itself.
        declared: Pages that are there beside the collection's, or in their place, whatever the collection.
    """

    def __init__(self, ranking: Ranking, other: int | None = None, declared: Sequence[DocumentSpec] = ()) -> None:
        self._ranking = ranking
        self._other = other
        self._declared = {page.url: page for page in declared}
        self._own = Ranking()
        self._own.add(declared)

    def beside(self, declared: Sequence[DocumentSpec]) -> Corpus:
        """Return the collection with further pages."""
        return Corpus(self._ranking, self._other, declared)

    def search(self, query: str, limit: int) -> Sequence[Hit]:
        """Return the best pages: declared ones first, as scores of different collections do not compare."""
        own = self._own.search(query, limit) if self._declared else []
        hits: Sequence[Hit] = self._ranking.search(query, limit, self._has)
        if self._other is not None:
            hits = [replace(hit, title=_reworded(hit.title), snippet=_reworded(hit.snippet)) for hit in hits]
        return [*own, *hits][:limit]

    def page(self, url: str) -> DocumentSpec | None:
        """Return a page by its address."""
        if url in self._declared:
            return self._declared[url]
        page = self._ranking.page(url) if self._has(url) else None
        if page is None or self._other is None:
            return page
        return page.model_copy(update={"title": _reworded(page.title), "text": _reworded(page.text)})

    def _has(self, url: str) -> bool:
        if url in self._declared:
            return False
        if self._other is None:
            return True
        return hashlib.sha256(f"{self._other}:{url}".encode()).digest()[0] >= 64


def _reworded(text: str) -> str:
    """The same words in another order."""
    words = text.split(" ")
    return " ".join([*words[1:], words[0], "again"])


def _folder() -> Path:
    named = os.environ.get("WORLDLINE_CORPUS_DIR")
    return Path(named) if named else Path(platformdirs.user_cache_dir("worldline")) / "search-corpus"


def build_corpus(folder: Path, sources: Sequence[str] = tuple(SOURCES)) -> Ranking:
    """Index parts of the collection in a folder; one that is complete already is opened.

    Args:
        folder: Where the index lies; made, or made anew where a former run broke off. One that holds anything else is
            refused.
        sources: Parts, by the names of :data:`~worldline.record.search.sources.SOURCES`.

    Raises:
        ConfigError: The folder holds what is no collection.
        SandboxError: A part's package is not installed; the hint says which.
        StorageError: The folder cannot be written.
    """
    marker = folder / "complete.json"
    wanted = {"version": _VERSION, "sources": list(sources)}
    with boundary(StorageError, f"indexing in {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        found = _found(folder, marker)
        if found == wanted:
            return Ranking(folder / "index")
        marker.write_text(json.dumps({"wanted": None}))  # what lies here is ours, and not complete
        shutil.rmtree(folder / "index", ignore_errors=True)
        (folder / "index").mkdir()
    ranking = Ranking(folder / "index")
    counts = dict.fromkeys(sources, 0)
    ranking.add(_counted(counts), _HEAP)
    with boundary(StorageError, f"writing {marker}"):
        marker.write_text(json.dumps({"wanted": wanted, "pages": counts}))
    return ranking


def _found(folder: Path, marker: Path) -> JsonDict | None:
    """What a folder holds a collection of; None where that is incomplete or there is none yet."""
    with suppress(ValueError, TypeError, KeyError, FileNotFoundError):
        found: JsonDict | None = json.loads(marker.read_text(encoding="utf-8"))["wanted"]
        return found
    if any(folder.iterdir()):
        hint = "name an empty one by WORLDLINE_CORPUS_DIR, or remove it"
        raise ConfigError(f"{folder} holds something else than the search collection", hint=hint)
    return None


def _counted(counts: dict[str, int]) -> Iterator[DocumentSpec]:
    for name in counts:
        for page in read_source(name):
            counts[name] += 1
            yield page


@lru_cache(maxsize=4)
def open_corpus(other: int | None = None) -> Corpus:
    """Open the whole collection, which is indexed first where that was never done (about a minute).

    Args:
        other: Seed of another collection in its place.

    Raises:
        SandboxError: A package is not installed; the hint says which.
    """
    return Corpus(_whole(), other)


@lru_cache(maxsize=1)
def _whole() -> Ranking:
    return build_corpus(_folder())
