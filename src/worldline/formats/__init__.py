"""Trajectory formats, in and out: one file per format, told by content, wrong records named by line."""

from worldline.formats.base import FolderFormat, Format, WritableFormat
from worldline.formats.catalog import Detection, detect_format, format_names, get_format, writable_format
from worldline.formats.folder import InputFolder
from worldline.formats.reading import read_trajectories
from worldline.formats.source import InputFile, Limits, Record, SkippedRecord
from worldline.formats.writer import TrajectoryWriter, write_trajectories

__all__ = [
    "Detection",
    "FolderFormat",
    "Format",
    "InputFile",
    "InputFolder",
    "Limits",
    "Record",
    "SkippedRecord",
    "TrajectoryWriter",
    "WritableFormat",
    "detect_format",
    "format_names",
    "get_format",
    "read_trajectories",
    "writable_format",
    "write_trajectories",
]
