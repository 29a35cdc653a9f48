"""Which programs and builtins a command line calls, for counting."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

__all__ = ["known_programs", "programs_of"]

_SPLIT = re.compile(r"\|\||&&|[|;&\n({]|\$\(|`|<\(|\bdo\b|\bthen\b|\belse\b|\bif\b|\bwhile\b|\buntil\b|(?<!\S)!(?=\s)")
_CARRIERS = frozenset(
    ("xargs", "env", "sudo", "nohup", "timeout", "nice", "stdbuf", "time", "command", "exec", "setsid")
)
_EXEC = re.compile(r"-exec(?:dir)?\s+([\w./-]+)")
_HEREDOC = re.compile(r"(?<![<\w(])<<(?!<)-?\s*['\"\\]?(\w+)['\"]?(.*?)\n(.*?)\n\t*\1(?=\n|$)", re.S)


@cache
def known_programs() -> frozenset[str]:
    """Names that count as a program or builtin: those of bash and of the declared Debian packages."""
    text = (files("worldline.record.plans") / "resources" / "programs.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


def programs_of(command: str) -> list[str]:
    """Return the programs and builtins that a command line calls by name, in order, as far as the text shows."""
    text = _HEREDOC.sub(r"\2", command)
    text = re.sub(r"'[^']*'|\"(?:[^\"\\$`]|\\.)*\"", "Q", text)
    found = [name.rsplit("/", 1)[-1] for name in _EXEC.findall(text)]
    for stage in _SPLIT.split(text):
        words = [word for word in stage.split() if not re.match(r"^(\w+=|[<>\d]*[<>])", word)]
        while words:
            name = words[0].strip("\"'()")
            if name in known_programs():
                found.append(name)
            if name not in _CARRIERS:
                break
            words = [word for word in words[1:] if not word.startswith("-") and not word[0].isdigit()]
    return [name for name in found if name in known_programs()]
