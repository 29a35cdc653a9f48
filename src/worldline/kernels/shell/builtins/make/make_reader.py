"""Reads makefiles: assignments, conditionals, rules, `include`, `define`, `export`."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.make.make_conditions import Conditions
from worldline.kernels.shell.builtins.make.make_parts import MakeError, Place, Recipe, RecipeLine, words
from worldline.kernels.shell.builtins.make.make_rule_lines import Rules, add_rule
from worldline.kernels.shell.builtins.make.make_session import Session
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.textio import escape

__all__ = ["ASSIGNMENT", "Reader"]

_NAME = r"\$\([^()]*\)|\$\{[^{}]*\}|\$."
ASSIGNMENT = re.compile(
    rf"\s*((?:[^\s:#=$+?!]|{_NAME})(?:[^\s:#=$]|{_NAME})*?)\s*(\+=|\?=|!=|::=|:=|=)\s*(.*)$", re.DOTALL
)
_MODIFIERS = ("export", "unexport", "override", "private")
_DEFINE = re.compile(r"define\s+(.*?)\s*(\+=|\?=|!=|::=|:=|=)?\s*$", re.DOTALL)


class Reader:
    """Reads one makefile into a session.

    Args:
        session: Where its variables and rules go.
        name: The makefile, as messages call it.
    """

    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self._name = name
        self._conditions = Conditions(session)
        self._rules: Rules | None = None
        """Rules that the next recipe lines belong to."""
        self._lines: list[RecipeLine] = []
        self._recipe_place = Place(name, 0)

    def read_text(self, text: str) -> None:
        """Read the content of a makefile.

        Raises:
            MakeError: It is wrong.
        """
        physical = text.split("\n")
        if physical and not physical[-1]:
            physical.pop()
        index = 0
        while index < len(physical):
            start = index
            line = physical[index]
            while _continues(line) and index + 1 < len(physical):
                index += 1
                line += "\n" + physical[index]
            index += 1
            place = Place(self._name, start + 1)
            self._session.expander.place = place
            bare = line.strip()
            if self._conditions.active and re.match(r"(?:(?:override|export)\s+)*define\b", bare) and line[:1] != "\t":
                index = self._define(bare, physical, index, place)
                continue
            self._line(line, place)
        self._end_recipe()
        self._conditions.finish(Place(self._name, len(physical) + 1))

    def _line(self, line: str, place: Place) -> None:
        if line.startswith("\t") and self._rules is not None:
            if self._conditions.active:
                self._lines.append(RecipeLine(line[1:].replace("\n\t", "\n"), place))
            return
        text = _uncomment(_join(line)).strip()
        if not text or self._conditions.take(text, place) or not self._conditions.active:
            return
        if self._assignment(text, place):
            self._end_recipe()
            return
        word, _, rest = text.partition(" ")
        if word in ("include", "-include", "sinclude"):
            self._end_recipe()
            self._include(rest, place, silent=word != "include")
        elif word in ("vpath", "load", "-load") or word == "undefine":
            self._end_recipe()
            if word != "undefine":
                self._session.unknown(f"the directive {word}")
            self._session.expander.table.pop(self._session.expander.expand(rest).strip(), None)
        elif word in ("export", "unexport") and ":" not in rest:
            self._end_recipe()
            self._export(word, rest)
        elif line.startswith("\t"):
            raise MakeError("recipe commences before first target", place)
        else:
            self._rule(text, line, place)

    # --- assignments

    def _assignment(self, text: str, place: Place) -> bool:
        modifiers = []
        rest = text
        while True:
            word, blank, after = rest.partition(" ")
            if word not in _MODIFIERS or not blank or re.match(r"\s*(?:[:+?!]|::)?=", after):
                break
            modifiers.append(word)
            rest = after.lstrip()
        match = ASSIGNMENT.match(rest)
        if match is None:
            return False
        expander = self._session.expander
        name = expander.expand(match[1]).strip()
        if not name:
            raise MakeError("empty variable name", place)
        if name in ("MAKEFLAGS", "VPATH", "GPATH", ".RECIPEPREFIX"):
            self._session.unknown(f"a makefile that sets {name}")
        origin = "override" if "override" in modifiers else "file"
        if "e" in self._session.options.flags and name in self._session.call.env:
            origin = "override" if origin == "override" else "environment"
        expander.define(name, match[2], match[3], origin)
        if name == ".DEFAULT_GOAL":
            self._session.default_goal = expander.value(name).strip()
        variable = expander.table.get(name)
        if variable is not None and "export" in modifiers:
            variable.exported = True
        if variable is not None and "unexport" in modifiers:
            variable.exported = False
        return True

    def _export(self, word: str, rest: str) -> None:
        expander = self._session.expander
        names = words(expander.expand(rest))
        if not names:
            self._session.export_all = word == "export"
        for name in names:
            if name not in expander.table:
                expander.define(name, "=", "")
            expander.table[name].exported = word == "export"

    def _define(self, header: str, physical: list[str], index: int, place: Place) -> int:
        self._end_recipe()
        override = header.startswith("override")
        exported = "export" in header.split("define")[0]
        match = _DEFINE.match(header[header.index("define") :])
        if match is None or not match[1]:
            raise MakeError("empty variable name", place)
        body: list[str] = []
        depth = 1
        while index < len(physical):
            line = physical[index]
            index += 1
            word = line.strip().split()[:1] if not line.startswith("\t") else []
            depth += (word == ["define"]) - (word == ["endef"])
            if not depth:
                break
            body.append(line)
        else:
            raise MakeError("missing 'endef', unterminated 'define'", place)
        name = self._session.expander.expand(match[1])
        self._session.expander.define(name, match[2] or "=", "\n".join(body), "override" if override else "file")
        if exported:
            self._session.expander.table[name].exported = True
        return index

    # --- include

    def _include(self, rest: str, place: Place, *, silent: bool) -> None:
        session = self._session
        names = words(session.expander.expand(rest))
        for name in names:
            found = session.glob(name) if set(name) & set("*?[") else [name]
            for path in found or [name]:
                self._include_file(path, place, silent=silent)
                session.expander.place = place

    def _include_file(self, name: str, place: Place, *, silent: bool) -> None:
        session = self._session
        folders = [""] if name.startswith("/") else ["", *session.options.includes]
        for folder in folders:
            path = f"{folder}/{name}" if folder else name
            if session.exists(path):
                break
        else:
            session.missing_includes.append((name, place, silent))
            return
        try:
            text = escape(session.call.files.read(session.path(path)))
        except OSError as error:
            if silent:
                return
            raise MakeError(f"{path}: {strerror(error)}", place) from error
        session.read(path, text)

    # --- rules

    def _end_recipe(self) -> None:
        """Give the recipe lines read so far to their rules."""
        rules, lines = self._rules, self._lines
        self._rules, self._lines = None, []
        if rules is not None:
            add_rule(self._session, rules, Recipe(lines, lines[0].place) if lines or rules.empty_recipe else None)

    def _rule(self, text: str, line: str, place: Place) -> None:
        self._end_recipe()
        header, inline = _split_inline(_join(line))
        expanded = self._session.expander.expand(_uncomment(header)).strip()
        if inline is None and ";" in expanded:
            expanded, _, inline = expanded.partition(";")
        if not expanded:
            return
        self._rules = Rules.read(self._session, expanded, _uncomment(header).strip(), place, line)
        if self._rules is None or self._rules.assigned:
            self._rules = None
            return
        if inline is not None:
            self._rules.empty_recipe = True
            self._lines.append(RecipeLine(inline.lstrip(), place))


def _continues(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _join(line: str) -> str:
    return re.sub(r"[ \t]*\\\n\s*", " ", line)


def _uncomment(line: str) -> str:
    if "#" not in line:
        return line
    match = re.search(r"(?<!\\)#", line)
    return (line[: match.start()] if match else line).replace("\\#", "#")


def _split_inline(line: str) -> tuple[str, str | None]:
    """Split `targets: prerequisites; recipe` at the semicolon that is in no reference."""
    depth = 0
    for index, letter in enumerate(line):
        if letter in "({":
            depth += 1
        elif letter in ")}":
            depth -= 1
        elif letter == "#" and not depth:
            return line, None
        elif letter == ";" and not depth:
            return line[:index], line[index + 1 :]
    return line, None
