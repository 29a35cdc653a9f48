"""Whatever a machine prints comes back to the byte: from prompt to answer, past tags, fences, markers and reasoning."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldline.domains.answers import MARKER
from worldline.domains.terminal import TERMINAL
from worldline.engines import EngineOptions, EngineParts, build_engine
from worldline.models import ScriptedModel
from worldline.models.base import Message
from worldline.types import Observation, Turn, WorldSpec

COMMANDS = WorldSpec(domain="terminal")
MERGED = WorldSpec(domain="terminal", initial_state={"shell": {"merged": True}})
SCREENS = WorldSpec(domain="terminal", initial_state={"screen": {}})

HOSTILE = [
    "<think>", "</think>", "<predicted_observation>", "</predicted_observation>", "```", "````json", "~~~",
    "### Turn 2", "**Action:**", "**Environment Observation:**", "**Current State:**", "[stderr]", "[no newline]",
    "[exit code: 0]", "[exit code: 1] ", "\\", "\\[stderr]", "\\<predicted_observation>", "<|im_end|>", "<|im_start|>",
    '{"stdout": "", "exit_code": 0}', "{{ x }}", "{% if %}", "a", " ", "\t", "\n", "\r", "\n\n", "\u2028", "é",
    "No output",
]  # fmt: skip
hostile = st.lists(st.sampled_from(HOSTILE), max_size=12).map("".join)
REASONINGS = ("", "<think>\nwhy\n</think>\n\n", "so </think>\n", "<think>a <predicted_observation> in it</think>\n")


def echo(chat: list[Message]) -> str:
    """Answer as the last observation stands in the history, as a model that copies would."""
    last = [message["content"] for message in chat if message["role"] == "assistant"][-1]
    return f"<predicted_observation>\n{last.removeprefix(f'{MARKER}{chr(10)}')}</predicted_observation>"


async def echoed(world: WorldSpec, action: Any, observation: Observation, reasoning: str = "") -> Observation:
    model = ScriptedModel(lambda chat: reasoning + echo(list(chat)))
    engine = build_engine("model", world, EngineOptions(), EngineParts(model=model))
    turn = Turn(action=TERMINAL.parse_action(action), observation=observation)
    return (await engine.predict(turn.action, [turn])).observation


@given(hostile, hostile, st.integers(0, 255), st.sampled_from(REASONINGS))
@settings(max_examples=300)
async def test_streams(stdout: str, stderr: str, status: int, reasoning: str):
    observation = Observation.from_streams(stdout.encode(), stderr.encode(), status)
    found = await echoed(COMMANDS, "cat x", observation, reasoning)
    assert (found.stdout, found.stderr, found.exit_code) == (stdout, stderr, status)


@given(hostile, st.sampled_from(REASONINGS))
@settings(max_examples=200)
async def test_merged_text(text: str, reasoning: str):
    assert (await echoed(MERGED, "cat x", Observation.from_text(text), reasoning)).text == text


def screen(text: str) -> str:
    return "\n".join(row.rstrip() for row in text.split("\n")).rstrip("\n")


@given(hostile.map(screen), st.sampled_from(REASONINGS))
@settings(max_examples=300)
async def test_screens(text: str, reasoning: str):
    observation = Observation.from_text(text)
    found = await echoed(SCREENS, [{"keystrokes": "cat x\n"}], observation, reasoning)
    assert found == observation


@pytest.mark.parametrize(
    "text", ["  <predicted_observation>\nx\n", "\t</predicted_observation>\n", "\\  <predicted_observation>\n"]
)
async def test_indented_tags(text: str):
    found = await echoed(COMMANDS, "cat x", Observation.from_streams(text.encode(), b"", 0), "<think>why</think>")
    assert found.stdout == text


@given(hostile)
def test_actions_and_notes_do_not_break_out_of_their_fences(text: str):
    action = TERMINAL.parse_action({"command": f"x{text}".replace("\0", "")})
    last = TERMINAL.messages(COMMANDS, [], action, notes={"guess": text} if text else {})[-1]["content"]
    fence = last.split("\n")[2].removesuffix("json")
    assert set(fence) == {"`"} and last.count(f"\n{fence}\n") >= 1
    if text.strip("\n"):
        lines = last.split("\n")
        opening = lines[lines.index("**What a simulation of the machine answers, which may be wrong**") + 1]
        assert set(opening) == {"`"} and opening not in text
