"""Which family stands in which split, and which command lines may stand in several."""

from __future__ import annotations

import hashlib
import re
from typing import get_args

from worldline.formats import read_trajectories
from worldline.record.plans.vocabulary import Split
from worldline.recordings import path

__all__ = ["SALT", "recorded_lines", "split_of", "trivial"]

SALT = 3
"""Number mixed into the hash; chosen once so that the splits' sizes come near 50 / 25 / 25 by turns."""

_TRIVIAL_LINES = (
    "ls|ls -1|ls -a|ls -l|ls -la|ls -lh|ls -R|pwd|cd|cd ..|cd -|cd ~|whoami|id|date|hostname|env|tree|"
    "jobs|wait|true|exit|exit 0|exit 1|echo $?|echo $$|make|umask|git init|git init -q|git add .|"
    "git add -A|git status|git status -s|git status --short|git diff|git branch|git log|"
    "git log --oneline|git stash|git stash pop|git stash list|git --version|find . -type f|uname|"
    "uname -a|uname -s|python3 --version|nproc|df -h|uptime"
)
_TRIVIAL = frozenset(_TRIVIAL_LINES.split("|"))

_TRIVIAL_SHAPE = re.compile(r"(?:cat|cd|ls|ls -l|ls -la|mkdir|rm|touch|wc -l|head|git add|python3|bash|sh) [\w./~-]+")


def split_of(family: str, salt: int = SALT) -> Split:
    """Return the split of a family: half of the hashes train, a quarter dev, a quarter test."""
    value = int(hashlib.sha256(f"{salt}:{family}".encode()).hexdigest()[:8], 16) % 100
    return "train" if value < 50 else "dev" if value < 75 else "test"


def trivial(command: str) -> bool:
    """Whether a command line is so common that it may stand in more than one split.

    These are a short list (`ls`, `pwd`, `git status`, ...) and one-argument calls such as `cat FILE`, `cd DIR`.
    """
    return command in _TRIVIAL or _TRIVIAL_SHAPE.fullmatch(command) is not None


def recorded_lines() -> dict[str, Split]:
    """Return the command lines of the recordings that ship, trivial ones apart, each with its split."""
    return {
        command: split
        for split in get_args(Split)
        for trajectory in read_trajectories(path("terminal", split))
        for turn in trajectory.turns
        if (command := turn.action.command or "") and not trivial(command)
    }
