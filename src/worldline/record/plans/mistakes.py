"""Slips that people and agents make: a command spoilt in a way that is repaired by typing it right."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

__all__ = ["spoil"]

_NAME = re.compile(
    r"(?<![\w/.$-])(?:[\w-]+/)*[\w-]{4,}\.(?:txt|csv|json|jsonl|log|md|py|sh|conf|ini|tsv|db|zip|gz|tar)\b"
)
_WRITTEN = re.compile(r">\s*$|\b(?:touch|tee|mkdir) [^|]*$")
_LONG = re.compile(r"(?<= )--[a-z]{4,}[a-z-]*")


def spoil(command: str, rng: Random, known: str) -> str | None:
    """Return `command` with one slip in it, or None where none fits.

    Args:
        command: What is meant.
        rng: Source of the choice.
        known: Text that names the files there are; only a name that stands in it is misspelt, so that a slip
            does not write to a wrong place.

    The slips: letters of the program's name swapped, a letter of a file name left out, a wrong suffix, a long
    option misspelt, a quote or bracket not closed.
    """
    if "\n" in command or ";" in command or len(command) > 120 or "commit" in command:
        return None
    names = [
        match
        for match in _NAME.finditer(command)
        if match[0] in known and not _WRITTEN.search(command[: match.start()])
    ]
    slips: list[Callable[[], str | None]] = [lambda: _program(command, rng)]
    if "&&" not in command:
        slips += [lambda: _file(command, names, rng), lambda: _option(command, rng), lambda: _quote(command, rng)]
        slips += [*slips[1:3], lambda: _suffix(command, names)]
    rng.shuffle(slips)
    for slip in slips:
        spoilt = slip()
        if spoilt is not None and spoilt != command:
            return spoilt
    return None


def _program(command: str, rng: Random) -> str | None:
    word = command.split(" ", 1)[0]
    if not re.fullmatch(r"[a-z]{3,}", word) or word in ("echo", "export", "printf") or rng.random() < 0.6:
        return None
    position = rng.randrange(len(word) - 1)
    swapped = word[:position] + word[position + 1] + word[position] + word[position + 2 :]
    return swapped + command[len(word) :]


def _file(command: str, names: list[re.Match[str]], rng: Random) -> str | None:
    if not names:
        return None
    match = rng.choice(names)
    name = match[0]
    stem = name.rindex(".")
    position = rng.randrange(max(name.rfind("/") + 2, stem - 3), stem)
    return command[: match.start()] + name[:position] + name[position + 1 :] + command[match.end() :]


def _suffix(command: str, names: list[re.Match[str]]) -> str | None:
    if not names:
        return None
    match = names[0]
    stem, suffix = match[0].rsplit(".", 1)
    other = {"txt": "text", "csv": "cvs", "json": "jsn", "log": "txt", "md": "txt", "py": "pyt", "conf": "cfg"}.get(
        suffix
    )
    return None if other is None else f"{command[: match.start()]}{stem}.{other}{command[match.end() :]}"


def _option(command: str, rng: Random) -> str | None:
    options = list(_LONG.finditer(command))
    if not options:
        return None
    match = rng.choice(options)
    position = rng.randrange(3, len(match[0]) - 1)
    spoilt = match[0][:position] + match[0][position + 1] + match[0][position] + match[0][position + 2 :]
    return command[: match.start()] + spoilt + command[match.end() :]


def _quote(command: str, rng: Random) -> str | None:
    if rng.random() < 0.6 or command.count("'") != 2 or '"' in command:
        return None
    position = command.rindex("'")
    return command[:position] + command[position + 1 :]
