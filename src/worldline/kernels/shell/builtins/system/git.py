"""`git`: the command itself lies in `worldline.kernels.git`, which is loaded when it is first run."""

from __future__ import annotations

from importlib import import_module
from zlib import error as ZlibError

from worldline.kernels.shell.builtins.base import Builtin, Call, Result

__all__ = ["COMMANDS"]

_DAMAGE = (OSError, LookupError, ValueError, TypeError, AttributeError, ZlibError)
"""What reading a damaged or unusual repository raises; whatever git would say about it is not known then."""


def git(call: Call) -> Result:
    """Keep versions of files."""
    try:
        result = import_module("worldline.kernels.git.main").run(call)
    except _DAMAGE as error:
        call.unknown(f"a repository that cannot be read ({type(error).__name__}: {error})")
    assert isinstance(result, Result)
    screen = call.world.screen
    if call.columns is not None and screen is not None and result.stdout.count("\n") >= screen.lines:
        call.unknown("what a pager shows", guess=result)
    return result


COMMANDS: dict[str, Builtin] = {"git": git}
