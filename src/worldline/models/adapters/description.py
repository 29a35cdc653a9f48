"""What an adapter folder holds: PEFT's two files, a card, and a note of the base it belongs to.

A folder that PEFT wrote has `adapter_config.json` and `adapter_model.safetensors`. One that `worldline train adapter`
wrote also has `worldline.json` (:class:`AdapterNote`) and `README.md`, the card.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from worldline.errors import ConfigError, StorageError, boundary, unknown_name
from worldline.models.hashing import sha256_of
from worldline.models.trained import NOTE, TrainedNote
from worldline.types import Frozen, JsonDict

__all__ = [
    "ADAPTER_LIMIT",
    "CARD",
    "CONFIG",
    "NOTE",
    "WEIGHTS",
    "AdapterNote",
    "StoredAdapter",
    "describe_adapter",
    "find_adapter",
    "is_adapter",
    "read_config",
    "shipped_adapters",
]

ADAPTER_LIMIT = 5_000_000
"""Bytes that the weights of an adapter may have which ships with the package."""
CONFIG, WEIGHTS, CARD = "adapter_config.json", "adapter_model.safetensors", "README.md"


class AdapterNote(TrainedNote):
    """What `worldline.json` says: which base the adapter belongs to, and how the two want to be asked."""

    name: str
    base: str
    """Name of the base model, as `--model local:NAME` finds it."""
    base_sha256: str
    """Of the base's weights (see :mod:`worldline.models.hashing`)."""
    base_title: str = ""
    weights_sha256: str
    """Of `adapter_model.safetensors`."""
    licence: str
    recipe: str
    stages: tuple[str, ...]
    """First to last."""
    made_by: str


class StoredAdapter(Frozen):
    """An adapter that can be put on its base."""

    name: str
    path: Path
    """Its folder."""
    size: int
    """Bytes of the weights."""
    sha256: str
    """Of the weights."""
    note: AdapterNote | None = None
    """None where it is a folder of PEFT alone."""


def is_adapter(path: Path) -> bool:
    """Whether a path is a folder that holds an adapter and no whole model."""
    return (path / CONFIG).is_file() and not (path / "config.json").is_file()


def shipped_adapters() -> dict[str, Path]:
    """Folders of the adapters that come with the package, by name."""
    folder = Path(str(files("worldline.models.adapters"))) / "shipped"
    return {path.name: path for path in sorted(folder.iterdir()) if is_adapter(path)}


def find_adapter(spec: str) -> StoredAdapter:
    """Find an adapter by the name of one that ships, or by the path of its folder.

    Raises:
        ConfigError: There is none.
        StorageError: It is damaged.
    """
    shipped = shipped_adapters()
    if spec in shipped:
        return describe_adapter(shipped[spec])
    path = Path(spec).expanduser()
    if path.is_dir():
        return describe_adapter(path)
    raise unknown_name("adapter", spec, [*shipped, "the path of an adapter's folder"])


def describe_adapter(folder: Path) -> StoredAdapter:
    """Say what an adapter folder is.

    Raises:
        ConfigError: It holds no adapter, or its note cannot be read.
        StorageError: Its weights are not those that the note tells of.
    """
    folder = folder.resolve()
    missing = [name for name in (CONFIG, WEIGHTS) if not (folder / name).is_file()]
    if missing:
        raise ConfigError(
            f"{folder} holds no adapter: {missing[0]} is missing", hint=f"{CONFIG} and {WEIGHTS} make one"
        )
    weights = folder / WEIGHTS
    with boundary(ConfigError, f"reading {weights}", OSError):
        digest, size = sha256_of(weights), weights.stat().st_size
    note = _note(folder)
    if note is not None and note.weights_sha256 != digest:
        raise StorageError(
            f"{weights} has the hash {digest}, not {note.weights_sha256}",
            hint="the file is cut off or was changed: install the package anew, or make the adapter again",
        )
    return StoredAdapter(name=note.name if note else folder.name, path=folder, size=size, sha256=digest, note=note)


def read_config(folder: Path) -> JsonDict:
    """Read `adapter_config.json`.

    Raises:
        ConfigError: It is not there, or no JSON object.
    """
    return dict(_json(folder / CONFIG))


def _note(folder: Path) -> AdapterNote | None:
    path = folder / NOTE
    if not path.is_file():
        return None
    with boundary(ConfigError, f"reading {path}", OSError, ValueError):
        return AdapterNote.model_validate(_json(path))


def _json(path: Path) -> Mapping[str, object]:
    with boundary(ConfigError, f"reading {path}", OSError, ValueError, RecursionError):
        value = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: a JSON object is expected")
    return value
