"""Inspect AI's logs, `.eval` (a zip archive) and `.json`, read only.

A sample is a trajectory, each epoch one of its own, all epochs of a sample one family; see
:mod:`worldline.formats.inspect_sample` for how its events become turns. Of a sample that was written twice the last
counts. Large samples that are spread over several members are put together. Of a file that is cut off, the samples
before the cut are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from pydantic_core import from_json

from worldline.errors import FormatError
from worldline.formats.folder import InputFolder
from worldline.formats.inspect_archive import LogArchive
from worldline.formats.inspect_sample import sample_trajectories
from worldline.formats.jsontext import JsonTextError, finite, load_json, scrub
from worldline.formats.skeleton import mapping_of
from worldline.formats.source import InputFile, SkippedRecord
from worldline.types import JsonDict, Source, Trajectory

__all__ = ["INSPECT", "InspectLog"]

_HEADERS = ("header.json", "_journal/start.json")
_SAMPLE = re.compile(r"samples/([^/]+)\.json")
_PART = re.compile(r"samples/([^/]+)/(sample|metadata|(?:messages|events|attachments)/(\d{1,12}))\.json")
_Load = Callable[[str], bytes]


class InspectLog:
    """The logs of Inspect AI."""

    name = "inspect"
    suffixes = (".eval", ".json")

    def sniff(self, value: Any) -> str | None:
        """Recognise a log in JSON by `eval` beside `status` and `version`."""
        if isinstance(value, dict) and isinstance(value.get("eval"), dict) and {"status", "version"} <= value.keys():
            return "a log with `version`, `status` and `eval`"
        return None

    def opens(self, file: InputFile) -> str | None:
        """Recognise a log that is an archive by the names of its members."""
        if not LogArchive.is_zip(file):
            return None
        try:
            names = LogArchive(file).names
        except FormatError:
            return None
        return _why(names)

    def claims(self, folder: InputFolder) -> str | None:
        """Recognise the unpacked archive of a log."""
        if folder.has_folder("samples") and (folder.has_file("header.json") or folder.has_folder("_journal")):
            return "`samples` beside the header of a log"
        return None

    def read(self, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield the samples' trajectories, in the order they were written."""
        if not LogArchive.is_zip(file):
            yield from _read_document(file, source)
            return
        try:
            archive = LogArchive(file)
        except FormatError as exc:
            yield SkippedRecord(exc)
            return
        if archive.damage:
            yield file.skipped(archive.damage)
        yield from _read_members(archive.names, archive.read, file, source)

    def read_folder(self, folder: InputFolder, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield the trajectories of an unpacked archive."""
        names = [name for name in _HEADERS if folder.path.joinpath(name).is_file()]
        samples = folder.folder("samples")
        names += [f"samples/{name}" for name, kind in samples.entries.items() if kind == "file"]
        for part in samples.folders():
            names += [f"samples/{part.path.name}/{name}" for name, kind in part.entries.items() if kind == "file"]
            for sequence in part.folders():
                below = f"samples/{part.path.name}/{sequence.path.name}"
                names += [f"{below}/{name}" for name, kind in sequence.entries.items() if kind == "file"]
        if not names:
            yield folder.skipped("no samples in it")
            return
        yield from _read_members(names, lambda name: _content(folder.file(name)), folder.file(names[0]), source)


def _why(names: list[str]) -> str | None:
    if any(name in names for name in _HEADERS) or any(_SAMPLE.fullmatch(name) for name in names):
        return "an archive with the header or the samples of a log"
    return None


def _content(file: InputFile) -> bytes:
    buffer = bytearray()
    for chunk in file.chunks():
        buffer += chunk
        if len(buffer) > file.limits.document:
            raise file.error(f"one JSON value of more than {file.limits.document:,} bytes")
    return bytes(buffer)


def _read_members(
    names: list[str], load: _Load, file: InputFile, source: Source
) -> Iterator[Trajectory | SkippedRecord]:
    header: JsonDict = {}
    for name in _HEADERS:
        if name in names:
            try:
                header = mapping_of(_parsed(load(name), name, file))
                break
            except FormatError as exc:
                yield SkippedRecord(exc)
    parts: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        if (match := _PART.fullmatch(name)) is not None:
            parts.setdefault(match.group(1), []).append((int(match.group(3) or 0), name))
    for name in names:
        try:
            match = _PART.fullmatch(name)
            if _SAMPLE.fullmatch(name):
                sample = _parsed(load(name), name, file)
            elif match is not None and match.group(2) == "sample":
                sample = _put_together(sorted(parts[match.group(1)]), load, file)
            else:
                continue
            yield from sample_trajectories(sample, header, file, source, name)
        except FormatError as exc:
            yield SkippedRecord(exc)


def _parsed(data: bytes, name: str, file: InputFile) -> Any:
    try:
        return load_json(data.decode("utf-8"), constants=True)
    except (JsonTextError, UnicodeDecodeError) as exc:
        raise file.error(f"the member {name} is not JSON: {exc}") from exc


def _put_together(parts: list[tuple[int, str]], load: _Load, file: InputFile) -> JsonDict:
    """Read a sample whose messages, events and attachments are spread over several members."""
    sample: JsonDict = {}
    sequences: dict[str, list[Any]] = {"messages": [], "events": [], "attachments": []}
    for _, name in parts:
        value = _parsed(load(name), name, file)
        kind = name.split("/")[2]
        if kind == "sample.json":
            sample.update(mapping_of(value))
        elif kind == "metadata.json":
            sample["metadata"] = value
        else:
            sequences[kind].extend(value if isinstance(value, list) else [])
    sample["events"] = sequences["events"]
    sample["attachments"] = {str(index): text for index, text in enumerate(sequences["attachments"])}
    sample["message_pool"] = sequences["messages"]
    return sample


def _read_document(file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
    """Read a log that is one JSON value; where it is cut off, the samples before the cut."""
    try:
        text = _content(file).decode("utf-8-sig")
    except FormatError as exc:
        yield SkippedRecord(exc)
        return
    except UnicodeDecodeError as exc:
        yield file.skipped(f"invalid UTF-8 at byte {exc.start + 1} of the file")
        return
    complete = True
    try:
        log = load_json(text, constants=True)
    except JsonTextError as exc:
        yield file.skipped(str(exc), exc.line)
        log, complete = _before_the_cut(text), False
    if log is None:
        return
    samples = log.get("samples") if isinstance(log, dict) else None
    if samples is None and isinstance(log, dict) and isinstance(log.get("eval"), dict):
        yield file.skipped("the log holds no samples, only its header")
    elif not isinstance(samples, list):
        yield file.skipped("a log with `eval` and a list of `samples` was expected")
    else:
        header = {key: value for key, value in log.items() if key != "samples"}
        for number, sample in enumerate(samples if complete else samples[:-1], 1):
            yield from sample_trajectories(sample, header, file, source, f"sample {number}")


def _before_the_cut(text: str) -> Any:
    try:
        return finite(scrub(from_json(text.encode("utf-8"), allow_partial=True)))
    except (ValueError, RecursionError):
        return None


INSPECT = InspectLog()
