"""What was seen of a history whose beginning is not declared: real names of commits, and what lies before."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from worldline.kernels.git.repository import Repository
from worldline.kernels.tools.servers.git.showing import log_entry
from worldline.types import JsonDict

__all__ = ["SeenHistory"]

_ENTRY = re.compile(r"Commit: ([0-9a-f]{40})\nAuthor: [^\n]*\nDate: ([^\n]*)\nMessage: (.*)\n", re.DOTALL)
_NEXT = re.compile(r"\n(?=Commit: [0-9a-f]{40}\nAuthor: )")
_HEX = re.compile(r"[0-9a-f]{4,40}")


@dataclass(frozen=True, slots=True)
class SeenHistory:
    """Entries of logs as they were seen, by the name that the kernel's own commit has."""

    entries: Mapping[str, str] = field(default_factory=dict)
    before: tuple[str, ...] | None = None
    """Entries before the first declared commit, newest first; None: not known."""

    def with_log(self, chain: Sequence[str], repo: Repository, text: str, count: int) -> SeenHistory:
        """Learn from a log of the present branch.

        Args:
            chain: The kernel's commits, newest first.
            repo: Where they lie.
            text: What the log showed below its title.
            count: How many commits it was asked for.
        """
        seen = _NEXT.split(text) if text else []
        learnt = dict(self.entries)
        for place, entry in enumerate(seen):
            found = _ENTRY.fullmatch(entry)
            if found is None:
                return self
            if place < len(chain):
                if found[3] != repo.objects.commit(chain[place]).message:
                    return replace(self, entries=learnt)
                learnt[chain[place]] = entry
        whole = len(seen) >= len(chain) and (count < 0 or len(seen) < count)
        return SeenHistory(learnt, tuple(seen[len(chain) :]) if whole else self.before)

    def with_commit(self, repo: Repository, ours: str, real: str) -> SeenHistory:
        """Learn the name that a new commit really has."""
        entry = log_entry(repo.objects.commit(ours)).replace(ours, real, 1)
        return replace(self, entries={**self.entries, ours: entry})

    def log(self, chain: Sequence[str], repo: Repository, count: int) -> tuple[list[str], bool]:
        """Entries of a log, and whether all of them are known."""
        most = len(chain) + 10_000 if count < 0 else count
        ours = list(chain[:most])
        found = [self.entries.get(sha) or log_entry(repo.objects.commit(sha)) for sha in ours]
        known = all(sha in self.entries for sha in ours)
        if most > len(chain):
            found += (self.before or ())[: most - len(chain)]
            known = known and self.before is not None
        return found, known

    def mine(self, revision: str) -> str:
        """A revision with the kernel's own name in place of a real one at its beginning."""
        found = _HEX.match(revision)
        if found is None:
            return revision
        for ours, entry in self.entries.items():
            if entry.startswith(f"Commit: {found[0]}"):
                return ours + revision[found.end() :]
        return revision

    def show(self, ours: str, text: str) -> str:
        """A shown commit with its real name and date."""
        found = _ENTRY.fullmatch(self.entries.get(ours, ""))
        if found is None:
            return text
        date = re.sub(r"([+-]\d\d):(\d\d)$", r" \1\2", found[2])
        text = text.replace(f"commit {ours}\n", f"commit {found[1]}\n", 1)
        return re.sub(r"^Date:   .*$", f"Date:   {date}", text, count=1, flags=re.MULTILINE)

    def dump(self) -> JsonDict:
        """Return it as JSON data."""
        return {"entries": dict(self.entries), "before": None if self.before is None else list(self.before)}

    @classmethod
    def load(cls, data: JsonDict) -> SeenHistory:
        """Undo `dump`."""
        before = data.get("before")
        return cls(dict(data.get("entries", {})), None if before is None else tuple(before))
