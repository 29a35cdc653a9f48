"""Sessions on the real kernel: stepping, forking, rewinding, imagining, resuming."""

import sqlite3
from pathlib import Path

import pytest

from worldline import World
from worldline.errors import ActionError, ConfigError, SessionError, StorageError
from worldline.sessions import EventStore, Session
from worldline.types import Observation

WORLD = World.terminal(files={"/home/user/notes.txt": "one\ntwo\n"})


async def texts(session: Session, *commands: str) -> list[str]:
    return [(await session.step(command)).observation for command in commands]


async def test_a_step_answers_and_state_follows():
    async with WORLD.session("kernel") as session:
        first = await session.step({"command": "cat notes.txt"})
        assert (first.turn, first.observation, first.origin, first.abstained) == (1, "one\ntwo\n", "computed", False)
        assert await texts(session, "echo three >> notes.txt", "wc -l < notes.txt") == ["", "3\n"]
        assert session.turns[0].action.command == "cat notes.txt"
        record = first.as_record()
        assert record["stdout"] == "one\ntwo\n" and record["exit_code"] == 0 and record["spans"][0]["end"] == 8


async def test_forks_are_independent():
    async with WORLD.session("kernel") as session:
        await texts(session, "cd /tmp", "echo a > f")
        async with await session.fork() as twin:
            await texts(twin, "echo b > f")
            assert await texts(session, "cat f") == ["a\n"]
            assert await texts(twin, "cat f", "pwd") == ["b\n", "/tmp\n"]
            assert len(twin.turns) == 5 and len(session.turns) == 3


async def test_rewinding_undoes_state_and_keeps_the_log(tmp_path: Path):
    store = EventStore(tmp_path / "log.db")
    async with WORLD.session("kernel", store=store) as session:
        await texts(session, "rm notes.txt", "ls")
        await session.rewind(2)
        assert await texts(session, "cat notes.txt") == ["one\ntwo\n"]
        assert store.events(session.id) == 4
        with pytest.raises(SessionError, match="cannot rewind 9"):
            await session.rewind(9)


async def test_imagined_steps_are_committed_nowhere(tmp_path: Path):
    store = EventStore(tmp_path / "log.db")
    async with WORLD.session("kernel", store=store) as session:
        future = await session.imagine(["rm notes.txt", {"command": "cat notes.txt"}])
        assert [result.turn for result in future] == [1, 2]
        assert "No such file" in future[1].observation
        assert session.turns == [] and store.events(session.id) == 0
        assert await texts(session, "cat notes.txt") == ["one\ntwo\n"]


async def test_the_log_alone_rebuilds_a_session_its_forks_and_rewinds(tmp_path: Path):
    path = tmp_path / "log.db"
    async with WORLD.session("kernel", store=path, session_id="mine") as session:
        await texts(session, "cd /tmp", "echo a > f", "echo b > f")
        await session.rewind(1)
        twin = await session.fork()
        await texts(twin, "echo c >> f")
        await texts(session, "rm f")
        twin_id = twin.id
        twin.close()
    async with World.resume("mine", path) as again:
        assert len(again.turns) == 3
        assert "No such file" in (await texts(again, "cat f"))[0]
    async with World.resume(twin_id, path) as again:
        assert await texts(again, "cat f") == ["a\nc\n"]


async def test_resume_absorbs_what_was_logged_instead_of_making_it_again(tmp_path: Path):
    path = tmp_path / "log.db"
    async with WORLD.session("kernel", store=path, session_id="s") as session:
        await session.observe("cat /srv/only-there", Observation.from_streams(b"real\n", b"", 0))
        await texts(session, "pwd")
    async with World.resume("s", path) as again:
        assert again.turns[0].observation.text == "real\n"
        assert (await again.step("cat /srv/only-there")).observation == "real\n"


async def test_a_long_session_resumes_from_a_cached_state(tmp_path: Path):
    path = tmp_path / "log.db"
    async with WORLD.session("kernel", store=path, session_id="long") as session:
        for number in range(55):
            await session.step(f"echo {number} >> log")
        snapshot = session._store.snapshot("long")
        assert snapshot is not None and snapshot[1] == 50
    async with World.resume("long", path) as again:
        assert await texts(again, "wc -l < log", "tail -n 1 log") == ["55\n", "54\n"]


async def test_verifier_pays_the_reward_and_ends_the_session():
    spec = WORLD.spec.model_copy(
        update={"verifier": {"checks": [{"action": {"command": "cat done"}, "equals": "yes\n", "exit_code": 0}]}}
    )
    async with World(spec).session("kernel") as session:
        first = await session.step("echo no > done")
        assert (first.reward, first.done) == (0.0, False)
        second = await session.step("echo yes > done")
        assert (second.reward, second.done) == (1.0, True)
        with pytest.raises(SessionError, match="ended"):
            await session.step("ls")


async def test_a_control_rule_replaces_the_answer_and_the_effect():
    rule = {
        "name": "flaky",
        "match": "^touch",
        "turns": [1],
        "answer": {"text": "busy\n", "stdout": "", "stderr": "busy\n", "exit_code": 1},
    }
    spec = WORLD.spec.model_copy(update={"control": {"rules": [rule]}})
    async with World(spec).session("kernel") as session:
        refused = await session.step("touch x")
        assert (refused.observation, refused.origin) == ("busy\n", "injected")
        assert "No such file" in (await session.step("cat x")).observation
        assert (await session.step("touch x; cat x")).observation == ""


async def test_exit_ends_the_session():
    async with WORLD.session("kernel") as session:
        last = await session.step("exit 3")
        assert last.done and last.prediction.observation.exit_code == 3
        with pytest.raises(SessionError):
            await session.step("ls")


async def test_bad_actions_change_nothing():
    async with WORLD.session("kernel") as session:
        for bad in ("", 7, None, {"cmd": "ls"}, {"command": "a\0b"}):
            with pytest.raises(ActionError):
                await session.step(bad)
        assert session.turns == []


async def test_scripted_and_abstaining_engines():
    async with WORLD.session("scripted", script=["hello\n"]) as session:
        assert await texts(session, "anything") == ["hello\n"]
        with pytest.raises(SessionError, match="only 1 answers"):
            await session.step("more")
    async with WORLD.session("kernel", on_abstain="error") as session:
        with pytest.raises(SessionError, match="abstains"):
            await session.step("cat /srv/unknown/place")
        assert session.turns == []


def test_settings_are_checked():
    with pytest.raises(ConfigError, match="min_confidence"):
        WORLD.session("kernel", min_confidence=3)
    with pytest.raises(ConfigError, match="known: grounded"):
        WORLD.session("nonsense")
    with pytest.raises(ConfigError, match="needs a model"):
        WORLD.session("model")


def test_blocking_sessions():
    with WORLD.open("kernel") as session:
        assert session.step("echo hi").observation == "hi\n"
        with session.fork() as twin:
            twin.step("rm notes.txt")
        assert session.step("cat notes.txt").observation == "one\ntwo\n"
        session.rewind(1)
        assert len(session.turns) == 1 and session.state["cwd"] == "/home/user"
        assert session.imagine(["pwd"])[0].observation == "/home/user\n"
        assert session.trajectory().source == "simulated"


async def test_a_turn_that_cannot_be_committed_did_not_happen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = EventStore(tmp_path / "log.db")
    async with WORLD.session("kernel", store=store) as session:
        await texts(session, "echo a > f")
        store._db.execute("PRAGMA query_only=ON")
        with pytest.raises(StorageError, match="acknowledged turns are safe"):
            await session.step("echo b > f")
        store._db.execute("PRAGMA query_only=OFF")
        assert await texts(session, "cat f") == ["a\n"]
        assert len(session.turns) == 2


def test_foreign_databases_are_refused(tmp_path: Path):
    (tmp_path / "junk.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(StorageError):
        EventStore(tmp_path / "junk.db")
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("PRAGMA user_version=99")
    other.close()
    with pytest.raises(StorageError, match="version 99"):
        EventStore(tmp_path / "other.db")
    with pytest.raises(SessionError, match="no session"):
        EventStore(None).get("nope")
