"""The commands that a typed text consists of, as far as the terminal tells them apart."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["AndOr", "Case", "If", "List", "Loop", "Node", "Other", "Pipe", "Simple"]

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")


@dataclass(frozen=True, slots=True)
class Simple:
    """A simple command."""

    text: str
    """As typed, with the bodies of its here-documents."""
    tokens: tuple[tuple[str, bool], ...]
    """Words as typed, and operators (marked True)."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words as typed, without redirections."""
        found, skip = [], False
        for token, operator in self.tokens:
            if not operator and not skip:
                found.append(token)
            skip = operator and not re.search(r"&[\d-]+$", token)
        return tuple(found)

    @property
    def name(self) -> str:
        """The command's name as typed, after assignments."""
        return next((word for word in self.words if not _ASSIGNMENT.match(word)), "")


@dataclass(frozen=True, slots=True)
class Other:
    """Anything else: `[[ ]]`, `(( ))`, a function, a group, a subshell, and what is redirected as a whole."""

    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Pipe:
    """Commands joined by `|`, or one command with `!` or `time` before it."""

    text: str
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class AndOr:
    """Commands joined by `&&` and `||`: each with the operator before it."""

    text: str
    parts: tuple[tuple[str, Node], ...]
    background: bool = False


@dataclass(frozen=True, slots=True)
class List:
    """Commands one after the other."""

    text: str
    items: tuple[AndOr, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """`for`, `while`, `until`, `select`, or `for ((`."""

    text: str
    kind: str
    variable: str
    """Of a `for` or `select`."""
    head: str
    """Words of a `for` or `select` as typed; the three expressions of a `for ((`, joined by `;`."""
    test: List | None
    """What a `while` or `until` tests."""
    body: List


@dataclass(frozen=True, slots=True)
class If:
    """`if`, with its conditions and bodies in turn."""

    text: str
    clauses: tuple[tuple[List, List], ...]
    otherwise: List | None


@dataclass(frozen=True, slots=True)
class Case:
    """`case`, with its patterns, bodies and what ends them (`;;`, `;&`, `;;&`)."""

    text: str
    word: str
    clauses: tuple[tuple[tuple[str, ...], List, str], ...]


Node = Simple | Other | Pipe | Loop | If | Case | List
