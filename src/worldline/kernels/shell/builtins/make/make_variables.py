"""Variables of make and how text is expanded: `$(NAME)`, `$(NAME:a=b)`, `$(function arguments)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from worldline.kernels.shell.builtins.make.make_parts import MakeError, Place, Variable, match_stem, words

__all__ = ["Expander", "Function", "substitute_pattern"]

_STRENGTH = {
    "undefined": 0,
    "default": 1,
    "environment": 2,
    "file": 3,
    "environment override": 4,
    "command line": 5,
    "override": 6,
    "automatic": 7,
}
_CLOSING = {"(": ")", "{": "}"}


class Expander:
    """Holds variables and expands text.

    Args:
        functions: By name: (fewest arguments, most arguments or 0 for any, whether they are expanded first, function).
        warn: Called with a place and a text for `warning: undefined variable`; None: no warnings.
    """

    def __init__(self, functions: Mapping[str, Function], warn: Callable[[Place | None, str], None] | None) -> None:
        self.table: dict[str, Variable] = {}
        self.scopes: list[dict[str, Variable]] = []
        """Variables of the target being made, arguments of `call`, the variable of `foreach`; the last one first."""
        self.place: Place | None = None
        self._functions = functions
        self._warn = warn
        self._active: list[str] = []

    # --- variables

    def find(self, name: str) -> Variable | None:
        """Look a variable up in the scopes and the table."""
        for scope in reversed(self.scopes):
            if name in scope:
                found = scope[name]
                globally = self.table.get(name)
                if globally is not None and _STRENGTH[globally.origin] > _STRENGTH[found.origin]:
                    return globally
                return found
        return self.table.get(name)

    def define(
        self, name: str, operator: str, value: str, origin: str = "file", *, scope: dict[str, Variable] | None = None
    ) -> None:
        """Assign to a variable.

        Args:
            name: Already expanded.
            operator: `=`, `:=`, `::=`, `?=`, `+=` or `!=`.
            value: Not yet expanded.
            origin: Where the assignment comes from; a weaker one does not change a stronger one's value.
            scope: A target's own variables; default the global ones.
        """
        table = self.table if scope is None else scope
        old = table.get(name)
        outer = old if old is not None else self.find(name)
        if old is not None and _STRENGTH[old.origin] > _STRENGTH[origin]:
            return
        if operator == "?=":
            if outer is None:
                table[name] = Variable(value, True, origin)
            return
        if operator == "!=":
            value, operator = self.function("shell", [self.expand(value)]), ":="
            table[name] = Variable(value, False, origin, old.exported if old else None)
            return
        if operator == "+=" and outer is not None and outer.origin != "default":
            added = value if outer.recursive else self.expand(value)
            joined = f"{outer.value} {added}" if outer.value else added
            table[name] = Variable(joined, outer.recursive, origin, outer.exported)
            return
        recursive = operator in ("=", "+=")
        shown = value if recursive else self.expand(value)
        table[name] = Variable(shown, recursive, origin, old.exported if old else None)

    def value(self, name: str) -> str:
        """Return a variable's expanded value; "" where there is none."""
        found = self.find(name)
        if found is None:
            if self._warn is not None:
                self._warn(self.place, f"undefined variable '{name}'")
            return ""
        if not found.recursive:
            return found.value
        if name in self._active:
            raise MakeError(f"Recursive variable '{name}' references itself (eventually)", self.place)
        self._active.append(name)
        try:
            return self.expand(found.value)
        finally:
            self._active.pop()

    # --- expansion

    def function(self, name: str, arguments: list[str]) -> str:
        """Call a function with arguments as they are."""
        return self._functions[name][3](arguments)

    def expand(self, text: str) -> str:
        """Replace all references in a text."""
        if "$" not in text:
            return text
        out: list[str] = []
        position = 0
        while True:
            sign = text.find("$", position)
            if sign < 0 or sign + 1 >= len(text):
                out.append(text[position:])
                break
            out.append(text[position:sign])
            letter = text[sign + 1]
            if letter == "$":
                out.append("$")
                position = sign + 2
            elif letter in _CLOSING:
                end = _closing(text, sign + 1)
                if end < 0:
                    raise MakeError("unterminated variable reference", self.place)
                out.append(self._reference(text[sign + 2 : end], letter))
                position = end + 1
            else:
                out.append("" if letter.isspace() else self.value(letter))
                position = sign + 2
        return "".join(out)

    def _reference(self, inside: str, opening: str) -> str:
        name, blank, rest = _first_word(inside)
        if blank and name in self._functions:
            return self._apply(name, rest, opening)
        if "$" in inside:
            inside = self.expand(inside)
        colon = inside.find(":")
        if colon > 0 and "=" in inside[colon:]:
            old, _, new = inside[colon + 1 :].partition("=")
            if "%" not in old:
                old, new = f"%{old}", f"%{new}"
            return substitute_pattern(old, new, self.value(inside[:colon]))
        return self.value(inside)

    def _apply(self, name: str, text: str, opening: str) -> str:
        fewest, most, expanded, function = self._functions[name]
        arguments = _arguments(text.lstrip(" \t"), opening, most)
        if len(arguments) < fewest:
            raise MakeError(f"insufficient number of arguments ({len(arguments)}) to function '{name}'", self.place)
        if expanded:
            arguments = [self.expand(argument) for argument in arguments]
        return function(arguments)


Function = tuple[int, int, bool, Callable[[list[str]], str]]


def substitute_pattern(old: str, new: str, text: str) -> str:
    """`$(patsubst OLD,NEW,TEXT)`."""
    out = []
    for word in words(text):
        stem = match_stem(old, word)
        if stem is None:
            out.append(word)
        else:
            out.append(new.replace("%", stem, 1) if "%" in old else new)
    return " ".join(out)


def _first_word(text: str) -> tuple[str, str, str]:
    for index, letter in enumerate(text):
        if letter in " \t\n":
            return text[:index], letter, text[index:]
        if not (letter.islower() or letter == "-"):
            break
    return text, "", ""


def _closing(text: str, start: int) -> int:
    """Find the parenthesis that closes the one at `start`; only its own kind counts."""
    opening = text[start]
    closing = _CLOSING[opening]
    depth = 0
    for index in range(start, len(text)):
        if text[index] == opening:
            depth += 1
        elif text[index] == closing:
            depth -= 1
            if not depth:
                return index
    return -1


def _arguments(text: str, opening: str, most: int) -> list[str]:
    closing = _CLOSING[opening]
    found: list[str] = []
    depth, start = 0, 0
    for index, letter in enumerate(text):
        if letter == opening:
            depth += 1
        elif letter == closing:
            depth -= 1
        elif letter == "," and not depth and (not most or len(found) < most - 1):
            found.append(text[start:index])
            start = index + 1
    return [*found, text[start:]]
