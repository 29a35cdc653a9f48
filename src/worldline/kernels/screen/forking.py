"""How many processes a command starts, by which the numbers of jobs rise."""

from __future__ import annotations

import re

from worldline.domains.terminal.commands import AndOr, List, Node, Pipe, Simple
from worldline.domains.terminal.syntax import Fault, Incomplete, parse
from worldline.kernels.shell.script import SHELL_BUILTINS

__all__ = ["forks"]

_STARTING_WORDS = "bash sh dash make git man xargs find tar watch parallel cc gcc g++ zstd xz sudo env timeout nohup"
_STARTING = frozenset(_STARTING_WORDS.split())
"""Programs that start others, or threads."""


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
        if not all(isinstance(part, Simple) for part in node.parts):
            return None
        # Each part of a pipe is a process, also where it is a builtin of the shell.
        counts = [None if _count(part, functions) is None else 1 for part in node.parts]
    elif isinstance(node, Simple):
        return _simple(node, functions)
    else:
        return None
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _simple(node: Simple, functions: frozenset[str]) -> int | None:
    name = node.words[0] if node.words else ""
    if re.search(r"`|\$\(|[<>]\(", node.text) or re.search(r"[$*?~{/\\\\]", name):
        return None
    if name in _STARTING or name in functions or name in ("eval", "source", ".", "exec", "command", "time"):
        return None
    return 0 if not name or name in SHELL_BUILTINS else 1
