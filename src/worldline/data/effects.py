"""What an action did to a kernel's state, as far as the kernel tells it exactly.

`describe()` shows a state to people and leaves things out: the second line of a file, the rows of a table behind the
first ones. So what a proposal says it wrote is named beside the differences that show; and that nothing changed is said
only where nothing was written and the whole states, as the kernel writes them down, are the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import zstandard

from worldline.data.transitions import changes
from worldline.kernels import Kernel, Proposal
from worldline.types import JsonDict

__all__ = ["effects", "same_state"]

_FRAME = b"\x28\xb5\x2f\xfd"
"""Begins what is compressed with zstd."""
_COUNTERS = ("lines",)
"""Of a shell's state: counts on with every command, so that it tells no two states apart."""
_COMPARED = frozenset({"terminal", "swe"})
"""Domains whose kernels name what is not as it was; others name what was written, be it the same as before."""
_MOST = 12
_FIELD = r"/?(?:\.(?:mode|size|first_line|target|unknown|columns|rows|first|known|error))?"
_INSIDE_GIT = re.compile(r"/\.git/.*", re.DOTALL)


def effects(before: JsonDict, earlier: Kernel, kernel: Kernel, proposal: Proposal) -> tuple[str, ...] | None:
    """Tell what an action changed.

    Args:
        before: `describe()` of the state before the action.
        earlier: A fork of the kernel from before the action.
        kernel: In the state behind it.
        proposal: What the kernel answered.

    Returns:
        One line a difference; none where the state is known to be the same; None where that is not known.
    """
    shown = changes(before, kernel.describe())
    found = (*shown, *_written(proposal.writes, shown, kernel.domain))
    if found or same_state(earlier.dump(), kernel.dump()):
        return found
    return None


def same_state(before: bytes, after: bytes) -> bool:
    """Whether two dumps of a kernel hold the same state, counters aside."""
    return before == after or _parts(before) == _parts(after)


def _parts(data: bytes) -> tuple[bytes, Any]:
    """What stands before the compressed part of a dump, and that part without its counters, where it can be read."""
    head, mark, rest = data.partition(_FRAME)
    if not mark:
        return data, None
    try:
        found = json.loads(zstandard.ZstdDecompressor().decompressobj().decompress(mark + rest))
    except (zstandard.ZstdError, ValueError):
        return data, None
    if isinstance(found, dict):
        found = {key: value for key, value in found.items() if key not in _COUNTERS}
    return head, found


def _written(names: Sequence[str], shown: Sequence[str], domain: str) -> Iterator[str]:
    """Lines about what was written and shows in none of the differences."""
    word = "changed" if domain in _COMPARED else "written"
    told = [line.partition(": ")[0] for line in shown]
    hidden = []
    for name in dict.fromkeys(_INSIDE_GIT.sub("/.git", name) for name in names):
        field = re.compile(rf"\w+\.{re.escape(name)}{_FIELD}", re.IGNORECASE)
        if not any(field.fullmatch(key) for key in told):
            hidden.append(name)
    yield from (f"{name}: {word}" for name in hidden[:_MOST])
    if len(hidden) > _MOST:
        yield f"and {len(hidden) - _MOST} more {word}"
