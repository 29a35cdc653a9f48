"""The cascade on the real kernel, a small memory and the scripted model."""

from pathlib import Path

import pytest

from worldline import World
from worldline.engines import Calibration
from worldline.engines.calibration import Trust
from worldline.errors import ConfigError, EndpointError
from worldline.memory import Memory, Transition
from worldline.memory.index import environment_key
from worldline.models.scripted import ScriptedModel
from worldline.types import Action, Observation

WORLD = World.terminal(files={"/home/user/a.txt": "x\n"})
CALIBRATION = Calibration(
    domain="terminal",
    trust={
        "kernel": {"*": Trust(n=100, exact=97, lower=0.95), "cat": Trust(n=9, exact=3, lower=0.2)},
        "stateless": {"*": Trust(n=10, exact=9, lower=0.8)},
        "guess": {"*": Trust(n=10, exact=1, lower=0.02)},
        "action": {"*": Trust(n=10, exact=3, lower=0.2)},
    },
)


def recorded(command: str, text: str, footprint: str | None = "") -> Memory:
    return Memory(
        [
            Transition(
                id="t:0",
                action=Action(name="bash", arguments={"command": command}),
                observation=Observation.from_streams(text.encode(), b"", 0),
                domain="terminal",
                environment=environment_key(WORLD.spec),
                footprint=footprint,
            )
        ]
    )


async def test_a_trusted_kernel_answers():
    async with WORLD.session("grounded", memory=None, calibration=CALIBRATION) as session:
        result = await session.step("echo hi")
        assert (result.origin, result.abstained, result.confidence) == ("computed", False, 0.95)


async def test_a_compound_action_takes_its_weakest_part():
    async with WORLD.session("grounded", memory=None, calibration=CALIBRATION) as session:
        result = await session.step("echo hi; cat a.txt")
        assert result.abstained and result.confidence == 0.2 and result.observation == "hi\nx\n"


async def test_memory_answers_what_the_kernel_does_not_know():
    memory = recorded("frobnicate --version", "frobnicate 1.0\n")
    async with WORLD.session("grounded", memory=memory, calibration=CALIBRATION) as session:
        result = await session.step("frobnicate --version")
        assert result.observation == "frobnicate 1.0\n"
        assert result.origin == "recalled"


async def test_the_model_writes_the_rest_and_it_becomes_state():
    model = ScriptedModel(["<predicted_observation>\nmade up\n</predicted_observation>"])
    async with WORLD.session("grounded", memory=None, model=model, calibration=CALIBRATION) as session:
        result = await session.step("cat /srv/report.txt")
        assert (result.origin, result.observation) == ("generated", "made up\n")
        again = await session.step("cp /srv/report.txt here; wc -l here")
        assert again.observation == "1 here\n"


async def test_a_failing_model_leaves_an_abstention_with_its_error():
    def broken(*_: object) -> str:
        raise EndpointError("connection refused", hint="start the server")

    async with WORLD.session("grounded", memory=None, model=ScriptedModel(broken), calibration=CALIBRATION) as session:
        result = await session.step("cat /srv/report.txt")
        assert result.abstained
        assert result.prediction.extra["model_error"]["type"] == "EndpointError"
    async with WORLD.session("model", model=ScriptedModel(broken)) as session:
        with pytest.raises(EndpointError):
            await session.step("ls")
        assert session.turns == []


async def test_the_replay_engine_follows_and_then_abstains():
    async with WORLD.session("kernel") as session:
        await session.step("echo one")
        await session.step("echo two")
        trajectory = session.trajectory()
    async with WORLD.session("replay", trajectory=trajectory) as session:
        assert (await session.step("echo one")).observation == "one\n"
        strayed = await session.step("echo three")
        assert strayed.abstained and strayed.confidence == 0


def measured(lower: float) -> Calibration:
    trust = {**CALIBRATION.trust, "generated": {"scripted": Trust(n=50, exact=5, lower=lower)}}
    return CALIBRATION.model_copy(update={"trust": trust})


async def test_a_guess_that_was_right_more_often_than_the_model_is_kept():
    model = ScriptedModel({"*": "<predicted_observation>\nmade up\n</predicted_observation>"})
    for lower, asked in ((0.01, False), (0.3, True)):
        settings = {"memory": None, "model": model, "calibration": measured(lower)}
        async with WORLD.session("grounded", **settings) as session:
            result = await session.step("cat a.txt")  # trusted with 0.2
            assert (result.origin == "generated", result.abstained) == (asked, not asked)
            assert result.observation == ("made up\n" if asked else "x\n")
    # Where no guess is wanted, the model is.
    async with WORLD.session("grounded", on_abstain="error", **{**settings, "calibration": measured(0.01)}) as session:
        assert (await session.step("cat a.txt")).origin == "generated"
    # A model that was never measured is asked, whatever the guess is worth.
    async with WORLD.session("grounded", memory=None, model=model, calibration=CALIBRATION) as session:
        assert (await session.step("cat a.txt")).origin == "generated"


async def test_a_measured_model_takes_the_place_of_a_guess_that_says_nothing_where_something_is_said():
    model = ScriptedModel({"*": "<predicted_observation>\n0.5\n[exit code: 0]\n</predicted_observation>"})
    cases = ((95, 0.01, "proven", True), (40, 0.01, "proven", False), (95, 0.0, "proven", False))
    for printed, lower, ask, asked in (*cases, (95, 0.0, "mute", True), (40, 0.0, "mute", False)):
        prints = {"*": Trust(n=100, exact=60, lower=0.5), "awk": Trust(n=100, exact=printed, lower=printed / 100)}
        before = measured(lower)
        calibration = before.model_copy(update={"trust": {**before.trust, "prints": prints}})
        settings = {"memory": None, "model": model, "calibration": calibration, "ask": ask}
        async with WORLD.session("grounded", **settings) as session:
            result = await session.step("awk 'BEGIN { print rand() }'")
            assert (result.origin == "generated", result.observation) == (asked, "0.5\n" if asked else "")
            # A guess that says something stands.
            assert (await session.step("cat a.txt")).observation == "x\n"


async def test_the_brief_prompt_tells_recorded_transitions_as_earlier_turns():
    memory = recorded("frobnicate --version", "frobnicate, of today\n")
    model = ScriptedModel({"*": "<predicted_observation>\nfrobnicate 2.0\n[exit code: 0]\n</predicted_observation>"})
    settings = {"memory": memory, "model": model, "prompts": "brief", "calibration": CALIBRATION}
    async with WORLD.session("grounded", **settings) as session:
        for word in ("one", "two", "three", "four"):
            await session.step(f"echo {word}")
        result = await session.step("frobnicate --help < a.txt")
    assert result.observation == "frobnicate 2.0\n" and result.prediction.dropped_turns == 1
    chat = model.calls[0]
    assert [m["content"] for m in chat if m["role"] == "user"][:-1] == [
        "$ frobnicate --version",
        "$ echo two",
        "$ echo three",
        "$ echo four",
    ]
    assert chat[2]["content"].endswith("frobnicate, of today\n[exit code: 0]\n</predicted_observation>")
    guessed = "A simulation answers, perhaps wrongly:\n```\nbash: line 1: frobnicate: command not found\n```\n"
    assert chat[-1]["content"].endswith(f"/home/user/a.txt:\n```\nx\n```\n{guessed}\n$ frobnicate --help < a.txt")


@pytest.mark.parametrize("trained", [False, True])
async def test_a_model_alone_is_told_briefly_how_the_session_began_and_as_many_turns_as_it_was_trained_with(trained):
    model = ScriptedModel({"*": "<predicted_observation>\nx\n[exit code: 0]\n</predicted_observation>"})
    if trained:
        model.trained_prompts = lambda domain: Path("brief")
    async with WORLD.session("model", model=model, prompts="brief") as session:
        for number in range(5):
            await session.step(f"echo {number}")
        await session.step("cat a.txt")
    chat = model.calls[-1]
    assert chat[0]["content"].endswith("The session starts in /home/user, with the files a.txt.\n")
    asked = [m["content"] for m in chat if m["role"] == "user"]
    assert asked[:-1] == [f"$ echo {number}" for number in range(0 if trained else 2, 5)]
    assert asked[-1] == "(<predicted_observation>)\n/home/user/a.txt:\n```\nx\n```\n\n$ cat a.txt"


async def test_a_model_with_its_nearest_transitions_and_no_kernel():
    memory = recorded("frobnicate --version", "frobnicate, of today\n")
    model = ScriptedModel({"*": "<predicted_observation>\nfrobnicate 2.0\n[exit code: 0]\n</predicted_observation>"})
    async with WORLD.session("model+memory", memory=memory, model=model, notes_share=1.0) as session:
        result = await session.step("frobnicate --help")
        assert (result.origin, result.observation) == ("generated", "frobnicate 2.0\n")
        await session.step("frobnicate --version")
    for chat in model.calls:  # also where the very same action is recorded, the model answers
        assert "$ frobnicate --version\nfrobnicate, of today\n[exit code: 0]" in chat[-1]["content"]
        assert "What a real machine answered to similar actions" in chat[-1]["content"]
    for wrong in ({"memory": None, "model": model}, {"memory": memory}):
        with pytest.raises(ConfigError, match="model\\+memory engine needs a"):
            WORLD.session("model+memory", **wrong)


async def test_prompts_of_a_folder_reach_the_model(tmp_path):
    (tmp_path / "suffix.j2").write_text("Antworte in {{ open_tag }}.")
    model = ScriptedModel(["<predicted_observation>\n</predicted_observation>"])
    async with WORLD.session("model", model=model, prompts=tmp_path) as session:
        await session.step("ls")
    assert model.calls[0][-1]["content"].endswith("Antworte in <predicted_observation>.")
