"""What a trajectory format is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, runtime_checkable

from pydantic import ValidationError

from worldline.formats.folder import InputFolder
from worldline.formats.source import InputFile, SkippedRecord
from worldline.types import Source, Trajectory

__all__ = [
    "EVALUATION_ONLY",
    "ArchiveFormat",
    "FolderFormat",
    "Format",
    "WritableFormat",
    "each_record",
    "first_problem",
    "is_evaluation_only",
    "reason_of",
]

EVALUATION_ONLY = "evaluation_only"
"""Key in `Trajectory.origin`: true where a trajectory must serve neither training nor retrieval."""


@runtime_checkable
class Format(Protocol):
    """One way to write trajectories down. Reading turns bad records into notices and never raises for them."""

    name: str
    suffixes: tuple[str, ...]
    """Usual ends of file names, for messages and default output names; detection goes by content."""

    def sniff(self, value: Any) -> str | None:
        """Tell from a file's first JSON value (maybe cut off) why it is this format, or None if it is not."""

    def read(self, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield the trajectories in file order.

        Args:
            file: Where to read.
            source: What the trajectories are, where the file itself does not say.
        """


@runtime_checkable
class FolderFormat(Format, Protocol):
    """A format that spreads what it says over the files of a folder."""

    def claims(self, folder: InputFolder) -> str | None:
        """Tell why a folder as a whole is in this format, or None if it is not.

        A claimed folder is read by this format alone: neither its files nor the folders in it are looked at for
        others. Asked of every folder of an import, so it should decide by the names in `folder.entries` where it
        can, and raise nothing but a FormatError.
        """

    def read_folder(self, folder: InputFolder, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield the trajectories of a claimed folder; bad files become notices, as in :meth:`read`."""


@runtime_checkable
class ArchiveFormat(Format, Protocol):
    """A format whose files are zip archives that it reads by itself, instead of having them unpacked as folders."""

    def opens(self, file: InputFile) -> str | None:
        """Tell why an archive is in this format, or None if it is not; asked of every zip archive."""


@runtime_checkable
class WritableFormat(Format, Protocol):
    """A format that can also be written: one JSON value a line."""

    def line(self, trajectory: Trajectory) -> str:
        """Lay out one trajectory as JSON text without a newline in it.

        A format whose records are less than a trajectory lays out several lines, joined by newlines.

        Raises:
            FormatError: It holds something that JSON cannot (NaN, a lone surrogate).
        """


def each_record(
    file: InputFile, trajectory_of: Callable[[Any, Source, str], Trajectory], source: Source
) -> Iterator[Trajectory | SkippedRecord]:
    """Yield what `trajectory_of(value, source, file name)` makes of each record; a `ValueError` of it is a notice."""
    for record in file.values(whole_list=lambda first: False):
        if isinstance(record, SkippedRecord):
            yield record
            continue
        try:
            yield trajectory_of(record.value, source, file.path.name)
        except ValueError as exc:
            yield file.skipped(str(exc), record.line)


def is_evaluation_only(trajectory: Trajectory) -> bool:
    """Whether a trajectory must serve neither training nor retrieval (a benchmark's own rows)."""
    return trajectory.origin.get(EVALUATION_ONLY) is True


def first_problem(exc: ValidationError, prefix: Callable[[tuple[int | str, ...]], str] | None = None) -> str:
    """Say in one sentence where and how data does not fit a model, and how many problems follow."""
    errors = exc.errors(include_url=False, include_context=False, include_input=False)
    first = errors[0]
    place = prefix(first["loc"]) if prefix else ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        message = "unknown field"
    elif first["type"] == "missing":
        message = "missing"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{place}: {message}{more}" if place else f"{message}{more}"


def reason_of(exc: ValueError | RecursionError) -> str:
    """Say in one line why a record cannot be used."""
    return first_problem(exc) if isinstance(exc, ValidationError) else " ".join(str(exc).split())
