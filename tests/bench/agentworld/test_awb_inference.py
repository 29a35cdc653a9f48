"""What is sent for a row, and what is written down of the answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from awb_data import ChatServer, Reply, chat, recorded_rows, row, save

from worldline.bench.agentworld.inference import Generator, lay_out
from worldline.bench.agentworld.records import EvalRow
from worldline.bench.agentworld.rows import index_rows
from worldline.formats.agentworld_text import INSTRUCTION
from worldline.models import EndpointModel, ScriptedModel
from worldline.models.base import ModelAnswer, Sampling
from worldline.models.settings import ModelSettings
from worldline.models.tokens import EstimateCounter, TokenizerCounter, message_tokens, token_counter
from worldline.types import Usage

COUNTER = EstimateCounter()


def rows_in(folder: Path, *values: dict[str, object]) -> list[EvalRow]:
    index = index_rows(save(folder, values))
    return [index.read(ref) for ref in index.refs]


def endpoint(server: ChatServer, **settings: object) -> EndpointModel:
    return EndpointModel(
        ModelSettings.model_validate({"base_url": server.url, "model": "m", "backoff_s": 0, **settings})
    )


def test_the_history_is_sent_verbatim_as_chat_turns(tmp_path: Path) -> None:
    made = recorded_rows(12)[-1]
    (read,) = rows_in(tmp_path, made)
    request = lay_out(read, counter=COUNTER)
    texts = [message["content"] for message in request.messages]
    pairs = [text for pair in zip(made["prompt"][:-1], made["response"][:-1], strict=True) for text in pair]
    assert texts == [made["system_str"], *pairs, made["prompt"][-1]]
    roles = [message["role"] for message in request.messages]
    assert roles == ["system", *["user", "assistant"] * (len(pairs) // 2), "user"]
    assert request.tokens == message_tokens(request.messages, COUNTER)


def test_a_bare_template_gets_our_request_for_the_tag(tmp_path: Path) -> None:
    asks = "Answer in <predicted_observation> tags."
    action = row()["current_prompt"]
    bare, suffixed, by_system, quoted, none = rows_in(
        tmp_path,
        row(prompt=["p", action]),
        row(id=1),
        row(id=2, prompt=["p", action], system_str=asks),
        row(id=3, prompt=["p", "grep <predicted_observation>"], current_prompt="grep <predicted_observation>"),
        row(id=4, system_str=""),
    )
    assert lay_out(bare, counter=COUNTER).messages[-1]["content"] == action + INSTRUCTION
    assert lay_out(suffixed, counter=COUNTER).messages[-1]["content"] == suffixed.prompts[-1]
    assert lay_out(by_system, counter=COUNTER).messages[-1]["content"] == action
    assert lay_out(quoted, counter=COUNTER).messages[-1]["content"].endswith(INSTRUCTION)
    assert lay_out(none, counter=COUNTER).messages[0]["role"] == "user"


@pytest.mark.parametrize("context", [300, 700, 1000, 2000, 4000])
def test_the_oldest_turns_go_where_the_context_is_short(tmp_path: Path, context: int) -> None:
    (read,) = rows_in(tmp_path, row(turn=30, answer="x" * 90))
    request = lay_out(read, context=context, reserve=100, counter=COUNTER)
    assert request.tokens + 100 <= context
    assert (request.dropped_turns > 0) == (context < 4000)
    assert request.messages[0]["content"] == read.system
    kept = [message["content"] for message in request.messages[1:]]
    whole = [text for pair in zip(read.prompts, [*read.responses, ""], strict=True) for text in pair][:-1]
    assert kept == whole[2 * request.dropped_turns :]


def test_a_row_that_never_fits_is_still_asked(tmp_path: Path) -> None:
    (read,) = rows_in(tmp_path, row(system_str="x" * 9000))
    request = lay_out(read, context=100, reserve=50, counter=COUNTER)
    assert request.dropped_turns == 1 and len(request.messages) == 2


async def test_an_answer_is_recorded_whole(tmp_path: Path) -> None:
    (read,) = rows_in(tmp_path, row())
    usage = {"prompt_tokens": 1000, "completion_tokens": 50, "completion_tokens_details": {"reasoning_tokens": 40}}
    said = "<think>why</think>\n<predicted_observation>\nx\n</predicted_observation>"
    async with ChatServer(Reply("{", status=503), chat(said, usage=usage) | {"model": "served-1"}) as server:
        model = endpoint(server, prices={"prompt": 1, "completion": 10})
        generator = Generator(model, Sampling(top_p=0.9, seed=5), context=10_000)
        found = await generator.generate(read)
        await model.aclose()
    assert (found.outcome, found.content, found.reasoning) == ("ok", said, None)
    assert (found.model, found.seed, found.finish_reason, found.tries) == ("served-1", 5, "stop", 2)
    assert found.key == generator.key(read.key) and found.row == read.key
    assert found.usage is not None
    assert (found.usage.reasoning_tokens, found.usage.cost_usd) == (40, pytest.approx(0.0015))
    assert found.usage.latency_s > 0
    sent = server.requests[-1].body
    tokens = generator.request(read).tokens
    assert found.sampling == {"temperature": 0.6, "top_p": 0.9, "max_tokens": 10_000 - tokens}
    assert (sent["temperature"], sent["top_p"], sent["seed"]) == (0.6, 0.9, 5)
    assert sent["max_tokens"] == 10_000 - tokens and "top_k" not in sent


async def test_reasoning_in_a_field_of_its_own_stays_apart(tmp_path: Path) -> None:
    (read,) = rows_in(tmp_path, row())
    async with ChatServer(chat("<think> is text here", reasoning_content="why")) as server:
        model = endpoint(server)
        found = await Generator(model).generate(read)
        await model.aclose()
    assert (found.content, found.reasoning) == ("<think> is text here", "why")


@pytest.mark.parametrize(
    ("reply", "outcome", "content", "transient"),
    [
        (chat("half", finish="length"), "truncated", "half", None),
        (chat("<think>long", finish="length"), "truncated", "<think>long", False),
        (chat(""), "empty", "", False),
        (chat("  \n"), "empty", "  \n", False),
        (Reply({"error": {"message": "too long"}}, status=400), "error", "", False),
        (Reply({"error": {"message": "no key"}}, status=401), "error", "", True),
        (Reply({"error": {"message": "no such model"}}, status=404), "error", "", True),
        (Reply("busy", status=503), "error", "", True),
        (Reply("<html>", status=200), "error", "", True),
    ],
)
async def test_every_failure_is_a_record(
    tmp_path: Path, reply: Reply, outcome: str, content: str, transient: bool | None
) -> None:
    (read,) = rows_in(tmp_path, row())
    async with ChatServer(reply) as server:
        model = endpoint(server, retries=1)
        found = await Generator(model).generate(read)
        await model.aclose()
    assert (found.outcome, found.content) == (outcome, content)
    assert found.tries == len(server.requests)
    assert (found.error is None) == (transient is None)
    if found.error is not None:
        assert found.error.get("transient", False) == transient and found.error["message"]
    if outcome != "error":
        assert found.usage is not None and found.finish_reason


async def test_what_an_answer_without_content_cost_is_kept(tmp_path: Path) -> None:
    (read,) = rows_in(tmp_path, row())
    usage = {"prompt_tokens": 10, "completion_tokens": 1_000_000}
    async with ChatServer(chat("", finish="length", usage=usage, reasoning="so long")) as server:
        model = endpoint(server, prices={"completion": 3})
        found = await Generator(model).generate(read)
        await model.aclose()
    assert found.usage is not None and found.usage.cost_usd == pytest.approx(3.0)
    assert (found.outcome, found.reasoning, found.finish_reason) == ("truncated", "so long", "length")


def test_the_key_depends_on_what_the_answer_depends_on(tmp_path: Path) -> None:
    (read,) = rows_in(tmp_path, row())
    model = ScriptedModel(["x"], name="m")
    base = Generator(model, Sampling(seed=1))
    others = [
        Generator(ScriptedModel(["x"], name="n"), Sampling(seed=1)),
        Generator(model, Sampling(seed=2)),
        Generator(model, Sampling(seed=1, temperature=0.1)),
        Generator(model, Sampling(seed=1), context=1000),
    ]
    assert base.key(read.key) == Generator(model, Sampling(seed=1)).key(read.key)
    assert len({base.key(read.key), base.key("other"), *(other.key(read.key) for other in others)}) == 6


def test_the_models_own_settings_go_before_ours(tmp_path: Path) -> None:
    settings = {"base_url": "http://127.0.0.1:1", "model": "m", "sampling": {"temperature": 0.1, "max_tokens": 7}}
    model = EndpointModel(ModelSettings.model_validate({**settings, "context_length": 500}))
    assert Generator(model).settings["sampling"] == {"temperature": 0.1, "max_tokens": 7}
    assert Generator(model).context == 500
    assert Generator(model, Sampling(temperature=0.0)).settings["sampling"] == {"temperature": 0.0, "max_tokens": 7}


async def test_an_answer_of_the_cache_without_its_raw_form_is_taken_as_it_is(tmp_path: Path) -> None:
    (read,) = rows_in(tmp_path, row())
    model = ScriptedModel([ModelAnswer("text", "why", "stop", Usage(), "m")])
    found = await Generator(model).generate(read)
    assert (found.content, found.reasoning) == ("text", "why")


def test_a_tokenizer_counts_exactly(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"one": 0, "two": 1, "?": 2}, unk_token="?"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    words.save(str(tmp_path / "tokenizer.json"))
    for place in (tmp_path, tmp_path / "tokenizer.json"):
        assert TokenizerCounter(place).count("one two three one") == 4
    assert token_counter(None).count("abcdef") == 2
