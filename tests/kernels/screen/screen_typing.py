"""Typing at a screen kernel in tests."""

from __future__ import annotations

from typing import Any

from worldline.domains.terminal.keystrokes import keystroke_action
from worldline.kernels.base import Proposal
from worldline.kernels.screen import ScreenKernel
from worldline.types import Action, WorldSpec

PROMPT = "user@box:~$"


def screen_world(**state: Any) -> WorldSpec:
    """A small world with a screen."""
    return WorldSpec(domain="terminal", initial_state={"screen": {}, "packages": [], **state})


def keys(*entries: str | tuple[str, float]) -> Action:
    """An action; an entry is a text, waited on for a fifth of a second, or a text and its seconds."""
    pairs = [(entry, 0.2) if isinstance(entry, str) else entry for entry in entries]
    return keystroke_action([{"keystrokes": text, "duration": seconds} for text, seconds in pairs])


class Typist:
    """A kernel that every action is accepted on."""

    def __init__(self, **state: Any) -> None:
        self.kernel = ScreenKernel(screen_world(**state))
        self.last: Proposal | None = None

    def type(self, *entries: str | tuple[str, float]) -> str:
        """Type, and return the screen, which must be known."""
        self.last = self.kernel.propose(keys(*entries))
        self.kernel.accept()
        assert self.last.known, self.last.why
        return self.last.observation.text

    def guess(self, *entries: str | tuple[str, float]) -> str:
        """Type, and return a screen that must not be known."""
        self.last = self.kernel.propose(keys(*entries))
        self.kernel.accept()
        assert not self.last.known
        return self.last.observation.text

    def rows(self, *entries: str | tuple[str, float]) -> list[str]:
        """Type after `clear`, and return the rows without the last prompt."""
        self.type("clear\n")
        rows = self.type(*entries).split("\n")
        return rows[:-1] if rows[-1] == PROMPT else rows
