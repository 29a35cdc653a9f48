"""How many processes a command starts, by which the numbers of jobs rise."""

from __future__ import annotations

import re

from worldline.domains.terminal.commands import AndOr, List, Node, Other, Pipe, Simple
from worldline.domains.terminal.syntax import Fault, Incomplete, parse
from worldline.kernels.shell.script import SHELL_BUILTINS

__all__ = ["forks", "only_programs"]

_STARTING_WORDS = (
    "bash sh dash make git man xargs find tar watch parallel cc gcc g++ zstd xz sudo env timeout nohup awk"
)
_STARTING = frozenset(_STARTING_WORDS.split())
"""Programs that start others, or threads."""
_ALONE = {
    "find": re.compile(r"-(?:exec|ok)"),
    "awk": re.compile(r"\bsystem\s*\(|\||\bclose\s*\("),
    "tar": re.compile(r"\btar\s+-?\w*[zjJ]|--(?:\w*zip|xz|zstd|use|auto)|\.t?[gx]z|\.zst"),
    "sudo": re.compile(r"\Z(?!)"),
}
"""Programs that start others only with what these find."""
_QUOTED = re.compile(r"'[^']*'")
_MORE = re.compile(
    r"(?<!\|)\|(?!\|)|`|(?<!\()\((?!\()|(?<![&>])&(?![&>\d])|(?:^|[;&|]|\b(?:do|then|else|if|while|until|!)\s)\s*[\w.~-]*/",
    re.MULTILINE,
)
"""What starts a process though it is no program, or a script."""
_SUBSTITUTED = re.compile(r"[$<>]\(|`")


def forks(text: str, functions: frozenset[str] = frozenset()) -> int | None:
    """Count the processes that a command starts in the foreground, where it depends on nothing else.

    Args:
        text: The command as typed.
        functions: Names of functions, which may start any.

    Returns:
        Their number; None where it depends on more than the text.
    """
    try:
        return _count(parse(text), functions)
    except (Fault, Incomplete):
        return None


def only_programs(text: str, functions: frozenset[str] = frozenset()) -> bool:
    """Whether a command starts no process but one for each program that runs in it."""
    bare = _QUOTED.sub("''", text)
    words = set(re.findall(r"[\w.-]+", bare))
    return _MORE.search(bare) is None and not words & (_STARTING | functions | {"eval", "source", "exec", "python3"})


def _count(node: Node | AndOr, functions: frozenset[str]) -> int | None:
    if isinstance(node, List):
        counts = [0 if item.background else _count(item, functions) for item in node.items]
        started = next((index for index, item in enumerate(node.items) if item.background), len(counts))
        if any(counts[started + 1 :]):
            return None  # the numbers of jobs lie between these
    elif isinstance(node, AndOr):
        if any(_count(part, functions) != 0 for _, part in node.parts[1:]):
            return None
        counts = [_count(part, functions) for _, part in node.parts]
    elif isinstance(node, Pipe):
        if not re.search(r"(?<!\|)\|(?!\|)", node.text):
            counts = [_count(part, functions) for part in node.parts]  # only `!` or `time` stands before it
        else:
            # Each part of a pipe is a process, also where it is a builtin of the shell.
            counts = [None if (inner := _inside(part, functions)) is None else 1 + inner for part in node.parts]
    elif isinstance(node, Simple):
        return _simple(node, functions)
    elif isinstance(node, Other):
        return _other(node, functions)
    else:
        return None
    return _sum(counts)


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _other(node: Other, functions: frozenset[str]) -> int | None:
    if node.kind == "(" and node.text.endswith(")"):
        inner = _subshell(node.text[1:-1], functions)
        return None if inner is None else 1 + inner
    if node.kind == "{" and node.text.endswith("}"):
        return forks(node.text[1:-1].strip(), functions)
    if node.kind in ("[[", "((", "function") and not _SUBSTITUTED.search(node.text[2:]):
        return 0
    return None


def _subshell(text: str, functions: frozenset[str]) -> int | None:
    """Processes that a subshell starts beside itself."""
    try:
        tree = parse(text.strip())
    except (Fault, Incomplete):
        return None
    if not tree.items or any(item.background for item in tree.items):
        return None if tree.items else 0
    last = tree.items[-1]
    if len(last.parts) > 1:
        counts = [_count(item, functions) for item in tree.items]
    else:
        counts = [_count(item, functions) for item in tree.items[:-1]] + [_inside(last.parts[0][1], functions)]
    return _sum(counts)


def _inside(node: Node, functions: frozenset[str]) -> int | None:
    """Processes that a command starts in a process made for it: a program takes its place."""
    if isinstance(node, Simple):
        count = _simple(node, functions)
        own = _own(node)
        return None if count is None else count - own
    if isinstance(node, Other) and node.kind in ("(", "{") and node.text[-1] in ")}":
        return _subshell(node.text[1:-1], functions)
    return _count(node, functions)


def _own(node: Simple) -> int:
    name = node.name
    return 0 if not name or name in SHELL_BUILTINS else 1


def _simple(node: Simple, functions: frozenset[str]) -> int | None:
    name = node.name
    inner = _substitutions(node.text, functions)
    if inner is None or re.search(r"[$*?~{/\\\\]", name):
        return None
    if name in functions or name in ("eval", "source", ".", "exec", "time"):
        return None
    words = list(node.words)
    if name == "command" and len(words) > 1 and not words[1].startswith("-"):
        name = words[1]
    if name in ("bash", "sh") and len(words) == 3 and words[1] == "-c":
        script = words[2]
        if not re.fullmatch(r"'[^']*'|[\w.-]+", script) or name == "sh":
            return None
        own = _subshell(script.strip("'"), functions)
        return None if own is None else 1 + own + inner
    if name == "timeout" and len(words) > 2 and re.fullmatch(r"[\d.]+[smh]?", words[1]) and words[2] not in _STARTING:
        return 2 + inner
    if name in _STARTING and not (name in _ALONE and _ALONE[name].search(node.text) is None):
        return None
    return inner + (0 if not name or name in SHELL_BUILTINS else 1)


def _substitutions(text: str, functions: frozenset[str]) -> int | None:
    """Processes of the substitutions in a text; None where they cannot be told."""
    bare = _QUOTED.sub("''", text)
    if not _SUBSTITUTED.search(bare):
        return 0
    counts: list[int | None] = []
    while (found := re.search(r"(?<!\$)([$<>])\((?!\()([^()]*)\)|`([^`]*)`", bare)) is not None:
        inner = found[2] if found[2] is not None else found[3]
        own = _subshell(inner, functions)
        counts.append(None if own is None else 1 + own)
        bare = bare[: found.start()] + "x" + bare[found.end() :]
    bare = re.sub(r"\$\(\([^()]*\)\)", "1", bare)
    return None if _SUBSTITUTED.search(bare) else _sum(counts)
