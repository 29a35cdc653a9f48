"""Programs that own the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from worldline.kernels.screen.programs.base import Host, Operator, Program, Run, Shown, Starter
from worldline.kernels.screen.programs.calculators import bc_program
from worldline.kernels.screen.programs.filters import FILTERS, filter_program
from worldline.kernels.screen.programs.gathering import gather_program
from worldline.kernels.screen.programs.line_editor import ed_program
from worldline.kernels.screen.programs.more import more_program
from worldline.kernels.screen.programs.nano import nano_program
from worldline.kernels.screen.programs.pagers import less_program, page
from worldline.kernels.screen.programs.perl_lines import perl_program
from worldline.kernels.screen.programs.python_programs import python_program
from worldline.kernels.screen.programs.scripts import file_program, shell_program
from worldline.kernels.screen.programs.sqlite import sqlite_program
from worldline.kernels.screen.programs.vim_start import vim_program
from worldline.kernels.screen.programs.watch import watch_program

__all__ = ["PAGERS", "PROGRAMS", "Host", "Operator", "Program", "Run", "Shown", "Starter", "find_program", "page"]

PROGRAMS: Mapping[str, Starter] = {
    **dict.fromkeys(sorted(FILTERS), filter_program),
    **dict.fromkeys(("bash", "sh", "dash"), shell_program),
    **dict.fromkeys(("python3", "python3.11"), python_program),
    **dict.fromkeys(("less", "pager"), less_program),
    "more": more_program,
    **dict.fromkeys(("vi", "vim", "view"), vim_program),
    **dict.fromkeys(("mapfile", "readarray"), gather_program),
    "nano": nano_program,
    "perl": perl_program,
    "bc": bc_program,
    "ed": ed_program,
    "sqlite3": sqlite_program,
    "watch": watch_program,
}
"""By the name of the command, without its directory."""


PAGERS = frozenset(("less", "more", "pager"))
"""Programs that take the terminal at the end of a pipe, too."""


def find_program(words: Sequence[str], host: Host) -> Program | None:
    """Return the program that a simple command, or a pipe, puts in the foreground; None: none that takes the terminal.

    Args:
        words: As :data:`Starter` takes them; the first is not empty.
        host: The terminal; it is only asked, nothing is changed.
    """
    last = max((index for index, word in enumerate(words) if isinstance(word, Operator) and word == "|"), default=-1)
    for first in {last + 1, 0}:
        place, _, name = words[first].rpartition("/")
        if first and name not in PAGERS:
            continue
        starter = PROGRAMS.get(name) if place in ("", "/bin", "/usr/bin") else file_program
        found = starter(words, host) if starter is not None else None
        if found is not None:
            return found
    return None
