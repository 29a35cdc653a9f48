"""Programs that own the terminal, by the name they are called by."""

from __future__ import annotations

from collections.abc import Mapping

from worldline.kernels.screen.programs.base import Host, Operator, Program, Run, Shown, Starter
from worldline.kernels.screen.programs.calculators import bc_program
from worldline.kernels.screen.programs.filters import FILTERS, filter_program
from worldline.kernels.screen.programs.sqlite import sqlite_program

__all__ = ["PROGRAMS", "Host", "Operator", "Program", "Run", "Shown", "Starter"]

PROGRAMS: Mapping[str, Starter] = {
    **dict.fromkeys(sorted(FILTERS), filter_program),
    "bc": bc_program,
    "sqlite3": sqlite_program,
}
"""By the first word of the command, without its directory."""
