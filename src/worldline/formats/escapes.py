"""Escape sequences and control characters that a terminal takes without showing anything, and pyte stumbles over.

pyte leaves out the text behind a control character that it does not know, and shows parts of sequences that it does
not. What rebuilds a screen by pyte takes them out first.
"""

from __future__ import annotations

import re

__all__ = ["without_silent"]

_SILENT = re.compile(
    r"\x1b[PX^_][^\x1b\x07]*(?:\x1b\\|\x07)"  # control strings
    r"|\x1b\][^\x1b\x07]*(?:\x1b\\|\x07)"  # titles, links, colours
    r"|\x1b\[[0-?]*[<=>][0-?]*[ -/]*[@-~]"  # private queries and key modes
    r"|\x1b\[\?[0-9;]*[mu$]p?"
    r"|\x1b\[[0-9;:]*(?:t|[ -/]+[@-~])"  # window operations, cursor shapes, soft reset
)
_UNSEEN = dict.fromkeys([*range(7), *range(0x10, 0x1B), *range(0x1C, 0x20), *range(0x7F, 0xA0)])
"""Control characters that show nothing."""
_ANY = re.compile("[\x00-\x06\x10-\x1f\x7f-\x9f]")


def without_silent(text: str) -> str:
    """Leave out what a terminal takes without showing anything.

    Args:
        text: What programs wrote, without an unfinished sequence at its end.
    """
    if _ANY.search(text) is None:
        return text
    return _SILENT.sub("", text.translate(_UNSEEN)) if "\x1b" in text else text.translate(_UNSEEN)
