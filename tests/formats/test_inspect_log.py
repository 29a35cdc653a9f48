"""Inspect's logs: archives and JSON, whole, cut off and hostile."""

from __future__ import annotations

import json
import struct
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
import zstandard
from goldens import check_golden, golden_files, read_golden
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worldline.errors import FormatError
from worldline.formats import InputFile, Limits, SkippedRecord, detect_format, get_format, read_trajectories
from worldline.formats.folder import InputFolder
from worldline.formats.importing import Importer
from worldline.formats.inspect_archive import LogArchive
from worldline.types import Source, Trajectory

FILES = {path.name: path for path in golden_files("inspect")}
INSPECT = get_format("inspect")


@pytest.mark.parametrize("path", FILES.values(), ids=lambda path: path.name)
def test_golden(path: Path, tmp_path: Path) -> None:
    check_golden(path, tmp_path)
    assert detect_format(path).name == "inspect"


def test_tool_events_are_turns() -> None:
    found, skipped = read_golden(FILES["log.eval"])
    assert [(item.origin["epoch"], len(item.turns)) for item in found] == [(1, 3), (2, 3)]
    assert "a sample was expected" in skipped[0].reason
    first, second, third = found[0].turns
    assert found[0].world.domain == "terminal"
    assert found[0].world.tools[0].name == "bash"
    assert [turn.action.command for turn in found[0].turns] == ["ls", "cat missing", "seq 3"]
    assert first.extra["arguments"] == {"cmd": "ls"}
    assert [turn.observation.exit_code for turn in found[0].turns] == [0, 1, 0]
    assert (first.thought, second.thought, third.thought) == ("I look.", None, "Long one.")
    assert second.extra["batch"] == {"index": 1, "size": 2}
    assert third.observation.text == "1\n2\n3\n", "a text that stands among the attachments"
    assert third.observation.truncated
    assert [(item.turns[-1].reward, item.turns[-1].done) for item in found] == [(1.0, True), (0.0, True)]
    assert found[0].family == found[1].family
    kept = json.dumps(found[0].extra["inspect"])
    assert "future_field" in kept
    assert "brand_new" in kept
    assert "crashed" not in kept, "a sample that was written again counts in its last form"


def test_every_container_says_the_same(tmp_path: Path) -> None:
    turns = [item.turns for item in read_golden(FILES["log.eval"])[0]]
    assert [item.turns for item in read_golden(FILES["log.json"])[0]][:2] == turns
    assert [item.turns for item in read_golden(FILES["chunked-zstd.eval"])[0]] == turns[:1]
    for name in ("cut.eval", "cut.json"):
        found, skipped = read_golden(FILES[name])
        assert [item.turns for item in found] == turns
        assert skipped
    with zipfile.ZipFile(FILES["log.eval"]) as archive:
        archive.extractall(tmp_path / "log")
    folder = InputFolder(tmp_path / "log")
    assert INSPECT.claims(folder)  # type: ignore[attr-defined]
    items = list(INSPECT.read_folder(folder, Source.OBSERVED))  # type: ignore[attr-defined]
    assert [item.turns for item in items if isinstance(item, Trajectory)] == turns


def test_folders_are_imported_with_their_archives(tmp_path: Path) -> None:
    for name in ("log.eval", "chunked-zstd.eval", "log.json"):
        (tmp_path / name).write_bytes(FILES[name].read_bytes())
    importer = Importer([tmp_path])
    assert len(list(importer.read_all())) == 2 + 1 + 7
    assert {entry.format for entry in importer.entries} == {"inspect"}
    assert not importer.left_out


def test_sub_agents_messages_and_the_sandbox() -> None:
    found, _ = read_golden(FILES["log.json"])
    _, _, main, agent, cyclic, messages, sandbox = found
    assert [turn.action.name for turn in main.turns] == ["transfer_to_helper", "python", "bash"]
    assert main.turns[1].observation.text == "Command timed out before completing."
    assert main.turns[1].observation.is_error
    assert main.turns[2].train == 0.0, "a call that was not approved"
    assert main.turns[2].reward == 0.25, "the first score that is a number"
    assert main.extra["inspect"]["sample"]["error_retries"][0]["message"] == "first try"
    assert [(turn.action.name, turn.observation.text) for turn in agent.turns] == [("web_search", "42")]
    assert len(cyclic.turns) == 1
    assert [turn.action.call_id for turn in messages.turns] == ["b", "a", "a"]
    assert messages.turns[-1].reward == 1.0
    assert [turn.action.name for turn in sandbox.turns] == ["write_file", "bash", "bash", "read_file"]
    assert [turn.observation.truncated for turn in sandbox.turns] == [False, False, True, False]


def member(name: str, packed: bytes, raw: bytes, method: int, flags: int = 0) -> tuple[bytes, bytes]:
    fields = (20, flags, method, 0, 0x5CA5, zlib.crc32(raw), len(packed), len(raw), len(name), 0)
    local = struct.pack("<4sHHHHHIIIHH", b"PK\x03\x04", *fields) + name.encode() + packed
    return local, struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\x01\x02", 20, *fields, 0, 0, 0, 0, 0) + name.encode()


def archive_of(path: Path, packed: bytes, raw: bytes, method: int, *, flags: int = 0, listed: int = 1) -> Path:
    """Write an archive of a header and `listed` members that lie over each other."""
    entries = [member(f"samples/s{number}_epoch_1.json", packed, raw, method, flags) for number in range(listed)]
    local = entries[0][0]
    directory = b"".join(entry for _, entry in entries)
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, listed, listed, len(directory), len(local), 0)
    path.write_bytes(local + directory + end)
    return path


def deflated(raw: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(raw) + packer.flush()


BOMB = b"[" + b" " * (8 << 20) + b"]"
SMALL = Limits(expanded=1 << 20, ratio=4, document=64 << 20)


@pytest.mark.parametrize(
    ("packed", "method"),
    [(deflated(BOMB), 8), (zstandard.ZstdCompressor().compress(BOMB), 93)],
    ids=["deflate", "zstd"],
)
def test_bombs_end_in_a_typed_error(tmp_path: Path, packed: bytes, method: int) -> None:
    path = archive_of(tmp_path / "b.eval", packed, BOMB, method)
    (item,) = INSPECT.read(InputFile(path, SMALL), Source.OBSERVED)
    assert isinstance(item, SkippedRecord)
    assert "expands to more than 1,048,576 bytes" in item.reason


def test_members_that_lie_over_each_other_are_counted_each_time(tmp_path: Path) -> None:
    raw = b"[" + b" " * 100_000 + b"]"
    path = archive_of(tmp_path / "b.eval", deflated(raw), raw, 8, listed=200)
    items = list(INSPECT.read(InputFile(path, Limits(expanded=1 << 20, ratio=1)), Source.OBSERVED))
    assert all(isinstance(item, SkippedRecord) for item in items)
    assert sum("expands to more" in item.reason for item in items if isinstance(item, SkippedRecord)) > 100


def test_one_member_has_the_limit_of_a_document(tmp_path: Path) -> None:
    path = archive_of(tmp_path / "b.eval", deflated(BOMB), BOMB, 8)
    (item,) = INSPECT.read(InputFile(path, Limits(document=1 << 20)), Source.OBSERVED)
    assert isinstance(item, SkippedRecord)
    assert "longer than 1,048,576 bytes" in item.reason


def test_attachments_do_not_multiply_without_end(tmp_path: Path) -> None:
    sample = {
        "id": 1,
        "messages": [{"role": "user", "content": "attachment://a"}] * 5_000,
        "attachments": {"a": "x" * 9_999},
    }
    path = tmp_path / "l.json"
    path.write_text(json.dumps({"version": 2, "status": "success", "eval": {}, "samples": [sample]}), "utf-8")
    (item,) = INSPECT.read(InputFile(path, Limits(document=1 << 20)), Source.OBSERVED)
    assert isinstance(item, SkippedRecord)
    assert "attachments" in item.reason


@pytest.mark.parametrize(
    ("packed", "method", "flags", "reason"),
    [
        (b"[]", 99, 0, "packed by method 99"),
        (b"[]", 0, 1, "encrypted"),
        (b"[ ", 0, 0, "checksum"),
        (b"\xff\xff", 8, 0, "damaged"),
        (deflated(b"[]")[:2], 8, 0, "damaged: it ends too early"),
        (zstandard.ZstdCompressor().compress(b"[]")[:9], 93, 0, "damaged"),
        (b"", 93, 0, "checksum"),
    ],
)
def test_damaged_members(tmp_path: Path, packed: bytes, method: int, flags: int, reason: str) -> None:
    path = archive_of(tmp_path / "d.eval", packed, b"[]", method, flags=flags)
    with pytest.raises(FormatError, match=reason):
        list(read_trajectories(path))


def test_an_archive_without_members_is_none(tmp_path: Path) -> None:
    path = tmp_path / "n.eval"
    path.write_bytes(b"PK\x03\x04" + b"\0" * 100)
    with pytest.raises(FormatError, match="no member can be found"):
        LogArchive(InputFile(path))
    with pytest.raises(FormatError, match="no known trajectory format"):
        detect_format(path)


names = st.sampled_from(["a", "b", "c", "d"])
events = st.one_of(
    st.fixed_dictionaries(
        {"event": st.just("tool"), "id": names, "function": names, "result": st.text(max_size=3), "span_id": names},
        optional={"pending": st.booleans(), "agent": names, "error": st.just({"type": "x", "message": "y"})},
    ),
    st.fixed_dictionaries(
        {
            "event": st.just("span_begin"),
            "id": names,
            "parent_id": names,
            "type": st.sampled_from(["tool", "agent", "init"]),
        }
    ),
    st.fixed_dictionaries(
        {"event": st.just("sandbox"), "action": st.just("exec"), "result": st.integers(0, 1), "span_id": names}
    ),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(happened=st.lists(events, max_size=15))
def test_every_finished_call_is_one_turn(happened: list[dict[str, Any]]) -> None:
    log = {"version": 2, "status": "success", "eval": {}, "samples": [{"id": 1, "epoch": 1, "events": happened}]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "l.json")
        path.write_text(json.dumps(log), "utf-8")
        found = list(read_trajectories(path))
    calls = [event for event in happened if event["event"] == "tool" and event.get("pending") is not True]
    turns = [turn for item in found for turn in item.turns]
    if calls:
        assert sorted(turn.action.call_id or "" for turn in turns) == sorted(event["id"] for event in calls)
        assert sum(len(turn.extra.get("sandbox", [])) for turn in turns) <= len(happened) - len(calls)
    else:
        assert all(turn.action.name == "bash" for turn in turns)
