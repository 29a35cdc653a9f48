"""Whether a session of cells uses what it made before."""

from __future__ import annotations

import symtable

from worldline.types import Trajectory

__all__ = ["reads_back"]


def reads_back(trajectory: Trajectory) -> bool:
    """Whether a cell loads a name that an earlier cell bound, and both succeed. Imports do not count."""
    bound: set[str] = set()
    for turn in trajectory.turns:
        if turn.observation.is_error:
            continue
        try:
            table = symtable.symtable(str(turn.action.arguments.get("code", "")), "<cell>", "exec")
        except (SyntaxError, ValueError):
            continue
        mine = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
        if (_loaded(table, True) - mine) & bound:
            return True
        bound |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned()}
    return False


def _loaded(table: symtable.SymbolTable, top: bool) -> set[str]:
    """Names of the session that a scope and those in it load."""
    symbols = table.get_symbols()
    found = {symbol.get_name() for symbol in symbols if symbol.is_referenced() and (top or symbol.is_global())}
    return found.union(*(_loaded(inner, False) for inner in table.get_children()))
