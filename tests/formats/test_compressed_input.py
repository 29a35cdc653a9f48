"""Compressed files: every method read transparently, damage named, bombs stopped in bounded memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import resource
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from worldline.errors import FormatError
from worldline.formats import InputFile, Limits, SkippedRecord, detect_format, read_trajectories
from worldline.formats.compression import CompressionError, expand, method_of

GOLDEN = Path(__file__).parent / "golden" / "openai-conversations.jsonl"
METHODS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.compress,
}


@pytest.mark.parametrize("name", METHODS)
def test_compressed_files_are_read_as_they_are(name: str, tmp_path: Path) -> None:
    path = tmp_path / "anything"
    path.write_bytes(METHODS[name](GOLDEN.read_bytes()))
    assert detect_format(path).name == "openai"
    turns = [item.turns for item in read_trajectories(path)]
    assert turns == [item.turns for item in read_trajectories(GOLDEN)]


@pytest.mark.parametrize("name", METHODS)
def test_several_streams_in_one_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t"
    first, _, rest = GOLDEN.read_bytes().partition(b"\n")
    path.write_bytes(METHODS[name](first + b"\n") + METHODS[name](rest))
    assert len(list(read_trajectories(path))) == len(list(read_trajectories(GOLDEN)))


@pytest.mark.parametrize("name", METHODS)
def test_damage_is_named_and_what_came_before_kept(name: str, tmp_path: Path) -> None:
    data = GOLDEN.read_bytes()
    path = tmp_path / "t"
    whole = METHODS[name](data) + METHODS[name](data * 500)
    path.write_bytes(whole[:-20])
    skipped: list[SkippedRecord] = []
    kept = list(read_trajectories(path, format="openai", skip_bad=True, on_skip=skipped.append))
    assert len(kept) >= 4
    assert "cut off" in skipped[-1].reason
    path.write_bytes(METHODS[name](data) + METHODS[name](b"x" * 90_000)[:-30] + b"garbage" * 20)
    skipped.clear()
    kept = list(read_trajectories(path, format="openai", skip_bad=True, on_skip=skipped.append))
    assert len(kept) >= 4
    assert any(words in skipped[-1].reason for words in (f"damaged {name} data", "cut off", "not JSON"))


@pytest.mark.parametrize("name", METHODS)
def test_bombs_are_stopped(name: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(METHODS[name](bytes(64 << 20)))
    with pytest.raises(FormatError, match="expands to more than") as caught:
        for _ in InputFile(path, Limits(expanded=1 << 20, ratio=5)).chunks():
            pass
    assert "decompress it yourself" in (caught.value.hint or "")


def test_zero_padding_between_gzip_members_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "t.gz"
    path.write_bytes(gzip.compress(GOLDEN.read_bytes()) + bytes(4_096))
    assert len(list(read_trajectories(path))) == len(list(read_trajectories(GOLDEN)))


def test_a_text_may_begin_like_bzip2(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b"BZh9 is how it begins")
    assert b"".join(InputFile(path).chunks()) == path.read_bytes()


@settings(deadline=None, max_examples=150)
@given(
    name=st.sampled_from(sorted(METHODS)),
    data=st.binary(max_size=200),
    cut=st.integers(0, 400),
    flip=st.integers(0, 400),
)
def test_any_damage_ends_in_data_or_one_error(name: str, data: bytes, cut: int, flip: int) -> None:
    packed = bytearray(METHODS[name](data))
    packed[min(flip, len(packed) - 1)] ^= 0x55
    packed = packed[: max(cut, 1)]
    method = method_of(bytes(packed))
    if method is None:
        return
    try:
        b"".join(expand(io.BytesIO(bytes(packed)), method, limit=1 << 20, ratio=1_000))
    except CompressionError as error:
        assert str(error)


def test_a_gigantic_line_takes_bounded_memory(tmp_path: Path) -> None:
    """200 MB in one line, among good ones: left out, in less memory than the line, also where it is compressed."""
    first, _, rest = GOLDEN.read_bytes().partition(b"\n")
    path = tmp_path / "t.jsonl"
    with path.open("wb") as handle:
        handle.write(first + b'\n{"messages": "')
        for _ in range(200):
            handle.write(b"x" * 1_000_000)
        handle.write(b'"}\n' + rest)
    packed = tmp_path / "t.jsonl.zst"
    with path.open("rb") as source, packed.open("wb") as target:
        zstandard.ZstdCompressor(level=1).copy_stream(source, target)
    program = """
        import resource, sys
        from worldline.formats import read_trajectories
        skipped = []
        list(read_trajectories(sys.argv[2], skip_bad=True))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        count = len(list(read_trajectories(sys.argv[1], skip_bad=True, on_skip=skipped.append)))
        print(count, skipped[0].line, skipped[0].reason)
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
    """
    for file in (path, packed):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program), str(file), str(GOLDEN)],
            capture_output=True,
            text=True,
            check=True,
        )
        told, grown = done.stdout.splitlines()
        assert told == "4 2 the line is longer than 134,217,728 bytes"
        assert int(grown) < 320, "MiB: at most the limit and what growing its buffer takes"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0
