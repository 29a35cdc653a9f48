"""`git`: the command itself lies in `worldline.kernels.git`, which is loaded when it is first run."""

from __future__ import annotations

from importlib import import_module

from worldline.kernels.shell.builtins.base import Builtin, Call, Result

__all__ = ["COMMANDS"]


def git(call: Call) -> Result:
    """Keep versions of files."""
    result = import_module("worldline.kernels.git.main").run(call)
    assert isinstance(result, Result)
    return result


COMMANDS: dict[str, Builtin] = {"git": git}
