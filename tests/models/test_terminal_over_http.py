"""A terminal's turn asked over real HTTP, in each way that servers give reasoning."""

import asyncio
from typing import Any

import pytest
from chat_server import ChatServer, Reply, Request, chat

from worldline.domains.terminal import TERMINAL
from worldline.models import EndpointModel, Message, resolve_model
from worldline.types import Observation, WorldSpec

WORLD = WorldSpec(domain="terminal", task="Look around")
TRUTH = Observation.from_streams(b"  indented\n</think>\nlast line", b"warn\n", 2)
BLOCK = (
    "<predicted_observation>\n  indented\n</think>\nlast line\n[no newline]\n[stderr]\nwarn\n[exit code: 2]\n"
    "</predicted_observation>"
)


@pytest.mark.parametrize(
    "message",
    [
        chat(f"\n\n{BLOCK}", reasoning="I think"),
        chat(f"\n\n{BLOCK}", reasoning_content="I think"),
        chat(f"<think>\nI think\n</think>\n\n{BLOCK}"),
        chat(f"I think\n</think>\n\n{BLOCK}"),
    ],
    ids=["reasoning", "reasoning_content", "think", "think without its opening tag"],
)
def test_an_observation_arrives_to_the_byte(message: dict[str, Any]) -> None:
    async def run() -> tuple[Observation, str | None, Request]:
        async with ChatServer(Reply(message)) as server:
            model = resolve_model(f"{server.url.removesuffix('/v1')}#Qwen-AgentWorld-35B-A3B")
            assert isinstance(model, EndpointModel)
            laid_out = TERMINAL.messages(WORLD, [], TERMINAL.parse_action("cat f"))
            messages = [Message(role=m["role"], content=m["content"]) for m in laid_out]  # type: ignore[typeddict-item]
            answer = await model.complete(messages)
            await model.aclose()
            return TERMINAL.parse_answer(answer.content, WORLD), answer.reasoning, server.requests[0]

    observation, reasoning, request = asyncio.run(run())
    assert TERMINAL.compare(observation, TRUTH).exact
    assert reasoning == "I think"
    assert request.body["model"] == "Qwen-AgentWorld-35B-A3B"
    assert "Look around" in request.body["messages"][0]["content"]
