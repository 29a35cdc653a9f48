"""What a makefile is made of: rules, targets, variables, places and errors."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["MakeError", "PatternRule", "Place", "Recipe", "RecipeLine", "Target", "Variable", "match_stem", "words"]


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a makefile."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class MakeError(Exception):
    """Make stops with `*** MESSAGE.  Stop.` on stderr.

    Args:
        message: What is wrong.
        place: Where; None: the message starts with the program's name.
    """

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place


@dataclass(slots=True)
class Variable:
    """A variable's value before expansion."""

    value: str
    recursive: bool = True
    origin: str = "file"
    """As `$(origin NAME)` says: `default`, `environment`, `file`, `command line`, `override`, `automatic`."""
    exported: bool | None = None


@dataclass(frozen=True, slots=True)
class RecipeLine:
    """One logical line of a recipe, without its tab."""

    text: str
    place: Place


@dataclass(slots=True)
class Recipe:
    """The lines of a recipe and where the first one is."""

    lines: list[RecipeLine]
    place: Place


@dataclass(slots=True)
class Target:
    """A file or name that rules or goals speak of."""

    name: str
    prerequisites: list[str] = field(default_factory=list)
    order_only: list[str] = field(default_factory=list)
    recipe: Recipe | None = None
    is_target: bool = False
    """Whether an explicit rule names it."""
    double: list[Target] | None = None
    """The rules of a double-colon target, each as a target of its own."""
    variables: list[tuple[str, str, str, Place]] = field(default_factory=list)
    """Target-specific assignments: name, operator, value, place."""
    stem: str = ""


@dataclass(slots=True)
class PatternRule:
    """An implicit rule."""

    targets: list[str]
    prerequisites: list[str]
    order_only: list[str]
    recipe: Recipe | None
    terminal: bool = False
    builtin: bool = False


def words(text: str) -> list[str]:
    """Split at blanks, as make does everywhere."""
    return text.split()


def match_stem(pattern: str, name: str, *, rule: bool = False) -> str | None:
    """Match a `%` pattern; returns the stem, or None.

    Args:
        pattern: With one `%` at most; without one it must be the name.
        name: What is matched.
        rule: A pattern of a rule without a slash matches the last part of the name only; the stem then keeps the
            directory.
    """
    before, sign, after = pattern.partition("%")
    if not sign:
        return "" if pattern == name else None
    folder = ""
    if rule and "/" not in pattern and "/" in name:
        folder, slash, name = name.rpartition("/")
        folder += slash
    if len(name) < len(before) + len(after) or not name.startswith(before) or not name.endswith(after):
        return None
    stem = name[len(before) : len(name) - len(after)]
    if rule and not stem:
        return None
    return folder + stem
