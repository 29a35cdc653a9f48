"""`dpkg --compare-versions`: which of two package versions is later."""

from __future__ import annotations

import re
from itertools import zip_longest

from worldline.kernels.shell.builtins.base import Builtin, Call, Result

__all__ = ["COMMANDS", "compare_versions"]

_RELATIONS = {
    "lt": (-1,), "le": (-1, 0), "eq": (0,), "ne": (-1, 1), "ge": (0, 1), "gt": (1,),
    "lt-nl": (-1,), "le-nl": (-1, 0), "ge-nl": (0, 1), "gt-nl": (1,),
    "<=": (-1, 0), "<<": (-1,), "=": (0,), ">=": (0, 1), ">>": (1,),
}  # fmt: skip
_VERSION = re.compile(r"(?:(\d+):)?(\d[A-Za-z0-9.+~:-]*?)(?:-([A-Za-z0-9.+~]+))?")


def _order(char: str) -> int:
    """Rank a character: `~` before the end, letters before everything else."""
    if char == "~":
        return -1
    return ord(char) if char.isalpha() else ord(char) + 256


def _compare(left: str, right: str) -> int:
    """Compare upstream versions or revisions (Debian policy 5.6.12)."""
    for one, other in zip_longest(
        re.findall(r"([^0-9]*)(\d*)", left), re.findall(r"([^0-9]*)(\d*)", right), fillvalue=("", "")
    ):
        for a, b in zip_longest(one[0], other[0], fillvalue=""):
            ranks = (_order(a) if a else 0, _order(b) if b else 0)
            if ranks[0] != ranks[1]:
                return -1 if ranks[0] < ranks[1] else 1
        numbers = (int(one[1] or 0), int(other[1] or 0))
        if numbers[0] != numbers[1]:
            return -1 if numbers[0] < numbers[1] else 1
    return 0


def compare_versions(left: tuple[int, str, str], right: tuple[int, str, str]) -> int:
    """Compare two versions, each as epoch, upstream version and revision.

    Returns:
        -1, 0 or 1 as the first is earlier than, the same as or later than the second.
    """
    if left[0] != right[0]:
        return -1 if left[0] < right[0] else 1
    return _compare(left[1], right[1]) or _compare(left[2], right[2])


def _parsed(call: Call, text: str) -> tuple[int, str, str]:
    match = _VERSION.fullmatch(text)
    if match is None:
        call.unknown(f"what is said about the version {text!r}")
    return int(match.group(1) or 0), match.group(2), match.group(3) or ""


def _dpkg(call: Call) -> Result:
    words = call.argv
    if len(words) == 4 and words[0] == "--compare-versions" and words[2] in _RELATIONS:
        if not words[1] or not words[3]:
            call.unknown("a version that is empty")
        order = compare_versions(_parsed(call, words[1]), _parsed(call, words[3]))
        return Result(status=0 if order in _RELATIONS[words[2]] else 1)
    if words == ["--print-architecture"]:
        return Result("amd64\n")
    call.unknown("which packages are installed")


COMMANDS: dict[str, Builtin] = {"dpkg": _dpkg}
