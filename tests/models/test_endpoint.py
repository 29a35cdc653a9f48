import asyncio
import json
import logging
import pickle
import socket
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from chat_server import ChatServer, Reply, Request, chat

from worldline.errors import (
    ConfigError,
    EmptyAnswerError,
    EndpointError,
    ModelError,
    ModelTimeoutError,
    RateLimitError,
    TruncatedError,
)
from worldline.models import ChatModel, EndpointModel, Message, ModelAnswer, ModelSettings, Sampling

HELLO: list[Message] = [{"role": "user", "content": "hello"}]
KEY = "sk-very-secret-123"


def model_at(url: str, **settings: Any) -> EndpointModel:
    settings = {"retries": 2, "backoff_s": 0.01, "timeout_s": 5, "connect_timeout_s": 2, **settings}
    return EndpointModel(ModelSettings(base_url=url, model="m", **settings))


def ask(
    *replies: Reply | dict[str, Any], sampling: Sampling | None = None, **settings: Any
) -> tuple[ModelAnswer | ModelError, ChatServer]:
    """Ask a server that answers with `replies`; the answer or the error, and the server."""

    async def run() -> tuple[ModelAnswer | ModelError, ChatServer]:
        async with ChatServer(*replies) as server:
            model = model_at(server.url, **settings)
            try:
                return await model.complete(HELLO, sampling), server
            except ModelError as error:
                return error, server
            finally:
                await model.aclose()

    return asyncio.run(run())


def answered(*replies: Reply | dict[str, Any], **settings: Any) -> ModelAnswer:
    result, _ = ask(*replies, **settings)
    assert isinstance(result, ModelAnswer), result
    return result


def test_a_plain_answer_with_usage_price_and_latency() -> None:
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 100,
        "completion_tokens_details": {"reasoning_tokens": 60},
        "prompt_tokens_details": {"cached_tokens": 400},
    }
    text = " é 日本 \U0001f600\u2028\x00\n"
    answer = answered(Reply(chat(text, usage=usage), delay=0.05), prices={"prompt": 1, "completion": 2, "cached": 0.5})
    assert answer.content == text
    assert answer.reasoning is None
    assert (answer.finish_reason, answer.model, answer.cached) == ("stop", "served", False)
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (1000, 100)
    assert (answer.usage.reasoning_tokens, answer.usage.cached_tokens) == (60, 400)
    assert answer.usage.cost_usd == pytest.approx((600 + 200 + 200) / 1e6)
    assert 0.05 <= answer.usage.latency_s < 5


@pytest.mark.parametrize("usage", [None, {}, [], {"prompt_tokens": None, "completion_tokens_details": None}])
def test_usage_may_be_missing(usage: Any) -> None:
    assert answered(chat(usage=usage)).usage.cost_usd is None


@pytest.mark.parametrize(
    "message",
    [
        chat("\n\nanswer", reasoning="why"),
        chat("\n\nanswer", reasoning_content="why"),
        chat("\n\nanswer", reasoning=None, reasoning_content="why"),
        chat("<think>\nwhy\n</think>\n\nanswer"),
        chat("why\n</think>\n\nanswer"),
        chat([{"type": "text", "text": "why</think>answer"}]),
    ],
)
def test_reasoning_in_each_of_its_shapes(message: dict[str, Any]) -> None:
    answer = answered(message)
    assert answer.reasoning == "why"
    assert answer.content.strip() == "answer"


def test_content_beside_a_reasoning_field_is_left_alone() -> None:
    assert answered(chat("echo </think>", reasoning="why")).content == "echo </think>"


def test_lone_surrogates_do_not_get_in() -> None:
    body = json.dumps(chat("a\ud800b \U0001f600"))
    assert answered(Reply(body)).content == "a\ufffdb \U0001f600"


def test_what_is_sent() -> None:
    sampling = Sampling(temperature=0, stop=("END",), extra={"chat_template_kwargs": {"enable_thinking": False}})
    _, server = ask(chat(), sampling=sampling, headers={"X-Team": "w"})
    sent = server.requests[0]
    assert sent.body == {
        "model": "m",
        "messages": HELLO,
        "temperature": 0,
        "stop": ["END"],
        "chat_template_kwargs": {"enable_thinking": False},
    }
    assert sent.headers["x-team"] == "w"
    assert sent.headers[":path"].startswith("POST /v1/chat/completions ")


def test_a_call_goes_before_the_default_sampling() -> None:
    default = {"temperature": 0.6, "top_k": 20, "stop": ["X"], "extra": {"min_p": 0.1, "a": 1}}

    async def run() -> dict[str, Any]:
        async with ChatServer(chat()) as server:
            model = model_at(server.url, sampling=default)
            await model.complete(HELLO, Sampling(temperature=0, extra={"a": 2}))
            await model.aclose()
            return server.requests[0].body

    body = asyncio.run(run())
    assert (body["temperature"], body["top_k"], body["stop"]) == (0, 20, ["X"])
    assert (body["min_p"], body["a"]) == (0.1, 2)


def test_extra_cannot_replace_the_protocol() -> None:
    with pytest.raises(ConfigError, match="stream"):
        ask(chat(), sampling=Sampling(extra={"stream": True}))


@pytest.mark.parametrize("status", [500, 502, 503, 504, 429, 408])
def test_passing_failures_are_tried_again(status: int) -> None:
    result, server = ask(Reply({"error": {"message": "busy"}}, status=status), chat("fine"))
    assert isinstance(result, ModelAnswer)
    assert result.content == "fine"
    assert len(server.requests) == 2


@pytest.mark.parametrize(("status", "kind"), [(500, EndpointError), (429, RateLimitError), (503, RateLimitError)])
def test_lasting_failures_end_in_a_typed_error(status: int, kind: type[ModelError]) -> None:
    result, server = ask(Reply({"error": {"message": "out of order"}}, status=status))
    assert type(result) is kind
    assert "out of order" in str(result)
    assert "tried 3 times" in str(result)
    assert len(server.requests) == 3


def test_retry_after_in_seconds_is_honoured() -> None:
    result, server = ask(Reply(b"", status=429, headers={"Retry-After": "0.4"}), chat())
    assert isinstance(result, ModelAnswer)
    assert server.requests[1].at - server.requests[0].at >= 0.4


def test_retry_after_as_a_date_is_honoured() -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    _, server = ask(Reply(b"", status=503, headers={"Retry-After": moment}), chat())
    assert server.requests[1].at - server.requests[0].at >= 0.9


def test_a_server_that_asks_for_too_much_patience_is_not_asked_again() -> None:
    result, server = ask(Reply(b"", status=429, headers={"Retry-After": "3600"}))
    assert isinstance(result, RateLimitError)
    assert len(server.requests) == 1


def test_one_rate_limit_makes_all_calls_wait() -> None:
    async def run() -> list[float]:
        async with ChatServer(Reply(b"", status=429, headers={"Retry-After": "0.5"}), chat()) as server:
            model = model_at(server.url, concurrency=1)
            await asyncio.gather(*(model.complete(HELLO) for _ in range(3)))
            await model.aclose()
            return [request.at for request in server.requests]

    times = asyncio.run(run())
    assert len(times) == 4
    assert min(times[1:]) - times[0] >= 0.5


def test_a_dead_port() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        model = model_at(f"http://127.0.0.1:{held.getsockname()[1]}", retries=1)
        with pytest.raises(EndpointError, match=r"cannot reach .*tried 2 times.*is the server running"):
            asyncio.run(model.complete(HELLO))


@pytest.mark.parametrize("reply", [Reply(chat(), delay=3), Reply(chat(), trickle=0.05)], ids=["silent", "trickling"])
def test_a_slow_server(reply: Reply) -> None:
    result, server = ask(reply, timeout_s=0.3, retries=1)
    assert isinstance(result, ModelTimeoutError)
    assert len(server.requests) == 2


def test_slow_once_is_mended() -> None:
    assert answered(Reply(chat(), delay=3), chat("fast"), timeout_s=0.3).content == "fast"


@pytest.mark.parametrize("no_length", [False, True])
def test_an_answer_cut_off_in_the_middle(no_length: bool) -> None:
    cut = Reply(chat("a long answer"), cut=40, no_length=no_length)
    assert answered(cut, chat("whole")).content == "whole"
    result, server = ask(cut)
    assert isinstance(result, EndpointError)
    assert "broke off" in str(result)
    assert len(server.requests) == 3


def test_an_empty_answer_is_tried_again() -> None:
    assert answered(Reply(b""), chat("whole")).content == "whole"


def test_a_chunked_stream_cut_off_in_the_middle() -> None:
    cut = Reply(b"20\r\n" + b'{"choices": [', headers={"Transfer-Encoding": "chunked"}, no_length=True)
    result, server = ask(cut)
    assert isinstance(result, EndpointError)
    assert "broke off" in str(result)
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply("<!doctype html><title>Log in</title>"), r"web page \(Log in\).*ends in /v1"),
        (Reply("oops"), "invalid JSON: oops"),
        (Reply(b"\xff\xfe"), "invalid JSON"),
        (Reply("[1]"), "not an object"),
        (Reply({"object": "list"}), r"no chat completion \(keys: object\)"),
        (Reply({"choices": []}), "without any choice"),
        (Reply({"choices": [None]}), "without any choice"),
        (Reply({"choices": [{}]}), "no message"),
        (Reply({"error": {"message": "no such model"}}), "an error: no such model"),
        (Reply({"error": {"message": "context too long"}}, status=400), "HTTP 400: context too long"),
        (Reply({"detail": "Not Found"}, status=404), r"HTTP 404: Not Found.*is 'm' served there"),
        (Reply("<html><title>Forbidden</title></html>", status=403), r"HTTP 403: Forbidden.*key_env"),
        (Reply({"message": {"a": 1}}, status=422), "HTTP 422"),
        (Reply(b"", status=302, headers={"Location": "/elsewhere"}), "redirects"),
        (Reply(b"not gzip", headers={"Content-Encoding": "gzip"}), "cannot be decoded"),
    ],
)
def test_what_is_no_chat_completion(reply: Reply, said: str) -> None:
    result, server = ask(reply)
    with pytest.raises(EndpointError, match=said):
        raise result if isinstance(result, ModelError) else AssertionError(result)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("message", "reasoning"),
    [
        (chat(None, finish="length", reasoning="half a thought"), "half a thought"),
        (chat("", finish="length", reasoning_content="half a thought"), "half a thought"),
        (chat("<think>\nhalf a thought", finish="length"), "half a thought"),
        (chat(None, finish="length"), ""),
    ],
)
def test_cut_off_while_reasoning(message: dict[str, Any], reasoning: str) -> None:
    result, server = ask(message)
    assert isinstance(result, TruncatedError)
    assert result.reasoning == reasoning
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "message",
    [
        chat(None),
        chat(""),
        chat(" \n"),
        chat("<think>only thought</think>"),
        chat("<think>only thought"),
        chat(None, finish=None),
        chat(None, refusal="no"),
        chat(None, tool_calls=[{}]),
    ],
)
def test_no_answer(message: dict[str, Any]) -> None:
    result, _ = ask(message)
    assert isinstance(result, EmptyAnswerError)


def test_an_answer_cut_off_late_says_so() -> None:
    answer = answered(chat("the first half", finish="length"))
    assert (answer.content, answer.finish_reason) == ("the first half", "length")


def test_no_more_requests_than_allowed_are_in_flight() -> None:
    async def run() -> tuple[int, int]:
        async with ChatServer(Reply(chat(), delay=0.02)) as server:
            model = model_at(server.url, concurrency=3)
            await asyncio.gather(*(model.complete(HELLO) for _ in range(20)))
            await model.aclose()
            return server.most_active, len(server.requests)

    assert asyncio.run(run()) == (3, 20)


def test_a_cancelled_call_gives_its_place_back() -> None:
    async def run() -> None:
        async with ChatServer(Reply(chat(), delay=3), Reply(chat())) as server:
            model = model_at(server.url, concurrency=1)
            task = asyncio.create_task(model.complete(HELLO))
            await asyncio.sleep(0.1)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert (await asyncio.wait_for(model.complete(HELLO), 2)).content == "ok"
            await model.aclose()

    asyncio.run(run())


def test_one_model_serves_several_event_loops() -> None:
    models: list[EndpointModel] = []

    async def run() -> str:
        async with ChatServer(chat()) as server:
            if not models:
                models.append(model_at(server.url))
            models[0]._url = f"{server.url}/chat/completions"
            answer = await models[0].complete(HELLO)
            await models[0].aclose()
            return answer.content

    assert [asyncio.run(run()) for _ in range(2)] == ["ok", "ok"]


def test_the_key_is_sent_and_shows_nowhere(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("TEST_KEY", f" {KEY}\n")
    monkeypatch.setenv("OTHER_KEY", "another-secret")
    caplog.set_level(logging.DEBUG)
    echo = Reply({"error": {"message": f"bad key {KEY} or another-secret"}}, status=401)

    async def run() -> tuple[Sequence[Request], EndpointModel, str]:
        async with ChatServer(Reply(b"", status=500), chat(), echo) as server:
            model = model_at(server.url, key_env="TEST_KEY", header_env={"api-key": "OTHER_KEY"})
            await model.complete(HELLO)
            try:
                await model.complete(HELLO)
            except EndpointError as error:
                told = str(error) + repr(error) + str(error.as_record()) + "".join(traceback.format_exception(error))
            await model.aclose()
            return server.requests, model, told

    requests, model, told = asyncio.run(run())
    assert requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert requests[0].headers["api-key"] == "another-secret"
    assert "bad key *** or ***" in told
    assert "$TEST_KEY" in told
    assert caplog.records
    shown = [told, caplog.text, repr(model), repr(model.settings), str(model.__dict__), str(model.cache_identity)]
    shown.append(str(pickle.dumps(model.settings)))
    for text in shown:
        assert KEY not in text
        assert "another-secret" not in text


def test_a_key_that_is_missing_or_cannot_be_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_KEY", raising=False)
    with pytest.raises(ConfigError, match="TEST_KEY is not set"):
        model_at("http://127.0.0.1:1", key_env="TEST_KEY")
    monkeypatch.setenv("TEST_KEY", "secret\nline")
    with pytest.raises(ConfigError, match="cannot be sent") as caught:
        model_at("http://127.0.0.1:1", key_env="TEST_KEY")
    assert "secret" not in str(caught.value)


def test_it_is_a_chat_model() -> None:
    assert isinstance(model_at("http://127.0.0.1:1"), ChatModel)
