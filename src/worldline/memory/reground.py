"""Re-grounding: a recorded observation told with the asking session's own values.

The recorded action and the asked one have the same shape, so their values stand side by side. Each recorded value,
and what follows from it (base name, directory, name without extension, absolute path), is replaced throughout the
recorded observation by the asked one, and so are user, home, host and working directory. Where that would be
ambiguous, or the observation is not plain text, there is no re-grounding.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from worldline.memory.shape import Shape
from worldline.types import Observation

__all__ = ["Substitution", "align"]

_SESSION = ("cwd", "home", "hostname", "user")


@dataclass(frozen=True, slots=True)
class Substitution:
    """What replaces what."""

    values: Mapping[str, str]
    """Recorded value to the asking session's."""
    ambiguous: frozenset[str]
    """Recorded values that would have to become two different ones."""

    def text(self, text: str) -> str | None:
        """Apply it to a text; None where an ambiguous value stands in it."""
        found = [place for word in (*self.values, *self.ambiguous) if word in text for place in _places(word, text)]
        if not found:
            return text
        done, position = [], 0
        for start, length in sorted(found, key=lambda place: (place[0], -place[1])):
            if start < position:
                continue  # inside a longer value
            word = text[start : start + length]
            if word in self.ambiguous:
                return None
            done += [text[position:start], self.values[word]]
            position = start + length
        return "".join([*done, text[position:]])

    def observation(self, observation: Observation) -> Observation | None:
        """Apply it to all parts of an observation.

        Returns:
            None for one that is cut off, volatile or no valid text, and where an ambiguous value stands in it.
        """
        if observation.volatile or observation.truncated or observation.raw is not None:
            return None
        stdout, stderr = self._maybe(observation.stdout), self._maybe(observation.stderr)
        # Streams kept apart are replaced apart, and the text is put together from them anew.
        text = self.text(observation.text) if observation.stdout is None else (stdout or "") + (stderr or "")
        failed = (stdout is None) != (observation.stdout is None) or (stderr is None) != (observation.stderr is None)
        if failed or text is None or (observation.stdout is not None and not _in_order(observation)):
            return None
        try:
            data = self._data(observation.data)
        except _AmbiguousError:
            return None
        return observation.model_copy(update={"text": text, "stdout": stdout, "stderr": stderr, "data": data})

    def _maybe(self, text: str | None) -> str | None:
        return None if text is None else self.text(text)

    def _data(self, value: Any) -> Any:
        if isinstance(value, str):
            done = self.text(value)
            if done is None:
                raise _AmbiguousError
            return done
        if isinstance(value, list):
            return [self._data(item) for item in value]
        if isinstance(value, dict):
            return {key: self._data(item) for key, item in value.items()}
        return value


class _AmbiguousError(Exception):
    """A value would have to become two different ones."""


def _in_order(observation: Observation) -> bool:
    return observation.text == (observation.stdout or "") + (observation.stderr or "")


def _places(word: str, text: str) -> Iterator[tuple[int, int]]:
    """Where a value stands as a word of its own, so that `a` is not found in `cat`; start and length."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        joined_before = start > 0 and _in_word(text[start - 1]) and _in_word(word[0])
        joined_after = end < len(text) and _in_word(text[end]) and _in_word(word[-1])
        if not (joined_before or joined_after):
            yield start, len(word)
        start = text.find(word, start + 1)


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def align(recorded: Shape, asked: Shape, then: Mapping[str, str], now: Mapping[str, str]) -> Substitution:
    """Say what replaces what between two actions of one shape.

    Args:
        recorded: Shape of the recorded action.
        asked: Shape of the asked one; its key is the same.
        then: The recorded session's values.
        now: The asking session's values.
    """
    found: dict[str, set[str]] = {}

    def pair(old: str, new: str) -> None:
        if old:
            # A letter on its own may be a word (`a`), so an answer that holds it cannot be told.
            found.setdefault(old, set()).update({new, old} if len(old) == 1 and old.isalpha() else {new})

    for old, new in zip(recorded.slots, asked.slots, strict=True):
        pair(old, new)
    own = set(found)
    for old, new in zip(recorded.slots, asked.slots, strict=True):
        for follows, instead in _consequences(old, new, then, now):
            if follows not in own:
                pair(follows, instead)
    for key in _SESSION:
        if key in then and key in now and then[key] not in own:
            pair(then[key], now[key])
    ambiguous = frozenset(old for old, news in found.items() if len(news) > 1)
    # Values that stay are kept too: what lies inside one (`a` in `a.txt`) must not be replaced.
    values = {old: next(iter(news)) for old, news in found.items() if len(news) == 1}
    return Substitution(values, ambiguous)


def _consequences(old: str, new: str, then: Mapping[str, str], now: Mapping[str, str]) -> list[tuple[str, str]]:
    """What follows from a value that may be a path."""
    if any(char.isspace() for char in old + new) or not old or not new:
        return []
    pairs = []
    bare_old, bare_new = old.rstrip("/"), new.rstrip("/")
    pairs.append((bare_old, bare_new))
    pairs.append((posixpath.basename(bare_old), posixpath.basename(bare_new)))
    if "/" in bare_old and "/" in bare_new:
        pairs.append((posixpath.dirname(bare_old), posixpath.dirname(bare_new)))
    if "." in posixpath.basename(bare_old) and "." in posixpath.basename(bare_new):
        stem_old, stem_new = (posixpath.splitext(posixpath.basename(bare))[0] for bare in (bare_old, bare_new))
        pairs.append((stem_old, stem_new))
    if "cwd" in then and "cwd" in now:
        absolute = [posixpath.normpath(posixpath.join(at["cwd"], v)) for at, v in ((then, bare_old), (now, bare_new))]
        pairs.append((absolute[0], absolute[1]))
    return [(a, b) for a, b in pairs if a and b]
