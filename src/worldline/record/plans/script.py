"""Reading the family files: what sessions are made of, in a plain notation.

    == logs/errors                    a family
    n 4                               how many sessions it yields, relative to the others
    task Find out why @log@ has ...   the task text
    ordered                           play the blocks in order (otherwise some of them, shuffled)

    [first]                           a block; `first` and `last` keep their place
    . grep -c ERROR @log@             a command of our own
    c:grep grep -in timeout @log@     from the cheat sheet `grep` (default: named like the program)
    m:xargs cut -d: -f1 ...           from the EXAMPLES of a man page
    f sort --reverse @list@           program and options from a completion spec

Blank lines separate blocks. A here-document goes on to its delimiter; `| ` continues a command on a new line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

from worldline.record.families import load_families

__all__ = ["Block", "Family", "Line", "families", "parse"]

_COMMAND = re.compile(r"^(?P<tag>[.cmf])(?::(?P<name>\S+))? (?P<text>.*)$")
_HEREDOC = re.compile(r"(?<![<\w(])<<(?!<)-?\s*['\"\\]?(?P<word>\w+)['\"]?")


@dataclass(frozen=True)
class Line:
    """A command template and its source."""

    template: str
    source: str


@dataclass
class Block:
    """Commands that belong together."""

    place: str = ""
    lines: list[Line] = field(default_factory=list)


@dataclass
class Family:
    """A task family: the unit of splitting."""

    name: str
    sessions: int = 4
    task: str = ""
    ordered: bool = False
    blocks: list[Block] = field(default_factory=list)


def parse(text: str, origin: str = "") -> list[Family]:
    """Read the families of one file.

    Raises:
        ValueError: A line is none of the known kinds; names file and line.
    """
    found: list[Family] = []
    lines = text.split("\n")
    position, block = 0, Block()
    while position < len(lines):
        line = lines[position]
        position += 1
        if not line.strip():
            block = Block()
        elif line.startswith("== "):
            found.append(Family(line[3:].strip()))
            block = Block()
        elif match := _COMMAND.match(line):
            command, position = _whole(match["text"], lines, position)
            if block not in found[-1].blocks or block is not found[-1].blocks[-1]:
                found[-1].blocks.append(block)
            block.lines.append(Line(command, _source(match["tag"], match["name"], command)))
        elif line.startswith("["):
            block.place = line.strip("[] ")
        elif line == "ordered":
            found[-1].ordered = True
        elif line.startswith("n "):
            found[-1].sessions = int(line[2:])
        elif line.startswith("task "):
            found[-1].task = line[5:]
        elif not line.startswith("#"):
            raise ValueError(f"{origin}:{position}: what is {line!r}?")
    return found


def _whole(command: str, lines: list[str], position: int) -> tuple[str, int]:
    while position < len(lines) and lines[position].startswith("| "):
        command += "\n" + lines[position][2:]
        position += 1
    for match in _HEREDOC.finditer(command):
        stripped = "\t" if "<<-" in match[0] else ""
        while lines[position].lstrip(stripped) != match["word"]:
            command += "\n" + lines[position]
            position += 1
        command += "\n" + lines[position]
        position += 1
    return command, position


def _source(tag: str, name: str | None, command: str) -> str:
    words = command.replace("⟦", "").replace("¦", " ").split()
    if tag == ".":
        return "own"
    if tag == "m" and name is None and words[0] == "git":
        name = f"git-{words[1]}"
    return f"{ {'c': 'cheat', 'm': 'man', 'f': 'completion'}[tag] }:{name or words[0]}".replace(" ", "")


@cache
def families() -> tuple[Family, ...]:
    """All families of the package's resources, by name.

    Raises:
        ValueError: Two families have one name.
    """
    return load_families("worldline.record.plans", ".plan", parse)
