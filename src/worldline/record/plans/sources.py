"""What the sources that are not ours offer: option sets of their command lines, extracted into `sources.json`.

`scripts/extract_command_sources.py` makes that file from the packages; no line of theirs is copied, only the programs
and options that stand in it. A template is credited to a source only if it agrees with one of its lines.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["agrees", "skeleton"]

_PREFIXES = frozenset(("sudo", "do", "then", "(", "{", "!"))
_HARMLESS = frozenset(("-c", "-r", "-n", "-nc"))
"""Options of jq that only change how an answer is written."""
_TRIMMED = re.compile(
    r"(?:\s*(?:\||;|&&)\s*(?:head|tail|wc|sort|tr|grep -c|grep -v|echo|cut|awk)\b(?:[^|;&']|'[^']*')*)+$"
)
"""What a filled line may have at its end to show only a part of a long answer."""


def skeleton(command: str) -> list[list[str]]:
    """Reduce a command line to its programs, each with its sorted options.

    Long options lose their values; short ones are kept as they are written, digits as `N`.
    """
    found: list[list[str]] = []
    for stage in re.split(r"\|\||&&|[|;]|\bdo\b|\$\(|`|<\(", _without_quoted(command)):
        words = [word for word in stage.split() if word not in _PREFIXES]
        while words and re.match(r"^\w+=", words[0]):
            words = words[1:]
        if not words:
            continue
        options = sorted({_option(word) for word in words[1:] if re.match(r"^--?[A-Za-z0-9]", word)})
        name = words[0]
        if name == "git" and len(words) > 1:
            name = f"git {words[1]}"
        found.append([name, *options])
    return found


def _without_quoted(command: str) -> str:
    return re.sub(r"'[^']*'|\"[^\"]*\"", "Q", command)


def _option(word: str) -> str:
    if word.startswith("--"):
        return word.split("=", 1)[0]
    return re.sub(r"\d+", "N", word)


@cache
def _known() -> dict[str, dict[str, list[Any]]]:
    text = (files("worldline.record.plans") / "resources" / "sources.json").read_text(encoding="utf-8")
    loaded: dict[str, dict[str, list[Any]]] = json.loads(text)
    return loaded


def agrees(command: str, source: str) -> bool:
    """Whether a source has a line like `command`, or, for a completion spec, its program and all its options.

    A line of a cheat sheet or man page is like it if it names the same first program and shares at least half of
    the options.
    """
    kind, _, name = source.partition(":")
    if kind == "own":
        return True
    entry = _known()[kind].get(name)
    if entry is None:
        return False
    if kind != "completion" and _shares_a_line(skeleton(command), entry):
        return True
    stages = skeleton(_TRIMMED.sub("", command))
    if kind == "completion":
        mine = [stage for stage in stages if stage[0].split()[0] == name]
        return bool(mine) and all(_offered(option, stage[0], entry) for stage in mine for option in stage[1:])
    return _shares_a_line(stages, entry)


def _shares_a_line(stages: list[list[str]], lines: list[Any]) -> bool:
    """Whether one of `lines` has a program of `stages` and at least half of the options in common."""
    names = {stage[0] for stage in stages}
    wanted = {option for stage in stages for option in stage[1:]} - (_HARMLESS if "jq" in names else {"--no-edit"})
    for line in lines:
        theirs = {stage[0] for stage in line}
        options = {option for stage in line for option in stage[1:]}
        if names & theirs and len(wanted & options) * 2 >= len(wanted | options):
            return True
    return False


def _offered(option: str, program: str, entry: list[Any]) -> bool:
    options = set(entry) | {item.split(" ", 1)[1] for item in entry if item.startswith(f"{program[4:]} ")}
    if option in options or option.startswith("-N"):
        return True
    return not option.startswith("--") and all(f"-{letter}" in options for letter in re.sub(r"N", "", option[1:]))
