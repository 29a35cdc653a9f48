"""A run folder of recorded terminal turns with scripted generations and judgements, each kind of trouble in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rapidfuzz.distance import Indel

from worldline import recordings
from worldline.bench.agentworld.records import DIMENSIONS, EvalRow, Generation, Judgement
from worldline.bench.agentworld.rows import RowIndex, index_rows
from worldline.bench.agentworld.store import RunWriter
from worldline.formats import read_trajectories
from worldline.formats.agentworldbench import rows_of
from worldline.types import Usage, content_id

__all__ = ["JUDGE", "SPECIAL", "answer_of", "make_data", "make_run"]

JUDGE = "scripted-judge"
_DOMAINS = ("terminal", "swe", "mcp")
_TURNS = 4

SPECIAL = (
    "error",
    "empty",
    "truncated",
    "judge error",
    "missing",
    "decimal",
    "ninety",
    "negative",
    "broken by the repair",
    "no scores",
)
"""What happens to the first rows of a run, in this order; the others go well."""


def make_data(folder: Path, trajectories: int = 15) -> RowIndex:
    """Lay recorded sessions out as rows of three domains: four turns of each session."""
    folder.mkdir(parents=True, exist_ok=True)
    lines: dict[str, list[str]] = {domain: [] for domain in _DOMAINS}
    kept = 0
    for trajectory in read_trajectories(recordings.path("terminal", "train")):
        if len(trajectory.turns) < _TURNS:
            continue
        domain = _DOMAINS[kept % len(_DOMAINS)]
        for row in rows_of(trajectory, range(1, _TURNS + 1)):
            lines[domain].append(json.dumps({**row, "task": f"lwm/{domain}"}, ensure_ascii=False))
        kept += 1
        if kept == trajectories:
            break
    for domain, rows in lines.items():
        (folder / f"{domain}_test.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return index_rows(folder)


def make_run(
    path: Path, index: RowIndex, *, model: str = "scripted-model", spoil: int = 4, special: bool = True
) -> Path:
    """Write a run over all rows of an index.

    Args:
        path: Its folder.
        index: The rows.
        model: Name of the model that "predicted".
        spoil: The number of characters that every wrong answer lacks; a larger one makes a worse model.
        special: Whether the first rows meet what :data:`SPECIAL` says.
    """
    with RunWriter(path) as writer:
        writer.put_settings({"data": str(index.folder), "model": model, "judge": JUDGE})
        writer.put_rows(index.refs)
        for number, ref in enumerate(index.refs):
            row = index.read(ref)
            kind = SPECIAL[number] if special and number < len(SPECIAL) else ""
            generation = _generation(row, model, kind, spoil if number % 3 else 0)
            writer.generations.append(generation)
            for judgement in _judgements(row, generation, kind, repeats=2 if number % 10 == 9 else 1):
                writer.judgements.append(judgement)
    return path


def answer_of(scores: dict[str, Any], *, weakness: str = "the last line differs") -> str:
    """Lay a judge's answer out as judges do."""
    value = {"strengths": ["the prompt is right"], "weaknesses": [weakness], "scores": scores}
    return f"Let me look.\n<final_evaluation>\n```json\n{json.dumps(value, indent=1)}\n```\n</final_evaluation>"


def _generation(row: EvalRow, model: str, kind: str, spoil: int) -> Generation:
    truth = row.truth.removeprefix("**Environment Observation:**\n")
    text = truth[: len(truth) - spoil] if spoil else truth
    content = f"<think>What would it print?</think>\n<predicted_observation>\n{text}\n</predicted_observation>"
    usage = Usage(prompt_tokens=900, completion_tokens=60, latency_s=0.5, cost_usd=0.001)
    known: dict[str, Any] = {"key": content_id([row.key, model]), "row": row.key, "model": model, "seed": 7}
    known |= {"prompt_version": "p1", "sampling": {"temperature": 0.6}, "usage": usage}
    if kind == "error":
        error = {"type": "EndpointError", "message": "no answer", "hint": None}
        return Generation(**known, outcome="error", error=error)
    if kind == "empty":
        return Generation(**known, outcome="empty", finish_reason="stop")
    if kind == "truncated":
        return Generation(**known, outcome="truncated", content="<think>it goes on and", finish_reason="length")
    return Generation(**known, outcome="ok", content=content, finish_reason="stop", dropped_turns=1 if kind else 0)


def _judgements(row: EvalRow, generation: Generation, kind: str, repeats: int) -> Iterator[Judgement]:
    if kind in ("error", "empty", "truncated"):
        return
    shown = generation.content.partition("<predicted_observation>\n")[2].removesuffix("\n</predicted_observation>")
    near = Indel.normalized_similarity(row.truth.removeprefix("**Environment Observation:**\n"), shown)
    level = 5 if near == 1 else max(1, min(4, round(1 + 4 * near)))
    for repeat in range(repeats):
        good = {name: max(1, level - (place + repeat) % 2) for place, name in enumerate(DIMENSIONS)}
        yield _judgement(row, generation, kind, good, repeat)


def _judgement(row: EvalRow, generation: Generation, kind: str, good: dict[str, int], repeat: int) -> Judgement:
    usage = Usage(prompt_tokens=1500, completion_tokens=200, latency_s=1.0, cost_usd=0.002)
    key = content_id([generation.key, JUDGE, repeat])
    known: dict[str, Any] = {"key": key, "generation": generation.key, "row": row.key, "model": JUDGE, "usage": usage}
    known |= {"repeat": repeat, "prompt_version": f"j-{row.domain}", "sampling": {"temperature": 0.6}, "seed": 3}
    if kind == "judge error":
        error = {"type": "EndpointError", "message": "gone", "hint": None}
        return Judgement(**{**known, "model": "asked-as"}, outcome="error", error=error)
    read: dict[str, Any] | None = good
    content = answer_of(good)
    if kind == "missing":
        read, content = None, answer_of({"format": 5})
    elif kind == "decimal":
        read, content = None, answer_of({**good, "format": "4.5"})
    elif kind == "ninety":
        read, content = None, answer_of({**good, "quality": 90})
    elif kind == "negative":
        read, content = None, answer_of({**good, "realism": -1})
    elif kind == "broken by the repair":
        content = answer_of(good, weakness="at {x} time: ,note: wrong").replace('"scores"', '"verdict": 1, "scores"')
    elif kind == "no scores":
        read, content = None, answer_of({})
    reasons = {"strengths": ("the prompt is right",), "weaknesses": ("the last line differs",)}
    return Judgement(**known, outcome="ok", content=content, scores=read, **(reasons if read else {}))
