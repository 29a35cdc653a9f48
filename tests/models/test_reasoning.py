import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.models.reasoning import split_reasoning

OPEN, CLOSE = "<predicted_observation>", "</predicted_observation>"


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("plain", None, "plain"),
        ("", None, ""),
        ("<think>\nwhy\n</think>\n\n answer\n", "why", " answer\n"),
        ("why</think>answer", "why", "answer"),
        ("</think>\n\nanswer", "", "answer"),
        ("<think>so </think> and </think>answer", "so </think> and", "answer"),
        ("<think>never closed", "never closed", ""),
        (f"<think>why\n{OPEN}\nx\n{CLOSE}", "why", f"{OPEN}\nx\n{CLOSE}"),
        (f"<think>a draft\n{OPEN}\ncut o", f"a draft\n{OPEN}\ncut o", ""),
        ("a <think> in the middle", None, "a <think> in the middle"),
        (f"why</think>\n{OPEN}\necho </think>\n{CLOSE}", "why", f"{OPEN}\necho </think>\n{CLOSE}"),
        (f"{OPEN}\necho </think>\n{CLOSE}", None, f"{OPEN}\necho </think>\n{CLOSE}"),
        (f"<think>\n{OPEN}\ndraft\n{CLOSE}\n</think>\nfinal", f"{OPEN}\ndraft\n{CLOSE}", "final"),
        (f"{OPEN}\ndraft\n{CLOSE}\n</think>\nfinal", f"{OPEN}\ndraft\n{CLOSE}", "final"),
        (
            f"<think>a\n{OPEN}\nb\n{CLOSE}\n</think>\n{OPEN}\nc\n{CLOSE}",
            f"a\n{OPEN}\nb\n{CLOSE}",
            f"{OPEN}\nc\n{CLOSE}",
        ),
    ],
)
def test_reasoning_is_split_off(text: str, reasoning: str | None, answer: str) -> None:
    assert split_reasoning(text) == (reasoning, answer)


pieces = st.lists(st.sampled_from(["<think>", "</think>", OPEN, CLOSE, "\n", "a"]), max_size=10).map("".join)


@given(pieces)
def test_what_a_program_prints_stays_in_the_answer(printed: str) -> None:
    # In a block whose lines never begin with the opening tag, as the observation rendering guarantees.
    printed = "".join(f"|{line}\n" for line in printed.split("\n"))
    block = f"{OPEN}\n{printed}{CLOSE}"
    assert split_reasoning(f"<think>\nwhy\n</think>\n\n{block}") == ("why", block)
    assert split_reasoning(block) == (None, block)
