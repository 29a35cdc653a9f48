"""`perl -ne`, `perl -pe` and loops over standard input at the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from worldline.kernels.screen.programs.base import Host, Operator, Program
from worldline.kernels.screen.programs.filters import Filter
from worldline.kernels.screen.programs.replay import Tape, command_line

__all__ = ["perl_program"]

_LOOP = re.compile(
    r"\s*while\s*\(\s*(?:defined\s*\(?\s*)?(?:my\s+\$\w+\s*=\s*)?<(?:STDIN)?>\s*\)?\s*\)\s*\{.*\}\s*;?\s*"
)
_READS = re.compile(r"<STDIN>|<>|\bSTDIN\b")


def perl_program(words: Sequence[str], host: Host) -> Program | None:
    """Build the program for a line of Perl that reads the terminal; None where it does not."""
    if any(isinstance(word, Operator) for word in words):
        return None
    rest, code, loops = list(words[1:]), list[str](), False
    while rest and re.fullmatch(r"-[lnpwia]*[eE]?", rest[0]) and len(rest[0]) > 1:
        word = rest.pop(0)
        if "i" in word:
            return None
        loops = loops or "n" in word or "p" in word
        if word[-1] in "eE":
            if not rest:
                return None
            code.append(rest.pop(0))
    text = "\n".join(code)
    if not code or rest or not (loops or _READS.search(text)):
        return None
    at_once = (loops and not re.search(r"\bEND\b|\beof\b|\$/|\blast\b|\bexit\b", text)) or bool(_LOOP.fullmatch(text))
    command = command_line(words)
    found = Filter(Tape(command), at_once, whole=command)
    if not at_once and not (
        loops and re.search(r"\bEND\b", text) and not re.search(r"\bprint|\bsay", text.split("END")[0])
    ):
        found.doubt = "how a Perl program reads the terminal"
    return found
