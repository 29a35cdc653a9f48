"""Worlds of Python sessions: what a world file declares and what an action is."""

import pytest
from pydantic import ValidationError

from worldline.domains import get_domain
from worldline.domains.code import CodeState, refusal
from worldline.types import Action, WorldSpec

CODE = get_domain("code")


def test_a_bare_text_is_a_cell_whatever_it_begins_with():
    assert CODE.parse_action("{'a': 1}['a']") == Action(name="python", arguments={"code": "{'a': 1}['a']"})
    assert CODE.parse_action({"code": "1"}).name == "python"


def test_files_lie_in_the_home_and_are_text_or_bytes():
    state = CodeState.model_validate({"files": {"a/b.txt": "x", "/tmp/c": {"base64": "AAE="}}})
    assert {path: spec.data for path, spec in state.files.items()} == {"/home/user/a/b.txt": b"x", "/tmp/c": b"\0\1"}


@pytest.mark.parametrize("files", [{"/etc/passwd": "x"}, {"../x": "y"}, {"a": {"text": "x", "base64": ""}}, {"a": {}}])
def test_files_elsewhere_or_of_two_kinds_are_refused(files):
    with pytest.raises(ValidationError):
        CODE.validate_state({"files": files})


def test_calls_that_are_no_cells_are_refused_by_name():
    assert refusal(Action(name="python", arguments={"code": "1"})) is None
    assert refusal(Action(name="bash", arguments={})) == "Error: unknown tool 'bash'; the only tool is python"
    assert "needs the argument" in (refusal(Action(name="python")) or "")
    assert "must be a text" in (refusal(Action(name="python", arguments={"code": 1})) or "")


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("1\n", False),
        ("hi\nTraceback (most recent call last):\n  File", True),
        ('  File "<cell 2>", line 1\n    x = = 1\n', True),
        ("TimeoutError: the cell ran", True),
        ("no Error: here\n", False),
    ],
)
def test_whether_a_written_answer_is_an_error(text, failed):
    answer = f"<predicted_observation>\n{text}\n</predicted_observation>"
    assert CODE.parse_answer(answer, WorldSpec(domain="code")).is_error is failed
