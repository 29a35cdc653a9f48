"""`su` of a user who knows no password: it asks, waits, and refuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from worldline.kernels.screen.programs.base import Host, Shown

__all__ = ["Password", "asks_password", "refused"]

_USER_WORDS = "root daemon bin sys sync games man lp mail news uucp proxy www-data backup list irc _apt nobody"
_USERS = frozenset(_USER_WORDS.split())
"""Whom every Debian has."""
_DELAY = 2.0
"""Seconds that a wrong password costs, about."""


def _user(words: Sequence[str]) -> str | None:
    """The user whom `su` is to become; None for calls that are not gone into."""
    rest = [word for word in words if word not in ("-", "-l", "--login")]
    if "-c" in rest:
        at = rest.index("-c")
        del rest[at : at + 2]
    if len(rest) > 1 or any(word.startswith("-") for word in rest):
        return None
    return rest[0] if rest else "root"


def asks_password(words: Sequence[str], own: str) -> bool:
    """Whether `su` with these arguments asks for a password.

    Args:
        words: Its arguments.
        own: The user who calls it.
    """
    return _user(words) in _USERS | {own}


def refused(words: Sequence[str]) -> str:
    """What `su` says of a user who does not exist; empty where that is not known."""
    user = _user(words)
    if user is None:
        return ""
    return f"su: user {user} does not exist or the user entry does not contain all the required fields\n"


@dataclass
class Password:
    """A question for a password."""

    name: ClassVar[str] = "su"
    silent: ClassVar[bool] = True
    raw: bool = False
    readline: bool = False

    def start(self, host: Host) -> Shown:
        """Ask."""
        return Shown("Password: ", echo=False)

    def feed(self, text: str, host: Host) -> Shown:
        """Take a password: it is wrong."""
        late = (_DELAY, "su: Authentication failure\n")
        return Shown("\n", later=(late,), ended=True, status=1, echo=False)

    def end_of_input(self, host: Host) -> Shown:
        """Take C-d."""
        return self.feed("", host)

    def interrupt(self, host: Host) -> Shown:
        """Take C-c."""
        return Shown(ended=True, status=130)
