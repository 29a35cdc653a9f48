"""What a generation predicts is found outside its reasoning and taken to the byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.bench.agentworld.extraction import extract_prediction, extract_text, observed_text
from worldline.bench.agentworld.records import Generation

OPEN, CLOSE = "<predicted_observation>", "</predicted_observation>"


def text_of(content: str, **options: bool) -> str | None:
    found = extract_text(content, **options)
    return None if found is None else found.text


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (f"{OPEN}\na\n{CLOSE}", "a"),
        (f"{OPEN}\n\n  a\n\n{CLOSE}\n", "\n  a\n"),
        (f"{OPEN}a{CLOSE}", "a"),
        (f"{OPEN}\n{CLOSE}", ""),
        (f"{OPEN}{CLOSE}", ""),
        (f"<think>draft {OPEN}\nno\n{CLOSE}</think>\n{OPEN}\nyes\n{CLOSE}", "yes"),
        (f"{OPEN}\ndraft\n{CLOSE}\nBetter:\n{OPEN}\nfinal\n{CLOSE}\ndone", "final"),
        (f"I write {OPEN} tags.\n{OPEN}\nx\n{CLOSE}", "x"),
        (f"{OPEN}\nsays {OPEN} once\n{CLOSE}", f"says {OPEN} once"),
        (f"{OPEN}\nsays {CLOSE} once\n{CLOSE}", f"says {CLOSE} once"),
        (f"{OPEN}\n{OPEN}\nnested\n{CLOSE}\n{CLOSE}", f"{OPEN}\nnested\n{CLOSE}"),
        (f"{OPEN}\nnever closed\n{OPEN}\nlast\n{CLOSE}", "last"),
        (f"{OPEN}\ncut of", "cut of"),
        (f"{OPEN}\n**Environment Observation:**\n a\n{CLOSE}", " a"),
        (f"{OPEN}\nshows **Environment Observation:**\na\n{CLOSE}", "shows **Environment Observation:**\na"),
        ("no tags\n", "no tags\n"),
        (f"Sure: {OPEN}one line{CLOSE}", "one line"),
        ("<think>only reasoning", None),
        ("  \n", None),
    ],
)
def test_the_last_block_outside_the_reasoning(content: str, expected: str | None) -> None:
    assert text_of(content) == expected


def test_a_reasoning_tag_in_an_answer_is_kept_where_the_endpoint_gives_reasoning_apart() -> None:
    content = f"{OPEN}\necho '</think>'\n{CLOSE}"
    assert text_of(content, reasoning_apart=True) == "echo '</think>'"
    assert text_of("a</think>b", reasoning_apart=True) == "a</think>b"


def test_what_is_closed_and_tagged_is_said() -> None:
    cut, whole, bare = extract_text(f"{OPEN}\na"), extract_text(f"{OPEN}\na\n{CLOSE}"), extract_text("a")
    assert cut is not None and whole is not None and bare is not None
    assert (cut.tagged, cut.closed) == (True, False)
    assert (whole.tagged, whole.closed) == (True, True)
    assert (bare.tagged, bare.closed) == (False, False)


def test_a_failed_generation_predicts_nothing() -> None:
    for outcome in ("error", "empty"):
        generation = Generation(key="g", row="r", model="m", outcome=outcome, content=f"{OPEN}\na\n{CLOSE}")
        assert extract_prediction(generation) is None


@given(st.text(), st.booleans())
def test_a_block_is_returned_to_the_byte(text: str, thinking: bool) -> None:
    if "predicted_observation>" in text or text.startswith("**Environment Observation:**"):
        return
    content = f"{OPEN}\n{text}\n{CLOSE}"
    if thinking:
        content = f"<think>\n{OPEN}\ndraft\n{CLOSE}\n</think>\n\n{content}"
    if "think>" not in text:
        assert text_of(content) == text
    found = extract_text(content, reasoning_apart=True)
    assert found is not None
    assert found.answer[found.start : found.start + len(found.text)] == found.text


@given(st.text())
def test_only_a_leading_heading_is_taken_off(text: str) -> None:
    if not text.startswith("**Environment Observation:**"):
        assert observed_text("**Environment Observation:**\n" + text) == text
        assert observed_text(text) == text
