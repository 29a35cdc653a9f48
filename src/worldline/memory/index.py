"""The index of recorded transitions.

A transition is recalled when the action is the same and what the action reads is the same: the *footprint* that
the kernel tells (paths and variables with a hash of their content). Where the state does not match or cannot be
told, transitions are only evidence, ranked by BM25 over the action's text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import tantivy

from worldline.kernels.base import Kernel
from worldline.types import Action, Observation, Trajectory, WorldSpec, content_id

__all__ = ["MatchKind", "Memory", "Recall", "Transition", "environment_key", "follow", "footprint_key"]

MatchKind = Literal["state", "stateless", "action"]
"""How a recall matched: action and state; action, and the action reads no state; action alone."""

_ENVIRONMENT = ("user", "uid", "hostname", "locale", "timezone", "packages", "shell")
_MAX_TERMS = 200


@dataclass(frozen=True, slots=True)
class Transition:
    """One recorded turn with what its answer depended on."""

    id: str
    """`TRAJECTORY:TURN`."""
    action: Action
    observation: Observation
    domain: str
    environment: str
    """Hash of the declared surroundings that answers depend on (user, host, locale, shell, packages)."""
    footprint: str | None
    """Hash of what the action read; empty string: nothing; None: it could not be told."""
    family: str = ""


@dataclass(frozen=True, slots=True)
class Recall:
    """A recorded answer that applies here."""

    transition: Transition
    kind: MatchKind
    votes: int
    """How many recorded transitions matched."""
    agreement: float
    """Share of them that gave this answer."""


def environment_key(world: WorldSpec) -> str:
    """Hash the declared surroundings of a world that answers depend on."""
    return content_id({key: world.initial_state.get(key) for key in _ENVIRONMENT})


def footprint_key(footprint: Mapping[str, str] | None) -> str | None:
    """Hash a footprint; the empty string for one that reads nothing, None for an opaque one."""
    if footprint is None or "unknown" in footprint.values():
        return None
    return content_id(dict(footprint)) if footprint else ""


class Memory:
    """Recorded transitions, indexed by action for recall and by words for evidence."""

    def __init__(self, transitions: Iterable[Transition] = ()) -> None:
        self._transitions: list[Transition] = []
        self._by_action: dict[tuple[str, str], list[int]] = {}
        self._index: tantivy.Index | None = None
        for transition in transitions:
            self.add(transition)

    @classmethod
    def from_trajectories(
        cls,
        trajectories: Iterable[Trajectory],
        kernel_for: Callable[[WorldSpec], Kernel] | None = None,
        known_footprints: Mapping[str, Sequence[str | None]] | None = None,
    ) -> Memory:
        """Index every turn of `trajectories`.

        Args:
            trajectories: Observed trajectories.
            kernel_for: Builds the kernel that tells footprints by following each trajectory. Without one,
                only transitions with known footprints can be recalled by state.
            known_footprints: Footprint keys computed earlier, by trajectory id; spares the kernel.
        """
        memory = cls()
        for trajectory in trajectories:
            keys = (known_footprints or {}).get(trajectory.id)
            if keys is None or len(keys) != len(trajectory.turns):
                keys = follow(trajectory, kernel_for)
            environment = environment_key(trajectory.world)
            for number, (turn, key) in enumerate(zip(trajectory.turns, keys, strict=True)):
                memory.add(
                    Transition(
                        id=f"{trajectory.id}:{number}",
                        action=turn.action,
                        observation=turn.observation,
                        domain=trajectory.world.domain,
                        environment=environment,
                        footprint=key,
                        family=trajectory.family,
                    )
                )
        return memory

    def __len__(self) -> int:
        return len(self._transitions)

    def add(self, transition: Transition) -> None:
        """Add one transition; it is found by `recall` at once and by `nearest` from the next query on."""
        key = (transition.domain, transition.action.render())
        self._by_action.setdefault(key, []).append(len(self._transitions))
        self._transitions.append(transition)
        self._index = None

    def knows(self, domain: str, action: Action) -> bool:
        """Whether the very same action is recorded, in whatever state."""
        return (domain, action.render()) in self._by_action

    def recall(
        self, world: WorldSpec, action: Action, footprint: str | None, environment: str | None = None
    ) -> Recall | None:
        """Find the recorded answer to the same action, best match first.

        Args:
            world: The world of the session that asks.
            action: What was done.
            footprint: Key of what the action reads now (:func:`footprint_key`).
            environment: Key of the world (:func:`environment_key`), where the caller has it already.
        """
        found = [self._transitions[i] for i in self._by_action.get((world.domain, action.render()), ())]
        if not found:
            return None
        environment = environment or environment_key(world)
        same_state = [t for t in found if footprint is not None and t.footprint == footprint]
        if same_state:
            near = [t for t in same_state if t.environment == environment] or same_state
            return _vote(near, "stateless" if footprint == "" else "state")
        return _vote(found, "action")

    def nearest(self, domain: str, action: Action, k: int = 3) -> list[Transition]:
        """Return the `k` transitions whose action text scores highest by BM25, best first."""
        if not self._transitions:
            return []
        index = self._index = self._index or self._build_index()
        terms = _terms(action.render())
        if not terms:
            return []
        query, _ = index.parse_query_lenient(" ".join(terms), ["action"])
        hits = index.searcher().search(query, limit=k * 4).hits
        searcher = index.searcher()
        found = [self._transitions[int(searcher.doc(address)["position"][0])] for _, address in hits]
        return [t for t in found if t.domain == domain][:k]

    def most_frequent(self, domain: str) -> Observation | None:
        """Return the answer recorded most often in a domain: the simplest baseline."""
        counts = Counter(_answer_key(t.observation) for t in self._transitions if t.domain == domain)
        if not counts:
            return None
        best = max(counts, key=lambda key: (counts[key], key))
        return next(t.observation for t in self._transitions if _answer_key(t.observation) == best)

    def _build_index(self) -> tantivy.Index:
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("action", stored=False, tokenizer_name="whitespace")
        schema.add_unsigned_field("position", stored=True)
        index = tantivy.Index(schema.build())
        writer = index.writer(heap_size=20_000_000, num_threads=1)
        for position, transition in enumerate(self._transitions):
            words = " ".join(_terms(transition.action.render()))
            writer.add_document(tantivy.Document(action=words, position=position))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        return index


def follow(trajectory: Trajectory, kernel_for: Callable[[WorldSpec], Kernel] | None) -> list[str | None]:
    """Return the footprint key of every turn of a trajectory, by letting a kernel follow it."""
    if kernel_for is None:
        return [None] * len(trajectory.turns)
    kernel = kernel_for(trajectory.world)
    try:
        keys = []
        for turn in trajectory.turns:
            keys.append(footprint_key(kernel.footprint(turn.action)))
            kernel.absorb(turn)
        return keys
    finally:
        kernel.close()


def _answer_key(observation: Observation) -> str:
    return content_id([observation.text, observation.stdout, observation.exit_code, observation.raw])


def _vote(found: Sequence[Transition], kind: MatchKind) -> Recall:
    counts = Counter(_answer_key(t.observation) for t in found)
    best, votes = max(counts.items(), key=lambda item: item[1])
    chosen = next(t for t in found if _answer_key(t.observation) == best)
    return Recall(transition=chosen, kind=kind, votes=len(found), agreement=votes / len(found))


def _terms(text: str) -> list[str]:
    """Split an action into lower-case words that BM25 can match, without query syntax."""
    words = "".join(char if char.isalnum() or char in "-_./" else " " for char in text.lower()).split()
    return [word.strip("-./") or word for word in words][:_MAX_TERMS]
