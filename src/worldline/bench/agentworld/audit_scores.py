"""The rubric scores of an audit, by row and kind of damage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from worldline.bench.agentworld.audit import Case, Judged
from worldline.bench.agentworld.records import DIMENSIONS

__all__ = ["Scored", "total_of"]


class Scored:
    """The rubric scores of an audit: the mean over repeats, by row and kind."""

    def __init__(self, judged: Iterable[Judged]) -> None:
        self.cases: dict[tuple[str, str], Case] = {}
        self.repeats: dict[tuple[str, str], list[dict[str, int]]] = defaultdict(list)
        for item in judged:
            scores = item.judgement.scores
            if item.judgement.mode == "rubric" and scores is not None:
                key = (item.case.row.key, item.case.kind)
                self.cases[key] = item.case
                self.repeats[key].append(scores)
        self.means = {key: _mean_scores(all_scores) for key, all_scores in self.repeats.items()}

    def total(self, key: tuple[str, str]) -> float | None:
        """Mean of a text's five scores; None where it has none."""
        scores = self.means.get(key)
        return None if scores is None else fmean(scores.values())

    def against(self, kind: str, base: str) -> list[tuple[Case, dict[str, float], dict[str, float]]]:
        """The texts of a kind with their scores and those of another kind of the same row."""
        found = []
        for (row, name), case in self.cases.items():
            other = self.means.get((row, base))
            if name == kind and other is not None:
                found.append((case, self.means[row, name], other))
        return found


def _mean_scores(scores: Sequence[Mapping[str, int]]) -> dict[str, float]:
    return {name: fmean(one[name] for one in scores) for name in DIMENSIONS}


def total_of(scores: Mapping[str, float]) -> float:
    """Mean of five scores."""
    return fmean(scores.values())
