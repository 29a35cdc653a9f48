import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from chat_server import ChatServer, chat

from worldline.errors import EmptyAnswerError, StorageError
from worldline.models import CachedModel, EndpointModel, ModelAnswer, ModelSettings, Sampling, ScriptedModel
from worldline.models.cache import ResponseCache, cache_key
from worldline.types import Usage

HELLO = [{"role": "user", "content": "hello \u2028 é"}]


def test_the_same_question_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "sk-very-secret-123")
    path = tmp_path / "deep" / "cache.db"

    async def run(times: int) -> tuple[list[ModelAnswer], int, str]:
        usage = {"prompt_tokens": 7, "completion_tokens": 3}
        async with ChatServer(chat("ok\n", reasoning="why", usage=usage)) as server:
            settings = ModelSettings(base_url=server.url, model="m", key_env="TEST_KEY", prices={"prompt": 1})
            inner = EndpointModel(settings)
            # The port differs from run to run; what identifies the model must not.
            inner.settings = settings.model_copy(update={"base_url": "http://model.test/v1"})
            model = CachedModel(inner, path)
            answers = [await model.complete(HELLO, Sampling(seed=1)) for _ in range(times)]
            await model.aclose()
            return answers, len(server.requests), repr(model)

    (first, second), asked, shown = asyncio.run(run(2))
    assert asked == 1
    assert (first.cached, second.cached) == (False, True)
    assert (second.content, second.reasoning, second.usage.prompt_tokens) == ("ok\n", "why", 7)
    assert first.usage.cost_usd == pytest.approx(7e-6)
    assert second.usage.cost_usd == 0
    (third,), asked, _ = asyncio.run(run(1))
    assert (asked, third.content) == (0, "ok\n")
    stored = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"very-secret" not in stored
    assert "very-secret" not in shown


def test_everything_that_changes_the_answer_changes_the_key() -> None:
    identity = {"base_url": "http://a/v1", "model": "m"}
    keys = {
        cache_key(identity, HELLO, None),
        cache_key({**identity, "model": "n"}, HELLO, None),
        cache_key({**identity, "base_url": "http://b/v1"}, HELLO, None),
        cache_key(identity, [{"role": "system", "content": "hello \u2028 é"}], None),
        cache_key(identity, [*HELLO, *HELLO], None),
        cache_key(identity, HELLO, Sampling(seed=1)),
        cache_key(identity, HELLO, Sampling(extra={"x": 1})),
    }
    assert len(keys) == 7
    assert cache_key(identity, HELLO, None) == cache_key(dict(reversed(identity.items())), HELLO, Sampling())


def test_default_sampling_is_part_of_the_question(tmp_path: Path) -> None:
    async def run() -> int:
        async with ChatServer(chat()) as server:
            for temperature in (0.0, 1.0, 0.0):
                settings = ModelSettings(base_url=server.url, model="m", sampling={"temperature": temperature})
                model = CachedModel(EndpointModel(settings), tmp_path / "cache.db")
                await model.complete(HELLO)
                await model.aclose()
            return len(server.requests)

    assert asyncio.run(run()) == 2


def test_errors_are_not_stored(tmp_path: Path) -> None:
    model = CachedModel(ScriptedModel([EmptyAnswerError("nothing"), "fine"]), tmp_path / "cache.db")

    async def run() -> str:
        with pytest.raises(EmptyAnswerError):
            await model.complete(HELLO)
        answer = await model.complete(HELLO)
        await model.aclose()
        return answer.content

    assert asyncio.run(run()) == "fine"


WRITER = """
import sys
from pathlib import Path
from worldline.models import ModelAnswer, ResponseCache
from worldline.types import Usage
cache = ResponseCache(Path(sys.argv[1]))
number = int(sys.argv[2])
while True:
    cache.put(f"key-{number}", ModelAnswer("x" * 5000 + str(number), None, "stop", Usage(), "m"))
    print(number, flush=True)
    number += 1
"""


def test_what_was_stored_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    acknowledged: list[int] = []
    for round_ in range(3):
        arguments = [sys.executable, "-c", WRITER, str(path), str(round_ * 100_000)]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            acknowledged.append(int(process.stdout.readline()))
            time.sleep(0.03 * (round_ + 1))
            os.kill(process.pid, signal.SIGKILL)
            acknowledged += [int(line) for line in process.stdout if line.endswith("\n")]
        assert process.returncode == -signal.SIGKILL
    assert len(acknowledged) > 3
    cache = ResponseCache(path)
    for number in acknowledged:
        answer = cache.get(f"key-{number}")
        assert answer is not None
        assert answer.content == "x" * 5000 + str(number)
    assert len(acknowledged) <= len(cache) <= len(acknowledged) + 3
    cache.close()
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()


def test_two_processes_share_a_cache(tmp_path: Path) -> None:
    first, second = ResponseCache(tmp_path / "cache.db"), ResponseCache(tmp_path / "cache.db")
    first.put("k", ModelAnswer("a", None, "stop", Usage(), "m"))
    found = second.get("k")
    assert found is not None
    assert found.content == "a"
    second.put("k", ModelAnswer("b", None, "stop", Usage(), "m"))
    assert len(first) == 1
    first.close()
    second.close()


def test_a_file_that_is_no_cache(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    path.write_text(json.dumps({"not": "a database"}) * 100, encoding="utf-8")
    with pytest.raises(StorageError, match=r"cache\.db"):
        ResponseCache(path)
    with pytest.raises(StorageError):
        ResponseCache(path / "below")


def test_a_full_disk_is_a_storage_error(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path / "cache.db")
    pages = cache._db.execute("PRAGMA page_count").fetchone()[0]
    cache._db.execute(f"PRAGMA max_page_count = {pages + 1}")
    with pytest.raises(StorageError, match="full"):
        cache.put("k", ModelAnswer("x" * 100_000, None, "stop", Usage(), "m"))
    assert len(cache) == 0
    cache.close()
