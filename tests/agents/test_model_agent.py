"""A model as the agent that explores."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.agents import ModelAgent
from worldline.errors import ModelError
from worldline.models.scripted import ScriptedModel
from worldline.types import Action, Observation, Turn, WorldSpec

WORLD = WorldSpec(domain="search", task="Find out about cats.")
CALL = '{"name": "web_search", "arguments": {"query": "cats {"}}'


def agent(*answers):
    return ModelAgent(WORLD, ScriptedModel(list(answers)))


@pytest.mark.parametrize("answer", [CALL, f"I will search. {CALL}", f"```json\n{CALL}\n```", f'{{"a": 1}} {CALL}'])
def test_the_last_call_of_an_answer_is_taken(answer):
    mine = agent(answer)
    assert mine.next([]) == Action(name="web_search", arguments={"query": "cats {"})
    mine.close()


def test_the_model_sees_task_tools_and_what_was_returned():
    model = ScriptedModel([CALL])
    mine = ModelAgent(WORLD, model)
    turn = Turn(action=Action(name="web_search", arguments={"query": "x"}), observation=Observation(text="No results"))
    mine.next([turn])
    mine.close()
    chat = model.calls[0]
    assert "Find out about cats." in chat[0]["content"] and "web_extractor" in chat[0]["content"]
    assert chat[-2]["content"] == '{"name": "web_search", "arguments": {"query": "x"}}'
    assert "No results" in chat[-1]["content"]


def test_an_answer_without_a_call_is_asked_again_and_then_ends_the_session():
    mine = agent("hm", CALL)
    assert mine.next([]) is not None
    mine.close()
    mine = agent("hm", "still", "nothing {")
    assert mine.next([]) is None
    mine.close()


def test_finish_ends_the_session():
    mine = agent('{"name": "finish", "arguments": {}}')
    assert mine.next([]) is None
    mine.close()


@given(st.text(max_size=80))
def test_any_answer_is_borne(text):
    mine = agent(text, text, text)
    with suppress(ModelError):  # an empty answer
        mine.next([])
    mine.close()
