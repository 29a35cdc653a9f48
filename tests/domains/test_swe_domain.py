"""The domain of software engineering: states, actions, answers, prompts."""

import pytest
from pydantic import ValidationError

from worldline.domains import get_domain
from worldline.domains.swe import SweState
from worldline.domains.swe.tools import EDITOR_TOOLS, ENVELOPE_TOOLS, family_tools
from worldline.errors import ActionError
from worldline.types import Action, Observation, Turn, WorldSpec

SWE = get_domain("swe")
READ = Action(name="Read", arguments={"file_path": "/home/user/p/a.py"})


@pytest.mark.parametrize(
    "state",
    [
        {"cwd": "project"},
        {"cwd": "/"},
        {"cwd": "/home/../etc"},
        {"files": {"../x": "y"}},
        {"files": {"": "y"}},
        {"files": {"a\0b": "y"}},
        {"removed": ["/a/../b"]},
        {"repository": "../tinydb"},
        {"family": "other"},
        {"author": "Nobody"},
        {"branch": "a b"},
        {"more": 1},
    ],
)
def test_wrong_states_are_refused(state: dict[str, object]):
    with pytest.raises(ValidationError):
        SWE.validate_state(state)


def test_files_may_lie_in_the_root_or_elsewhere():
    state = SweState.model_validate({"cwd": "/home/user/p", "files": {"a.py": "x", "/etc/motd": "hello\n"}})
    machine = state.terminal({})
    assert machine.files["/home/user/p/a.py"].content == "x"
    assert machine.files["/etc/motd"].content == "hello\n"
    assert "name = Dev" in str(machine.files["/home/user/.gitconfig"].content)


@pytest.mark.parametrize(
    "value",
    [
        {"name": "Read", "arguments": {"file_path": "/home/user/p/a.py"}},
        {"name": "Read", "arguments": '{"file_path": "/home/user/p/a.py"}'},
        {"function": {"name": "Read", "arguments": '{"file_path": "/home/user/p/a.py"}'}},
        '{"name": "Read", "arguments": "{\\"file_path\\": \\"/home/user/p/a.py\\"}"}',
    ],
)
def test_calls_are_read_in_all_usual_shapes(value: object):
    assert SWE.parse_action(value) == READ


def test_a_bare_text_is_a_plain_command():
    assert SWE.parse_action("git status") == Action(name="bash", arguments={"command": "git status"})
    assert SWE.parse_action({"command": "ls"}).name == "bash"


@pytest.mark.parametrize(
    "value", [{"name": "Read", "arguments": "[1]"}, {"name": "Read", "arguments": "{"}, {"x": 1}, 3]
)
def test_what_is_no_call_is_refused(value: object):
    with pytest.raises(ActionError):
        SWE.parse_action(value)


def test_prompts_show_arguments_as_json_text_and_the_tools_in_order():
    world = WorldSpec(domain="swe", tools=ENVELOPE_TOOLS, task="Mend it.")
    history = (Turn(action=READ, observation=Observation.from_text("     1→x = 1")),)
    chat = SWE.messages(world, history, READ)
    assert [message["role"] for message in chat] == ["system", "user", "assistant", "user"]
    assert '{"name": "Read", "arguments": "{\\"file_path\\": \\"/home/user/p/a.py\\"}"}' in chat[1]["content"]
    assert "     1→x = 1" in chat[2]["content"]
    places = [chat[0]["content"].index(f". {tool.name}\n") for tool in ENVELOPE_TOOLS]
    assert places == sorted(places)
    assert SWE.messages(world, (), READ)[0] == chat[0]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("     1→x = 1", False),
        ("Exit code 1\nnope", True),
        ("<tool_use_error>File does not exist.</tool_use_error>", True),
        ("Command: ls\nDirectory: (root)\nOutput: a\nError: (none)\nExit Code: 0\nSignal: (none)", False),
        ("Command: ls\nDirectory: (root)\nOutput: a\nError: (none)\nExit Code: 2\nSignal: (none)", True),
        ("Failed to edit, 0 occurrences found for old_string in /a. No edits made.", True),
        ("params must have required property 'path'", True),
        ("Found 3 files\na", False),
    ],
)
def test_errors_of_a_model_are_told_by_their_form(text: str, error: bool):
    answer = SWE.parse_answer(f"<predicted_observation>\n{text}\n</predicted_observation>", WorldSpec(domain="swe"))
    assert (answer.text, answer.is_error) == (text, error)


def test_both_families_have_names_of_their_own():
    assert not {tool.name for tool in EDITOR_TOOLS} & {tool.name for tool in ENVELOPE_TOOLS}
    assert family_tools("editor") == EDITOR_TOOLS
