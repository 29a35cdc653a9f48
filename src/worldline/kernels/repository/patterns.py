"""Patterns of file names and of text: globs, and regular expressions as GNU grep and git read them."""

from __future__ import annotations

import fnmatch
import re
import warnings
from functools import lru_cache

__all__ = ["Unclear", "extended", "glob_pattern", "included", "perl", "perl_fault", "quiet_compile"]


class Unclear(Exception):
    """What the pattern means is not known; the message says why."""


def quiet_compile(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Compile somebody's expression; what Python thinks odd about it is not said.

    Raises:
        re.error: It is wrong.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(pattern, flags)


@lru_cache(maxsize=256)
def glob_pattern(pattern: str, *, fold: bool = False) -> re.Pattern[str]:
    """A glob pattern with `**`, `*`, `?`, `[...]` and `{a,b}`, for paths relative to where one looks.

    Raises:
        Unclear: It is not one.
    """
    pieces, depth = [], 0
    for token in re.findall(r"\*\*/|\*\*|\[[!^]?[^\]]+\]|[\s\S]", pattern):
        if token == "**/":
            pieces.append("(?:[^/]+/)*")
        elif token == "**":
            pieces.append(".*")
        elif token in "*?":
            pieces.append("[^/]" + ("*" if token == "*" else ""))
        elif len(token) > 1:
            body = token[1:-1].replace("\\", "\\\\")
            pieces.append(f"[^{body[1:]}]" if body[0] in "!^" else f"[{body}]")
        elif token == "{":
            pieces.append("(?:")
            depth += 1
        elif token == "}" and depth:
            pieces.append(")")
            depth -= 1
        elif token == "," and depth:
            pieces.append("|")
        else:
            pieces.append(re.escape(token))
    try:
        return quiet_compile("".join(pieces), re.DOTALL | (re.IGNORECASE if fold else re.NOFLAG))
    except re.error as error:
        raise Unclear(f"the glob pattern {pattern}") from error


def included(path: str, pattern: str, *, top: bool) -> bool:
    """Whether GNU grep's `--include` lets a file through; `top`: it was named itself, not found in a folder."""
    if fnmatch.fnmatchcase(path, pattern):
        return True
    return not top and any(
        fnmatch.fnmatchcase(path[at + 1 :], pattern) for at, letter in enumerate(path) if letter == "/"
    )


_CLASSES = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": " \\t", "digit": "0-9", "lower": "a-z", "space": "\\s",
    "upper": "A-Z", "xdigit": "0-9A-Fa-f", "word": "\\w", "punct": "!-/:-@\\[-`{-~",
}  # fmt: skip
_ODD_PERL = re.compile(r"\\[hHvVRXKGQECpPoNzgkc]|\(\?[|R&+\d#'C*]|\(\*|\\[ux]|\[\[[.=]")
"""What Perl's expressions have and Python's have not, or read otherwise."""


def _classes(pattern: str) -> str:
    return re.sub(r"\[:(\w+):\]", lambda found: _CLASSES.get(found[1], found[0]), pattern)


@lru_cache(maxsize=256)
def perl(pattern: str, *, fold: bool = False) -> re.Pattern[str]:
    """Compile what `grep -P` takes, to be searched in single lines.

    Raises:
        Unclear: It means something that Python's expressions cannot say.
        re.error: It is wrong.
    """
    if "\n" in pattern:
        raise Unclear("several patterns in one")
    if _ODD_PERL.search(pattern):
        raise Unclear("a regular expression of Perl's own")
    return quiet_compile(_classes(pattern), re.IGNORECASE if fold else re.NOFLAG)


_FAULTS = (
    ("missing ), unterminated subpattern", "missing closing parenthesis"),
    ("unterminated character set", "missing terminating ] for character class"),
    ("nothing to repeat", "quantifier does not follow a repeatable item"),
    ("unbalanced parenthesis", "unmatched closing parenthesis"),
    ("missing >, unterminated name", "syntax error in subpattern name (missing terminator?)"),
    ("bad escape (end of pattern)", "\\ at end of pattern"),
)


def perl_fault(error: re.error) -> str:
    """What `grep -P` says of a wrong expression.

    Raises:
        Unclear: That is not known.
    """
    said = next((theirs for ours, theirs in _FAULTS if error.msg.startswith(ours)), None)
    if said is None:
        raise Unclear(f"the wording of a fault in a regular expression ({error.msg})")
    return f"grep: {said}"


@lru_cache(maxsize=256)
def extended(pattern: str) -> re.Pattern[str]:
    """Compile what `git grep -E -i` takes, to be searched in single lines.

    Raises:
        Unclear: What it means, or what is said of it, is not known.
    """
    pieces, at, start = [], 0, True
    while at < len(pattern):
        char = pattern[at]
        if char == "[":
            end = _bracket_end(pattern, at)
            pieces.append(_bracket(pattern[at:end]))
            at, start = end, False
            continue
        if char == "\\":
            pieces.append(_escape(pattern[at + 1 : at + 2]))
            at, start = at + 2, False
            continue
        if char in "*+?" and (start or (pattern[at - 1] in "*+?" and pattern[at - 2 : at - 1] != "\\")):
            raise Unclear("a repetition of nothing or of a repetition")
        if char == "{":
            interval = re.match(r"\{\d+(?:,\d*)?\}|\{,\d+\}", pattern[at:])
            if interval is None or start:
                raise Unclear("a brace")
            pieces.append(interval[0])
            at += len(interval[0])
            continue
        pieces.append(char if char in "().*+?|^$" else re.escape(char))
        start = char in "(|"
        at += 1
    try:
        return quiet_compile("".join(pieces), re.IGNORECASE)
    except re.error as error:
        raise Unclear(f"the regular expression {pattern}") from error


def _escape(char: str) -> str:
    if char in "wWsSbB":
        return f"\\{char}"
    if char in "<>":
        return r"\b(?=\w)" if char == "<" else r"\b(?<=\w)"
    if char in "123456789":
        return f"(?:\\{char})"
    if char == "" or char in "`'":
        raise Unclear("an escape in a regular expression")
    return re.escape(char)


def _bracket_end(pattern: str, at: int) -> int:
    end = at + 1 + (pattern[at + 1 : at + 2] == "^")
    end += pattern[end : end + 1] == "]"
    while end < len(pattern) and pattern[end] != "]":
        end = pattern.find(":]", end) + 1 or len(pattern) if pattern[end : end + 2] == "[:" else end
        end += 1
    if end >= len(pattern):
        raise Unclear("an open bracket")
    return end + 1


def _bracket(text: str) -> str:
    body = text[1:-1]
    negated = body.startswith("^")
    body = body[1:] if negated else body
    if re.search(r"\[[.=]", body):
        raise Unclear("a collating element")
    parts = re.split(r"(\[:\w+:\])", body)
    made = [
        _CLASSES.get(part[2:-2], "") if part.startswith("[:") else re.sub(r"([\\\[\]^&~|])", r"\\\1", part)
        for part in parts
    ]
    return f"[{'^' if negated else ''}{''.join(made)}]"
