"""Archives: read like folders, and every trick refused with a typed error."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from goldens import DATA
from hypothesis import example, given, settings
from hypothesis import strategies as st

from worldline.errors import FormatError, WorldlineError
from worldline.formats import Importer, InputFile, Limits
from worldline.formats.container import archive_kind, unpack

GOLDEN = Path(__file__).parent / "golden"
TRIAL = DATA / "harbor" / "hello__abc"
MEMBERS = {
    "runs/a.json": (GOLDEN / "atif-calls.json").read_bytes(),
    "runs/notes.txt": b"hello",
    "runs/b.jsonl.gz": gzip.compress((GOLDEN / "mixed.steps.jsonl").read_bytes()),
    **{f"trial/{path.relative_to(TRIAL)}": path.read_bytes() for path in TRIAL.rglob("*.*") if path.is_file()},
}


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(members: dict[str, bytes], *extra: tarfile.TarInfo) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for entry in extra:
            archive.addfile(entry)
    return out.getvalue()


KINDS: dict[str, Callable[[dict[str, bytes]], bytes]] = {
    "zip": zipped,
    "tar": tarred,
    "tar.gz": lambda members: gzip.compress(tarred(members)),
    "tar.zst": lambda members: zstandard.compress(tarred(members)),
}


def refused(data: bytes, words: str, tmp_path: Path, limits: Limits | None = None) -> FormatError:
    """Unpack and expect one error; nothing may be written beside the folder that is given."""
    path = tmp_path / "archive"
    path.write_bytes(data)
    into = tmp_path / "into" / "deep"
    into.mkdir(parents=True)
    file = InputFile(path, limits)
    with pytest.raises(FormatError, match=words) as caught:
        unpack(file, archive_kind(file) or "", into)
    assert caught.value.path == str(path)
    assert [entry.name for entry in into.parent.iterdir()] == ["deep"]
    return caught.value


@pytest.mark.parametrize("kind", KINDS)
def test_archive_is_read_like_a_folder(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"runs.{kind}"
    path.write_bytes(KINDS[kind](MEMBERS))
    read = Importer([path])
    found = list(read.read_all())
    assert [(entry.name.removeprefix(f"{path}!/"), entry.format) for entry in read.entries] == [
        ("runs/a.json", "atif"),
        ("runs/b.jsonl.gz", "steps"),
        ("trial", "harbor"),
    ]
    assert len(found) == sum(entry.trajectories for entry in read.entries)
    assert [(out.name.removeprefix(f"{path}!/"), "not JSON" in out.why) for out in read.left_out] == [
        ("runs/notes.txt", True)
    ]


def test_an_archive_in_an_archive_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "outer.zip"
    path.write_bytes(zipped({"inner.zip": zipped(MEMBERS), "inner.tgz": gzip.compress(tarred(MEMBERS))}))
    read = Importer([path])
    assert not list(read.read_all())
    assert [out.why for out in read.left_out] == ["an archive inside an archive, not looked into"] * 2


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil", "..\\evil", "C:\\evil", "C:/evil"])
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_names_that_lead_out(kind: str, name: str, tmp_path: Path) -> None:
    refused(KINDS[kind]({"good": b"1", name: b"evil"}), "no plain relative path", tmp_path)


def test_members_that_come_twice(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for data in (b"one", b"two"):
            entry = tarfile.TarInfo("same")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    refused(out.getvalue(), "is there twice", tmp_path)


def test_zip_members_that_come_twice(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("same", b"one")
            archive.writestr("same", b"two")
    refused(out.getvalue(), "is there twice", tmp_path)


def test_file_and_folder_of_one_name(tmp_path: Path) -> None:
    refused(zipped({"a": b"1", "a/b": b"2"}), "cannot be unpacked", tmp_path)


def test_overlapping_members(tmp_path: Path) -> None:
    """The second entry of the directory points into the first member."""
    data = bytearray(zipped({"a": b"x" * 1_000, "b": b"y" * 1_000}))
    second = data.rindex(b"PK\x01\x02")
    data[second + 42 : second + 46] = struct.pack("<I", 0)
    refused(bytes(data), "overlap", tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_bombs(kind: str, tmp_path: Path) -> None:
    limits = Limits(expanded=1 << 20, ratio=0 if kind == "tar" else 1)
    error = refused(KINDS[kind]({"bomb": bytes(8 << 20)}), "expands to more than", tmp_path, limits)
    assert error.hint


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_too_many_members(kind: str, tmp_path: Path) -> None:
    refused(KINDS[kind]({str(n): b"" for n in range(30)}), "more than 20 members", tmp_path, Limits(members=20))


def test_a_size_that_lies(tmp_path: Path) -> None:
    data = bytearray(zipped({"a": b"x" * 1_000}))
    for place in (22, data.rindex(b"PK\x01\x02") + 24):
        data[place : place + 4] = struct.pack("<I", 10)
    refused(bytes(data), "damaged zip|not as long as it says", tmp_path)


def test_endless_tar_headers(tmp_path: Path) -> None:
    entry = tarfile.TarInfo("x")
    entry.type = tarfile.XHDTYPE
    entry.size = 40 << 20
    data = entry.tobuf(tarfile.USTAR_FORMAT) + bytes(40 << 20)
    refused(data, "headers of a tar member take more", tmp_path)


def test_chain_of_tar_headers(tmp_path: Path) -> None:
    entry = tarfile.TarInfo("././@LongLink")
    entry.type = tarfile.GNUTYPE_LONGNAME
    entry.size = 10
    refused((entry.tobuf(tarfile.GNU_FORMAT) + b"a" * 512) * 5_000, "damaged tar", tmp_path)


def test_links_and_devices_are_left_out(tmp_path: Path) -> None:
    entries = []
    for name, kind in (("link", tarfile.SYMTYPE), ("hard", tarfile.LNKTYPE), ("pipe", tarfile.FIFOTYPE)):
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = kind, "/etc/passwd"
        entries.append(entry)
    path = tmp_path / "t.tar"
    path.write_bytes(tarred({"a.json": MEMBERS["runs/a.json"]}, *entries))
    read = Importer([path])
    assert len(list(read.read_all())) == 1
    assert [out.name.rpartition("!/")[2] for out in read.left_out] == ["link", "hard", "pipe"]
    info = zipfile.ZipInfo("link")
    info.external_attr = 0o120777 << 16
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    path.write_bytes(out.getvalue())
    read = Importer([path])
    assert not list(read.read_all())
    assert "a link or device" in read.left_out[0].why


@pytest.mark.parametrize("kind", KINDS)
def test_cut_off_archives(kind: str, tmp_path: Path) -> None:
    whole = KINDS[kind](MEMBERS)
    path = tmp_path / "archive"
    for cut in range(1, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(whole[:cut])
        try:
            list(Importer([path]).read_all())
        except WorldlineError as error:
            assert str(path) in error.message


@settings(deadline=None, max_examples=200)
@example(kind="zip", place=180, junk=b"\0")  # a member without a name
@given(kind=st.sampled_from(["zip", "tar"]), place=st.integers(0, 10**6), junk=st.binary(min_size=1, max_size=8))
def test_any_damage_is_refused_or_read(kind: str, place: int, junk: bytes) -> None:
    data = bytearray(KINDS[kind]({"a": b"x" * 100, "b/c": b"y" * 2_000}))
    place %= len(data)
    data[place : place + len(junk)] = junk
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "archive")
        path.write_bytes(data)
        file = InputFile(path, Limits(expanded=1 << 20, ratio=50))
        try:
            found = archive_kind(file)
            if found is not None:
                unpack(file, found, Path(tempfile.mkdtemp(dir=folder)))
        except FormatError as error:
            assert error.path == str(path)
