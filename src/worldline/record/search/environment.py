"""The real environment of search worlds: tantivy over the world's own pages, and over the collection in an open one."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from worldline.domains.search import DocumentSpec, SearchState
from worldline.errors import ConfigError
from worldline.kernels.search.ranking import Hit, Ranking
from worldline.kernels.search.tools import answer
from worldline.record.entered import Entered
from worldline.record.sandbox import Surroundings
from worldline.record.search.corpus import CORPUS, Corpus, open_corpus
from worldline.types import Action, Observation, WorldSpec

__all__ = ["SearchEnvironment"]


class SearchEnvironment(Entered):
    """A search engine, its pages and the agent's notebook; satisfies :class:`worldline.record.environment.Environment`.

    Args:
        world: A world of the domain `search`.
        surroundings: Another machine has another collection.
    """

    def __init__(self, world: WorldSpec, surroundings: Surroundings) -> None:
        self.ended = False
        self._state = SearchState.model_validate(world.initial_state)
        self._elsewhere = surroundings.order_seed if surroundings.other_machine else None
        self._memory = dict(self._state.memory)
        self._corpus: Corpus | None = None

    def start(self) -> None:
        """Index the world's pages, or open the collection.

        Raises:
            ConfigError: There is no collection of the world's name.
            SandboxError: The collection's packages are not installed.
        """
        if self._state.corpus not in ("", CORPUS):
            hint = f"the recorder has {CORPUS}"
            raise ConfigError(f"there is no collection {self._state.corpus!r}", hint=hint)
        if self._state.closed:
            ranking = Ranking()
            ranking.add(self._state.documents)
            self._corpus = Corpus(ranking)
        else:
            self._corpus = open_corpus(self._elsewhere).beside(self._state.documents)

    def step(self, action: Action) -> Observation:
        """Answer a call."""
        return answer(action, self, self._memory)

    def search(self, query: str) -> Sequence[Hit]:
        """Rank the pages for a query."""
        assert self._corpus is not None
        return self._corpus.search(query, self._state.results)

    def page(self, url: str) -> DocumentSpec | None:
        """Open a page."""
        assert self._corpus is not None
        return self._corpus.page(url)

    def versions(self) -> dict[str, str]:
        """Version of the search library."""
        return {"tantivy": version("tantivy")}

    def close(self) -> None:
        """Let go of the collection."""
        self._corpus = None
        self.ended = True
