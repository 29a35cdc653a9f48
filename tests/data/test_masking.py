"""The loss mask: golden turns of each class, the identity of its measures, and drawing."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.data.masking import CLASSES, MaskSettings, classify, kept, measures
from worldline.types import Action, Observation, Turn


def turn(command, text):
    return Turn(action=Action(name="bash", arguments={"command": command}), observation=Observation(text=text))


GOLDEN = [
    ("echo one two three", "one two three\n", "echo"),
    ("mkdir alpha beta", "made alpha beta", "boilerplate"),
    ("printf '%s %s' aaa bbb | tr abc xyz | cut -c 1-3 | sort -r -u", "r u", "transform"),
    ("cat notes", "Everything that was written down long ago, by hand, and never read again.", "retrieval"),
    ("grep -n alpha beta", "alpha beta gamma delta epsilon zeta", "retrieval"),
    ("alpha beta gamma delta", "alpha beta gamma and then one more, and then one more", "expansion"),
    ("wc -l a-long-file-name.txt another.txt", "7 total", "action"),
    ("touch a", "", "action"),
]


@pytest.mark.parametrize(("command", "text", "label"), GOLDEN)
def test_each_class_has_its_turns(command, text, label):
    assert classify(turn(command, text)) == label


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_measures_satisfy_their_identity(command, text):
    one = turn(command, text)
    told = measures(one)
    of_action = set(re.findall(r"\w+", command.lower()))
    of_observation = set(re.findall(r"\w+", text.lower()))
    assert told.overlap * len(of_action) == pytest.approx(len(of_action & of_observation))
    if of_observation:
        assert told.overlap * len(of_action) == pytest.approx(len(of_observation) * (1 - told.novelty))
    assert classify(one) in CLASSES


def test_the_name_of_a_tool_is_no_word_of_the_action():
    action = Action(name="read_file", arguments={"path": "a.txt"})
    told = measures(Turn(action=action, observation=Observation(text="read_file")))
    assert told.overlap == 0.0 and told.novelty == 1.0


def test_a_class_is_drawn_at_its_share_and_the_same_each_time():
    drawn = [kept("t", number, "echo") for number in range(4000)]
    assert drawn == [kept("t", number, "echo") for number in range(4000)]
    assert 0.03 < sum(drawn) / len(drawn) < 0.07
    assert all(kept("t", number, "retrieval") for number in range(100))
    assert not any(kept("t", number, "echo", MaskSettings(keep={"echo": 0.0})) for number in range(100))
    assert drawn != [kept("t", number, "echo", seed=1) for number in range(4000)]
