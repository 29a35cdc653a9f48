"""Writing a terminal's state down and reading it again: JSON of our own plain classes only."""

from __future__ import annotations

import base64
import dataclasses
import importlib
import json
from typing import Any

import zstandard

from worldline.errors import KernelError
from worldline.kernels.screen.display import Display
from worldline.kernels.screen.state import State

__all__ = ["VERSION", "pack", "unpack"]

VERSION = 2
"""Of the stored form; another version is refused."""

_PACKAGES = ("worldline.kernels.screen.", "worldline.domains.terminal.commands")
_FIELDS = tuple(field.name for field in dataclasses.fields(State) if field.name != "display")


def pack(state: State, shell: bytes) -> bytes:
    """Serialise a terminal and the shell in it."""
    data = {
        "version": VERSION,
        "display": state.display.dump(),
        "state": {name: _out(getattr(state, name)) for name in _FIELDS},
        "shell": base64.b64encode(shell).decode("ascii"),
    }
    return zstandard.compress(json.dumps(data, separators=(",", ":")).encode(), 3)


def unpack(data: bytes, display: Display) -> tuple[State, bytes]:
    """Undo :func:`pack`.

    Raises:
        KernelError: The data is damaged or of another version.
    """
    try:
        found = json.loads(zstandard.ZstdDecompressor().decompressobj().decompress(data))
        version = found["version"]
        if version != VERSION:
            raise KernelError(f"the stored screen has version {version}, expected {VERSION}")
        display.restore(found["display"])
        state = State(display, **{name: _in(found["state"][name]) for name in _FIELDS})
        return state, base64.b64decode(found["shell"])
    except (zstandard.ZstdError, ValueError, KeyError, TypeError, AttributeError, ImportError) as exc:
        raise KernelError("the stored screen is damaged", hint="it is rebuilt from the event log") from exc


def _out(value: Any) -> Any:
    """A value as JSON: containers and classes are written as objects with one key."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value if type(value) is str else {"str": [_name(type(value)), str(value)]}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, list):
        return [_out(item) for item in value]
    if isinstance(value, tuple | set | frozenset):
        return {type(value).__name__: [_out(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[_out(key), _out(item)] for key, item in value.items()]}
    kind = type(value)
    if not kind.__module__.startswith(_PACKAGES):
        raise TypeError(f"{kind.__module__}.{kind.__qualname__} cannot be stored")
    names = (
        [field.name for field in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else list(vars(value))
    )
    return {"object": [_name(kind), {name: _out(getattr(value, name)) for name in names}]}


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _in(value: Any) -> Any:
    if isinstance(value, list):
        return [_in(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind == "dict":
        return {_in(key): _in(item) for key, item in inner}
    if kind == "bytes":
        return base64.b64decode(inner)
    if kind in _CONTAINERS:
        return _CONTAINERS[kind](_in(item) for item in inner)
    name, content = inner
    found = _class(name)
    if kind == "str" and issubclass(found, str):
        return found(content)
    if kind != "object":
        raise ValueError(kind)
    thing: object = object.__new__(found)
    for attribute, item in content.items():
        object.__setattr__(thing, attribute, _in(item))
    return thing


_CONTAINERS: dict[str, Any] = {"tuple": tuple, "set": set, "frozenset": frozenset}


def _class(name: str) -> type:
    module, _, path = name.partition(":")
    if not module.startswith(_PACKAGES):
        raise ValueError(f"{name} is not one of ours")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    if not isinstance(found, type):
        raise ValueError(f"{name} is no class")
    return found
