"""Benchmark rows made from our own recordings, and others that say just what a test needs."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from worldline.bench.suite import load_suite
from worldline.formats.agentworldbench import rows_of
from worldline.formats.skeleton import plain_json

sys.path.insert(0, str(Path(__file__).parents[2] / "models"))

from chat_server import ChatServer, Reply, Request, Responder, chat

__all__ = [
    "ChatServer", "Reply", "Request", "ServerThread", "asked", "chat", "is_judging", "recorded_rows", "row", "save",
    "scores_answer",
]  # fmt: skip


def recorded_rows(limit: int, dialect: str | None = None) -> list[dict[str, Any]]:
    """Rows of the dev split, one for each turn."""
    suite = load_suite("terminal", "dev", dialect=dialect, limit=limit)
    return list(islice((row for trajectory in suite.trajectories for row in rows_of(trajectory)), limit))


def row(id: Any = 7, turn: int = 2, task: str = "terminal", answer: str = "out", **changed: Any) -> dict[str, Any]:
    """One row; `answer` varies the observations."""
    prompts = [f"### Turn {n}\n**Action:**\n```json\ncommand {n}\n```" for n in range(1, turn + 1)]
    made = {
        "task": task,
        "id": id,
        "prompt": [*prompts[:-1], f"{prompts[-1]}\n\nPut it in <predicted_observation> tags."],
        "response": [f"**Environment Observation:**\n{answer} {n}\n" for n in range(1, turn + 1)],
        "current_prompt": prompts[-1],
        "system_str": "You are a terminal.",
        "turn_idx": turn,
        "total_turns": 9,
    }
    return {name: value for name, value in {**made, **changed}.items() if value is not ...}


def save(folder: Path, rows: Iterable[dict[str, Any]], name: str = "terminal_test.jsonl") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(plain_json(row) + "\n" for row in rows), encoding="utf-8")
    return folder


def scores_answer(**scores: int) -> str:
    """What a judge that follows the rules answers."""
    names = ("format", "factuality", "consistency", "realism", "quality")
    values = {name: scores.get(name, 4) for name in names}
    told = {"strengths": ["s"], "weaknesses": ["w"], "scores": values}
    return f"<final_evaluation>\n```json\n{json.dumps(told)}\n```\n</final_evaluation>"


class ServerThread:
    """A chat server in a thread of its own, for programs that run as processes.

    Args:
        responder: Answers a request (see `chat_server.ChatServer`).
    """

    def __init__(self, responder: Responder) -> None:
        self.server = ChatServer(responder=responder)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> ServerThread:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.server.__aenter__(), self._loop).result(20)
        self.url = self.server.url
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self.server.__aexit__(), self._loop).result(20)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(20)
        self._loop.close()


def is_judging(request: Request) -> bool:
    """Whether a request is one to the judge: both are served at one address, under two names."""
    return str(request.body["model"]) == "judge"


def asked(request: Request) -> str:
    """What tells one request from another: all of its messages."""
    return json.dumps(request.body["messages"])
