"""A program that says something and ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from worldline.kernels.screen.programs.base import Host, Shown

__all__ = ["Said"]


@dataclass
class Said:
    """A message and a status."""

    text: str
    status: int = 0
    name: ClassVar[str] = "message"
    silent: ClassVar[bool] = False
    raw: bool = False
    readline: bool = False

    def start(self, host: Host) -> Shown:
        """Say it."""
        return Shown(self.text, ended=True, status=self.status)

    def feed(self, text: str, host: Host) -> Shown:
        """Not called."""
        return Shown(ended=True)

    def end_of_input(self, host: Host) -> Shown:
        """Not called."""
        return Shown(ended=True)

    def interrupt(self, host: Host) -> Shown:
        """Not called."""
        return Shown(ended=True)
