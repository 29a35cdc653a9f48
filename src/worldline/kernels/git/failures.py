"""How a git command ends early."""

from __future__ import annotations

__all__ = ["Failure"]


class Failure(Exception):
    """The command ends with a message.

    Args:
        message: Without the prefix.
        status: Exit status.
        prefix: `fatal: `, `error: ` or nothing.
    """

    def __init__(self, message: str, status: int = 128, prefix: str = "fatal: ") -> None:
        super().__init__(message)
        self.status = status
        self.text = f"{prefix}{message}\n" if message else ""
