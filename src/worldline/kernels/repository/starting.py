"""What a repository's world holds at the start."""

from __future__ import annotations

import shlex
from datetime import datetime

from worldline.domains.swe import SweState
from worldline.domains.terminal.state import TerminalState
from worldline.kernels.repository.archives import package_files

__all__ = ["machine_of", "setup_command"]


def machine_of(state: SweState, clock: datetime | None = None) -> TerminalState:
    """The machine that a repository lies on, its package unpacked.

    Raises:
        ConfigError: The package does not ship.
    """
    return state.terminal(package_files(state.repository) if state.repository else {}, clock=clock)


def setup_command(state: SweState) -> str:
    """What makes the repository before the session starts; empty where it is none."""
    if state.commit is None:
        return ""
    message = shlex.quote(state.commit)
    return f"git init -q && rm -r .git/hooks && git add -A && git commit -q --allow-empty -m {message}"
