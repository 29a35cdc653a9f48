"""Rows of the benchmark's shape made from our recordings, generations about them, and scripted judges over HTTP."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from rapidfuzz.distance import LCSseq

from worldline.bench.agentworld.containers import read_containers
from worldline.bench.agentworld.records import DIMENSIONS, EvalRow, Generation
from worldline.bench.agentworld.rows import index_rows
from worldline.formats import read_trajectories
from worldline.formats.agentworldbench import rows_of
from worldline.formats.skeleton import plain_json
from worldline.models import EndpointModel
from worldline.models.settings import ModelSettings
from worldline.recordings import path as recording_path

sys.path.insert(0, str(Path(__file__).parents[2] / "models"))

from chat_server import ChatServer, Reply, Request, chat

__all__ = ["ChatServer", "Reply", "Request", "chat", "endpoint", "generation", "honest", "row", "rows", "write_rows"]


def write_rows(folder: Path, sessions: int = 6) -> Path:
    """Write rows of the first sessions of the dev split as the benchmark has them."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for number, trajectory in enumerate(read_trajectories(recording_path("terminal", "dev"))):
        if number == sessions:
            break
        lines += [plain_json(value) for value in rows_of(trajectory)]
    (folder / "terminal_test.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def rows(folder: Path, sessions: int = 6) -> list[EvalRow]:
    index = index_rows(write_rows(folder, sessions))
    return [index.read(ref) for ref in index.refs]


def row(
    truth: str = "a\n", *, domain: str = "terminal", history: int = 2, action: str = "ls", key: str = "row"
) -> EvalRow:
    return EvalRow(
        key=key,
        domain=domain,
        id="1",
        trajectory="t",
        turn=history + 1,
        system="",
        prompts=(*(f"### Turn {n}\nls {n}" for n in range(1, history + 1)), f"{action} suffix"),
        responses=tuple(f"**Environment Observation:**\nfile{n}\n" for n in range(1, history + 1)),
        action=action,
        truth=f"**Environment Observation:**\n{truth}",
    )


def generation(text: str, row: EvalRow, **fields: Any) -> Generation:
    content = f"<predicted_observation>\n{text}\n</predicted_observation>"
    values: dict[str, Any] = {"key": f"g-{len(text)}", "model": "m", "outcome": "ok", "content": content, **fields}
    return Generation(row=row.key, **values)


def endpoint(server: ChatServer, **settings: Any) -> EndpointModel:
    values: dict[str, Any] = {"base_url": server.url, "model": "judge", "retries": 0, "concurrency": 32, **settings}
    return EndpointModel(ModelSettings(**values))


def data_of(request: Request) -> dict[str, str]:
    """The containers of what a judge was asked."""
    return read_containers(request.body["messages"][1]["content"])


def scored(scores: dict[str, int]) -> dict[str, Any]:
    return chat(json.dumps({"analysis": "-", "strengths": [], "weaknesses": [], "scores": scores}))


def chosen(choice: str) -> dict[str, Any]:
    return chat(json.dumps({"analysis": "-", "choice": choice}))


_NARRATION = ("verified", "correct", "line 1 reads", "ground truth")


def honest(request: Request) -> Reply:
    """A judge that compares: words for facts, layout for format, and takes narration for what it is."""
    data = data_of(request)
    if "prediction" in data:
        return Reply(scored(honest_scores(data["prediction"], data["truth"])))
    a, b = data["answer A"], data["answer B"]
    if "truth" in data:
        a_points, b_points = (sum(honest_scores(text, data["truth"]).values()) for text in (a, b))
    else:
        a_points, b_points = (-sum(word in text.lower() for word in _NARRATION) for text in (a, b))
    return Reply(chosen("A" if (a_points, a) >= (b_points, b) else "B"))


def honest_scores(prediction: str, truth: str) -> dict[str, int]:
    if prediction == truth:
        return dict.fromkeys(DIMENSIONS, 5)
    real = _words(truth)
    told = _words(prediction)
    kept = LCSseq.similarity(told, real) / len(real) if real else float(not told)
    facts = 5 if kept == 1 else max(1, min(4, round(1 + 3 * kept)))
    narrates = any(word in prediction.lower() and word not in truth.lower() for word in _NARRATION)
    wrapped = prediction.startswith('{"output"') and not truth.startswith("{")
    longer = prediction.count("\n") != truth.count("\n")
    return {
        "format": 1 if wrapped else 3 if narrates else 5,
        "factuality": facts,
        "consistency": facts,
        "realism": 2 if narrates else 4,
        "quality": 2 if narrates or longer or len(told) > len(real) else 4,
    }


def _words(text: str) -> list[str]:
    return re.findall(r"[\w./-]+", text.replace("\\n", "\n"))
