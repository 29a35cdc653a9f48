"""The format: one transcript a line, each command behind `> ` and its answer in the lines below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from worldline.formats.source import InputFile, SkippedRecord
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec

__all__ = ["TRANSCRIPT"]

_PROMPT = "> "
_KNOWN = frozenset({"transcript", "initial_state", "family"})


class Transcript:
    """Satisfies :class:`worldline.formats.base.Format`."""

    name = "keyvalue_transcript"
    suffixes = (".transcript.jsonl",)

    def sniff(self, value: Any) -> str | None:
        """Recognise a record by its one key."""
        if isinstance(value, dict) and isinstance(value.get("transcript"), str):
            return "objects with `transcript`"
        return None

    def read(self, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield one trajectory a line; what is no transcript becomes a notice."""
        for record in file.json_lines():
            if isinstance(record, SkippedRecord):
                yield record
                continue
            value = record.value
            text = value.get("transcript") if isinstance(value, dict) else None
            if not isinstance(text, str) or not text.startswith(_PROMPT):
                yield file.skipped("a transcript begins with `> COMMAND`", record.line)
                continue
            yield Trajectory(
                source=source,
                world=WorldSpec(domain="keyvalue", initial_state=value.get("initial_state", {})),
                turns=tuple(_turns(text)),
                family=str(value.get("family", "")),
                extra={
                    key: item for key, item in value.items() if key not in ("transcript", "initial_state", "family")
                },
            )


def _turns(text: str) -> Iterator[Turn]:
    for part in f"\n{text}".split(f"\n{_PROMPT}")[1:]:
        command, _, answer = part.partition("\n")
        yield Turn(action=Action(text=command), observation=Observation.from_text(answer.removesuffix("\n")))


TRANSCRIPT = Transcript()
