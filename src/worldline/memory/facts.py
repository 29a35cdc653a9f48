"""What a memory directory holds, in numbers."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from worldline.errors import StorageError
from worldline.memory import files
from worldline.memory.disk import connect
from worldline.memory.words import WordIndex
from worldline.types import Frozen

__all__ = ["MemoryFacts", "memory_facts"]


class MemoryFacts(Frozen):
    """Counts of a memory directory."""

    version: int
    trajectories: int
    transitions: int
    """Recorded turns."""
    distinct: int
    """Rows: the same answer to the same action in the same situation is one."""
    with_footprint: int
    """Recorded turns of which it is known what they read, so that they can be recalled by state."""
    families: int
    actions: dict[str, int]
    """Distinct actions by domain."""
    words_behind: int
    """Actions that the word index lacks; the next `worldline memory add` puts them in."""
    disk_bytes: int


def memory_facts(folder: Path) -> MemoryFacts:
    """Count what a memory directory holds.

    Raises:
        StorageError: There is none, it is damaged, or of another version.
    """
    if not (folder / files.DATABASE).is_file():
        raise StorageError(f"{folder}: no memory directory", hint="make one with `worldline memory build`")
    with files.guard(folder, "reading"), closing(connect(folder / files.DATABASE)) as database:
        files.check_version(database, folder)
        totals = "SELECT count(*), coalesce(sum(turns), 0), coalesce(sum(followed), 0) FROM trajectories"
        trajectories, transitions, followed = database.execute(totals).fetchone()
        families = "SELECT count(DISTINCT family) FROM trajectories WHERE family != ''"
        by_domain = "SELECT domain, count(*) FROM actions GROUP BY domain ORDER BY domain"
        actions = dict(database.execute(by_domain).fetchall())
        return MemoryFacts(
            version=files.VERSION,
            trajectories=trajectories,
            transitions=transitions,
            distinct=_count(database, "SELECT count(*) FROM transitions"),
            with_footprint=followed,
            families=_count(database, families),
            actions=actions,
            words_behind=max(0, sum(actions.values()) - len(WordIndex(folder / files.WORDS))),
            disk_bytes=sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()),
        )


def _count(database: sqlite3.Connection, query: str) -> int:
    return int(database.execute(query).fetchone()[0])
