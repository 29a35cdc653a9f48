"""Rule lines of makefiles: `targets: prerequisites`, pattern rules, static patterns, special targets."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from worldline.kernels.shell.builtins.make.make_parts import (
    MakeError,
    PatternRule,
    Place,
    Recipe,
    RecipeLine,
    Target,
    match_stem,
    words,
)
from worldline.kernels.shell.builtins.make.make_session import Session

__all__ = ["SUFFIXES", "Rules", "add_rule"]

_SPECIAL = frozenset(
    """.PHONY .SILENT .IGNORE .DELETE_ON_ERROR .SUFFIXES .ONESHELL .NOTPARALLEL .PRECIOUS .INTERMEDIATE .SECONDARY
    .EXPORT_ALL_VARIABLES .POSIX .DEFAULT .SECONDEXPANSION .LOW_RESOLUTION_TIME""".split()  # noqa: SIM905
)
SUFFIXES = tuple(
    """.out .a .ln .o .c .cc .C .cpp .p .f .F .m .r .y .l .ym .yl .s .S .mod .sym .def .h .info .dvi .tex
    .sh""".split()  # noqa: SIM905
)
"""File name ends that suffix rules know."""
_SPECIFIC = re.compile(
    r"\s*((?:(?:override|export|private|unexport)\s+)*)([^\s:#=$+?!]+)\s*(\+=|\?=|!=|::=|:=|=)\s*(.*)$"
)


@dataclass(slots=True)
class Rules:
    """One rule line: everything that its recipe will belong to."""

    targets: list[str]
    prerequisites: list[str] = field(default_factory=list)
    order_only: list[str] = field(default_factory=list)
    pattern: str | None = None
    """The target pattern of a static pattern rule."""
    double: bool = False
    place: Place = field(default_factory=lambda: Place("", 0))
    assigned: bool = False
    """It was a target-specific assignment and takes no recipe."""
    empty_recipe: bool = False
    """A recipe stands on the line itself."""

    @classmethod
    def read(cls, session: Session, text: str, source: str, place: Place, line: str) -> Rules:
        """Read an expanded rule line.

        Args:
            session: Told about target-specific variables.
            text: The line after expansion, without an inline recipe.
            source: Before expansion, for target-specific variables.
            place: Where it is.
            line: The line as it stands in the file, for messages.

        Raises:
            MakeError: It is no rule.
        """
        colon = _colon(text)
        if colon < 0:
            if line.startswith("        "):
                raise MakeError("missing separator (did you mean TAB instead of 8 spaces?)", place)
            raise MakeError("missing separator", place)
        if colon and text[colon - 1] == "&":
            session.unknown("grouped targets")
        targets = _names(session, text[:colon])
        double = text[colon : colon + 2] == "::"
        rest = text[colon + (2 if double else 1) :]
        if not targets:
            raise MakeError("missing target pattern" if ":" in rest else "*** missing target", place)
        rules = cls(targets, double=double, place=place)
        source_colon = _colon(source)
        after = source[source_colon + 1 :].lstrip(":") if source_colon >= 0 else ""
        specific = _SPECIFIC.match(after)
        if specific is not None:
            if specific[1].strip() not in ("", "export"):
                session.unknown("modifiers of a target's variable")
            for name in targets:
                found = _target(session, name)
                found.variables.append((specific[2], specific[3], specific[4], place))
            rules.assigned = True
            return rules
        rules._take(session, rest, place)
        return rules

    def _take(self, session: Session, rest: str, place: Place) -> None:
        second = _colon(rest)
        if second >= 0:
            patterns = words(rest[:second])
            rest = rest[second + 1 :]
            if len(patterns) != 1:
                raise MakeError("missing target pattern" if not patterns else "multiple target patterns", place)
            if "%" not in patterns[0]:
                raise MakeError("target pattern contains no '%'", place)
            self.pattern = patterns[0]
        before, bar, order = rest.partition("|")
        self.prerequisites = _names(session, before, keep=self.pattern is not None)
        self.order_only = _names(session, order, keep=self.pattern is not None) if bar else []


def _colon(text: str) -> int:
    """Find the colon that ends the targets: not in a reference, not escaped."""
    depth = 0
    for index, letter in enumerate(text):
        if letter in "({":
            depth += 1
        elif letter in ")}":
            depth -= 1
        elif letter == ":" and depth <= 0 and text[index - 1 : index] != "\\":
            return index
    return -1


def _names(session: Session, text: str, *, keep: bool = False) -> list[str]:
    """Names of targets or prerequisites: wildcards expanded, a leading `./` taken away."""
    found: list[str] = []
    for word in words(text):
        name = word.replace("\\:", ":")
        while name.startswith("./") and len(name) > 2:
            name = name[2:].lstrip("/")
        if set(name) & set("*?[") and not keep:
            found += session.glob(name) or [name]
        else:
            found.append(name)
    return found


def _target(session: Session, name: str) -> Target:
    return session.targets.setdefault(name, Target(name))


def add_rule(session: Session, rules: Rules, recipe: Recipe | None) -> None:
    """Enter a rule into a session's targets and patterns.

    Args:
        session: Which.
        rules: The rule line.
        recipe: The lines that follow it; None where there are none.

    Raises:
        MakeError: It contradicts another rule.
    """
    if any("%" in name for name in rules.targets) and rules.pattern is None:
        rule = PatternRule(rules.targets, rules.prerequisites, rules.order_only, recipe, terminal=rules.double)
        _add_pattern(session, rule)
        return
    for name in rules.targets:
        if name in _SPECIAL:
            _special(session, name, rules, recipe)
            continue
        prerequisites, order_only, stem = _static(session, rules, name)
        if _is_suffix_rule(name) and not prerequisites and recipe is not None:
            _add_suffix_rule(session, name, recipe)
        if not session.default_goal and (not name.startswith(".") or "/" in name):
            session.default_goal = name
        target = _target(session, name)
        if rules.double:
            _add_double(session, target, prerequisites, order_only, recipe, rules.place)
            continue
        if target.double is not None:
            raise MakeError(f"target file '{name}' has both : and :: entries", rules.place)
        target.is_target = True
        _join(target, prerequisites, order_only, recipe is not None)
        if stem:
            target.stem = stem
        if recipe is not None:
            if target.recipe is not None:
                session.warn(recipe.place, f"overriding recipe for target '{name}'")
                session.warn(target.recipe.place, f"ignoring old recipe for target '{name}'")
            target.recipe = recipe


def _join(target: Target, prerequisites: list[str], order_only: list[str], first: bool) -> None:
    """Add prerequisites; those of the rule with the recipe come first."""
    if first:
        target.prerequisites = prerequisites + target.prerequisites
        target.order_only = order_only + target.order_only
    else:
        target.prerequisites = target.prerequisites + prerequisites
        target.order_only = target.order_only + order_only


def _static(session: Session, rules: Rules, name: str) -> tuple[list[str], list[str], str]:
    if rules.pattern is None:
        return rules.prerequisites, rules.order_only, ""
    stem = match_stem(rules.pattern, name)
    if stem is None:
        session.warn(rules.place, f"target '{name}' doesn't match the target pattern")
        return [], [], ""
    return (
        [word.replace("%", stem, 1) for word in rules.prerequisites],
        [word.replace("%", stem, 1) for word in rules.order_only],
        stem,
    )


def _add_double(
    session: Session, target: Target, before: list[str], order: list[str], recipe: Recipe | None, place: Place
) -> None:
    if target.is_target and target.double is None:
        raise MakeError(f"target file '{target.name}' has both : and :: entries", place)
    target.is_target = True
    target.double = target.double or []
    target.double.append(Target(target.name, before, order, recipe, True, [], target.variables))


def _special(session: Session, name: str, rules: Rules, recipe: Recipe | None) -> None:
    if name in (".SECONDEXPANSION", ".POSIX", ".LOW_RESOLUTION_TIME") or (name == ".DEFAULT" and recipe is not None):
        session.unknown(f"a makefile with {name}")
    listed = session.special.setdefault(name, [])
    listed += rules.prerequisites
    if name == ".SUFFIXES" and not rules.prerequisites:
        listed.clear()
    if name == ".EXPORT_ALL_VARIABLES":
        session.export_all = True


def _add_pattern(session: Session, rule: PatternRule) -> None:
    if rule.recipe is None or not rule.recipe.lines:
        # A pattern rule without a recipe cancels one with the same patterns.
        session.patterns = [
            old for old in session.patterns if (old.targets, old.prerequisites) != (rule.targets, rule.prerequisites)
        ]
        return
    for index, old in enumerate(session.patterns):
        if not old.builtin and (old.targets, old.prerequisites) == (rule.targets, rule.prerequisites):
            session.patterns[index] = rule
            return
    session.patterns.append(rule)


def _is_suffix_rule(name: str) -> bool:
    if not name.startswith("."):
        return False
    return any(name == one or name in {one + two for two in SUFFIXES} for one in SUFFIXES)


def _add_suffix_rule(session: Session, name: str, recipe: Recipe) -> None:
    for one in SUFFIXES:
        for two in ["", *SUFFIXES]:
            if name == one + two:
                lines = [RecipeLine(line.text, line.place) for line in recipe.lines]
                session.patterns.append(PatternRule([f"%{two}"], [f"%{one}"], [], Recipe(lines, recipe.place)))
                return
