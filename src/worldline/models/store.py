"""The models on this machine: where they lie, and which are there.

Each model is one file `NAME.gguf` in the model folder, or a file or folder elsewhere that was added; beside it stands
`NAME.json`, which says what it is. A file is there whole and with the right hash, or not at all. `BASE+ADAPTER` is a
base with an adapter on it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Literal

import platformdirs

from worldline.errors import ConfigError, StorageError, boundary, unknown_name
from worldline.models.adapters import StoredAdapter, describe_adapter, find_adapter, is_adapter, shipped_adapters
from worldline.models.catalog import CATALOG, DEFAULT_MODEL
from worldline.models.gguf import is_gguf, read_head
from worldline.models.hashing import sha256_of, sha256_of_folder
from worldline.models.trained import TrainedNote, read_note
from worldline.types import Frozen

__all__ = [
    "FOLDER_VARIABLE",
    "StoredModel",
    "add_model",
    "describe",
    "find_model",
    "model_folder",
    "record",
    "sha256_of",
    "stored_models",
    "weights_sha256",
    "with_adapter",
]

FOLDER_VARIABLE = "WORLDLINE_MODEL_DIR"
"""Environment variable that names the model folder."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")


class StoredModel(Frozen):
    """A model that can be used."""

    name: str
    path: Path
    format: Literal["gguf", "huggingface"]
    size: int
    """Bytes of the weights."""
    licence: str
    context: int | None = None
    """Tokens it was made for, where the file says."""
    sha256: str | None = None
    """Of a GGUF file, as it was when it came."""
    title: str = ""
    adapter: StoredAdapter | None = None
    """What is added to the weights."""
    trained: TrainedNote | None = None
    """How it was trained, where its folder says so."""

    @property
    def note(self) -> TrainedNote | None:
        """How it was trained last, where something says so."""
        return self.adapter.note if self.adapter is not None else self.trained


def model_folder() -> Path:
    """`WORLDLINE_MODEL_DIR`, or else `models` in the user's data folder. It need not exist."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else platformdirs.user_data_path("worldline") / "models"


def stored_models(folder: Path | None = None) -> list[StoredModel]:
    """The models that are there, by name; records whose file is gone are left out.

    Raises:
        ConfigError: A record cannot be read.
    """
    found = []
    for record in sorted((folder or model_folder()).glob("*.json")):
        with boundary(ConfigError, f"reading {record}", OSError, ValueError):
            model = StoredModel.model_validate_json(record.read_text(encoding="utf-8"))
        if model.path.exists() and (model.adapter is None or model.adapter.path.exists()):
            found.append(model)
    return found


def find_model(spec: str, folder: Path | None = None) -> StoredModel:
    """Find what a user named; empty is the default model.

    Args:
        spec: A stored model, a GGUF file, a Hugging Face folder, one of these with an adapter (`BASE+ADAPTER`: one that
            ships, or its folder), or an adapter alone, which says what its base is.
        folder: The model folder.

    Raises:
        ConfigError: There is no such model; the hint says how to get it. Or the adapter belongs to another base.
        StorageError: The adapter is damaged.
    """
    name = spec or DEFAULT_MODEL
    known = {model.name: model for model in stored_models(folder)}
    if name in known:
        return known[name]
    path = Path(name).expanduser()
    if path.exists():
        return _on_its_base(describe_adapter(path), folder) if is_adapter(path) else describe(path)
    if name in CATALOG:
        raise ConfigError(f"the model {name} is not here", hint=f"worldline models get {name}")
    shipped = shipped_adapters()
    if name in shipped:
        return _on_its_base(find_adapter(name), folder)
    base, plus, adapter = _parted(name, {*known, *CATALOG})
    if plus:
        return with_adapter(find_model(base, folder), find_adapter(adapter))
    raise unknown_name("local model", name, {*known, *CATALOG, *shipped})


def with_adapter(base: StoredModel, adapter: StoredAdapter) -> StoredModel:
    """Put an adapter on its base.

    Raises:
        ConfigError: The adapter was trained on other weights, or the base has one already.
    """
    if base.adapter is not None:
        raise ConfigError(f"{base.name} has an adapter already", hint="one adapter can be put on a base")
    note, update = adapter.note, {"name": f"{base.name}+{adapter.name}", "adapter": adapter}
    if note is None:
        return base.model_copy(update=update)
    digest = weights_sha256(base)
    if digest != note.base_sha256:
        raise ConfigError(
            f"the adapter {adapter.name} was trained on {note.base} (SHA-256 {note.base_sha256[:12]}...), and "
            f"{base.name} is other weights ({digest[:12]}...)",
            hint=f"use local:{note.base}+{adapter.name}",
        )
    same = base.licence.lower() == note.licence.lower()
    licence = base.licence if same else f"{base.licence}; adapter: {note.licence}"
    return base.model_copy(update={**update, "sha256": digest, "licence": licence})


def weights_sha256(model: StoredModel) -> str:
    """The hash of a model's weights, computed where it was not noted."""
    with boundary(ConfigError, f"reading {model.path}", OSError):
        return model.sha256 or (sha256_of_folder if model.format == "huggingface" else sha256_of)(model.path)


def _on_its_base(adapter: StoredAdapter, folder: Path | None) -> StoredModel:
    if adapter.note is None:
        raise ConfigError(f"{adapter.path} does not say what its base is", hint=f"give it: local:BASE+{adapter.path}")
    return with_adapter(find_model(adapter.note.base, folder), adapter)


def _parted(name: str, known: Collection[str]) -> tuple[str, str, str]:
    """Part `BASE+ADAPTER` at the first plus behind a base that there is, since paths may hold one too."""
    places = [index for index, letter in enumerate(name) if letter == "+"]
    there = [i for i in places if name[:i] in known or (i and Path(name[:i]).expanduser().exists())]
    place = (there or places or [len(name)])[0]
    return name[:place], name[place : place + 1], name[place + 1 :]


def describe(path: Path, name: str | None = None) -> StoredModel:
    """Say what a GGUF file or a Hugging Face folder is.

    Raises:
        ConfigError: It is neither.
    """
    path = path.resolve()
    if path.is_dir():
        return _describe_folder(path, name)
    if not is_gguf(path):
        raise ConfigError(f"{path} is no GGUF file", hint="give a .gguf file, or a folder with config.json and weights")
    head = read_head(path)
    architecture = head.get("general.architecture", "")
    context = head.get(f"{architecture}.context_length")
    return StoredModel(
        name=name or path.stem,
        path=path,
        format="gguf",
        size=path.stat().st_size,
        licence=str(head.get("general.license") or "not stated in the file"),
        context=context if isinstance(context, int) else None,
        title=str(head.get("general.name") or ""),
    )


def add_model(path: Path, name: str | None = None, folder: Path | None = None) -> StoredModel:
    """Note a GGUF file, a Hugging Face folder or an adapter that names its base; it stays where it is.

    Raises:
        ConfigError: It is neither, or the name cannot be used.
        StorageError: The record cannot be written.
    """
    if is_adapter(path):
        model = _on_its_base(describe_adapter(path), folder)
        model = model.model_copy(update={"name": name or (model.adapter or model).name})
    else:
        model = describe(path, name)
    if not _NAME.fullmatch(model.name):
        raise ConfigError(f"{model.name!r} cannot be a model's name", hint="give one with --name")
    if model.name in CATALOG:
        raise ConfigError(f"{model.name} is the name of a known model", hint="give another with --name")
    if model.format == "gguf" and model.sha256 is None:
        model = model.model_copy(update={"sha256": sha256_of(model.path)})
    record(model, folder or model_folder())
    return model


def _describe_folder(path: Path, name: str | None) -> StoredModel:
    config = path / "config.json"
    weights = [*path.glob("*.safetensors"), *path.glob("pytorch_model*.bin")]
    if not config.is_file() or not weights:
        raise ConfigError(f"{path} holds no Hugging Face model", hint="config.json and *.safetensors are expected")
    # what its positions allow, and what its tokenizer says that it was trained for
    stated_contexts = ((config, "max_position_embeddings"), (path / "tokenizer_config.json", "model_max_length"))
    contexts = [_number(file, key) for file, key in stated_contexts if file.is_file()]
    card = path / "README.md"
    stated = (
        re.search(r"^license: *(\S+)", card.read_text("utf-8", "replace"), re.MULTILINE) if card.is_file() else None
    )
    return StoredModel(
        name=name or path.name,
        path=path,
        format="huggingface",
        size=sum(file.stat().st_size for file in weights),
        licence=stated[1] if stated else "not stated in the folder",
        context=min((number for number in contexts if number is not None), default=None),
        trained=read_note(path),
    )


def _number(file: Path, key: str) -> int | None:
    with boundary(ConfigError, f"reading {file}", OSError, ValueError):
        facts = json.loads(file.read_text(encoding="utf-8"))
    value = facts.get(key) if isinstance(facts, dict) else None
    return value if isinstance(value, int) else None


def record(model: StoredModel, folder: Path) -> None:
    """Write down that a model is there.

    Raises:
        StorageError: The folder cannot be written.
    """
    path = folder / f"{model.name}.json"
    with boundary(StorageError, f"writing {path}", OSError):
        folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        partial.write_text(model.model_dump_json(indent=2) + "\n", encoding="utf-8")
        partial.replace(path)
