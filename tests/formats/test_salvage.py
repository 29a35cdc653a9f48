"""What stands before the break of a file that is one JSON value."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from worldline.formats import InputFile, Limits, Record, SkippedRecord
from worldline.formats.salvage import whole_or_part

DOCUMENT = {"steps": [{"n": 1, "text": "é\n"}, {"n": 2, "text": "b"}], "info": {"x": "y"}}
TEXT = json.dumps(DOCUMENT, indent=1, ensure_ascii=False).encode()


def values(path: Path, **limits: int) -> tuple[list[Any], list[str]]:
    items = list(whole_or_part(InputFile(path, Limits(**limits)), whole_list=lambda first: False))
    found = [item.value for item in items if isinstance(item, Record)]
    return found, [item.reason for item in items if isinstance(item, SkippedRecord)]


def written(tmp_path: Path, data: bytes, name: str = "f.json") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def test_a_whole_file_comes_as_it_is(tmp_path: Path) -> None:
    assert values(written(tmp_path, TEXT)) == ([DOCUMENT], [])
    assert values(written(tmp_path, b"\xef\xbb\xbf" + TEXT)) == ([DOCUMENT], [])


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b""])
def test_a_cut_file_gives_its_beginning_and_a_notice(tmp_path: Path, mark: bytes) -> None:
    found, notices = values(written(tmp_path, mark + TEXT[: TEXT.index(b'"b"') + 1]))
    assert found == [{"steps": [{"n": 1, "text": "é\n"}, {"n": 2}]}]
    assert len(notices) == 1


def test_a_cut_inside_a_character(tmp_path: Path) -> None:
    cut = TEXT.index("é".encode()) + 1
    found, notices = values(written(tmp_path, TEXT[:cut]))
    assert found == [{"steps": [{"n": 1}]}]
    assert notices == [f"invalid UTF-8 at byte {cut} of the file"]


def test_a_damaged_byte_in_the_middle(tmp_path: Path) -> None:
    found, notices = values(written(tmp_path, TEXT.replace(b'"b"', b'"\xff"')))
    assert found == [{"steps": [{"n": 1, "text": "é\n"}, {"n": 2}]}]
    assert len(notices) == 1


def test_lone_surrogates_do_not_hide_the_rest(tmp_path: Path) -> None:
    text = json.dumps({"a": "\ud800", "b": 1, "c": 2})
    found, notices = values(written(tmp_path, text[:-4].encode()))
    assert found[0]["a"] == "\ufffd"
    assert found[0]["b"] == 1
    assert len(notices) == 1


def test_a_cut_compressed_file(tmp_path: Path) -> None:
    filler = [{"n": number, "text": f"{number * 7919}"} for number in range(5000)]
    packed = gzip.compress(json.dumps({"steps": filler}, indent=1).encode())
    found, notices = values(written(tmp_path, packed[: len(packed) // 2], "f.json.gz"))
    assert 100 < len(found[0]["steps"]) < 5000
    assert found[0]["steps"][:99] == filler[:99]
    assert len(notices) == 1


def test_lines_and_lists_are_read_as_before(tmp_path: Path) -> None:
    found, notices = values(written(tmp_path, b'{"a": 1}\n{"b": \n{"c": 3}\n'))
    assert found == [{"a": 1}, {"c": 3}]
    assert len(notices) == 1
    found, notices = values(written(tmp_path, b'{"b": \n{"a": 1}\n'))
    assert found == [{"a": 1}]
    found, notices = values(written(tmp_path, b'[{"a": 1}, {"b": 2'))
    assert found == [{"a": 1}]
    assert len(notices) == 1


def test_nothing_to_keep(tmp_path: Path) -> None:
    for data in (b"{", b"nonsense", b"\xff\xfe{\x00", b"{'a': 1}"):
        found, notices = values(written(tmp_path, data))
        assert found == []
        assert len(notices) == 1


def test_too_large_a_document_is_not_held(tmp_path: Path) -> None:
    found, notices = values(written(tmp_path, TEXT[:-5]), document=20)
    assert found == []
    assert notices == ["one JSON value of more than 20 bytes"]
