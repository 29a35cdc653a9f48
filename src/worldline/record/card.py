"""What a tool world's recordings hold: the splits, and the data card with its counts, as Markdown."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.resources import files

from worldline.record.plan import ToolPlan
from worldline.recordings import SPLITS
from worldline.types import Trajectory, Turn

__all__ = ["card", "prose", "split_families", "split_plans"]

_SHARES = (0.6, 0.2, 0.2)
_READS_BACK = {
    "code": "sessions that use a name bound in an earlier cell",
    "database": "sessions that read a table they made or changed",
    "search": "sessions that read notes they took",
    "swe": "sessions that read a file they wrote",
}
"""What `reads_back` counts, by domain."""


def split_families(families: Sequence[str], seed: int) -> dict[str, str]:
    """Give each family a split, about 60% train, 20% dev and 20% test, by a seed.

    A family's name is `GROUP/TASK` or `TASK`; each group with at least five families is split for itself, so that every
    split holds each of the large groups.
    """
    groups: dict[str, list[str]] = {}
    for family in sorted(set(families)):
        group, slash, _ = family.partition("/")
        groups.setdefault(group if slash else "", []).append(family)
    small = [family for names in groups.values() if len(names) < 5 for family in names]
    large = [names for names in groups.values() if len(names) >= 5]
    found: dict[str, str] = {}
    for names in [*large, small]:
        random.Random(f"{seed}:{names}").shuffle(names)
        first = round(_SHARES[0] * len(names))
        second = first + max(1, round(_SHARES[1] * len(names)))
        for number, family in enumerate(names):
            found[family] = SPLITS[0 if number < first else 1 if number < second else 2]
    return found


def split_plans(plans: Iterable[ToolPlan], seed: int) -> dict[str, str]:
    """Give each family the split that its plans declare, or draw one (:func:`split_families`).

    Families of a declared split have no part in the drawing, so that adding them moves no other family.

    Raises:
        ValueError: Plans of one family declare different splits.
    """
    asked: dict[str, set[str | None]] = {}
    for plan in plans:
        asked.setdefault(plan.family, set()).add(plan.split)
    torn = sorted(family for family, splits in asked.items() if len(splits) > 1)
    if torn:
        raise ValueError(f"families of several splits: {', '.join(torn)}")
    declared = {family: split for family, splits in asked.items() for split in splits if split is not None}
    return split_families([family for family in asked if family not in declared], seed) | declared


def _reads_back(trajectory: Trajectory) -> bool:
    """Whether a session reads what it wrote, by its domain's own rule."""
    module = import_module(f"worldline.record.{trajectory.world.domain}")
    return bool(module.reads_back(trajectory))


def card(words: str, sets: Mapping[str, Sequence[Trajectory]]) -> str:
    """Write the card of a data set.

    Args:
        words: Its first part, in words: what was recorded from what, how, under which licences.
        sets: Trajectories by split.
    """
    total = [trajectory for split in sets.values() for trajectory in split]
    everything = {**sets, "all": total}
    parts = [words.rstrip("\n"), "## Counts", _counts(everything), "## Families", _families(sets), "## Tools"]
    return "\n\n".join([*parts, _tools(everything)]) + "\n"


def prose(domain: str) -> str:
    """Return the words of a domain's card."""
    return (files(f"worldline.record.{domain}") / "card.md").read_text(encoding="utf-8")


def _counts(sets: Mapping[str, Sequence[Trajectory]]) -> str:
    rows: dict[str, list[str]] = {}
    domain = next((item.world.domain for split in sets.values() for item in split), "")
    reads_back = _READS_BACK.get(domain, "sessions that read what they wrote")
    for split in sets.values():
        turns = [turn for trajectory in split for turn in trajectory.turns]
        told = {
            "families": f"{len({item.family for item in split}):,}",
            "sessions": f"{len(split):,}",
            "turns": f"{len(turns):,}",
            "turns with an error": _share([bool(turn.observation.is_error) for turn in turns]),
            reads_back: _share([_reads_back(item) for item in split]),
            "session-determined turns": _share([turn.determined is True for turn in turns]),
            "turns with volatile spans": _share([bool(turn.observation.volatile) for turn in turns]),
            "unstable turns": _share(["unstable" in turn.extra for turn in turns]),
        }
        for name, cell in told.items():
            rows.setdefault(name, []).append(cell)
    return _table([["", *sets], *([name, *cells] for name, cells in rows.items())])


def _share(flags: Sequence[bool]) -> str:
    return f"{sum(flags):,} ({sum(flags) / max(1, len(flags)):.1%})"


def _families(sets: Mapping[str, Sequence[Trajectory]]) -> str:
    rows = [["split", "families (sessions)"]]
    for name, split in sets.items():
        count = Counter(trajectory.family for trajectory in split)
        rows.append([name, ", ".join(f"{family} ({number})" for family, number in sorted(count.items()))])
    return _table(rows)


def _tools(sets: Mapping[str, Sequence[Trajectory]]) -> str:
    def names(turns: Sequence[Turn]) -> Counter[str]:
        return Counter(turn.action.name for turn in turns)

    counts = {name: names([turn for item in split for turn in item.turns]) for name, split in sets.items()}
    rows = [["tool (calls)", *sets]]
    for tool, _ in sorted(counts["all"].items(), key=lambda item: (-item[1], item[0])):
        rows.append([f"`{tool}`", *(str(counts[name][tool]) for name in sets)])
    return _table(rows)


def _table(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])
