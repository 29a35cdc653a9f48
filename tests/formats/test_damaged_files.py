"""Every kind of wrong file ends in an error that names file, line and what was expected, or in kept records."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import zstandard

from worldline.errors import ConfigError, FormatError, StorageError
from worldline.formats import (
    InputFile,
    Limits,
    SkippedRecord,
    TrajectoryWriter,
    detect_format,
    get_format,
    read_trajectories,
    write_trajectories,
)
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec


def trajectory(text: str = "out\n", command: str = "ls") -> Trajectory:
    turn = Turn(action=Action(name="bash", arguments={"command": command}), observation=Observation(text=text))
    return Trajectory(source=Source.OBSERVED, world=WorldSpec(domain="terminal"), turns=(turn,))


def line(text: str = "out\n") -> bytes:
    return get_format("worldline").line(trajectory(text)).encode()  # type: ignore[attr-defined]


GOOD = [line("one\n"), line("two\n")]

DAMAGE = {
    "torn last line": (b"\n".join([*GOOD, GOOD[0][:40]]), 3, "torn"),
    "wrong version": (b"\n".join([GOOD[0], b'{"schema_version":2}', GOOD[1]]), 2, "schema_version 2"),
    "NUL bytes": (b"\n".join([GOOD[0], b"\0" * 50, GOOD[1]]), 2, "NUL bytes"),
    "invalid UTF-8": (b"\n".join([GOOD[0], b'{"a": "\xff"}', GOOD[1]]), 2, "invalid UTF-8 at byte 8"),
    "not JSON": (b"\n".join([GOOD[0], b"hello", GOOD[1]]), 2, "not JSON"),
    "NaN": (b"\n".join([GOOD[0], b'{"a": NaN}', GOOD[1]]), 2, "NaN is not JSON"),
    "infinity": (b"\n".join([GOOD[0], b'{"a": -1e999}', GOOD[1]]), 2, "too large"),
    "infinity of digits": (b"\n".join([GOOD[0], b'{"a": ' + b"9" * 400 + b".5}", GOOD[1]]), 2, "too large"),
    "not an object": (b"\n".join([GOOD[0], b"[1]", GOOD[1]]), 2, "expected, found list"),
    "unknown field": (b"\n".join([GOOD[0], GOOD[1][:-1] + b',"new":1}', GOOD[1]]), 2, "new: unknown field"),
    "deep nesting": (b"\n".join([GOOD[0], b"[" * 100_000, GOOD[1]]), 2, "nested too deeply"),
    "long number": (b"\n".join([GOOD[0], b'{"a": ' + b"9" * 5_000 + b"}", GOOD[1]]), 2, "limit"),
    "first line": (b"\n".join([b"{torn", *GOOD]), 1, "not JSON"),
}  # fmt: skip


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "zstd"])
@pytest.mark.parametrize("kind", DAMAGE)
def test_bad_record_is_named_and_the_rest_kept(kind: str, packed: bool, tmp_path: Path) -> None:
    data, number, words = DAMAGE[kind]
    path = tmp_path / "t.jsonl"
    path.write_bytes(zstandard.compress(data) if packed else data)
    with pytest.raises(FormatError) as caught:
        list(read_trajectories(path))
    assert caught.value.path == str(path)
    assert caught.value.line == number
    assert words in caught.value.message
    skipped: list[SkippedRecord] = []
    kept = list(read_trajectories(path, skip_bad=True, on_skip=skipped.append))
    assert [item.turns[0].observation.text for item in kept] == ["one\n", "two\n"]
    assert [item.line for item in skipped] == [number]
    assert words in skipped[0].reason
    assert str(path) not in skipped[0].reason


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"\n \n", "empty"),
        (b"hello\n", "not JSON"),
        (b'{"a": 1}\n', "keys a"),
        (b"[1, 2]\n", "list of something else"),
        (b"\0\0\0", "NUL bytes"),
        (b"\x28\xb5\x2f\xfd\x00", "cut off"),
        (b"\x28\xb5\x2f\xfd garbage and more of it", "damaged zstd"),
    ],
)  # fmt: skip
def test_unknown_file(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=words):
        detect_format(path)


def test_directory_missing_file_and_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="is a directory"):
        list(read_trajectories(tmp_path))
    with pytest.raises(FormatError, match="no such file"):
        list(read_trajectories(tmp_path / "missing"))
    write_trajectories(tmp_path / "t.jsonl", [trajectory()])
    with pytest.raises(ConfigError, match="unknown format 'nosuch'"):
        list(read_trajectories(tmp_path / "t.jsonl", format="nosuch"))
    with pytest.raises(ConfigError, match="can only be read"):
        write_trajectories(tmp_path / "t.jsonl", [trajectory()], format="steps")


def test_byte_order_mark_is_no_part_of_the_data(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b"\n".join(GOOD))
    assert len(list(read_trajectories(path))) == 2


def test_utf_16_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\n".join(GOOD).decode().encode("utf-16"))
    with pytest.raises(FormatError, match="UTF-16"):
        list(read_trajectories(path, format="worldline"))


def test_lone_surrogate_keeps_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(line("x").replace(b'"text":"x"', rb'"text":"a\ud800b"'))
    (item,) = read_trajectories(path)
    observation = item.turns[0].observation
    assert observation.text == "a\ufffdb"
    assert observation.raw == {"text": "Ye2ggGI="}
    write_trajectories(path, [item])
    assert list(read_trajectories(path)) == [item]


def test_line_separators_inside_a_line_are_data(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    texts = ["a\u2028b", "a\u2029b", "a\x85b", "a\x0bb", "a\rb", "a\r\nb"]
    write_trajectories(path, map(trajectory, texts))
    assert path.read_bytes().count(b"\n") == len(texts)
    assert [item.turns[0].observation.text for item in read_trajectories(path)] == texts


def test_truncated_frame_keeps_what_came_before(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.zst"
    write_trajectories(path, (trajectory(f"{number}\n") for number in range(4_000)))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FormatError, match="cut off"):
        list(read_trajectories(path))
    skipped: list[SkippedRecord] = []
    kept = list(read_trajectories(path, skip_bad=True, on_skip=skipped.append))
    assert 0 < len(kept) < 4_000
    assert [item.turns[0].observation.text for item in kept[:2]] == ["0\n", "1\n"]
    assert len(skipped) == 1


def test_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zst"
    path.write_bytes(zstandard.compress(b"\n" * (64 << 20)))
    file = InputFile(path, Limits(expanded=8 << 20, ratio=100))
    (item,) = file.json_lines()
    assert isinstance(item, SkippedRecord)
    assert "expands to more than" in item.reason


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "zstd"])
def test_gigantic_line_is_passed_over(packed: bool, tmp_path: Path) -> None:
    data = b"\n".join([b'{"a": 1}', b"x" * (3 << 20), b'{"b": 2}', b"y" * (2 << 20)])
    path = tmp_path / "t"
    path.write_bytes(zstandard.compress(data) if packed else data)
    items = list(InputFile(path, Limits(line=1 << 20)).json_lines())
    assert [type(item).__name__ for item in items] == ["Record", "SkippedRecord", "Record", "SkippedRecord"]
    assert [item.line for item in items] == [1, 2, 3, 4]


def test_torn_json_list_keeps_its_whole_elements(tmp_path: Path) -> None:
    conversations = [{"messages": [{"role": "user", "content": f"hello {number}"}]} for number in range(3)]
    text = json.dumps(conversations, indent=1)
    path = tmp_path / "t.json"
    path.write_text(text[:-60], "utf-8")
    skipped: list[SkippedRecord] = []
    kept = list(read_trajectories(path, skip_bad=True, on_skip=skipped.append))
    assert [item.world.task for item in kept] == ["hello 0", "hello 1"]
    assert [item.line for item in skipped] == [20]


def test_a_long_first_line_does_not_hide_the_second(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    conversation = {"messages": [{"role": "user", "content": "x" * (2 << 20)}]}
    path.write_text("".join(json.dumps(conversation) + "\n" for _ in range(2)), "utf-8")
    assert len(list(read_trajectories(path))) == 2


def test_ten_megabytes_survive(tmp_path: Path) -> None:
    text = "é\0\u2028" * 2_000_000
    for name in ("t.jsonl", "t.jsonl.zst"):
        write_trajectories(tmp_path / name, [trajectory(text)])
        (item,) = read_trajectories(tmp_path / name)
        assert item.turns[0].observation.text == text


def test_a_million_lines_stream_in_bounded_memory(tmp_path: Path) -> None:
    """A million short records, counted in a process that may not hold them."""
    path = tmp_path / "t.jsonl.zst"
    row = b'{"source":"observed","world":{"domain":"d"},"turns":[],"id":"x"}\n'
    path.write_bytes(zstandard.compress(row * 1_000_000))
    code = """
        import resource, sys
        from worldline.formats import InputFile
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        count = sum(1 for _ in InputFile(sys.argv[1]).json_lines())
        print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(path)], capture_output=True, text=True, check=True
    )
    count, grown = map(int, done.stdout.split())
    assert count == 1_000_000
    assert grown < 40_000, f"{grown} KiB"


def test_nothing_is_left_behind_when_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"before")

    def failing() -> list[Trajectory]:
        raise FormatError("the source broke")

    with pytest.raises(FormatError):
        write_trajectories(path, (item for item in failing()))
    assert path.read_bytes() == b"before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.jsonl"]


def test_full_disk_is_a_storage_error(tmp_path: Path) -> None:
    """A limit on the file size stands for the full disk: the kernel refuses the write in the same way."""
    code = """
        import resource, signal, sys
        from worldline.errors import StorageError
        from worldline.formats import TrajectoryWriter, read_trajectories
        from worldline.types import Trajectory
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        world = {"domain": "d", "task": "x" * 500}
        item = Trajectory.model_validate({"source": "observed", "world": world, "turns": []})
        with TrajectoryWriter(sys.argv[1]) as writer:
            try:
                while True:
                    writer.write(item)
            except StorageError as error:
                print(writer.count, len(list(read_trajectories(sys.argv[1]))))
    """
    path = str(tmp_path / "t.jsonl")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), path], capture_output=True, text=True, check=True
    )
    written, readable = map(int, done.stdout.split())
    assert written == readable == 3


def test_missing_folder_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        write_trajectories(tmp_path / "no" / "t.jsonl", [trajectory()])


def test_links_and_devices_are_not_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "target.jsonl", tmp_path / "link.jsonl"
    target.write_bytes(b"before")
    link.symlink_to(target)
    assert write_trajectories(link, [trajectory()]) == 1
    assert link.is_symlink()
    assert len(list(read_trajectories(target))) == 1
    with pytest.raises(StorageError, match="No space left on device"):
        write_trajectories("/dev/full", [trajectory()])
    with pytest.raises(StorageError, match="No space left"), TrajectoryWriter("/dev/full", sync=False) as writer:
        writer.write(trajectory())


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.zst"])
def test_writer_cuts_a_torn_end_off_and_goes_on(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with TrajectoryWriter(path) as writer:
        for number in range(3):
            writer.write(trajectory(f"{number}\n"))
    whole = path.read_bytes()
    for cut in (1, 5, 20):
        path.write_bytes(whole[:-cut])
        with TrajectoryWriter(path) as writer:
            writer.write(trajectory("new\n"))
        texts = [item.turns[0].observation.text for item in read_trajectories(path)]
        assert texts == ["0\n", "1\n", "new\n"]


def test_unwritable_values_are_refused(tmp_path: Path) -> None:
    item = trajectory().model_copy(update={"extra": {"x": float("nan")}})
    with pytest.raises(FormatError, match="cannot be written as JSON"):
        write_trajectories(tmp_path / "t.jsonl", [item])
