"""Finding a model by what a user types: a name in `models.yaml`, `URL#NAME`, `local:NAME`, or `scripted:FILE`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import platformdirs
import pydantic
import yaml

from worldline.errors import ConfigError, boundary, unknown_name
from worldline.models.base import ChatModel
from worldline.models.cache import CachedModel
from worldline.models.endpoint import EndpointModel
from worldline.models.local import LocalModel
from worldline.models.scripted import ScriptedModel
from worldline.models.settings import LocalSettings, ModelSettings
from worldline.models.store import find_model
from worldline.types import JsonDict

__all__ = ["KEY_VARIABLE", "MODELS_VARIABLE", "load_models", "model_files", "resolve_model"]

MODELS_VARIABLE = "WORLDLINE_MODELS"
"""Environment variable that names a models file."""
KEY_VARIABLE = "WORLDLINE_API_KEY"
"""Environment variable whose key, if set, is sent to a model given as `URL#NAME`."""

_SCRIPTED = "scripted:"
_LOCAL = "local"

Entry = ModelSettings | LocalSettings


def model_files(explicit: Path | None = None) -> list[Path]:
    """Where models are looked up, first to last; only files that exist.

    An explicit file, or else the one that `WORLDLINE_MODELS` names, is the only place. Otherwise: `models.yaml` of the
    working directory, then of the user's configuration directory.

    Raises:
        ConfigError: The file that was named does not exist.
    """
    named = explicit or (Path(os.environ[MODELS_VARIABLE]) if os.environ.get(MODELS_VARIABLE) else None)
    if named is not None:
        if not named.is_file():
            raise ConfigError(f"there is no models file {named}")
        return [named]
    places = [Path("models.yaml"), platformdirs.user_config_path("worldline") / "models.yaml"]
    return [place for place in places if place.is_file()]


def load_models(path: Path) -> dict[str, Entry]:
    """Read a models file.

    Raises:
        ConfigError: It cannot be read; the message names the model and the key that are wrong, and no value.
    """
    with boundary(ConfigError, f"reading {path}", OSError, ValueError, RecursionError):
        text = path.read_text(encoding="utf-8")
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError as exc:
            # Its full message quotes the line, which may hold what nobody should read in a log.
            mark = getattr(exc, "problem_mark", None)
            place = f", line {mark.line + 1}" if mark is not None else ""
            raise ConfigError(f"{path}{place}: this is not YAML: {getattr(exc, 'problem', 'unreadable')}") from None
    entries = value.get("models") if isinstance(value, dict) and set(value) == {"models"} else None
    if not isinstance(entries, dict):
        raise ConfigError(f"{path}: expected one key 'models', holding a mapping from names to settings")
    return {str(name): _settings(entry, f"{path}: models.{name}") for name, entry in entries.items()}


def resolve_model(
    spec: str, *, models: Path | None = None, cache: Path | None = None, overrides: JsonDict | None = None
) -> ChatModel:
    """Build the chat model that a user named.

    Args:
        spec: A name from a models file, `URL#NAME` (`http://127.0.0.1:8000/v1#Qwen-AgentWorld-35B-A3B`, with or
            without `/v1`), `local` or `local:NAME` for weights on this machine (a stored model, a GGUF file or a
            Hugging Face folder, `+ADAPTER` behind it for one with an adapter), or `scripted:FILE`.
        models: The models file to look in, in place of the usual ones (see :func:`model_files`).
        cache: File of a response cache to put before the model.
        overrides: Settings of an endpoint (see :class:`ModelSettings`) that go before those of the models file, such
            as `concurrency`; a model of another kind has none and ignores them.

    Raises:
        ConfigError: There is no such model, or its settings are wrong.
        StorageError: The cache cannot be opened.
    """
    model = _build(spec.strip(), models)
    if overrides and isinstance(model, EndpointModel):
        entry = {**model.settings.model_dump(), **overrides}
        settings = _settings(entry, spec)
        assert isinstance(settings, ModelSettings)
        model = EndpointModel(settings, name=model.name)
    return model if cache is None else CachedModel(model, cache)


def _build(spec: str, models: Path | None) -> ChatModel:
    if spec.startswith(_SCRIPTED):
        return ScriptedModel.from_file(Path(spec.removeprefix(_SCRIPTED)))
    if "://" in spec:
        return _from_url(spec)
    kind, _, named = spec.partition(":")
    if kind == _LOCAL and (named or not _entry_of(spec, models)):
        return LocalModel(find_model(named))
    files = model_files(models)
    known: set[str] = set()
    for file in files:
        entries = load_models(file)
        if spec in entries:
            return _model(entries[spec], spec)
        known |= set(entries)
    if known:
        raise unknown_name("model", spec, known)
    raise ConfigError(
        f"unknown model {spec!r}: {_looked_in(files)}", hint="give URL#NAME or local:NAME, or write a models.yaml"
    )


def _entry_of(name: str, models: Path | None) -> bool:
    """Whether a models file gives the name `local` a meaning of its own."""
    return any(name in load_models(file) for file in model_files(models))


def _model(entry: Entry, name: str) -> ChatModel:
    if isinstance(entry, ModelSettings):
        return EndpointModel(entry, name=name)
    return LocalModel(
        find_model(entry.local),
        name=name,
        threads=entry.threads,
        context=entry.context_length,
        sampling=entry.sampling.sampling(),
    )


def _looked_in(files: Sequence[Path]) -> str:
    return f"{', '.join(map(str, files))} names none" if files else "there is no models.yaml"


def _from_url(spec: str) -> ChatModel:
    url, _, name = spec.partition("#")
    if not name:
        raise ConfigError(f"{_shown(url)} does not say which model", hint="add its name: URL#NAME")
    key_env = KEY_VARIABLE if os.environ.get(KEY_VARIABLE) else None
    return _model(_settings({"base_url": url, "model": name, "key_env": key_env}, _shown(url)), name)


def _shown(url: str) -> str:
    """An address without the credentials and the query that it may wrongly hold."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.split('?')[0].rpartition('@')[2]}"


def _settings(entry: object, where: str) -> Entry:
    kind = LocalSettings if isinstance(entry, dict) and _LOCAL in entry else ModelSettings
    try:
        return kind.model_validate(entry)
    except pydantic.ValidationError as exc:
        # The values are left out: one of them may be a key.
        wrong = [
            ".".join(map(str, error["loc"])) + ": " * bool(error["loc"]) + error["msg"].removeprefix("Value error, ")
            for error in exc.errors(include_input=False, include_context=False, include_url=False)
        ]
        raise ConfigError(f"{where}: {'; '.join(wrong)}") from None
