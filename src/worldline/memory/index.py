"""The memory of recorded transitions.

A transition is recalled when the action is the same and what the action reads is the same: the *footprint* that
the kernel tells (paths and variables with a hash of their content). Where no such action is recorded, one of the
same shape may be re-grounded with the asking session's values. Otherwise transitions are only evidence, ranked by
BM25 over the action's text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from worldline.kernels.base import Kernel
from worldline.memory.admit import admit
from worldline.memory.near import Near, best_near
from worldline.memory.shape import shape_of
from worldline.memory.store import Answer, ListStore, Store
from worldline.memory.transition import (
    UNTOLD,
    Footing,
    MatchKind,
    Recall,
    Transition,
    as_footing,
    environment_key,
    follow,
    footprint_key,
    transitions_of,
)
from worldline.types import Action, Observation, Trajectory, WorldSpec

__all__ = [
    "MatchKind",
    "Memory",
    "Recall",
    "Transition",
    "environment_key",
    "follow",
    "footprint_key",
    "recorded_transitions",
]


class Memory:
    """Recorded transitions, found by action for recall, by shape for re-grounding and by words for evidence.

    Args:
        transitions: What it holds.
        store: Where it keeps them; by default in memory. :meth:`open` gives one on disk.
    """

    def __init__(self, transitions: Iterable[Transition] = (), *, store: Store | None = None) -> None:
        self._store: Store = store if store is not None else ListStore()
        for transition in transitions:
            self._store.add(transition)

    @classmethod
    def open(cls, folder: str | Path) -> Memory:
        """Open a memory directory read-only; any number of processes may do so at once.

        Raises:
            StorageError: There is none, it is damaged, or of another version.
        """
        from worldline.memory.disk import DiskStore

        return cls(store=DiskStore(Path(folder)))

    @classmethod
    def from_trajectories(
        cls,
        trajectories: Iterable[Trajectory],
        kernel_for: Callable[[WorldSpec], Kernel] | None = None,
        known_footprints: Mapping[str, Sequence[Footing | Sequence[str | None] | str | None]] | None = None,
    ) -> Memory:
        """Index every turn of `trajectories`.

        Args:
            trajectories: Observed trajectories.
            kernel_for: Builds the kernel that tells footprints by following each trajectory. Without one,
                only transitions with known footprints can be recalled by state.
            known_footprints: What :func:`follow` told earlier, by trajectory id; spares the kernel.

        Raises:
            EvaluationOnlyError: A trajectory is marked as evaluation data.
        """
        return cls(recorded_transitions(trajectories, kernel_for, known_footprints))

    def __len__(self) -> int:
        return len(self._store)

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free what the store holds."""
        self._store.close()

    def add(self, transition: Transition) -> None:
        """Add one transition; it is found from the next query on.

        Raises:
            StorageError: The memory was opened from a directory, which is read-only.
        """
        self._store.add(transition)

    def knows(self, domain: str, action: Action) -> bool:
        """Whether the very same action is recorded, in whatever state."""
        return self._store.knows(domain, action.render())

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
        text = action.render()
        if footprint is not None:
            same_state = self._store.answers(world.domain, text, footprint)
            if same_state:
                environment = environment or environment_key(world)
                near = [answer for answer in same_state if answer.environment == environment] or same_state
                return self._vote(near, "stateless" if footprint == "" else "state")
        found = self._store.answers(world.domain, text)
        return self._vote(found, "action") if found else None

    def near(
        self, domain: str, action: Action, values: Mapping[str, str], stands: Footing = UNTOLD, here: str = ""
    ) -> Near | None:
        """Answer an action from recorded ones of the same shape, re-grounded with the asking session's values.

        Args:
            domain: The asking session's domain.
            action: What was done.
            values: The session's own values (:func:`~worldline.memory.transition.session_values`).
            stands: What the action stands on now (:func:`~worldline.memory.transition.footing`).
            here: More text of the session whose concrete values count as its own.
        """
        shape = shape_of(action)
        if not shape.key:
            return None
        if stands.state is not None:
            found = self._store.in_state(domain, shape.key, stands.state)
            best = best_near(action, found, "state", values, here)
            if best is not None:
                return best
        if stands.presence is not None:
            found = self._store.shaped(domain, shape.key, stands.presence)
            best = best_near(action, found, "presence", values, here)
            if best is not None:
                return best
        # Recordings of which it is known what is there were heard, or contradict; the others may still speak.
        found = self._store.shaped(domain, shape.key, None, others=stands.presence is None)
        return best_near(action, found, "words", values, here)

    def nearest(self, domain: str, action: Action, k: int = 3) -> list[Transition]:
        """Return the `k` transitions whose action text scores highest by BM25, best first."""
        return list(self._store.nearest(domain, action.render(), k))

    def most_frequent(self, domain: str) -> Observation | None:
        """Return the answer recorded most often in a domain: the simplest baseline."""
        return self._store.most_frequent(domain)

    def _vote(self, found: Sequence[Answer], kind: MatchKind) -> Recall:
        counts: dict[int, int] = {}
        for answer in found:
            counts[answer.key] = counts.get(answer.key, 0) + answer.votes
        best, votes = max(counts.items(), key=lambda item: item[1])
        total = sum(counts.values())
        chosen = self._store.get(next(answer.place for answer in found if answer.key == best))
        return Recall(transition=chosen, kind=kind, votes=total, agreement=votes / total)


def recorded_transitions(
    trajectories: Iterable[Trajectory],
    kernel_for: Callable[[WorldSpec], Kernel] | None = None,
    known_footprints: Mapping[str, Sequence[Footing | Sequence[str | None] | str | None]] | None = None,
) -> Iterator[Transition]:
    """Yield every turn of trajectories as a memory holds it; arguments and errors of `Memory.from_trajectories`."""
    for trajectory in trajectories:
        admit(trajectory)
        known = (known_footprints or {}).get(trajectory.id)
        if known is None or len(known) != len(trajectory.turns):
            known = follow(trajectory, kernel_for)
        yield from transitions_of(trajectory, [as_footing(value) for value in known])
