"""The clock of an environment whose time stands still: what it writes into everything that is made."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime

from worldline.types import canonical_json
from worldline.worlds.learning.traces import TracedCall

__all__ = ["find_clock"]

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")
_LEAST_TASKS = 2
_LEAST_CALLS = 3


def find_clock(calls: Iterable[TracedCall]) -> str:
    """Return the time at which all sessions take place, or an empty text where time goes on or none is told.

    Args:
        calls: Calls that may change something. A field of their answers that is the same moment in several tasks, and
            was not given by the call, tells the time.
    """
    told: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for call in calls:
        for name, moment in _moments(call):
            told[call.tool, name].append((call.family, moment))
    found = {
        seen[0][1]
        for seen in told.values()
        if len(seen) >= _LEAST_CALLS
        and len({task for task, _ in seen}) >= _LEAST_TASKS
        and len({moment for _, moment in seen}) == 1
    }
    return found.pop() if len(found) == 1 else ""


def _moments(call: TracedCall) -> Iterator[tuple[str, str]]:
    if call.error or not isinstance(call.value, dict):
        return
    given = canonical_json(call.arguments)
    for name, value in call.value.items():
        if isinstance(value, str) and _MOMENT.fullmatch(value) and value not in given and _is_time(value):
            yield name, value


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
