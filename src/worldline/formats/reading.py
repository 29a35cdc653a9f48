"""Reading trajectories from a file of any known format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from worldline.formats.catalog import get_format, recognise
from worldline.formats.source import InputFile, SkippedRecord
from worldline.types import Source, Trajectory

__all__ = ["read_trajectories"]


def read_trajectories(
    path: str | Path,
    *,
    format: str | None = None,
    skip_bad: bool = False,
    on_skip: Callable[[SkippedRecord], None] | None = None,
    source: Source = Source.OBSERVED,
) -> Iterator[Trajectory]:
    """Yield the trajectories of a file, in order, in bounded memory where its format is one record a line.

    Args:
        path: The file, plain or zstd.
        format: Name of its format; told from its content where None.
        skip_bad: Leave out records that cannot be used instead of raising at the first.
        on_skip: Called for each record left out.
        source: What trajectories of foreign formats are, where they do not say themselves.

    Raises:
        FormatError: The file cannot be read, or a record is wrong and `skip_bad` is not set; names the line.
        ConfigError: No format is called `format`.
    """
    file = InputFile(path)
    chosen = get_format(format) if format is not None else get_format(recognise(file).name)
    for item in chosen.read(file, source):
        if not isinstance(item, SkippedRecord):
            yield item
        elif not skip_bad:
            raise item.error
        elif on_skip is not None:
            on_skip(item)
