"""Trajectory formats, in and out: one file per format, told by content, wrong records named by line."""

from worldline.formats.base import (
    EVALUATION_ONLY,
    ArchiveFormat,
    FolderFormat,
    Format,
    WritableFormat,
    is_evaluation_only,
)
from worldline.formats.catalog import Detection, detect_format, format_names, get_format, writable_format
from worldline.formats.finding import LeftOut, Unit
from worldline.formats.folder import InputFolder
from worldline.formats.importing import Entry, Importer
from worldline.formats.reading import read_trajectories
from worldline.formats.resuming import ResumableWriter
from worldline.formats.source import InputFile, Limits, Record, SkippedRecord
from worldline.formats.writer import TrajectoryWriter, write_trajectories

__all__ = [
    "EVALUATION_ONLY",
    "ArchiveFormat",
    "Detection",
    "Entry",
    "FolderFormat",
    "Format",
    "Importer",
    "InputFile",
    "InputFolder",
    "LeftOut",
    "Limits",
    "Record",
    "ResumableWriter",
    "SkippedRecord",
    "TrajectoryWriter",
    "Unit",
    "WritableFormat",
    "detect_format",
    "format_names",
    "get_format",
    "is_evaluation_only",
    "read_trajectories",
    "writable_format",
    "write_trajectories",
]
