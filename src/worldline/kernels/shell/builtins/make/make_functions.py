"""The functions of make that work on text: `subst`, `filter`, `sort`, `wordlist`, `dir`, ..."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from worldline.kernels.shell.builtins.make.make_parts import MakeError, Variable, match_stem, words
from worldline.kernels.shell.builtins.make.make_variables import Expander, Function, substitute_pattern

__all__ = ["control_functions", "text_functions"]


def _subst(a: list[str]) -> str:
    if not a[0]:
        return a[2] + a[1]
    return a[2].replace(a[0], a[1])


def _filter(a: list[str], keep: bool) -> str:
    patterns = words(a[0])
    return " ".join(
        word for word in words(a[1]) if any(match_stem(pattern, word) is not None for pattern in patterns) == keep
    )


def _number(text: str, function: str, ordinal: str) -> int:
    if not text.strip().isdigit():
        raise MakeError(f"non-numeric {ordinal} argument to '{function}' function: '{text.strip()}'")
    return int(text)


def _word(a: list[str]) -> str:
    index = _number(a[0], "word", "first")
    if index == 0:
        raise MakeError("first argument to 'word' function must be greater than 0")
    return "".join(words(a[1])[index - 1 : index])


def _wordlist(a: list[str]) -> str:
    first = _number(a[0], "wordlist", "first")
    last = _number(a[1], "wordlist", "second")
    if first < 1:
        raise MakeError(f"invalid first argument to 'wordlist' function: '{first}'")
    return " ".join(words(a[2])[first - 1 : last])


def _each(a: list[str], change: Callable[[str], str]) -> str:
    return " ".join(changed for changed in map(change, words(a[0])) if changed)


def _suffixes(a: list[str]) -> str:
    found = [_suffix(name) for name in words(a[0])]
    return " ".join(suffix for suffix in found if suffix)


def _dir(name: str) -> str:
    head, slash, _ = name.rpartition("/")
    return head + slash if slash else "./"


def _suffix(name: str) -> str:
    last = name.rpartition("/")[2]
    _, dot, rest = last.rpartition(".")
    return dot + rest if dot else ""


def _basename(name: str) -> str:
    suffix = _suffix(name)
    return name[: len(name) - len(suffix)] if suffix else name


def _join(a: list[str]) -> str:
    left, right = words(a[0]), words(a[1])
    longest = max(len(left), len(right))
    left += [""] * (longest - len(left))
    right += [""] * (longest - len(right))
    return " ".join(one + two for one, two in zip(left, right, strict=True))


def _sort(a: list[str]) -> str:
    return " ".join(sorted(set(words(a[0])), key=str.encode))


def text_functions(cwd: str) -> dict[str, Function]:
    """Functions that need nothing but their arguments.

    Args:
        cwd: Make's working directory, for `abspath`.
    """

    def absolute(name: str) -> str:
        return "/" + posixpath.normpath(posixpath.join(cwd, name)).lstrip("/")

    return {
        "subst": (3, 3, True, _subst),
        "patsubst": (3, 3, True, lambda a: substitute_pattern(a[0].strip(), a[1].strip(), a[2])),
        "strip": (0, 1, True, lambda a: " ".join(words(a[0]))),
        "findstring": (2, 2, True, lambda a: a[0] if a[0] in a[1] else ""),
        "filter": (2, 2, True, lambda a: _filter(a, True)),
        "filter-out": (2, 2, True, lambda a: _filter(a, False)),
        "sort": (0, 1, True, _sort),
        "word": (2, 2, True, _word),
        "wordlist": (3, 3, True, _wordlist),
        "words": (0, 1, True, lambda a: str(len(words(a[0])))),
        "firstword": (0, 1, True, lambda a: "".join(words(a[0])[:1])),
        "lastword": (0, 1, True, lambda a: "".join(words(a[0])[-1:])),
        "dir": (0, 1, True, lambda a: _each(a, _dir)),
        "notdir": (0, 1, True, lambda a: _each(a, lambda name: name.rpartition("/")[2])),
        "suffix": (0, 1, True, _suffixes),
        "basename": (0, 1, True, lambda a: _each(a, _basename)),
        "addsuffix": (2, 2, True, lambda a: " ".join(word + a[0] for word in words(a[1]))),
        "addprefix": (2, 2, True, lambda a: " ".join(a[0] + word for word in words(a[1]))),
        "join": (2, 2, True, _join),
        "abspath": (0, 1, True, lambda a: _each(a, absolute)),
    }


def control_functions(expander: Callable[[], Expander]) -> dict[str, Function]:
    """Functions that expand their arguments themselves, and those that ask about variables."""

    def condition(a: list[str]) -> str:
        chosen = 1 if expander().expand(a[0].strip()) else 2
        return expander().expand(a[chosen]) if chosen < len(a) else ""

    def either(a: list[str]) -> str:
        return next((found for found in (expander().expand(part.strip()) for part in a) if found), "")

    def both(a: list[str]) -> str:
        found = ""
        for part in a:
            found = expander().expand(part.strip())
            if not found:
                return ""
        return found

    return {
        "if": (2, 3, False, condition),
        "or": (1, 0, False, either),
        "and": (1, 0, False, both),
        "foreach": (3, 3, False, lambda a: _foreach(expander(), a)),
        "call": (1, 0, True, lambda a: _call(expander(), a)),
        "value": (0, 1, True, lambda a: _value(expander(), a[0])),
        "origin": (0, 1, True, lambda a: _origin(expander(), a[0])),
        "flavor": (0, 1, True, lambda a: _flavor(expander(), a[0])),
    }


def _foreach(expander: Expander, a: list[str]) -> str:
    name = expander.expand(a[0]).strip()
    out = []
    for word in words(expander.expand(a[1])):
        expander.scopes.append({name: Variable(word, False, "automatic")})
        out.append(expander.expand(a[2]))
        expander.scopes.pop()
    return " ".join(out)


def _call(expander: Expander, a: list[str]) -> str:
    name = a[0].strip()
    found = expander.find(name)
    if found is None:
        return ""
    scope = {str(index): Variable(text, False, "automatic") for index, text in enumerate(a)}
    scope |= {str(index): Variable("", False, "automatic") for index in range(len(a), 10)}
    expander.scopes.append(scope)
    try:
        if len(expander.scopes) > 60:
            raise MakeError("too deep")
        return expander.expand(found.value) if found.recursive else found.value
    finally:
        expander.scopes.pop()


def _value(expander: Expander, name: str) -> str:
    found = expander.find(name)
    return "" if found is None else found.value


def _origin(expander: Expander, name: str) -> str:
    found = expander.find(name)
    return "undefined" if found is None else found.origin


def _flavor(expander: Expander, name: str) -> str:
    found = expander.find(name)
    if found is None:
        return "undefined"
    return "recursive" if found.recursive else "simple"
