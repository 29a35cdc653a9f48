"""Masking of concrete values that belong to another session, so that evidence shows form and not facts."""

from __future__ import annotations

import re

__all__ = ["foreign_values", "mask_foreign"]

_CONCRETE = re.compile(
    r"(?P<hash>\b[0-9a-f]{7,64}\b)"
    r"|(?P<time>\b\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\b)"
    r"|(?P<date>\b\d{4}-\d{2}-\d{2}\b)"
    r"|(?P<path>(?<![\w.])/(?:[\w.+-]+/)*[\w.+-]+)"
    r"|(?P<number>(?<![\w.])\d+(?:\.\d+)?(?![\w.]))"
)


def mask_foreign(text: str, here: str) -> str:
    """Replace concrete values in recorded text that do not occur in the asking session.

    Args:
        text: Recorded observation.
        here: Everything the asking session has shown so far, and its action.

    Returns:
        The text with `<hash>`, `<time>`, `<date>`, `<path>` or `<number>` in the place of foreign values.
    """

    def replace(match: re.Match[str]) -> str:
        value = match.group(0)
        return value if value in here else f"<{match.lastgroup}>"

    return _CONCRETE.sub(replace, text)


def foreign_values(text: str, here: str) -> list[str]:
    """Return the concrete values in a text that do not occur in the asking session."""
    return [match.group(0) for match in _CONCRETE.finditer(text) if match.group(0) not in here]
