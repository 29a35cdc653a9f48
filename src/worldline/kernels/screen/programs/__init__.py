"""Programs that own the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from worldline.kernels.screen.programs.base import Host, Operator, Program, Run, Shown, Starter
from worldline.kernels.screen.programs.calculators import bc_program
from worldline.kernels.screen.programs.filters import FILTERS, filter_program
from worldline.kernels.screen.programs.python_programs import python_program
from worldline.kernels.screen.programs.scripts import file_program, shell_program
from worldline.kernels.screen.programs.sqlite import sqlite_program

__all__ = ["PROGRAMS", "Host", "Operator", "Program", "Run", "Shown", "Starter", "find_program"]

PROGRAMS: Mapping[str, Starter] = {
    **dict.fromkeys(sorted(FILTERS), filter_program),
    **dict.fromkeys(("bash", "sh", "dash"), shell_program),
    **dict.fromkeys(("python3", "python3.11"), python_program),
    "bc": bc_program,
    "sqlite3": sqlite_program,
}
"""By the name of the command, without its directory."""


def find_program(words: Sequence[str], host: Host) -> Program | None:
    """Return the program that a simple command, or a pipe, puts in the foreground; None: none that takes the terminal.

    Args:
        words: As :data:`Starter` takes them; the first is not empty.
        host: The terminal; it is only asked, nothing is changed.
    """
    place, _, name = words[0].rpartition("/")
    starter = PROGRAMS.get(name) if place in ("", "/bin", "/usr/bin") else file_program
    return starter(words, host) if starter is not None else None
