"""Files that vim opens."""

from __future__ import annotations

import posixpath
import re
import shlex
from dataclasses import dataclass

from worldline.kernels.screen.programs.base import Host
from worldline.kernels.screen.programs.rows import odd_text
from worldline.kernels.screen.programs.vim_indent import kind_of
from worldline.kernels.shell.builtins.base import Unknown

__all__ = ["Opened", "last_place", "opened"]


@dataclass(frozen=True)
class Opened:
    """What became of opening a file."""

    lines: tuple[str, ...]
    empty: bool
    message: str
    kind: str = "plain"
    doubt: str = ""


def opened(path: str, host: Host) -> Opened:
    """Open a file, or begin a new one."""
    try:
        text = host.read(path).decode("utf-8", "surrogateescape")
    except Unknown as error:
        return Opened(("",), False, "", doubt=str(error) or "the content of the file")
    except FileNotFoundError:
        place = posixpath.dirname(path)
        missing = bool(place) and host.run(f"test -d {shlex.quote(place)}", keep=False).status != 0
        note = f'"{path}" [New{" DIRECTORY" if missing else ""}]'
        return Opened(("",), True, note, kind_of(path, ""))
    except OSError as error:
        return Opened(("",), True, "", doubt=f"vim on what cannot be read: {error.strerror}")
    lines = text.split("\n")
    complete = lines[-1] == ""
    if complete:
        lines.pop()
    note = "" if complete or not text else "[noeol] "
    message = f'"{path}" {note}{len(lines)}L, {len(text.encode("utf-8", "surrogateescape"))}B'
    doubt = "a text with control characters in vim" if odd_text(text) else ""
    return Opened(tuple(lines or [""]), not lines, message, kind_of(path, lines[0] if lines else ""), doubt)


def last_place(path: str, host: Host) -> tuple[int, int] | None:
    """Where the cursor was when the file was last left."""
    full = path if path.startswith("/") else f"{host.cwd}/{path}"
    try:
        kept = host.read(host.run("echo ~/.viminfo", keep=False).text.strip()).decode()
    except (OSError, Unknown):
        return None
    match = re.search(rf"^> {re.escape(full)}\n\t\"\t(\d+)\t(\d+)$", kept, re.MULTILINE)
    return (int(match[1]) - 1, int(match[2])) if match else None
