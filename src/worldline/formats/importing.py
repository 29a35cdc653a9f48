"""Importing whole folders: every unit read on its own, what it gave noted, bad ones left behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from worldline import __version__
from worldline.errors import FormatError, WorldlineError
from worldline.formats.catalog import get_format
from worldline.formats.container import archive_kind
from worldline.formats.finding import Found, LeftOut, Unit, find_units, open_unit
from worldline.formats.resuming import ResumableWriter
from worldline.formats.secrets import SecretMasker
from worldline.formats.source import InputFile, Limits, SkippedRecord, shown
from worldline.types import JsonDict, Source, Trajectory, content_id

__all__ = ["Entry", "Importer"]

_SHOWN_SKIPS = 5
_DISTINCT_REASONS = 100


@dataclass(slots=True)
class Entry:
    """One file or folder that was read: what it was recognised as, and what it gave."""

    name: str
    format: str
    why: str
    trajectories: int = 0
    turns: int = 0
    skipped: int = 0
    """Records left out."""
    secrets: Counter[str] = field(default_factory=Counter)
    """Masked secrets by kind."""
    masked: int = 0
    """Trajectories in which secrets were masked."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Why records were left out."""
    examples: list[str] = field(default_factory=list)
    """Messages of the first of them."""

    def skip(self, record: SkippedRecord) -> None:
        """Count a record that is left out; a file of nothing but bad records must not fill the memory."""
        self.skipped += 1
        if len(self.examples) < _SHOWN_SKIPS:
            self.examples.append(record.error.message)
        known = record.reason in self.reasons or len(self.reasons) < _DISTINCT_REASONS
        self.reasons[record.reason if known else "other"] += 1

    def as_record(self) -> JsonDict:
        """Return the entry as plain data."""
        return {
            "path": self.name,
            "format": self.format,
            "why": self.why,
            "trajectories": self.trajectories,
            "turns": self.turns,
            "skipped": self.skipped,
            "skipped_reasons": dict(self.reasons.most_common()),
            "secrets": dict(self.secrets.most_common()),
            "masked": self.masked,
            "examples": self.examples,
        }

    @classmethod
    def from_record(cls, record: JsonDict) -> Entry:
        """Undo :meth:`as_record`."""
        entry = cls(record["path"], record["format"], record["why"])
        entry.trajectories, entry.turns = record["trajectories"], record["turns"]
        entry.skipped, entry.masked = record["skipped"], record["masked"]
        entry.secrets.update(record["secrets"])
        entry.reasons.update(record["skipped_reasons"])
        entry.examples.extend(record["examples"])
        return entry


class Importer:
    """Reads what is below some paths.

    Args:
        paths: Files, archives and folders.
        format: Name of the format of all files; told from their content where None.
        source: What trajectories are, where they do not say themselves.
        mask: Whether to mask secrets.
        strict: Raise at the first bad record or file instead of leaving it out. A file of a folder that is in no
            known format is left out in any case.
        limits: Bounds on memory and on what compressed files may expand to.

    Raises:
        ConfigError: No format is called `format`.
    """

    def __init__(
        self,
        paths: list[Path],
        *,
        format: str | None = None,
        source: Source = Source.OBSERVED,
        mask: bool = False,
        strict: bool = False,
        limits: Limits | None = None,
    ) -> None:
        if format is not None:
            get_format(format)
        self.entries: list[Entry] = []
        """What was read so far, in order."""
        self.left_out: list[LeftOut] = []
        """What is not read, and why."""
        self._paths = paths
        self._format = format
        self._source = source
        self._masker = SecretMasker() if mask else None
        self.strict = strict
        self._limits = limits

    def is_archive(self, path: Path) -> bool:
        """Whether a file is an archive with members of its own."""
        return archive_kind(InputFile(path, self._limits)) is not None

    def units(self, without: Collection[Path] = ()) -> list[Unit]:
        """Walk the paths and list what is to be read; the same file named twice is listed once.

        Args:
            without: Resolved paths to pass over: the file that is to be written.
        """
        found: dict[Path, Unit] = {}
        for path in self._paths:
            for unit in find_units(path, format=self._format, limits=self._limits):
                if isinstance(unit, LeftOut):
                    self.left_out.append(unit)
                elif (resolved := unit.path.resolve()) not in without:
                    found.setdefault(resolved, unit)
        return list(found.values())

    def read(self, unit: Unit) -> Iterator[Trajectory]:
        """Yield the trajectories of a unit, masked, and note what it gave in `entries` and `left_out`.

        Raises:
            FormatError: It is named itself and cannot be read, or `strict` is set and a record is wrong.
        """
        with closing(open_unit(unit, format=self._format, limits=self._limits)) as opened:
            while True:
                try:
                    found = next(opened, None)
                except FormatError as exc:
                    if unit.path in self._paths:
                        raise
                    found = LeftOut(unit.name, SkippedRecord(exc).reason)
                if found is None:
                    return
                if isinstance(found, LeftOut):
                    self.left_out.append(found)
                else:
                    yield from self._entry(found)

    def write(
        self, units: Sequence[Unit], path: Path, *, advance: Callable[[], None], watch: Callable[[Trajectory], None]
    ) -> int:
        """Write all trajectories to a file in the `worldline` format: whole, or not at all where nothing is recognised.

        A run that was stopped goes on where it was; what it had written is watched and noted again.

        Args:
            units: What :meth:`units` listed.
            path: The file to write; a name that ends in `.zst` is compressed.
            advance: Called after each unit.
            watch: Called with each trajectory that is in the file.

        Returns:
            How many units an earlier run had read.

        Raises:
            ConfigError: Another run is writing the same file.
            StorageError: The disk is full, read-only or otherwise unwilling.
            FormatError: As for :meth:`read`.
        """
        keys = [unit.key() for unit in units]
        options = [__version__, self._format, self._source.value, self._masker is not None, self.strict]
        writer = ResumableWriter(path, {"options": options, "units": content_id(keys)})
        with ExitStack() as unless_committed:
            unless_committed.callback(writer.abandon)
            for trajectory in writer.recorded():
                watch(trajectory)
            resumed = len(writer.done)
            for key, unit in zip(keys, units, strict=True):
                noted = writer.done.get(key)
                if noted is not None:
                    self.entries.extend(map(Entry.from_record, noted["entries"]))
                    self.left_out.extend(LeftOut(name, why) for name, why in noted["left_out"])
                else:
                    writer.finish(key, self._write_unit(unit, writer, watch))
                advance()
            if self.entries:
                writer.commit()
                unless_committed.pop_all()
        return resumed

    def _write_unit(self, unit: Unit, writer: ResumableWriter, watch: Callable[[Trajectory], None]) -> JsonDict:
        entries, left_out = len(self.entries), len(self.left_out)
        for trajectory in self.read(unit):
            writer.write(trajectory)
            watch(trajectory)
        return {
            "entries": [entry.as_record() for entry in self.entries[entries:]],
            "left_out": [[out.name, out.why] for out in self.left_out[left_out:]],
        }

    def read_all(self) -> Iterator[Trajectory]:
        """Yield the trajectories of all units."""
        for unit in self.units():
            yield from self.read(unit)

    def _entry(self, found: Found) -> Iterator[Trajectory]:
        entry = Entry(found.name, *_told(found))
        self.entries.append(entry)
        items = found.read(self._source)
        while True:
            try:
                item = next(items, None)
            except WorldlineError as exc:  # the file as a whole goes wrong in the middle
                error = exc if isinstance(exc, FormatError) else FormatError(str(exc), path=found.name)
                item, items = SkippedRecord(error), iter(())
            if item is None:
                return
            if isinstance(item, SkippedRecord):
                if self.strict:
                    raise item.error
                entry.skip(item)
            else:
                yield self._finished(item, entry)

    def _finished(self, trajectory: Trajectory, entry: Entry) -> Trajectory:
        """Say where the trajectory comes from, mask its secrets and count it."""
        if isinstance(trajectory.origin.get("file"), str):
            origin = {**trajectory.origin, "file": shown(trajectory.origin["file"])}
            trajectory = trajectory.model_copy(update={"origin": origin})
        if self._masker is not None:
            counts, masked = self._masker.counts.copy(), self._masker.masked
            trajectory = self._masker.mask(trajectory)
            entry.secrets.update(self._masker.counts - counts)
            entry.masked += self._masker.masked - masked
        entry.trajectories += 1
        entry.turns += len(trajectory.turns)
        return trajectory


def _told(found: Found) -> tuple[str, str]:
    return found.detection.name, found.detection.why
