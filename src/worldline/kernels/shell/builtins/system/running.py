"""What programs that run another one say where that one cannot be run."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.base import Result

__all__ = ["refusal"]


def refusal(result: Result) -> str | None:
    """Return why a command was not run ("No such file or directory", "Permission denied"); None where it was.

    Args:
        result: What `Call.run` returned.
    """
    said = result.stdout + result.stderr
    if result.status == 127 and re.fullmatch(r"[^\n]*: command not found\n", said):
        return "No such file or directory"
    if said:
        return None
    return {127: "No such file or directory", 126: "Permission denied"}.get(result.status)
