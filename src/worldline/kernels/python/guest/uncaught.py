"""The one place where errors of a simulated program end: whatever nobody in it caught is a value from here on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .frames import Abstain

__all__ = ["attempt"]

T = TypeVar("T")


def attempt(run: Callable[[], T]) -> tuple[T | None, BaseException | None]:
    """Run simulated code, whose errors may be of any type, and return its result and the error it ended with.

    Raises:
        Abstain: It is ours and not the program's, so it goes on its way.
    """
    try:
        return run(), None
    except Abstain:
        raise
    except BaseException as error:  # noqa: BLE001 - a program may raise anything
        return None, error
