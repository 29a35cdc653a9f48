"""Finding what a benchmark shares with training sets: equal content, and runs of words that both hold.

The benchmark's hashes and n-grams are held, the training sets stream past them, so memory follows the size of the
benchmark and the figures are exact: shares of n-grams are counted, not estimated as by MinHash, whose similarity would
also miss a short trajectory inside a long document.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from worldline.formats.importing import Importer
from worldline.types import Trajectory, Turn, content_id

__all__ = ["Overlap", "Reference", "benchmark_reference", "trajectory_hash", "turn_hash"]

_WORD = re.compile(r"\w+|[^\w\s]")


def turn_hash(turn: Turn) -> str:
    """Hash of what an action is and what it was answered, as text."""
    return content_id([turn.action.render(), turn.observation.text, turn.state_before])


def trajectory_hash(trajectory: Trajectory) -> str:
    """Hash of what happened, whatever it is called and wherever it comes from."""
    return content_id([turn_hash(turn) for turn in trajectory.turns], length=32)


def _words(turn: Turn) -> list[str]:
    text = f"{turn.action.render()}\n{turn.state_before or ''}\n{turn.observation.text}"
    return _WORD.findall(text.lower())


def _ngrams(words: list[str], n: int) -> Iterator[int]:
    for start in range(len(words) - n + 1):
        data = "\x1f".join(words[start : start + n]).encode("utf-8", "surrogatepass")
        yield int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


@dataclass(frozen=True, slots=True)
class Overlap:
    """What a turn or a trajectory shares with the training sets."""

    same: bool
    """The whole of it stands there."""
    share: float | None
    """Of its n-grams, those that stand there; None where it has too few to tell."""


@dataclass(slots=True)
class _Held:
    hash: str
    turns: list[frozenset[int]]
    turn_hashes: list[str]


@dataclass(slots=True)
class Reference:
    """The trajectories of a benchmark to be, and what training sets hold of them.

    Args:
        n: Words of an n-gram.
        least: A text with fewer n-grams is too short to tell by its share.
    """

    n: int = 13
    least: int = 8
    _held: dict[str, _Held] = field(default_factory=dict)
    _grams: set[int] = field(default_factory=set)
    _hashes: set[str] = field(default_factory=set)
    _found_grams: set[int] = field(default_factory=set)
    _found_hashes: set[str] = field(default_factory=set)

    def hold(self, trajectory: Trajectory) -> None:
        """Note a trajectory of the benchmark."""
        turns = [frozenset(_ngrams(_words(turn), self.n)) for turn in trajectory.turns]
        held = _Held(trajectory_hash(trajectory), turns, [turn_hash(turn) for turn in trajectory.turns])
        self._held[trajectory.id] = held
        self._grams.update(*turns)
        self._hashes.update([held.hash, *held.turn_hashes])

    def pass_by(self, trajectory: Trajectory) -> None:
        """Look at a trajectory of a training set."""
        self._found_hashes.update({trajectory_hash(trajectory), *map(turn_hash, trajectory.turns)} & self._hashes)
        for turn in trajectory.turns:
            self._found_grams.update(self._grams.intersection(_ngrams(_words(turn), self.n)))

    def trajectory(self, id: str) -> Overlap:
        """Say what the training sets hold of a trajectory."""
        held = self._held[id]
        return Overlap(held.hash in self._found_hashes, self._share(frozenset().union(*held.turns)))

    def turn(self, id: str, number: int) -> Overlap:
        """Say what they hold of one of its turns (from 1).

        A short turn such as `ls` without output is found everywhere and says nothing: it is never the same.
        """
        held = self._held[id]
        grams = held.turns[number - 1]
        same = len(grams) >= self.least and held.turn_hashes[number - 1] in self._found_hashes
        return Overlap(same, self._share(grams))

    def found(self, trajectory: Trajectory) -> Overlap:
        """Say what of a training set's trajectory stands in what is held."""
        grams: frozenset[int] = frozenset().union(*(_ngrams(_words(turn), self.n) for turn in trajectory.turns))
        share = len(grams & self._grams) / len(grams) if len(grams) >= self.least else None
        return Overlap(trajectory_hash(trajectory) in self._hashes, share)

    def _share(self, grams: frozenset[int]) -> float | None:
        return len(grams & self._found_grams) / len(grams) if len(grams) >= self.least else None


def benchmark_reference(paths: Iterable[Path], *, skip_bad: bool = False) -> Reference:
    """Hold the trajectories of benchmarks that training must see nothing of, for `build_rows(..., benchmarks=...)`.

    Args:
        paths: Files and folders, in any format that is read.
        skip_bad: Go on past records that cannot be read.

    Raises:
        FormatError: Something cannot be read.
    """
    reference = Reference()
    reader = Importer(list(paths), strict=not skip_bad)
    for unit in reader.units():
        for trajectory in reader.read(unit):
            reference.hold(trajectory)
    return reference
