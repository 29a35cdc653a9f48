"""Words of a script as paths."""

from __future__ import annotations

import posixpath

__all__ = ["expand_path"]


def expand_path(word: str, cwd: str, home: str) -> str:
    """Absolute form of a literal word, `~` and `$HOME` expanded."""
    if word == "~" or word.startswith("~/"):
        word = home + word[1:]
    word = word.replace("${HOME}", home).replace("$HOME", home)
    return "/" + posixpath.normpath(posixpath.join(cwd, word)).lstrip("/")
