"""What a repository's world holds at the start."""

from __future__ import annotations

import shlex
from datetime import datetime

from worldline.domains.swe import SweState
from worldline.domains.terminal.state import FileSpec, TerminalState
from worldline.errors import ConfigError
from worldline.kernels.repository.archives import package_files

__all__ = ["files_of", "machine_of", "setup_command"]


def machine_of(state: SweState, clock: datetime | None = None) -> TerminalState:
    """The machine that a repository lies on, its package unpacked.

    Raises:
        ConfigError: The package does not ship.
    """
    return state.terminal(files_of(state), clock=clock)


def files_of(state: SweState) -> dict[str, FileSpec]:
    """The files that shipped packages give a repository, by path relative to its root.

    Raises:
        ConfigError: A package, or a file of one, does not ship.
    """
    files = dict(package_files(state.repository)) if state.repository else {}
    for path, name in state.taken.items():
        if path not in package_files(name):
            raise ConfigError(f"the package {name} has no file {path}")
        files[path] = package_files(name)[path]
    return files


def setup_command(state: SweState) -> str:
    """What makes the repository before the session starts; empty where it is none."""
    if state.commit is None:
        return ""
    message = shlex.quote(state.commit)
    return f"git init -q && rm -r .git/hooks && git add -A && git commit -q --allow-empty -m {message}"
