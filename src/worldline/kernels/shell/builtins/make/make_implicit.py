"""Implicit rules of make: pattern rules of makefiles and the built-in rules for C, C++ and shell scripts."""

from __future__ import annotations

from worldline.kernels.shell.builtins.make.make_parts import (
    PatternRule,
    Place,
    Recipe,
    RecipeLine,
    Target,
    match_stem,
)
from worldline.kernels.shell.builtins.make.make_session import Session

__all__ = ["DEFAULTS", "builtin_rules", "find_implicit"]

Found = tuple[Recipe | None, str, list[str], list[str]]

DEFAULTS = {
    "AR": "ar",
    "ARFLAGS": "rv",
    "AS": "as",
    "CC": "cc",
    "CXX": "g++",
    "CPP": "$(CC) -E",
    "FC": "f77",
    "LD": "ld",
    "LEX": "lex",
    "YACC": "yacc",
    "RM": "rm -f",
    "OUTPUT_OPTION": "-o $@",
    "COMPILE.c": "$(CC) $(CFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -c",
    "COMPILE.cc": "$(CXX) $(CXXFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -c",
    "COMPILE.cpp": "$(COMPILE.cc)",
    "LINK.c": "$(CC) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) $(TARGET_ARCH)",
    "LINK.cc": "$(CXX) $(CXXFLAGS) $(CPPFLAGS) $(LDFLAGS) $(TARGET_ARCH)",
    "LINK.o": "$(CC) $(LDFLAGS) $(TARGET_ARCH)",
}
"""Values of make's own variables."""

_RULES = (
    ("%", "%.o", ("$(LINK.o) $^ $(LOADLIBES) $(LDLIBS) -o $@",)),
    ("%", "%.c", ("$(LINK.c) $^ $(LOADLIBES) $(LDLIBS) -o $@",)),
    ("%", "%.cc", ("$(LINK.cc) $^ $(LOADLIBES) $(LDLIBS) -o $@",)),
    ("%", "%.cpp", ("$(LINK.cc) $^ $(LOADLIBES) $(LDLIBS) -o $@",)),
    ("%", "%.sh", ("cat $< >$@ ", "chmod a+x $@")),
    ("%.o", "%.c", ("$(COMPILE.c) $(OUTPUT_OPTION) $<",)),
    ("%.o", "%.cc", ("$(COMPILE.cc) $(OUTPUT_OPTION) $<",)),
    ("%.o", "%.cpp", ("$(COMPILE.cpp) $(OUTPUT_OPTION) $<",)),
)
_OTHERS = (".C", ".p", ".f", ".F", ".m", ".r", ".s", ".S", ".mod", ".l", ".y", ".w", ".ch", ".web", ".tex", ".texinfo")
"""Ends of sources for which there are further built-in rules."""


def builtin_rules() -> list[PatternRule]:
    """The built-in rules that are simulated."""
    place = Place("<builtin>", 1)
    return [
        PatternRule([target], [source], [], Recipe([RecipeLine(line, place) for line in lines], place), builtin=True)
        for target, source, lines in _RULES
    ]


def find_implicit(session: Session, target: Target) -> Found | None:
    """Find the implicit rule that makes a target.

    Returns:
        Recipe, stem, prerequisites and order-only prerequisites of the rule, or None where there is none.

    Raises:
        Unknown: It takes a chain of rules, or a built-in one that is not simulated.
    """
    name = target.name
    matching = _matching(session, name)
    for chained in (False, True):
        for rule, stem in matching:
            if chained and (rule.terminal or rule.builtin):
                continue
            folder, base = _split(rule, stem)
            names = [_fill(word, folder, base) for word in rule.prerequisites]
            if all(_available(session, word, set(), chained=chained) for word in names):
                if chained:
                    session.unknown("a chain of implicit rules")
                return rule.recipe, stem, names, [_fill(word, folder, base) for word in rule.order_only]
    if "r" not in session.options.flags and not name.startswith("/"):
        for end in _OTHERS:
            source = f"{name.removesuffix('.o')}{end}"
            if session.exists(source) and (name.endswith(".o") or "." not in name.rpartition("/")[2]):
                session.unknown("a built-in rule")
    return None


def _matching(session: Session, name: str) -> list[tuple[PatternRule, str]]:
    """Rules whose target matches, those with the shortest stem first."""
    found = []
    for rule in session.patterns:
        for pattern in rule.targets:
            stem = match_stem(pattern, name, rule=True)
            if stem is not None:
                found.append((rule, stem, pattern))
                break
    specific = any(pattern != "%" for _, _, pattern in found)
    chosen = [(rule, stem) for rule, stem, pattern in found if not (specific and pattern == "%" and not rule.terminal)]
    return sorted(chosen, key=lambda pair: len(pair[1].rpartition("/")[2]))


def _split(rule: PatternRule, stem: str) -> tuple[str, str]:
    """Part a stem into the directory that stands before each prerequisite and the rest."""
    if any("/" in pattern for pattern in rule.targets) or "/" not in stem:
        return "", stem
    folder, slash, base = stem.rpartition("/")
    return folder + slash, base


def _fill(word: str, folder: str, base: str) -> str:
    return folder + word.replace("%", base, 1) if "%" in word else word


def _available(session: Session, name: str, seen: set[str], *, chained: bool) -> bool:
    known = session.targets.get(name)
    if session.exists(name) or (known is not None and known.is_target) or _mentioned(session, name):
        return True
    if not chained or name in seen or len(seen) > 4:
        return False
    for rule, stem in _matching(session, name):
        if rule.builtin or rule.terminal:
            continue
        folder, base = _split(rule, stem)
        if all(
            _available(session, _fill(word, folder, base), {*seen, name}, chained=True) for word in rule.prerequisites
        ):
            return True
    return False


def _mentioned(session: Session, name: str) -> bool:
    return any(
        name in rule.prerequisites
        for target in session.targets.values()
        if target.is_target
        for rule in (target.double or [target])
    )
