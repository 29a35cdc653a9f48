"""Conditionals of makefiles: `ifeq`, `ifneq`, `ifdef`, `ifndef`, `else`, `endif`."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.make.make_parts import MakeError, Place
from worldline.kernels.shell.builtins.make.make_session import Session

__all__ = ["Conditions"]

_QUOTED = re.compile(r"""(?:"([^"]*)"|'([^']*)')\s*(?:"([^"]*)"|'([^']*)')\s*$""")


class Conditions:
    """Which conditionals the reader is inside of, and whether its lines count."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._stack: list[tuple[str, bool]] = []
        """Of each open conditional: `on`, `off` (a branch may follow), `done`; and whether `else` was seen."""

    @property
    def active(self) -> bool:
        """Whether lines count."""
        return all(state == "on" for state, _ in self._stack)

    def take(self, text: str, place: Place) -> bool:
        """Handle a line if it is a directive of a conditional."""
        word = re.match(r"(ifeq|ifneq|ifdef|ifndef|else|endif)(?=[\s(\"']|$)", text)
        if word is None:
            return False
        rest = text[word.end() :].strip()
        if word[1] == "endif":
            if not self._stack:
                raise MakeError("extraneous 'endif'", place)
            self._stack.pop()
        elif word[1] == "else":
            self._otherwise(rest, place)
        else:
            on = self.active and self._holds(word[1], rest, place)
            self._stack.append(("on" if on else "off" if self.active else "done", False))
        return True

    def finish(self, place: Place) -> None:
        """Complain of a conditional that is still open at the end."""
        if self._stack:
            raise MakeError("missing 'endif'", place)

    def _otherwise(self, rest: str, place: Place) -> None:
        if not self._stack:
            raise MakeError("extraneous 'else'", place)
        state, seen = self._stack.pop()
        if seen:
            raise MakeError("only one 'else' per conditional", place)
        if state != "off":
            self._stack.append(("done", not rest))
        elif not rest:
            self._stack.append(("on", True))
        else:
            word = re.match(r"(ifeq|ifneq|ifdef|ifndef)(?=[\s(\"'])", rest)
            if word is None:
                self._session.unknown("words after 'else'")
            holds = self._holds(word[1], rest[word.end() :].strip(), place)
            self._stack.append(("on" if holds else "off", False))

    def _holds(self, kind: str, rest: str, place: Place) -> bool:
        expander = self._session.expander
        if kind in ("ifdef", "ifndef"):
            name = expander.expand(rest).strip()
            if not name or " " in name:
                raise MakeError("invalid syntax in conditional", place)
            found = expander.find(name)
            return bool(found is not None and found.value) == (kind == "ifdef")
        pair = _pair(rest)
        if pair is None:
            raise MakeError("invalid syntax in conditional", place)
        return (expander.expand(pair[0]) == expander.expand(pair[1])) == (kind == "ifeq")


def _pair(rest: str) -> tuple[str, str] | None:
    if not rest.startswith("("):
        quoted = _QUOTED.match(rest)
        if quoted is None:
            return None
        return quoted[1] or quoted[2] or "", quoted[3] or quoted[4] or ""
    depth, comma = 0, -1
    for index, letter in enumerate(rest):
        if letter == "(":
            depth += 1
        elif letter == ")":
            depth -= 1
            if not depth:
                return None if comma < 0 else (rest[1:comma].rstrip(), rest[comma + 1 : index].lstrip())
        elif letter == "," and depth == 1 and comma < 0:
            comma = index
    return None
