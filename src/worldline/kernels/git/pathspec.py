"""Paths that limit a command: names, directories, patterns, exclusions."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from worldline.kernels.git.failures import Failure
from worldline.kernels.shell.builtins.base import Call

__all__ = ["Pathspec"]


@dataclass(frozen=True, slots=True)
class _Item:
    word: str
    path: str
    """From the top; empty for everything."""
    pattern: re.Pattern[str] | None
    exclude: bool
    directory: bool
    """Whether it was given with a slash at the end."""


def _pattern(text: str) -> re.Pattern[str]:
    """A pattern in which `*` matches slashes too."""
    parts, at = [], 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "*":
            parts.append(".*")
        elif char == "?":
            parts.append(".")
        elif char == "[":
            stop = text.find("]", at + 1)
            if stop < 0:
                parts.append(r"\[")
            else:
                body = text[at:stop].replace("\\", r"\\")
                parts.append("[" + ("^" + body[1:] if body[0] in "!^" else body) + "]")
                at = stop + 1
        elif char == "\\" and at < len(text):
            parts.append(re.escape(text[at]))
            at += 1
        else:
            parts.append(re.escape(char))
    return re.compile("".join(parts), re.DOTALL)


class Pathspec:
    """Paths as given on a command line.

    Args:
        words: The words.
        prefix: Working directory from the top of the tree.
        top: Top of the working tree.
        call: The invocation.

    Raises:
        Failure: A path lies outside of the tree.
    """

    def __init__(self, words: Sequence[str], prefix: str, top: str, call: Call) -> None:
        self._prefix, self._top, self._call = prefix, top, call
        self.items = [self._item(word) for word in words]
        self.words = list(words)

    def _item(self, word: str) -> _Item:
        if word == "":
            raise Failure("empty string is not a valid pathspec. please use . instead if you meant to match all paths")
        text, exclude, from_top = word, False, False
        if word.startswith(":"):
            short = re.match(r":([!^/]+):?", word)
            if short is None:
                self._call.unknown("this kind of path")
            exclude, from_top = "!" in short[1] or "^" in short[1], "/" in short[1]
            text = word[short.end() :]
        if text.startswith("/"):
            full = posixpath.normpath(text)
            if full != self._top and not full.startswith(self._top.rstrip("/") + "/"):
                raise Failure(f"{word}: '{word}' is outside repository at '{self._top}'")
            path = full[len(self._top.rstrip("/")) + 1 :]
        else:
            path = (
                posixpath.normpath(posixpath.join("" if from_top else self._prefix, text))
                if text or self._prefix
                else ""
            )
            path = "" if path == "." else path
            if path == ".." or path.startswith("../"):
                raise Failure(f"{word}: '{word}' is outside repository at '{self._top}'")
        magic = re.search(r"[*?\[\\]", path)
        return _Item(word, path, _pattern(path) if magic else None, exclude, text.endswith("/"))

    def __bool__(self) -> bool:
        return bool(self.items)

    def matches(self, path: str, directory: bool = False) -> bool:
        """Whether a path is meant; an empty list means all."""
        wanted = [item for item in self.items if not item.exclude]
        if any(_fits(item, path, directory) for item in self.items if item.exclude):
            return False
        return not wanted or any(_fits(item, path, directory) for item in wanted)

    def exact(self, path: str) -> bool:
        """Whether a path is named itself."""
        return any(item.path == path.rstrip("/") for item in self.items)

    def reaches(self, directory: str) -> bool:
        """Whether something below a directory (with a slash at the end) may be meant."""
        return any(
            item.pattern is not None
            or item.path == ""
            or (item.path + "/").startswith(directory)
            or directory.startswith(item.path + "/")
            for item in self.items
            if not item.exclude
        )

    def missing(self, paths: Iterable[str]) -> list[str]:
        """Words that none of the paths fits."""
        known = list(paths)
        return [
            item.word
            for item in self.items
            if not item.exclude and item.path and not any(_fits(item, path) for path in known)
        ]

    def keep(self, paths: Iterable[str]) -> list[str]:
        """Those of the paths that are meant."""
        return [path for path in paths if self.matches(path)]


def _fits(item: _Item, path: str, directory: bool = False) -> bool:
    bare = path.rstrip("/")
    if item.path in ("", bare):
        return not (item.directory and item.path == bare and item.path and not (directory or path.endswith("/")))
    if path.startswith(item.path + "/"):
        return True
    return item.pattern is not None and (item.pattern.fullmatch(bare) is not None)
