"""The kernel of search worlds: it ranks declared pages, gives pages and results again, and keeps the agent's notes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from worldline.domains.search import DocumentSpec, SearchState
from worldline.errors import KernelError
from worldline.kernels.base import Proposal
from worldline.kernels.search.ranking import Hit, Ranking
from worldline.kernels.search.tools import answer, read_hits, read_page
from worldline.types import Action, JsonDict, Observation, Turn, WorldSpec, content_id

__all__ = ["SearchKernel"]

_FORMAT = 1
_MEMORY_WRITES = ("add", "update", "remove", "remove_all")
_SHOWN = 50
"""Entries of each kind that :meth:`SearchKernel.describe` shows."""


class _Unknown(Exception):
    """What was asked for was neither declared nor seen; the message says what."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the session has shown; immutable, so that a fork costs nothing."""

    results: Mapping[str, tuple[Hit, ...]]
    """By query."""
    pages: Mapping[str, DocumentSpec | None]
    """By address; None: there is no such page."""
    answers: Mapping[str, str]
    """Answers that are known word by word only: pages not given whole, by address and goal; batches by queries."""
    memory: Mapping[str, str]
    parts: Mapping[str, DocumentSpec] = field(default_factory=dict)
    """Of every page in a result or opened in parts, what was shown of it: snippets and passages, by address."""
    doubted: bool = False
    """The notes were changed in a way that could not be followed."""


class _Known:
    """The pages that a session knows, as what stands behind the tools."""

    def __init__(self, kernel: SearchKernel, *, guess: bool = False) -> None:
        self._kernel = kernel
        self._guess = guess

    def search(self, query: str) -> Sequence[Hit]:
        return self._kernel.results(query, guess=self._guess)

    def page(self, url: str) -> DocumentSpec | None:
        return self._kernel.page(url, guess=self._guess)


class SearchKernel:
    """Satisfies :class:`worldline.kernels.base.Kernel`.

    Results are computed where the world declares all pages there are (`closed`), and repeated where the same query was
    answered before; a page is given where it was declared or has been seen whole.

    Args:
        world: A world of the domain `search`.
    """

    domain = "search"

    def __init__(self, world: WorldSpec) -> None:
        self._state = SearchState.model_validate(world.initial_state)
        self._declared = {page.url: page for page in self._state.documents}
        self._ranking: Ranking | None = None
        self._seen = _Seen(results={}, pages={}, answers={}, memory=dict(self._state.memory))
        self._trial: tuple[Action, Observation, _Seen] | None = None

    def propose(self, action: Action) -> Proposal:
        """Answer from what is known; otherwise give a guess out of the known pages."""
        self.reject()
        classes = (self._class_of(action),)
        memory = dict(self._seen.memory)
        try:
            if self._seen.doubted and action.name == "dict_memory":
                raise _Unknown("the notes")
            observation = self._repeated(action) or answer(action, _Known(self), memory)
        except _Unknown as missing:
            guess = answer(action, _Known(self, guess=True), memory)
            return Proposal(guess, known=False, classes=classes, why=f"{missing} was never seen")
        after = replace(self._seen, memory=memory)
        self._trial = (action, observation, after)
        writes = ("memory",) if memory != self._seen.memory else ()
        return Proposal(observation, known=True, classes=classes, why=f"{classes[0]} of what is known", writes=writes)

    def accept(self) -> None:
        """Make the trial's notes the notes."""
        if self._trial is not None:
            self._seen = self._trial[2]
            self._trial = None

    def reject(self) -> None:
        """Forget the trial."""
        self._trial = None

    def absorb(self, turn: Turn) -> None:
        """Learn results, pages and notes from a settled turn (see :class:`worldline.kernels.base.Kernel`)."""
        trial, self._trial = self._trial, None
        if trial is None or trial[0] != turn.action:
            self.propose(turn.action)
            trial, self._trial = self._trial, None
        text = turn.observation.text
        if trial is not None and trial[1].text == text:
            self._seen = trial[2]
        elif turn.action.name == "dict_memory":
            self._follow_memory(turn.action, text)
        if turn.action.name == "web_search":
            self._learn_results(turn.action, text)
        elif turn.action.name == "web_extractor":
            self._learn_page(turn.action, text)

    def footprint(self, action: Action) -> Mapping[str, str] | None:
        """The collection behind the engine, and for the notebook all notes."""
        if action.name == "dict_memory":
            return None if self._seen.doubted else {"memory": content_id(dict(self._seen.memory))}
        declared = [page.model_dump(mode="json") for page in self._state.documents]
        return {"corpus": content_id([self._state.corpus, self._state.closed, self._state.results, declared])}

    def fork(self) -> SearchKernel:
        """Return an independent copy that shares the index of the declared pages."""
        twin = SearchKernel.__new__(SearchKernel)
        twin._state, twin._declared, twin._ranking = self._state, self._declared, self._ranking
        twin._seen, twin._trial = self._seen, None
        return twin

    def dump(self) -> bytes:
        """Serialise what the session has shown."""
        seen = self._seen
        record = {
            "format": _FORMAT,
            "results": {
                query: [[h.url, h.title, h.snippet, h.date] for h in hits] for query, hits in seen.results.items()
            },
            "pages": {url: page and page.model_dump(mode="json") for url, page in seen.pages.items()},
            "answers": dict(seen.answers),
            "parts": {url: page.model_dump(mode="json") for url, page in seen.parts.items()},
            "memory": dict(seen.memory),
            "doubted": seen.doubted,
        }
        return json.dumps(record, ensure_ascii=False).encode()

    def load(self, data: bytes) -> None:
        """Replace what the session has shown by a dumped state.

        Raises:
            KernelError: `data` is damaged or from another version.
        """
        try:
            record = json.loads(data)
            if record["format"] != _FORMAT:
                raise ValueError(f"format {record['format']}")
            self._seen = _Seen(
                results={query: tuple(Hit(*hit) for hit in hits) for query, hits in record["results"].items()},
                pages={
                    url: None if page is None else DocumentSpec.model_validate(page)
                    for url, page in record["pages"].items()
                },
                answers=record["answers"],
                memory=record["memory"],
                parts={url: DocumentSpec.model_validate(page) for url, page in record.get("parts", {}).items()},
                doubted=record["doubted"],
            )
        except (ValueError, KeyError, TypeError, AttributeError) as exc:
            raise KernelError(f"not a state of a search world: {exc}") from exc
        self._trial = None

    def describe(self) -> JsonDict:
        """Return the notes, the queries that were answered and the pages that are known."""
        pages = [*self._declared, *(url for url, page in self._seen.pages.items() if page is not None)]
        return {
            "memory": dict(list(self._seen.memory.items())[:_SHOWN]),
            "searched": list(self._seen.results)[-_SHOWN:],
            "pages": pages[:_SHOWN],
        }

    def close(self) -> None:
        """Free the index."""
        self._ranking = None

    def results(self, query: str, *, guess: bool = False) -> Sequence[Hit]:
        """Results of a query; an unknown one is answered out of the declared pages for a guess."""
        if query in self._seen.results:
            return self._seen.results[query]
        if not (self._state.closed or guess):
            raise _Unknown(f"the query {query!r}")
        if self._ranking is None:
            self._ranking = Ranking()
            self._ranking.add(self._state.documents)
        return self._ranking.search(query, self._state.results)

    def page(self, url: str, *, guess: bool = False) -> DocumentSpec | None:
        """A page; of an unknown one a guess tells what results and openings showed."""
        if url in self._declared:
            return self._declared[url]
        if url in self._seen.pages or self._state.closed:
            return self._seen.pages.get(url)
        if not guess:
            raise _Unknown(f"the page {url}")
        return self._seen.parts.get(url)

    def _repeated(self, action: Action) -> Observation | None:
        """The answer to a page that was opened for the same goal before, or to the same batch of queries."""
        if action.name not in ("web_search", "web_extractor"):
            return None
        key = _batch_key(action) if action.name == "web_search" else _goal_key(action)
        text = self._seen.answers.get(key)
        return None if text is None else Observation.from_text(text, is_error=False)

    def _class_of(self, action: Action) -> str:
        if action.name == "dict_memory":
            return f"dict_memory {action.arguments.get('operation')}"
        if action.name == "web_search" and self._state.closed:
            return "web_search closed"
        return action.name if action.name in ("web_search", "web_extractor") else "other"

    def _learn_results(self, action: Action, text: str) -> None:
        hits = read_hits(text)
        if hits is None:
            return
        queries = action.arguments.get("queries", [action.arguments.get("query")])
        if not isinstance(queries, list) or not all(isinstance(query, str) for query in queries):
            return
        for hit in hits:
            self._learn_part(DocumentSpec(url=hit.url, title=hit.title, text=hit.snippet, date=hit.date))
        limit = self._state.results
        if len(queries) == 1 or not hits:
            parts = [hits] * len(queries) if not hits else [hits]
        elif len(hits) == limit * len(queries):
            parts = [hits[start : start + limit] for start in range(0, len(hits), limit)]
        else:  # where one query's results end and the next one's begin cannot be told
            self._seen = replace(self._seen, answers={**self._seen.answers, _batch_key(action): text})
            return
        learned = {query: tuple(part) for query, part in zip(queries, parts, strict=True)}
        self._seen = replace(self._seen, results={**self._seen.results, **learned})

    def _learn_page(self, action: Action, text: str) -> None:
        url, goal = action.arguments.get("url"), action.arguments.get("goal", "")
        if not isinstance(url, str) or not isinstance(goal, str) or url in self._declared:
            return
        read = read_page(text, goal)
        if read is not None and read[1]:
            self._seen = replace(self._seen, pages={**self._seen.pages, url: read[0]})
        elif text.endswith("could not be opened: 404 Not Found"):
            self._seen = replace(self._seen, pages={**self._seen.pages, url: None})
        elif not text.startswith("Error: "):
            self._seen = replace(self._seen, answers={**self._seen.answers, _goal_key(action): text})
            if read is not None:
                self._learn_part(read[0])

    def _learn_part(self, part: DocumentSpec) -> None:
        """Add to what was shown of a page that is not known whole."""
        known = self._seen.parts.get(part.url)
        if known is not None:
            told, new = known.text.split("\n\n"), part.text.split("\n\n")
            added = [passage for passage in new if not _within(passage, told)]
            kept = [passage for passage in told if not _within(passage, added)]
            part = known.model_copy(update={"text": "\n\n".join([*kept, *added])})
        self._seen = replace(self._seen, parts={**self._seen.parts, part.url: part})

    def _follow_memory(self, action: Action, text: str) -> None:
        """The notes after an answer that was not foreseen."""
        operation = action.arguments.get("operation")
        if operation == "retrieve_all" and not text.startswith("Error: "):
            items = dict(line.split(": ", 1) for line in text.split("\n") if ": " in line)
            told = "" if text == "Memory is empty." else text
            same = "\n".join(f"{key}: {value}" for key, value in items.items()) == told
            self._seen = replace(self._seen, memory=items, doubted=not same)
        elif operation in _MEMORY_WRITES and not text.startswith("Error: "):
            self._seen = replace(self._seen, doubted=True)


def _goal_key(action: Action) -> str:
    return json.dumps([action.arguments.get("url"), action.arguments.get("goal", "")], ensure_ascii=False)


def _batch_key(action: Action) -> str:
    return json.dumps([action.arguments.get("queries")], ensure_ascii=False)


def _within(passage: str, others: Sequence[str]) -> bool:
    """Whether another passage says as much, as the opening of a page does of its snippet."""
    plain = " ".join(passage.split())
    return any(plain in " ".join(other.split()) for other in others)
