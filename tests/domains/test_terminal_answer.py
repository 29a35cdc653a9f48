import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from worldline.domains.answers import CLOSE_TAG, OPEN_TAG
from worldline.domains.terminal import TERMINAL
from worldline.domains.terminal.rendering import render_observation
from worldline.types import Observation, WorldSpec

APART = WorldSpec(domain="terminal")
MERGED = WorldSpec(domain="terminal", initial_state={"shell": {"merged": True}})

hostile = st.lists(
    st.sampled_from(
        [
            *(
                "[stderr]",
                "[no newline]",
                "[exit code: 0]",
                "[exit code: -1] ",
                "\\",
                "\\[stderr]",
                OPEN_TAG,
                CLOSE_TAG,
            ),
            *(
                "**Environment Observation:**",
                "```",
                "</think>",
                "<think>",
                '{"stdout": "", "exit_code": 0}',
                "exit code: 3",
            ),
            *("\n", "\n", "\n", "\r", "\u2028", "\x1b[0m", "\0", " ", "\t", "é", "x", "[exit code: "),
        ]
    )
    | st.text(max_size=3),
    max_size=12,
).map("".join)


def answer(observation: Observation) -> str:
    return f"{OPEN_TAG}\n{render_observation(observation)}{CLOSE_TAG}"


@given(hostile, hostile, st.integers(-1, 255))
@example("[stderr]\n", "[exit code: 0]", 1)
@example(f"{CLOSE_TAG}\n{OPEN_TAG}", f"x {CLOSE_TAG}\n", 0)
@example("\n", "\n", 0)
def test_streams_survive_the_rendering_byte_for_byte(out: str, err: str, status: int) -> None:
    observation = Observation.from_streams(out.encode(), err.encode(), status)
    assert TERMINAL.parse_answer(answer(observation), APART) == observation
    preamble = f"I put it into {OPEN_TAG} ... {CLOSE_TAG}:\n{OPEN_TAG}\na draft\n{CLOSE_TAG}\n"
    assert TERMINAL.parse_answer(preamble + answer(observation) + "\n", APART) == observation


@given(hostile)
@example("\n")
@example("")
def test_a_merged_text_survives_the_rendering(text: str) -> None:
    observation = Observation.from_text(text)
    assert TERMINAL.parse_answer(answer(observation), MERGED) == observation


def test_how_an_observation_is_written() -> None:
    observation = Observation.from_streams(b"a\n[stderr]\nb", b"e\n", 2)
    assert render_observation(observation) == "a\n\\[stderr]\nb\n[no newline]\n[stderr]\ne\n[exit code: 2]\n"
    assert render_observation(Observation.from_streams(b"", b"", 0)) == "[exit code: 0]\n"
    assert render_observation(Observation.from_text("")) == ""


@pytest.mark.parametrize(
    "text",
    [
        f"{OPEN_TAG}\n a\n[exit code: 1]\n{CLOSE_TAG}",
        f"{OPEN_TAG} a\n[exit code: 1]{CLOSE_TAG}",
        f"So it is:\n{OPEN_TAG}\n a\n[exit code: 1]\n{CLOSE_TAG}\n",
        f"So it is: {OPEN_TAG}\n a\n[exit code: 1]\n{CLOSE_TAG}",
        f"{OPEN_TAG}\n**Environment Observation:**\n a\n[exit code: 1]\n{CLOSE_TAG}",
        f"{OPEN_TAG}\n a\n[exit code: 1]\n",
        f" a\n[exit code: 1]\n{CLOSE_TAG}",
        " a\n[exit code: 1]",
        "**Environment Observation:**\n a\n[exit code: 1]\n",
        "Here:\n**Environment Observation:**\n a\n[exit code: 1]\n",
        "```\n a\n[exit code: 1]\n```",
        "```text\n a\n[exit code: 1]\n```\n",
        "**Environment Observation:**\n```\n a\n[exit code: 1]\n```",
        "Sure, it prints:\n```\nx\n```\nor rather:\n\n```console\n a\n[exit code: 1]\n```\nThat is all.",
        f"{OPEN_TAG}\n```\n a\n[exit code: 1]\n```\n{CLOSE_TAG}",
        'As JSON:\n```json\n{"stdout": " a\\n", "stderr": "", "exit_code": 1}\n```',
        " a\nExit code: 1\n\n",
        " a\n[exit status=1]",
        json.dumps({"stdout": " a\n", "stderr": "", "exit_code": 1}),
        f"{OPEN_TAG}\n" + json.dumps({"stdout": " a\n", "exit_code": 1}, indent=1) + f"\n{CLOSE_TAG}",
    ],
)
def test_answers_of_less_careful_models(text: str) -> None:
    assert TERMINAL.parse_answer(text, APART) == Observation.from_streams(b" a\n", b"", 1)


def test_a_missing_status_stays_unknown() -> None:
    observation = TERMINAL.parse_answer(f"{OPEN_TAG}\na\n{CLOSE_TAG}", APART)
    assert (observation.stdout, observation.stderr, observation.exit_code, observation.is_error) == (
        "a\n",
        "",
        None,
        None,
    )


def test_an_output_that_only_looks_like_json_is_output() -> None:
    for body in ('{"stdout": "a"}', '{"stdout": "a", "exit_code": "1"}', "{", '{"stdout": "\\ud800", "exit_code": 0}'):
        assert TERMINAL.parse_answer(body, APART).stdout == body + "\n"


@given(st.text())
def test_any_answer_is_read(text: str) -> None:
    for world in (APART, MERGED):
        assert isinstance(TERMINAL.parse_answer(text, world), Observation)
