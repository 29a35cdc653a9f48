"""Worldline's own format: one :class:`~worldline.types.Trajectory` a line, plain or zstd."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from worldline.errors import FormatError
from worldline.formats.base import first_problem
from worldline.formats.jsontext import raw_of
from worldline.formats.source import InputFile, SkippedRecord
from worldline.types import SCHEMA_VERSION, Source, Trajectory

__all__ = ["WORLDLINE", "WorldlineJsonl"]


class WorldlineJsonl:
    """The lossless format. `source` always comes from the file."""

    name = "worldline"
    suffixes = (".worldline.jsonl", ".worldline.jsonl.zst")

    def sniff(self, value: Any) -> str | None:
        """Recognise `world`, `turns` and `source` side by side."""
        if isinstance(value, dict) and "world" in value and ("turns" in value or "source" in value):
            return "an object with `world` and `turns`"
        return None

    def read(self, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield one trajectory a line; `source` is not used, every line says its own."""
        for record in file.json_lines():
            if isinstance(record, SkippedRecord):
                yield record
                continue
            try:
                yield _trajectory(record.value)
            except ValidationError as exc:
                yield file.skipped(f"not a trajectory: {first_problem(exc)}", record.line)
            except ValueError as exc:
                yield file.skipped(str(exc), record.line)

    def line(self, trajectory: Trajectory) -> str:
        """Lay out a trajectory without fields that hold their default.

        Raises:
            FormatError: It holds NaN, an infinity, a lone surrogate or something that is not JSON.
        """
        try:
            plain = {"schema_version": SCHEMA_VERSION, **trajectory.model_dump(exclude_defaults=True)}
            text = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            text.encode("utf-8")
        except (ValueError, TypeError, PydanticSerializationError) as exc:
            raise FormatError(f"trajectory {trajectory.id} cannot be written as JSON: {exc}") from exc
        return text


def _trajectory(value: Any) -> Trajectory:
    if not isinstance(value, dict):
        raise ValueError(f"a trajectory object was expected, found {type(value).__name__}")
    version = value.get("schema_version", SCHEMA_VERSION)
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise ValueError(
            f"schema_version {version!r}: this version of worldline reads {SCHEMA_VERSION}; "
            "the file was written by another one"
        )
    return Trajectory.model_validate(_with_raw(value))


def _with_raw(value: dict[str, Any]) -> dict[str, Any]:
    """Note the exact value of observation texts that held lone surrogates."""
    turns = value.get("turns")
    for turn in turns if isinstance(turns, list) else ():
        observation = turn.get("observation") if isinstance(turn, dict) else None
        if not isinstance(observation, dict):
            continue
        given = observation.get("raw")
        found = {
            field: raw
            for field in ("text", "stdout", "stderr")
            if isinstance(observation.get(field), str) and (raw := raw_of(observation[field])) is not None
        }
        if found:
            observation["raw"] = {**found, **(given if isinstance(given, Mapping) else {})}
    return value


WORLDLINE = WorldlineJsonl()
