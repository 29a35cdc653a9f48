"""Where dash differs from bash: what a script for `sh` must not hold to be computed, and dash's statuses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from worldline.kernels.shell.script import Script

__all__ = ["dash_doubts", "dash_status"]

_NOT_IN_DASH = frozenset(
    [
        "source",
        "declare",
        "typeset",
        "shopt",
        "let",
        "pushd",
        "popd",
        "dirs",
        "mapfile",
        "readarray",
        "disown",
        "enable",
        "help",
        "history",
        "caller",
        "compgen",
        "complete",
        "compopt",
        "builtin",
        "logout",
        "suspend",
        "bind",
        "select",
    ]
)
_BASHISMS = (
    (re.compile(r"\[\["), "[["),
    (re.compile(r"<<<"), "<<<"),
    (re.compile(r"[<>]\("), "process substitution"),
    (re.compile(r"&>"), "&>"),
    (re.compile(r"(?:^|[;&|\s])function\s"), "function"),
    (re.compile(r"(?:^|[;&|\s])\(\("), "(( ))"),
    (re.compile(r"\$'"), "$'...'"),
    (re.compile(r"\w\+?=\("), "arrays"),
    (re.compile(r"\$\{!?\w+(?:\[|\^|,|//?|:\d|: |@)|\$\{!"), "${...} of bash"),
    (re.compile(r"\{[^\s{}$'\"]*(?:,|\.\.)[^\s{}'\"]*\}"), "brace expansion"),
    (
        re.compile(r"\$(?:RANDOM|SECONDS|UID|EUID|HOSTNAME|BASH|SHELLOPTS|FUNCNAME|PIPESTATUS|LINENO|OSTYPE)\b"),
        "a variable of bash",
    ),
    (re.compile(r"\bread\s+-[^r\s]"), "read with options"),
    (re.compile(r"\bset\s+-\w*o\s*pipefail|\bset\s+-o\b"), "set -o"),
    (re.compile(r"\bprintf\s+(?:-v|'[^']*%q)"), "printf of bash"),
    (re.compile(r"\btrap\b[^;\n]*\b(?:ERR|DEBUG|RETURN)\b"), "trap of bash"),
    (
        re.compile(
            r"(?:^|[;&|]\s*)(?:set|export -p|alias|type|command -V|times|ulimit|jobs|kill -l|trap)\s*(?:$|[;&|])", re.M
        ),
        "a listing",
    ),
    (re.compile(r"(?:^|[;&|]\s*)(?:type|command\s+-V|test\s+\S+\s+==|\[\s+\S+\s+==)\s"), "type or =="),
    (re.compile(r"\bexport\s+-"), "export with options"),
    (re.compile(r"\btime\s"), "time"),
)
_PREFIX = re.compile(r"^sh: \d+: (.*)$", re.MULTILINE)
_WORDED = re.compile(
    r"(?:\S+: not found|cd: can't cd to .*|cannot (?:open|create) .*|\S+: Permission denied"
    r"|.*: parameter (?:not set|null or not set)"
    r"|Syntax error.*)"
)


def dash_doubts(script: Script, stderr: str) -> Iterator[str]:
    """Yield what of a script dash would do differently."""
    for name in sorted(script.programs & _NOT_IN_DASH):
        yield f"dash has no {name}"
    for pattern, what in _BASHISMS:
        if pattern.search(script.text):
            yield f"dash reads {what} differently"
    for match in _PREFIX.finditer(stderr):
        if not _WORDED.fullmatch(match[1]):
            yield f"dash words this differently: {match[1]}"


def dash_status(script: Script, stderr: str, status: int) -> int:
    """Status in dash of a single command whose redirection or `cd` failed."""
    simple = len(script.analysis.commands) == 1
    if simple and status == 1 and re.search(r"^sh: \d+: (?:cannot (?:open|create)|cd: )", stderr, re.MULTILINE):
        return 2
    return status
