"""Recorded input as entries of the keystroke dialect: text, and keys by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from worldline.domains.terminal.keystrokes import NAMED_KEYS

__all__ = ["REPORTS", "key_entries"]

REPORTS = re.compile(
    r"\x1b\[\??[0-9;]*[cRn]|\x1b\[\?[0-9;]*\$y|\x1b\[>[0-9;]*c|\x1b[\]P][^\x1b\x07]*(?:\x1b\\|\x07)|\x1b\[[IO]"
)
"""What the terminal itself sends: answers to queries, changes of the focus."""

_BY_KEYS: dict[str, str] = {}
for _name, _keys in NAMED_KEYS.items():
    # A key of its own goes before the same with Ctrl, and the first name of two before the second.
    if _keys not in _BY_KEYS or (_BY_KEYS[_keys].startswith("C-") and not _name.startswith("C-")):
        _BY_KEYS[_keys] = _name
for _text in (" ", "\r"):
    del _BY_KEYS[_text]

_TOKEN = re.compile(
    "|".join(re.escape(keys) for keys in sorted(_BY_KEYS, key=len, reverse=True) if len(keys) > 1)
    + r"|\x1b\[[0-?]*[ -/]*[@-~]|\x1bO.|\x1b[^\x1b]|[\x00-\x0c\x0e-\x1f\x7f]|[^\x00-\x0c\x0e-\x1f\x7f]+",
    re.DOTALL,
)


def key_entries(events: Iterable[str]) -> list[str]:
    """Return the texts of entries that send what was typed.

    Args:
        events: What was typed, as the terminal sent it, in the pieces it was sent in: a lone Escape at the end of a
            piece is the key.
    """
    entries: list[str] = []
    text = ""
    for event in events:
        for token in _TOKEN.findall(event):
            name = _BY_KEYS.get(token)
            if name is None:
                text += token.replace("\r", "\n")
                continue
            entries += [*_plain(text), name]
            text = ""
    return [*entries, *_plain(text)]


def _plain(text: str) -> Iterator[str]:
    """Yield a text, in two where it would be taken for the name of a key."""
    if text in NAMED_KEYS:
        yield text[:1]
        text = text[1:]
    if text:
        yield from _plain(text) if text in NAMED_KEYS else [text]
