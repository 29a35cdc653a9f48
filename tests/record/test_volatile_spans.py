"""Volatile spans: what two recordings of a turn differ in, and by which shape it is compared."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.domains.terminal import TERMINAL
from worldline.record.volatile import ANYTHING, agrees, volatile_spans
from worldline.types import Observation


def seen(stdout: str | bytes = "", stderr: str = "", status: int = 0) -> Observation:
    data = stdout if isinstance(stdout, bytes) else stdout.encode()
    return Observation.from_streams(data, stderr.encode(), status)


def spans(first: str, second: str) -> list[tuple[str, str]]:
    found = volatile_spans(seen(first), seen(second))
    return [(first[span.start : span.end], span.pattern) for span in found]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("same\n", "same\n", []),
        ("pid 123 done\n", "pid 4567 done\n", [("123", "\\d+")]),
        ("12:30:05 up\n", "12:31:59 up\n", [("30", "\\d+"), ("05", "\\d+")]),
        ("commit 1a2b3c4d\n", "commit ff003c9e\n", [("1a2b3c4d", "[0-9a-f]{8}")]),
        ("tree cafe\n", "tree 12ab\n", [("cafe", "[0-9a-f]{4}")]),
        ("at 0x7f3a2b\n", "at 0x55d1c\n", [("0x7f3a2b", "0x[0-9a-f]+")]),
        ("/tmp/tmp.Ab1cD2\n", "/tmp/tmp.zzTop9\n", [("Ab1cD2", "[A-Za-z0-9]+")]),
        ("pear\nfig\n", "fig\npear\n", [("pear", "[A-Za-z]+"), ("fig", "[A-Za-z]+")]),
        ("   7 x\n", "  12 x\n", [("   ", "[ \\t]+"), ("7", "\\d+")]),
        ("a\nb\nc\nd\n", "a\nb\nx\ny\nc\nd\n", [("b\n", ANYTHING)]),
        ("one two three\n", "entirely: other/stuff=here, you see\n", [("one two three", "[^\\n]*")]),
        ("a\nb\nc\n", "p\nq\nr\ns\nt\n", [("a\nb\nc\n", ANYTHING)]),
    ],
)
def test_spans_and_their_shapes(first, second, expected):
    if expected == [("b\n", ANYTHING)]:
        assert [pattern for _, pattern in spans(first, second)] == [ANYTHING]
    else:
        assert spans(first, second) == expected


def test_streams_have_their_own_spans():
    found = volatile_spans(seen("a 1\n", "b 22\n"), seen("a 2\n", "b 7\n"))
    assert [(span.field, span.start, span.end) for span in found] == [("stdout", 2, 3), ("stderr", 2, 4)]
    merged = volatile_spans(Observation.from_text("x 1"), Observation.from_text("x 2"))
    assert [span.field for span in merged] == ["text"]


def test_bytes_that_are_no_text_are_one_span():
    found = volatile_spans(seen(b"\xff\xfe1"), seen(b"\xff\xfd1"))
    assert [(span.start, span.end, span.pattern) for span in found] == [(0, 3, ANYTHING)]


def test_agreement_is_to_the_byte_and_includes_the_status():
    truth = seen("pid 12\n")
    truth = truth.model_copy(update={"volatile": volatile_spans(truth, seen("pid 34\n"))})
    assert agrees(seen("pid 9999\n"), truth)
    assert not agrees(seen("pid 9999"), truth)
    assert not agrees(seen("pid x\n"), truth)
    assert not agrees(seen("pid 9999\n", status=1), truth)
    assert not agrees(seen("pid 9999\n", "warning\n"), truth)
    assert agrees(seen(b"\xff"), seen(b"\xff"))
    assert not agrees(seen(b"\xfe"), seen(b"\xff"))


def test_what_has_no_shape_is_determined_by_nothing():
    truth = seen("a\nb\nc\n")
    truth = truth.model_copy(update={"volatile": volatile_spans(truth, seen("p\nq\n"))})
    assert not agrees(truth, truth)


lines = st.lists(st.text(alphabet="ab1 .:\t-é", max_size=12), max_size=6).map("\n".join)


@given(lines, lines)
def test_both_recordings_match_the_masks_of_the_first(first, second):
    """Whatever differs, the second recording is an exact answer to the first, also by the domain's comparison."""
    truth = seen(first)
    found = volatile_spans(truth, seen(second))
    assert all(0 <= span.start < span.end <= len(first) for span in found)
    ordered = [(span.start, span.end) for span in found]
    assert ordered == sorted(ordered)
    assert all(one[1] <= other[0] for one, other in pairwise(ordered))
    masked = truth.model_copy(update={"volatile": found})
    if first:
        assert TERMINAL.compare(seen(second), masked).exact
    assert TERMINAL.compare(truth, masked).exact
    for span in found:
        assert re.fullmatch(span.pattern, first[span.start : span.end])
