"""A model with a short context still sees the turns before, where its answers are short as well."""

from collections.abc import Callable

import pytest
from chat_server import ChatServer, Reply, chat

from worldline import World
from worldline.models import CachedModel, ChatModel, EndpointModel
from worldline.models.settings import ModelSettings

ANSWER = "<predicted_observation>\nfine\n[exit code: 0]\n</predicted_observation>"
TURNS = 4


async def messages_sent(url: str, wrap: Callable[[ChatModel], ChatModel], server: ChatServer, **entry) -> int:
    model = wrap(EndpointModel(ModelSettings.model_validate({"base_url": url, "model": "m", **entry})))
    async with World.terminal().session("model", model=model) as session:
        for number in range(TURNS):
            await session.step(f"unknown-program {number}")
    await model.aclose()
    return len(server.requests[-1].body["messages"])


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("limit", [{"sampling": {"max_tokens": 48}}, {}])
async def test_history_is_kept(tmp_path, cached: bool, limit: dict):
    def wrap(model: ChatModel) -> ChatModel:
        return CachedModel(model, tmp_path / "cache.db") if cached else model

    async with ChatServer(Reply(chat(ANSWER))) as server:
        whole = await messages_sent(server.url, wrap, server, context_length=8192, **limit)
        assert whole == 2 * TURNS  # the system message, three turns of two messages, and the question


async def test_an_answer_that_leaves_no_room_costs_the_history():
    async with ChatServer(Reply(chat(ANSWER))) as server:
        sampling = {"max_tokens": 8000}
        assert await messages_sent(server.url, lambda model: model, server, context_length=8192, sampling=sampling) == 2
