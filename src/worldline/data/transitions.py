"""What an action changed in a kernel's state, as plain sentences: exact, because both states are executed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from worldline.types import JsonDict

__all__ = ["changes", "read_back"]

_MOST = 40
"""Changes that are told of; further ones are counted."""
_VALUE = 200
"""Characters of a value that are shown."""
_NAMES = ("path", "name", "id", "key", "url")
"""Fields that name an entry of a list."""


def changes(before: JsonDict, after: JsonDict) -> list[str]:
    """Tell the differences of two descriptions of a kernel's state.

    Args:
        before: `describe()` before the action.
        after: `describe()` after it.

    Returns:
        One line a difference: `PATH: OLD -> NEW`, `PATH: added VALUE` or `PATH: removed`; none where nothing changed.
    """
    found = list(_differences("", before, after))
    if len(found) <= _MOST:
        return found
    return [*found[:_MOST], f"and {len(found) - _MOST} further changes"]


def read_back(text: str) -> list[str]:
    """The lines of a told state change, for comparing two of them: blanks and order do not count."""
    return sorted(" ".join(line.split()).removeprefix("- ") for line in text.split("\n") if line.strip())


def _differences(path: str, before: Any, after: Any) -> Iterator[str]:
    if before == after:
        return
    left, right = _entries(before), _entries(after)
    if left is None or right is None:
        yield f"{path or 'state'}: {_shown(before)} -> {_shown(after)}"
        return
    for key in [*left, *(key for key in right if key not in left)]:
        inner = f"{path}.{key}" if path else key
        if key not in right:
            yield f"{inner}: removed"
        elif key not in left:
            yield f"{inner}: added {_shown(right[key])}"
        else:
            yield from _differences(inner, left[key], right[key])


def _entries(value: Any) -> dict[str, Any] | None:
    """The parts of a value by name: of a mapping, or of a list of things that have names."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return None
    for name in _NAMES:
        keys = [item.get(name) for item in value]
        if all(isinstance(key, str) for key in keys) and len(set(keys)) == len(keys):
            return {item[name]: {key: inner for key, inner in item.items() if key != name} for item in value}
    return None


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    text = text.replace("\n", "\\n")
    return text if len(text) <= _VALUE else f"{text[:_VALUE]}..."
