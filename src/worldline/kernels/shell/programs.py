"""Which programs a machine has: Debian's essential packages and those the world declares."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal

from worldline.domains.terminal.state import TerminalState

__all__ = ["Presence", "presence", "program_path", "provided"]

Presence = Literal["present", "absent", "unknown"]

_SYSTEM = ("sbin/",)
"""Directories of programs that are not in a plain user's PATH."""


@cache
def _resource() -> tuple[frozenset[str], dict[str, list[str]], dict[str, list[str]]]:
    """Essential packages, what packages depend on, and their programs."""
    text = files("worldline.kernels.shell").joinpath("resources/programs.json").read_text("utf-8")
    data = json.loads(text)
    return frozenset(data["essential"]), data["depends"], data["packages"]


@cache
def provided(packages: tuple[str, ...] | None) -> tuple[dict[str, str], bool]:
    """Find the programs of the essential and the given packages.

    Returns:
        Directory of each program by its name (`/usr/bin`, `/usr/sbin`, `/usr/games`), and whether that is all of
        them: False where the packages are not declared or one of them is not in our table.
    """
    essential, depends, table = _resource()
    found: dict[str, str] = {}
    todo, installed = [*essential, *(packages or ())], set[str]()
    while todo:
        package = todo.pop()
        if package not in installed:
            installed.add(package)
            todo.extend(depends.get(package, ()))
    for package in sorted(installed):
        for program in table.get(package, ()):
            folder, _, name = program.rpartition("/")
            found.setdefault(name, f"/usr/{folder or 'bin'}")
    return found, packages is not None and all(name in table for name in packages)


def presence(state: TerminalState, name: str) -> Presence:
    """Tell whether a program of this name is found through PATH."""
    return _presence(state.packages, state.user_id == 0, name)


@lru_cache(maxsize=8192)
def _presence(packages: tuple[str, ...] | None, root: bool, name: str) -> Presence:
    found, complete = provided(packages)
    if name in found:
        hidden = found[name] == "/usr/sbin" and not root
        return "absent" if hidden and complete else "present" if not hidden else "unknown"
    return "absent" if complete else "unknown"


def program_path(state: TerminalState, name: str) -> str | None:
    """Where `which NAME` finds a program; None where it is absent or not known."""
    if presence(state, name) != "present":
        return None
    return f"{provided(state.packages)[0][name]}/{name}"
