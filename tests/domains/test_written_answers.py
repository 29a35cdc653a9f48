"""An observation written as a model's answer is read back to the byte, whatever it holds."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from worldline.domains import DOMAINS, get_domain
from worldline.formats import read_trajectories
from worldline.recordings import paths
from worldline.types import Observation, WorldSpec

OURS = ["code", "database", "mcp", "search", "swe", "terminal"]
PIECES = ["\n", "\\", " ", "<predicted_observation>", "</predicted_observation>", "**Environment Observation:**", "```"]
CHARACTERS = st.characters(exclude_categories=["Cs"])
TEXT = st.lists(st.sampled_from(PIECES) | st.text(CHARACTERS, max_size=4), max_size=8).map("".join)


@pytest.mark.parametrize("name", [name for name in OURS if name != "terminal"])
@settings(deadline=None)
@given(TEXT)
@example("</predicted_observation>\n")
@example("\\<predicted_observation>")
@example("**Environment Observation:**\nx\n\n")
def test_any_text_of_a_tool(name, text):
    domain, world = get_domain(name), WorldSpec(domain=name)
    answer = domain.write_answer(Observation(text=text), world)
    assert domain.parse_answer(f"I think so.\n{answer}\n", world).text == text


@pytest.mark.parametrize("name", OURS)
def test_recorded_answers(name):
    domain = get_domain(name)
    for path in paths(name, "train"):
        for number, trajectory in enumerate(read_trajectories(path)):
            if number == 10:
                break
            for turn in trajectory.turns:
                told = domain.parse_answer(domain.write_answer(turn.observation, trajectory.world), trajectory.world)
                assert (told.text, told.exit_code) == (turn.observation.text, turn.observation.exit_code)


def test_all_domains_are_known():
    assert set(OURS) <= set(DOMAINS.names())
