"""A judge over real HTTP: what it answers, what it was told, and how to have no waits between tries."""

import json
import sys
from pathlib import Path

from worldline.bench.agentworld.records import DIMENSIONS

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))

from chat_server import ChatServer, Reply, chat

__all__ = ["ChatServer", "Reply", "chat", "fast", "predicted", "scores", "told"]


def scores(value=2):
    """A judgement: every dimension gets this."""
    return chat(
        json.dumps({"analysis": "", "strengths": [], "weaknesses": [], "scores": dict.fromkeys(DIMENSIONS, value)})
    )


def told(request):
    """What a request tells the judge."""
    return request.body["messages"][-1]["content"]


def predicted(request):
    """The part of it that shows the answer."""
    return told(request).split("### The prediction")[1]


def fast(reward):
    """No waits between rounds, no retries beneath."""
    reward.judge.pause = 0.0
    settings = reward.judge.judge.settings
    reward.judge.judge.settings = settings.model_copy(update={"retries": 0})
    return reward
