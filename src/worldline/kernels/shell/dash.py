"""Where dash differs from bash: what a script for `sh` must not hold to be computed, and dash's statuses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from worldline.kernels.shell.paths import expand_path
from worldline.kernels.shell.script import Script
from worldline.kernels.shell.table import Table

__all__ = ["dash_doubts", "dash_status", "nested_dash_doubts"]

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
    r"|Syntax error.*|\[: Illegal number: .*|\[: missing \])"
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
    """Status in dash of a command whose redirection or `cd` failed, where that is the last thing said."""
    if status == 1 and re.search(r"^sh: \d+: (?:cannot (?:open|create)|cd: )[^\n]*\n\Z", stderr, re.MULTILINE):
        return 2
    return status


_NATIVE_ECHO = re.compile(r"\becho\s+-[eE]|\becho\b[^;|&\n]*\\\\?[nt0abcfrv]")


def nested_dash_doubts(script: Script, table: Table, cwd: str, home: str, stderr: str) -> Iterator[str]:
    """Yield what of a script that is given to `sh` the shell library, which runs it as bash would, does otherwise."""
    texts = [*_inner_texts(script, table, cwd, home)]
    if not texts:
        return
    names = [name for name, _ in texts]
    for name, text in texts:
        bare = re.sub(r"'[^']*'", "q", text) if name else text
        for word in sorted(_NOT_IN_DASH):
            if re.search(rf"(?:^|[;&|({{]\s*|\b(?:then|do|else)\s+){word}\s", bare, re.MULTILINE):
                yield f"dash has no {word}"
        for pattern, what in _BASHISMS:
            if pattern.search(bare):
                yield f"dash reads {what} differently"
        if _NATIVE_ECHO.search(text):
            yield "dash reads echo differently"
    for match in re.finditer(r"^(\S+): line \d+: ", stderr, re.MULTILINE):
        if (
            match[1] == "sh"
            or match[1] in names
            or match[1].rpartition("/")[2] in {n.rpartition("/")[2] for n in names}
        ):
            yield "dash words this differently"


def _inner_texts(script: Script, table: Table, cwd: str, home: str) -> Iterator[tuple[str, str]]:
    """Scripts for `sh` inside a script: what `-c` is given, and files that are named or start with `#!/bin/sh`."""
    for command in script.analysis.commands:
        words = [word for word in command.args if word is not None]
        name = (command.name or "").rpartition("/")[2]
        if name == "sh" and words:
            if words[0].startswith("-") and words[0].endswith("c"):
                if len(words) > 1:
                    yield "", words[1]
                continue
            words = [word for word in words if not word.startswith("-")]
            path = words[0] if words else ""
        elif command.name and "/" in command.name:
            path = command.name
        else:
            continue
        node = table.nodes.get(expand_path(path, cwd, home)) if path else None
        text = (node.content or b"").decode("utf-8", "replace") if node is not None else ""
        if name == "sh" or re.match(r"#!\s*(?:/usr)?/bin/(?:env\s+)?(?:da)?sh\s", text):
            yield path, text
