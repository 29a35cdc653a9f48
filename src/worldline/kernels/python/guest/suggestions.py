"""The `Did you mean` of CPython 3.11."""

from __future__ import annotations

from typing import Any

from .builtin_names import BUILTINS
from .frames import Frame
from .uncaught import attempt

__all__ = ["closest", "suggestion"]

_MOVE, _CASE = 2, 1
_LONGEST, _MOST = 40, 750


def suggestion(error: BaseException, frame: Frame | None) -> str:
    """What is added to the message of a name or attribute error."""
    name = getattr(error, "name", None)
    found = None
    if isinstance(error, NameError) and isinstance(name, str) and frame is not None:
        local = [] if frame.vars is frame.top else list(frame.code.variables)
        for names in (local, list(frame.top), list(BUILTINS)):
            found = closest(name, names)
            if found is not None:
                break
    elif isinstance(error, AttributeError) and isinstance(name, str) and error.obj is not None:
        found = closest(name, _attributes(error.obj))
    return f". Did you mean: '{found}'?" if found is not None else ""


def _attributes(owner: Any) -> list[str]:
    names, _ = attempt(lambda: dir(owner))
    return names or []


def closest(name: str, names: list[str]) -> str | None:
    """The name nearest to `name` by CPython's weighted edit distance, if near enough."""
    if len(names) >= _MOST:
        return None
    best, best_distance = None, None
    for candidate in names:
        if candidate == name:
            continue
        largest = (len(name) + len(candidate) + 3) * _MOVE // 6
        if best_distance is not None:
            largest = min(largest, best_distance - 1)
        distance = _distance(name, candidate, largest)
        if distance > largest:
            continue
        if best_distance is None or distance < best_distance:
            best, best_distance = candidate, distance
    return best


def _distance(a: str, b: str, largest: int) -> int:
    """Edit distance, a change of case costing half; anything above `largest` where it is exceeded."""
    if a == b:
        return 0
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    a, b = a[start:], b[start:]
    end = 0
    while end < min(len(a), len(b)) and a[-1 - end] == b[-1 - end]:
        end += 1
    if end:
        a, b = a[:-end], b[:-end]
    if not a or not b:
        return _MOVE * (len(a) + len(b))
    if len(a) > _LONGEST or len(b) > _LONGEST:
        return largest + 1
    if len(b) < len(a):
        a, b = b, a
    if (len(b) - len(a)) * _MOVE > largest:
        return largest + 1
    row = list(range(_MOVE, _MOVE * (len(a) + 1), _MOVE))
    result = 0
    for index, letter in enumerate(b):
        distance = result = index * _MOVE
        smallest: int | None = None
        for place, other in enumerate(a):
            substitute = distance + _substitution(letter, other)
            distance = row[place]
            result = min(substitute, min(result, distance) + _MOVE)
            row[place] = result
            smallest = result if smallest is None else min(smallest, result)
        if smallest is not None and smallest > largest:
            return largest + 1
    return result


def _substitution(a: str, b: str) -> int:
    if a == b:
        return 0
    return _CASE if a.lower() == b.lower() else _MOVE
