"""Records survive what kills a process, and are written once."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.bench.agentworld.records import Generation
from worldline.bench.agentworld.store import RecordFile, RunFolder, RunWriter, read_records, settled
from worldline.errors import ConfigError, StorageError


def made(key: str, content: str = "text", **changed: object) -> Generation:
    fields: dict[str, object] = {"key": key, "row": f"row-{key}", "model": "m", "outcome": "ok", "content": content}
    return Generation.model_validate({**fields, **changed})


def failed(key: str, *, transient: bool) -> Generation:
    return made(key, "", outcome="error", error={"type": "EndpointError", "message": "gone", "transient": transient})


def test_records_come_back_and_only_once(tmp_path: Path) -> None:
    with RunWriter(tmp_path) as writer:
        assert writer.generations.append(made("a"))
        assert writer.generations.append(made("b", "line\u2028sep\nnew"))
        assert not writer.generations.append(made("a", "another"))
    with RunWriter(tmp_path) as writer:
        assert len(writer.generations) == 2
        assert writer.generations.get("a") == made("a")
        assert [record.content for record in writer.generations] == ["text", "line\u2028sep\nnew"]
        assert writer.generations.get("c") is None and "c" not in writer.generations
    assert list(RunFolder(tmp_path).generations()) == [made("a"), made("b", "line\u2028sep\nnew")]


def test_a_passing_failure_is_superseded_and_a_lasting_one_is_not(tmp_path: Path) -> None:
    with RunWriter(tmp_path) as writer:
        file = writer.generations
        file.append(failed("a", transient=True))
        file.append(failed("b", transient=False))
        assert (file.is_settled("a"), file.is_settled("b")) == (False, True)
        assert file.append(failed("a", transient=True)) and file.append(made("a"))
        assert not file.append(made("b"))
        assert file.reopen(lambda record: record.outcome == "error") == 1
        assert file.append(made("b", "now"))
    with RunWriter(tmp_path) as writer:
        assert [record.content for record in writer.generations] == ["text", "now"]
        assert writer.generations.is_settled("a") and writer.generations.is_settled("b")
    assert {record.key: record.content for record in RunFolder(tmp_path).generations()} == {"a": "text", "b": "now"}


@pytest.mark.parametrize("outcome", ["ok", "truncated", "empty"])
def test_an_answer_of_any_kind_is_settled(outcome: str) -> None:
    assert settled(made("a", outcome=outcome))


@given(cut=st.integers(min_value=0, max_value=400), text=st.text(max_size=20))
def test_whatever_is_cut_off_the_end_costs_the_last_record_alone(
    tmp_path_factory: pytest.TempPathFactory, cut: int, text: str
) -> None:
    path = tmp_path_factory.mktemp("run") / "generations.jsonl"
    whole = RecordFile(path, Generation)
    sizes = [0]
    for key in "abc":
        whole.append(made(key, text))
        sizes.append(path.stat().st_size)
    whole.close()
    data = path.read_bytes()
    left = max(0, len(data) - cut)
    path.write_bytes(data[:left])
    # A line that lacks nothing but its newline is whole.
    expected = [key for key, size in zip("abc", sizes[1:], strict=True) if left >= size - 1]
    assert [record.key for record in read_records(path, Generation)] == expected
    again = RecordFile(path, Generation)
    assert [record.key for record in again] == expected
    for key in "abc":
        again.append(made(key, text))
    again.close()
    assert path.read_bytes() == data


def test_damage_that_is_not_at_the_end_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "generations.jsonl"
    with RunWriter(tmp_path) as writer:
        writer.generations.append(made("a"))
        writer.generations.append(made("b"))
    path.write_bytes(b"{}\n" + path.read_bytes())
    with pytest.raises(StorageError, match=r"generations.jsonl:1 is damaged"):
        RunWriter(tmp_path)
    with pytest.raises(StorageError, match="is damaged"):
        list(RunFolder(tmp_path).generations())
    path.write_bytes(path.read_bytes().removeprefix(b"{}\n"))
    with RunWriter(tmp_path) as writer:  # the failed open let go of the lock
        assert len(writer.generations) == 2


def test_another_process_cannot_write_the_same_run(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from worldline.bench.agentworld.store import RunWriter\n"
        "w = RunWriter(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None and other.stdin is not None
    try:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(StorageError, match="another process is writing"):
            RunWriter(tmp_path)
        other.kill()
        other.wait(20)
        RunWriter(tmp_path).close()
    finally:
        other.kill()
        other.wait(20)
        other.stdin.close()
        other.stdout.close()


def test_a_full_disk_is_told_and_leaves_no_torn_record(tmp_path: Path) -> None:
    path = tmp_path / "generations.jsonl"
    file = RecordFile(path, Generation)
    file.append(made("a"))

    class Full:
        """The file, on a disk that takes ten more bytes."""

        def __init__(self, real: object) -> None:
            self.real, self.room = real, 10

        def write(self, data: memoryview) -> int:
            if not self.room:
                raise OSError(errno.ENOSPC, "No space left on device")
            taken = self.real.write(data[: self.room])  # type: ignore[attr-defined]
            self.room -= taken
            return int(taken)

        def __getattr__(self, name: str) -> object:
            return getattr(self.real, name)

    real, file._file = file._file, Full(file._file)  # type: ignore[assignment]
    with pytest.raises(StorageError, match="No space left") as told:
        file.append(made("b"))
    assert "it resumes" in (told.value.hint or "")
    assert len(file) == 1 and not file.is_settled("b")
    file._file = real
    file.append(made("c"))
    file.close()
    assert [record.key for record in read_records(path, Generation)] == ["a", "c"]


def test_a_folder_without_a_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no evaluation run"):
        _ = RunFolder(tmp_path).settings
    assert list(RunFolder(tmp_path).generations()) == []
