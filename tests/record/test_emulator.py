"""The terminal emulator: what pyte lacks."""

import pyte
from hypothesis import given, settings
from hypothesis import strategies as st

from worldline.formats.escapes import without_silent
from worldline.record.emulator import Emulator


def screen(*pieces: str, columns: int = 20, lines: int = 5) -> list[str]:
    emulator = Emulator(columns, lines)
    for piece in pieces:
        emulator.feed(piece.encode())
    return emulator.rows()


def test_text_wraps_and_scrolls():
    assert screen("x" * 25) == ["x" * 20, "x" * 5, "", "", ""]
    assert screen("".join(f"{n}\r\n" for n in range(7))) == ["3", "4", "5", "6", ""]


def test_the_alternate_screen_gives_the_normal_one_back():
    emulator = Emulator(20, 5)
    emulator.feed(b"before\r\nand\x1b[?1049h\x1b[H\x1b[2Jeditor")
    assert emulator.rows()[0] == "editor" and emulator.alternate
    emulator.feed(b"\x1b[?1049l!")
    assert emulator.rows()[:2] == ["before", "and!"] and not emulator.alternate


def test_a_character_is_repeated():
    assert screen("-\x1b[4b|")[0] == "-----|"


def test_scrolling_leaves_the_cursor():
    assert screen("a\r\nb\r\nc\x1b[2Sx") == ["c", "", " x", "", ""]
    assert screen("a\r\nb\x1b[1Tx") == ["", "ax", "b", "", ""]


def test_erasing_what_scrolled_away_keeps_the_screen():
    assert screen("kept\x1b[3J")[0] == "kept"


def test_queries_and_control_strings_show_nothing():
    noise = "\x1b[>c\x1b[?4m\x1b[>4;2m\x1bP+q436f\x1b\\\x1b]0;title\x07\x1b[22;0;0t\x1b[2 q\x1b[?2004h"
    assert screen(f"a{noise}b")[0] == "ab"


def test_line_drawing_letters():
    assert screen("\x1b(0qqx\x1b(Bq")[0] == "──│q"


def test_cursor_keys_follow_the_program():
    emulator = Emulator(20, 5)
    emulator.feed(b"\x1b[?1h")
    assert emulator.cursor_keys
    emulator.feed(b"\x1b[?1l")
    assert not emulator.cursor_keys


SEQUENCES = st.sampled_from(
    [
        "a",
        "é",
        "漢",
        "\r\n",
        "\b",
        "\t",
        "\x1b[?1049h",
        "\x1b[?1049l",
        "\x1b[2J",
        "\x1b[H",
        "\x1b[3;4H",
        "\x1b[K",
        "\x1b[5b",
        "\x1b[S",
        "\x1bP1$r\x1b\\",
        "\x1b]0;x\x07",
        "\x1b[>1u",
        "\x1b[31m",
        "\x1bM",
        "\x1b[2;4r",
        "\x1b[Z",
    ]
)


@settings(max_examples=200, deadline=None)
@given(pieces=st.lists(SEQUENCES, max_size=40), data=st.data())
def test_how_the_bytes_are_cut_does_not_matter(pieces: list[str], data: st.DataObject):
    stream = "".join(pieces).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    whole, cut = Emulator(20, 5), Emulator(20, 5)
    whole.feed(stream)
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        cut.feed(stream[start:end])
    assert whole.rows() == cut.rows() and len(whole.rows()) == 5


@settings(max_examples=100, deadline=None)
@given(pieces=st.lists(st.sampled_from(["ab", "\r\n", "\b", "\t", "\x1b[2;3H", "\x1b[K", "\x1b[2J"]), max_size=30))
def test_plain_output_is_what_pyte_shows(pieces: list[str]):
    reference = pyte.Screen(20, 5)
    pyte.Stream(reference).feed("".join(pieces))
    assert screen("".join(pieces)) == [row.rstrip() for row in reference.display]


def test_text_behind_unseen_control_characters_is_shown():
    assert screen("a\x01b\x00c\x7fd\x1b[?2004$pe\x1b]0;title\x07f")[0] == "abcdef"
    assert without_silent("plain\r\n\x1b[1mtext") == "plain\r\n\x1b[1mtext"
    assert without_silent("\x1b[>4;1m\x1b[2 qx\x1b[!p") == "x"


def test_wide_letter_over_the_half_of_another():
    assert screen("漢\x08字")[0] == " 字"
