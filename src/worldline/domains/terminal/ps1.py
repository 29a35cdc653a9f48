"""Prompts as bash draws them: PS1 decoded, and what a decoded prompt looks like on a screen."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from datetime import datetime

from wcwidth import wcwidth

__all__ = ["Surrounds", "decode", "prompt_pattern", "prompt_width", "width"]

_ESCAPE = re.compile(r"\\(D\{[^}]*\}|[0-7]{3}|.)", re.DOTALL)
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|[\x01\x02\x07]")


def width(text: str) -> int:
    """Return the columns that a text takes; control characters take none."""
    if text.isascii():
        return sum(letter >= " " for letter in text)
    return sum(max(0, wcwidth(letter)) for letter in text)


@dataclass(frozen=True, slots=True)
class Surrounds:
    """What a prompt may name."""

    user: str
    host: str
    home: str
    cwd: str
    now: datetime
    root: bool = False
    number: int = 1
    """Of the history line that is about to be entered."""
    command: int = 1
    """Of the command, counted from the start of the shell."""
    jobs: int = 0


def decode(prompt: str, around: Surrounds) -> str:
    """Decode the backslash escapes of a prompt; expansions of `$` stay as they are.

    Raises:
        ValueError: It holds an escape that is not simulated.
    """
    return _ESCAPE.sub(lambda match: _decoded(match[1], around), prompt)


def _decoded(code: str, around: Surrounds) -> str:
    if code[0] == "D":
        return around.now.strftime(code[2:-1] or "%X")
    if len(code) == 3:
        return chr(int(code, 8))
    simple = {
        "a": "\x07", "e": "\x1b", "n": "\n", "r": "\r", "\\": "\\", "[": "", "]": "", "u": around.user,
        "h": around.host.partition(".")[0], "H": around.host, "s": "bash", "v": "5.2", "V": "5.2.15",
        "$": "#" if around.root else "$", "!": str(around.number), "#": str(around.command), "j": str(around.jobs),
        "w": _tilde(around.cwd, around.home), "l": "0",
    }  # fmt: skip
    if code in simple:
        return simple[code]
    if code == "W":
        shown = _tilde(around.cwd, around.home)
        return shown if shown in ("~", "/") else posixpath.basename(shown)
    times = {"d": "%a %b %d", "t": "%H:%M:%S", "T": "%I:%M:%S", "@": "%I:%M %p", "A": "%H:%M"}
    if code in times:
        return around.now.strftime(times[code])
    return f"\\{code}"


def _tilde(cwd: str, home: str) -> str:
    if cwd == home or cwd.startswith(home + "/"):
        return "~" + cwd[len(home) :]
    return cwd


def prompt_width(shown: str) -> int:
    """Columns of the last line of a prompt."""
    return width(_CONTROL.sub("", shown.rpartition("\n")[2]))


def prompt_pattern(prompt: str, around: Surrounds) -> re.Pattern[str]:
    """A pattern for the last line of a prompt at the start of a row; its group is the directory where it is shown."""
    last = re.split(r"\\n|\n", prompt)[-1]
    parts, place = [], 0
    for match in _ESCAPE.finditer(last):
        parts.append(re.escape(last[place : match.start()]))
        place = match.end()
        if match[1] in ("w", "W"):
            parts.append("(?P<directory>[~/][^$#]*?)" if match[1] == "w" else r"(?:[^\s$#]+)")
        elif match[1] in ("!", "#", "j") or match[1][0] in "DdtT@A":
            parts.append(r"[\w:./ ]+?")
        else:
            parts.append(re.escape(_CONTROL.sub("", _decoded(match[1], around))))
    parts.append(re.escape(last[place:]))
    return re.compile(re.sub(r"\$\\\{?\w+\\\}?|\$\w+", r"\\S*", _CONTROL.sub("", "".join(parts))))
