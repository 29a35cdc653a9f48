"""What an explorer knows of a repository: its files, what they define, and how one version became the next."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from worldline.domains.swe import SweState
from worldline.kernels.repository.archives import package_files
from worldline.kernels.repository.starting import files_of

__all__ = ["Change", "Sources", "changes_between"]

_DEFINED = re.compile(r"^([ \t]*)(?:async )?(def|class) (\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Change:
    """One replacement that makes a file of the old version a little more that of the new one."""

    path: str
    old: str
    new: str


def changes_between(path: str, before: str, after: str) -> list[Change]:
    """Replacements, each with as many lines around it as make its text stand in the file once."""
    found: list[Change] = []
    text = before
    new_lines = after.splitlines(keepends=True)
    while text != after and len(found) < 40:
        lines = text.splitlines(keepends=True)
        codes = SequenceMatcher(None, lines, new_lines, autojunk=False).get_opcodes()
        _, start, end, first, last = next(code for code in codes if code[0] != "equal")
        room = 0
        while True:
            low, high = max(0, start - room), min(len(lines), end + room)
            old = "".join(lines[low:high])
            if (old.strip() and text.count(old) == 1) or (low == 0 and high == len(lines)):
                break
            room += 1
        new = "".join(lines[low:start] + new_lines[first:last] + lines[end:high])
        found.append(Change(path, old, new))
        text = text.replace(old, new, 1)
    return found


@dataclass(slots=True)
class Sources:
    """The text files of a world as the explorer believes them to be."""

    texts: dict[str, str]
    """By path relative to the root."""
    dice: random.Random
    edited: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, state: SweState, dice: random.Random) -> Sources:
        """Those of a world at its start."""
        files = {path: spec for path, spec in files_of(state).items() if path not in state.removed}
        files |= {path: spec for path, spec in state.files.items() if not path.startswith("/")}
        return cls({path: spec.content for path, spec in sorted(files.items()) if spec.content is not None}, dice)

    def python(self, *, tests: bool | None = None) -> list[str]:
        """Python files with something in them; only tests, or only others."""
        names = [name for name in self.texts if name.endswith(".py") and len(self.texts[name]) > 200]
        return [name for name in names if tests is None or tests == ("test" in name.rpartition(".")[0])]

    def pick(self, *, tests: bool = False) -> str:
        """A Python file, seldom a large one."""
        names = self.python(tests=tests) or self.python()
        some = self.dice.sample(names, min(3, len(names)))
        return min(some, key=lambda name: abs(len(self.texts[name]) - 6000))

    def defined(self, name: str) -> list[tuple[str, str]]:
        """Kinds and names of what a file defines."""
        return [(found[2], found[3]) for found in _DEFINED.finditer(self.texts.get(name, ""))]

    def symbol(self, name: str) -> str:
        """The name of something a file defines."""
        names = [word for _, word in self.defined(name) if not word.startswith("__")]
        return self.dice.choice(names) if names else "import"

    def line_of(self, name: str, text: str) -> int:
        """Number of the line in which a text begins, from 1."""
        return self.texts[name].count("\n", 0, max(self.texts[name].find(text), 0)) + 1

    def lines(self, name: str) -> list[str]:
        """Lines of a file that say something."""
        return [line for line in self.texts[name].split("\n") if len(line.strip()) > 8]

    def unique_line(self, name: str) -> str | None:
        """A line that stands in a file once."""
        text = self.texts[name]
        found = [line for line in self.lines(name) if text.count(line) == 1 and not line.strip().startswith(('"', "#"))]
        return self.dice.choice(found) if found else None

    def repeated(self, name: str) -> str | None:
        """A word that stands in a file several times."""
        words = re.findall(r"\b[a-z_]{4,}\b", self.texts[name])
        found = sorted({word for word in words if 2 <= words.count(word) <= 12})
        return self.dice.choice(found) if found else None

    def note(self, name: str, text: str) -> None:
        """Believe that a file holds this now."""
        self.texts[name] = text
        if name not in self.edited:
            self.edited.append(name)

    def solution(self, package: str, paths: list[str]) -> list[Change]:
        """What makes some files those of another package."""
        newer: Mapping[str, object] = package_files(package)
        found = []
        for path in paths:
            after = str(getattr(newer[path], "content", "") or "")
            found += changes_between(path, self.texts[path], after)
        return found
