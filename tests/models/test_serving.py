import json
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from worldline.errors import ConfigError, ModelError
from worldline.models import Message, ModelAnswer, Sampling, ScriptedModel
from worldline.models.llama import answer_schema, bounded_schema
from worldline.models.serving import ServedModel, serve
from worldline.models.store import StoredModel
from worldline.types import Usage


class Echo(ScriptedModel):
    def __init__(self) -> None:
        super().__init__([], name="echo")
        self.sampled: Sampling | None = None

    async def complete(self, messages: Sequence[Message], sampling: Sampling | None = None) -> ModelAnswer:
        self.sampled = sampling
        if messages[-1]["content"] == "fail":
            raise ModelError("it does not fit")
        return ModelAnswer(messages[-1]["content"], "why", "stop", Usage(prompt_tokens=5, completion_tokens=2), "echo")


def client(app: ServedModel, **headers: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://served", headers=headers)


CHAT = "/v1/chat/completions"


async def test_a_chat_completion():
    model = Echo()
    body = {
        "model": "anything", "messages": [{"role": "user", "content": [{"type": "text", "text": "é"}]}],
        "temperature": 0.5, "max_tokens": 9, "seed": 4, "stop": "x", "min_p": 0.1, "stream": False, "n": 1,
    }  # fmt: skip
    async with client(ServedModel(model)) as http:
        assert (await http.get("/v1/models")).json()["data"] == [{"id": "echo", "object": "model"}]
        answer = (await http.post(CHAT, json=body)).json()
    message = answer["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == ("é", "why")
    assert answer["usage"]["total_tokens"] == 7 and answer["choices"][0]["finish_reason"] == "stop"
    assert model.sampled == Sampling(temperature=0.5, max_tokens=9, seed=4, stop=("x",), extra={"min_p": 0.1})


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{", 400, ""),
        (b"[1]", 400, "messages"),
        (b"[" * 100_000, 400, ""),
        (json.dumps({"messages": [{"role": "tool", "content": "x"}]}).encode(), 400, "role"),
        (json.dumps({"messages": [{"role": "user"}]}).encode(), 400, "text"),
        (json.dumps({"messages": [{"role": "user", "content": "x"}], "stream": True}).encode(), 400, "streaming"),
        (json.dumps({"messages": [{"role": "user", "content": "x"}], "n": 2}).encode(), 400, "one answer"),
        (
            json.dumps({"messages": [{"role": "user", "content": "x"}], "max_tokens": "many"}).encode(),
            400,
            "max_tokens",
        ),
        (json.dumps({"messages": [{"role": "user", "content": "fail"}]}).encode(), 400, "it does not fit"),
        (b" " * (16 * 1024 * 1024 + 1), 413, "too large"),
    ],
)
async def test_refusals_say_why(body: bytes, status: int, said: str):
    async with client(ServedModel(Echo())) as http:
        answer = await http.post(CHAT, content=body)
        assert answer.status_code == status and said in answer.json()["error"]["message"]
        assert (await http.get("/v1/chat")).status_code == 404


async def test_a_token_is_wanted_where_there_is_one():
    body = {"messages": [{"role": "user", "content": "x"}]}
    app = ServedModel(Echo(), token="s3cret")
    for headers, status in (
        ({}, 401),
        ({"Authorization": "Bearer other"}, 401),
        ({"Authorization": "Bearer s3cret"}, 200),
    ):
        async with client(app, **headers) as http:
            assert (await http.post(CHAT, json=body)).status_code == status


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_no_address_beyond_this_machine_without_a_token(host: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any):
    monkeypatch.setattr("worldline.models.serving.require_extra", lambda module, extra: None)
    stored = StoredModel(name="x", path=tmp_path, format="huggingface", size=1, licence="MIT")
    with pytest.raises(ConfigError, match="other machines"):
        serve(stored, host=host)
    monkeypatch.delenv("NO_SUCH_TOKEN", raising=False)
    with pytest.raises(ConfigError, match="NO_SUCH_TOKEN is not set"):
        serve(stored, host=host, token_env="NO_SUCH_TOKEN")


def test_a_response_format_holds_answers_to_its_schema():
    schema = {"type": "object", "properties": {"choice": {"enum": ["A", "B"]}}}
    for held in (
        {"type": "json_schema", "json_schema": {"name": "any", "strict": True, "schema": schema}},
        {"type": "json_object", "schema": schema},
    ):
        assert answer_schema(held) == schema
    assert answer_schema({"type": "json_object"}) == {"type": "object"}
    assert answer_schema(None) is None and answer_schema({"type": "text"}) is None
    for wrong in ({"type": "xml"}, {"type": "json_schema"}, {"type": "json_schema", "json_schema": []}, "json", 1):
        with pytest.raises(ConfigError, match="response_format"):
            answer_schema(wrong)


def test_what_a_schema_leaves_open_is_bounded():
    text = {"type": "string"}
    schema = {
        "type": "object",
        "properties": {
            "why": text,
            "list": {"type": "array", "items": text},
            "choice": {"type": "string", "enum": ["A"]},
            "scores": {"type": "object", "properties": {"one": {"type": "integer"}, "name": {**text, "maxLength": 3}}},
        },
    }
    held = bounded_schema(schema, 80)["properties"]
    assert held["why"] == {"type": "string", "maxLength": 80}
    assert held["list"] == {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 20}}
    assert (held["choice"], held["scores"]) == (schema["properties"]["choice"], schema["properties"]["scores"])
