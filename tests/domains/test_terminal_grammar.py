import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.domains import get_domain
from worldline.domains.base import Domain
from worldline.domains.terminal import TERMINAL
from worldline.domains.terminal.keystrokes import typed
from worldline.errors import ActionError
from worldline.types import Action

COMMAND = "grep -c 'a\u2028b' f | wc -l"
WAYS = [
    COMMAND,
    {"command": COMMAND},
    {"name": "bash", "arguments": {"command": COMMAND}},
    {"name": "bash", "arguments": json.dumps({"command": COMMAND})},
    {"type": "function", "function": {"name": "bash", "arguments": json.dumps({"command": COMMAND})}},
    {"type": "tool_use", "name": "bash", "input": {"command": COMMAND}},
    Action(name="bash", arguments={"command": COMMAND}),
    Action(text=COMMAND),
    Action(name="bash", arguments={"command": COMMAND}).model_dump(mode="json"),
]


def test_the_terminal_is_registered_and_is_a_domain() -> None:
    assert get_domain("terminal") is TERMINAL
    assert isinstance(TERMINAL, Domain)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: type(way).__name__)
def test_every_way_to_write_an_action_gives_the_same_one(way: object) -> None:
    assert TERMINAL.parse_action(way) == Action(name="bash", arguments={"command": COMMAND})


def test_name_id_and_other_arguments_are_kept() -> None:
    call = {"id": "c1", "function": {"name": "run", "arguments": {"command": "ls", "timeout": 5}}}
    assert TERMINAL.parse_action(call) == Action(name="run", arguments={"command": "ls", "timeout": 5}, call_id="c1")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("", "empty"),
        ({"command": " \n\t"}, "empty"),
        ("ls\0", "NUL"),
        ("echo \ud800", "surrogate"),
        ({"command": 5}, "a number, not text"),
        ({"command": None}, "null, not text"),
        (None, "cannot be null"),
        (5, "cannot be a number"),
        (True, "a truth value"),
        ({}, "without a command"),
        ({"cmd": "ls"}, "'cmd'"),
        ({"name": "bash", "arguments": "{"}, "not JSON"),
        ({"name": "bash", "arguments": "[" * 100_000}, "not JSON"),
        ({"name": "bash", "arguments": [1]}, "a list"),
        ({"name": "bash", "arguments": {}}, "no argument 'command'"),
        ({"name": 3, "arguments": {"command": "ls"}}, "name is a number"),
        ({"function": {"name": "bash"}}, "null"),
    ],
)
def test_what_is_no_action_is_refused_with_what_is_expected(value: object, said: str) -> None:
    with pytest.raises(ActionError, match=said) as caught:
        TERMINAL.parse_action(value)
    assert '{"command": "..."}' in str(caught.value)


KEYS = ("keystrokes", "duration")
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*KEYS, "command", "name", "arguments", "function", "input", "text"]), inner)
    ),
    max_leaves=8,
)


@given(json_values)
def test_anything_is_read_or_refused(value: object) -> None:
    try:
        action = TERMINAL.parse_action(value)
    except ActionError:
        return
    assert action.command or typed(action) is not None
    assert TERMINAL.parse_action(action) == action


def test_a_wrong_state_names_the_key() -> None:
    with pytest.raises(ValueError, match="hostnam"):
        TERMINAL.validate_state({"hostnam": "x"})
    assert TERMINAL.validate_state({})["shell"]["program"] == "bash"
