from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.domains.rouge import rouge_l
from worldline.domains.terminal import TERMINAL
from worldline.types import Observation, VolatileSpan

compare = TERMINAL.compare


def streams(out: bytes, err: bytes = b"", status: int = 0, **fields: object) -> Observation:
    return Observation.from_streams(out, err, status).model_copy(update=fields)


def exact(predicted: Observation, truth: Observation) -> bool:
    return compare(predicted, truth).exact


def test_every_byte_of_both_streams_and_the_status_count() -> None:
    truth = streams(b" a\n", b"e\n", 1)
    assert exact(truth, truth)
    for other in (streams(b"a\n", b"e\n", 1), streams(b" a", b"e\n", 1), streams(b" a\n", b"", 1)):
        assert not exact(other, truth)
    assert not exact(streams(b" a\n", b"e\n", 2), truth)
    assert not exact(streams(b" a\ne\n", b"", 1), truth)


def test_bytes_that_are_no_text_are_told_apart() -> None:
    assert streams(b"\xff").text == streams(b"\xfe").text
    assert exact(streams(b"\xff"), streams(b"\xff"))
    assert not exact(streams(b"\xfe"), streams(b"\xff"))
    assert not exact(streams("\ufffd".encode()), streams(b"\xff"))


def test_merged_truth_is_compared_as_one_text() -> None:
    truth = Observation.from_text("out\nerr\n", is_error=True)
    result = compare(streams(b"out\n", b"err\n", 1), truth)
    assert result.exact
    assert result.error_agrees
    assert not exact(streams(b"out\n", b"Err\n", 1), truth)
    assert exact(streams(b"\xff", b"\xfe"), Observation.from_text(b"\xff\xfe"))
    assert not exact(streams(b"\xff", b"\xff"), Observation.from_text(b"\xff\xfe"))


def test_a_merged_prediction_does_not_tell_the_streams_of_the_truth() -> None:
    assert not exact(Observation.from_text("a\n"), streams(b"a\n"))
    assert not exact(Observation.from_text("a\n"), Observation(text="a\n", exit_code=1))
    assert exact(Observation(text="a\n", exit_code=1), Observation(text="a\n", exit_code=1))


def test_volatile_stretches_match_by_shape_only() -> None:
    text = "pid 4711 (x) at 12:30\n"
    truth = streams(
        text.encode(),
        volatile=(
            VolatileSpan(field="stdout", start=4, end=8, pattern=r"\d+"),
            VolatileSpan(field="stdout", start=16, end=21, pattern=r"\d\d:\d\d"),
        ),
    )
    assert exact(streams(b"pid 9 (x) at 00:01\n"), truth)
    assert exact(streams(text.encode()), truth)
    for wrong in (b"pid x (x) at 00:01\n", b"pid 9 (y) at 00:01\n", b"pid 9 (x) at 0:01\n", b"pid 9 (x) at 00:01"):
        assert not exact(streams(wrong), truth)
    assert not exact(streams(b"pid 9 (x) at 00:01\n", status=1), truth)


def test_a_mask_of_one_stream_leaves_the_other_alone() -> None:
    truth = streams(b"1\n", b"1\n", volatile=(VolatileSpan(field="stderr", start=0, end=1, pattern=r"\d"),))
    assert exact(streams(b"1\n", b"2\n"), truth)
    assert not exact(streams(b"2\n", b"1\n"), truth)


def test_the_literal_parts_do_not_overlap() -> None:
    truth = streams(b"a1a", volatile=(VolatileSpan(field="stdout", start=1, end=2, pattern=r"\d?"),))
    assert not exact(streams(b"a"), truth)
    assert exact(streams(b"aa"), truth)


def test_a_truncated_truth_is_compared_up_to_the_cut() -> None:
    truth = streams("yé".encode()[:2], b"note\n", truncated=True)
    assert not exact(streams("yé\n".encode(), b"note\n"), truth)
    truth = streams("longer é".encode()[:-1], b"note\n", truncated=True)
    assert exact(streams("longer é and on".encode(), b"note\n"), truth)
    assert not exact(streams("longer é and on".encode(), b"note\nx"), truth)
    assert not exact(streams(b"longer"), truth)
    masked = streams(b"7 abc", truncated=True, volatile=(VolatileSpan(field="stdout", start=0, end=1, pattern=r"\d"),))
    assert exact(streams(b"8 abcdef"), masked)
    assert not exact(streams(b"8 ab"), masked)


@pytest.mark.parametrize(
    ("predicted", "truth", "agrees"),
    [
        (streams(b"", status=1), streams(b"", status=2), True),
        (streams(b"", status=0), streams(b"", status=2), False),
        (streams(b"", status=1), Observation.from_text("x", is_error=True), True),
        (streams(b"", status=0), Observation.from_text("x", is_error=True), False),
        (streams(b"", status=0), Observation.from_text("x"), None),
        (Observation.from_text("x", is_error=True), streams(b"", status=1), True),
    ],
)
def test_errors_agree_by_status_or_by_flag(predicted: Observation, truth: Observation, agrees: bool | None) -> None:
    assert compare(predicted, truth).error_agrees is agrees


def test_json_is_equal_as_data() -> None:
    result = compare(streams(b'{"a": 1, "b": [2]}\n'), streams(b'{"b":[2],"a":1}'))
    assert not result.exact
    assert result.structured
    assert not compare(streams(b'{"a": 1}', status=1), streams(b'{"a":1}')).structured
    assert not compare(streams(b'{"a": 1}', b"x"), streams(b'{"a":1}')).structured
    assert not compare(streams(b"[" * 100_000), streams(b"[" * 100_001)).structured


def test_rouge_of_empty_texts() -> None:
    assert rouge_l("", "\n") == 1
    assert rouge_l("", "a") == 0
    assert rouge_l("the cat sat", "the dog sat") == pytest.approx(2 / 3)


words = st.lists(st.sampled_from(["a", "b", "c", "dd"]), max_size=60)


@cache
def _lcs(left: tuple[str, ...], right: tuple[str, ...]) -> int:
    """The textbook recursion."""
    if not left or not right:
        return 0
    if left[-1] == right[-1]:
        return 1 + _lcs(left[:-1], right[:-1])
    return max(_lcs(left[:-1], right), _lcs(left, right[:-1]))


@given(words, words)
def test_rouge_agrees_with_a_reference_implementation(left: list[str], right: list[str]) -> None:
    common = _lcs(tuple(left), tuple(right))
    expected = 2 * common / (len(left) + len(right)) if left or right else 1.0
    assert rouge_l(" ".join(left), " ".join(right)) == pytest.approx(expected)


def test_only_the_first_tokens_count() -> None:
    assert rouge_l("a " * 10 + "b " * 90, "a " * 10 + "c " * 90, cap=10) == 1
    assert rouge_l("x " * 1_000_000 + "y", "x " * 1_000_000) == 1
