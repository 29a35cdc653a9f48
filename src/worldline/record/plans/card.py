"""The data card of a recorded set: counts, histograms, sources, limits, as Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files

from worldline.record.plans.programs import programs_of
from worldline.types import Trajectory, Turn

__all__ = ["card", "chains", "failed"]

_PROSE = "card.md"
_WRITTEN = re.compile(
    r">{1,2}\s*([\w./-]+)|\b(?:tee(?: -a)?|touch|cp|mv|ln|install|sponge|split|mkdir|tar|zip)\b([^|;&>]*)"
)


def failed(turn: Turn) -> bool:
    """Whether the turn's command ended with a status other than 0."""
    return bool(turn.observation.is_error)


def chains(trajectory: Trajectory) -> bool:
    """Whether a later command names a file or directory that an earlier, successful command wrote.

    Written means: the target of a redirection, or an argument of a program that makes files (`cp`, `tee`, `tar`, ...)
    that does not stand in the world's files.
    """
    declared = {path.rsplit("/", 1)[-1] for path in trajectory.world.initial_state.get("files", {})}
    written: set[str] = set()
    for turn in trajectory.turns:
        command = turn.action.command or ""
        if any(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", command) for name in written):
            return True
        if failed(turn):
            continue
        for match in _WRITTEN.finditer(command):
            words = [match[1]] if match[1] else re.findall(r"(?<=\s)[\w./-]+", match[2] or "")
            names = {word.rstrip("/").rsplit("/", 1)[-1] for word in words if not word.startswith("-")}
            written |= {name for name in names if len(name) > 2 and name not in declared and name != "null"}
    return False


def card(sets: Mapping[str, Sequence[Trajectory]]) -> str:
    """Write the card.

    Args:
        sets: Trajectories by split.
    """
    prose = (files("worldline.record.plans") / "resources" / _PROSE).read_text(encoding="utf-8")
    total = [trajectory for split in sets.values() for trajectory in split]
    parts = [
        prose.rstrip("\n"),
        "## Counts",
        _counts({**sets, "all": total}),
        "## Sources",
        _sources({**sets, "all": total}),
    ]
    parts += ["## Families", _families(sets), "## Programs", _programs(sets)]
    return "\n\n".join(parts) + "\n"


def _turns(split: Sequence[Trajectory]) -> list[Turn]:
    return [turn for trajectory in split for turn in trajectory.turns]


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({part / max(1, whole):.1%})"


def _counts(sets: Mapping[str, Sequence[Trajectory]]) -> str:
    rows: list[list[str]] = [["", *sets]]
    columns = {name: (split, _turns(split)) for name, split in sets.items()}

    def row(title: str, cell: dict[str, str]) -> None:
        rows.append([title, *(cell[name] for name in sets)])

    row("families", {name: str(len({item.family for item in split})) for name, split in sets.items()})
    row("sessions", {name: f"{len(split):,}" for name, split in sets.items()})
    row("turns", {name: f"{len(turns):,}" for name, (_, turns) in columns.items()})
    row("turns with an error", {n: _share(sum(map(failed, turns)), len(turns)) for n, (_, turns) in columns.items()})
    row("sessions with a write-then-read chain", {n: _share(sum(map(chains, s)), len(s)) for n, s in sets.items()})
    row(
        "session-determined turns",
        {n: _share(sum(t.determined is True for t in ts), len(ts)) for n, (_, ts) in columns.items()},
    )
    row(
        "turns with volatile spans",
        {n: _share(sum(bool(t.observation.volatile) for t in ts), len(ts)) for n, (_, ts) in columns.items()},
    )
    row(
        "unstable turns", {n: _share(sum("unstable" in t.extra for t in ts), len(ts)) for n, (_, ts) in columns.items()}
    )
    row("sessions of `sh`", {n: str(sum(_shell(item).get("program") == "sh" for item in s)) for n, s in sets.items()})
    row(
        "sessions with merged streams",
        {n: str(sum(bool(_shell(item).get("merged")) for item in s)) for n, s in sets.items()},
    )
    row("distinct programs and builtins", {n: str(len(_histogram(s))) for n, s in sets.items()})
    return _table(rows)


def _shell(trajectory: Trajectory) -> dict[str, object]:
    shell: dict[str, object] = trajectory.world.initial_state.get("shell", {})
    return shell


def _sources(sets: Mapping[str, Sequence[Trajectory]]) -> str:
    rows = [["source of the command line", *sets]]
    for kind in ("own", "cheat", "man", "completion"):
        cells = []
        for split in sets.values():
            turns = _turns(split)
            cells.append(
                _share(sum(str(turn.extra.get("source", "own")).startswith(kind) for turn in turns), len(turns))
            )
        rows.append(
            [
                {"own": "ours", "cheat": "cheat sheets", "man": "man pages, EXAMPLES"}.get(kind, "completion specs"),
                *cells,
            ]
        )
    return _table(rows)


def _families(sets: Mapping[str, Sequence[Trajectory]]) -> str:
    rows = [["split", "families (sessions)"]]
    for name, split in sets.items():
        count = Counter(trajectory.family for trajectory in split)
        rows.append([name, ", ".join(f"{family} ({number})" for family, number in sorted(count.items()))])
    return _table(rows)


def _histogram(split: Sequence[Trajectory]) -> Counter[str]:
    return Counter(name for turn in _turns(split) for name in set(programs_of(turn.action.command or "")))


def _programs(sets: Mapping[str, Sequence[Trajectory]]) -> str:
    counts = {name: _histogram(split) for name, split in sets.items()}
    everything: Counter[str] = sum(counts.values(), Counter())
    rows = [["program or builtin (turns it stands in)", *sets]]
    for program, _ in sorted(everything.items(), key=lambda item: (-item[1], item[0])):
        rows.append([f"`{program}`", *(str(counts[name][program]) for name in sets)])
    return _table(rows)


def _table(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])
