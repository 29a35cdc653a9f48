r"""Reading the family files of keystroke sessions.

    == jobs/stop-loop                 a family
    n 3                               how many sessions it yields
    task Stop the loop that ...       the task text
    tmux                              record it in tmux (full-screen programs)
    shuffle                           play the blocks in any order, as many as fit (otherwise all of them, in order)
    let word apple|pear               a choice that holds for the session, written {word}
    file count.sh 755                 a file in the project's folder, its lines follow after `| `
    env NAME VALUE                    an exported variable

    [first]                           a block; `first` and `last` keep their place, `maybe` is left out now and then
    > ls -la                          a line for the shell; Enter follows
    >0.2 sleep 3                      the same, with the seconds that are waited
    : 1 + 1                           a line for the program in the foreground
    k C-c                             keys without Enter: the name of a key, or text with the escapes \n \t \e \s \\
    w 2                               nothing typed, only a wait
    | more                            continues the line above on a new line
    +> pwd                            `+` before any of these: another entry of the same action
    []                                an empty action

Blank lines separate blocks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

from worldline.record.families import load_families

__all__ = ["Block", "Family", "Piece", "families", "parse"]

_TURN = re.compile(r"^(?P<more>\+?)(?P<kind>[>:kw])(?P<seconds>[0-9.]*)(?: (?P<text>.*))?$")

_ESCAPES = {"n": "\n", "t": "\t", "e": "\x1b", "s": " ", "\\": "\\"}


@dataclass
class Piece:
    """One entry of an action, as a template."""

    kind: str
    """`>`, `:`, `k`, `w` or `[]`."""
    text: str
    seconds: float | None = None
    more: bool = False
    """It belongs to the action of the piece before."""


@dataclass
class Block:
    """Actions that belong together."""

    place: str = ""
    pieces: list[Piece] = field(default_factory=list)


@dataclass
class Family:
    """A task family: the unit of splitting."""

    name: str
    sessions: int = 3
    task: str = ""
    emulation: str = "pyte"
    shuffle: bool = False
    choices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    files: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    """Content and mode by path relative to the project's folder."""
    env: dict[str, str] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)


def parse(text: str, origin: str = "") -> list[Family]:
    """Read the families of one file.

    Raises:
        ValueError: A line is none of the known kinds; names file and line.
    """
    found: list[Family] = []
    block, open_file = Block(), ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("| ") or line == "|":
            if open_file:
                content, mode = found[-1].files[open_file]
                found[-1].files[open_file] = (content + line[2:] + "\n", mode)
            else:
                block.pieces[-1].text += "\n" + line[2:]
            continue
        open_file = ""
        if not line.strip():
            block = Block()
        elif line.startswith("== "):
            found.append(Family(line[3:].strip()))
            block = Block()
        elif line == "[]" or (match := _TURN.match(line)):
            if block not in found[-1].blocks or block is not found[-1].blocks[-1]:
                found[-1].blocks.append(block)
            block.pieces.append(Piece("[]", "") if line == "[]" else _piece(match))
        elif line.startswith("["):
            block.place = line.strip("[] ")
        elif line.startswith("file "):
            open_file, _, mode = line[5:].partition(" ")
            found[-1].files[open_file] = ("", mode or None)
        elif not _setting(found[-1], line):
            raise ValueError(f"{origin}:{number}: what is {line!r}?")
    return found


def _piece(match: re.Match[str] | None) -> Piece:
    assert match is not None
    text, seconds = match["text"] or "", match["seconds"]
    if match["kind"] == "w":
        return Piece("w", text or seconds, None, bool(match["more"]))
    if match["kind"] == "k":
        text = re.sub(r"\\([ntes\\])", lambda found: _ESCAPES[found[1]], text)
    return Piece(match["kind"], text, float(seconds) if seconds else None, bool(match["more"]))


def _setting(family: Family, line: str) -> bool:
    name, _, value = line.partition(" ")
    if name in ("tmux", "shuffle"):
        family.emulation = "tmux" if name == "tmux" else family.emulation
        family.shuffle = family.shuffle or name == "shuffle"
    elif name == "n":
        family.sessions = int(value)
    elif name == "task":
        family.task = value
    elif name in ("let", "env"):
        key, _, rest = value.partition(" ")
        if name == "let":
            family.choices[key] = tuple(rest.split("|"))
        else:
            family.env[key] = rest
    else:
        return line.startswith("#")
    return True


@cache
def families() -> tuple[Family, ...]:
    """All families of the package's resources, by name.

    Raises:
        ValueError: Two families have one name.
    """
    return load_families("worldline.record.keystroke_plans", ".keys", parse)
