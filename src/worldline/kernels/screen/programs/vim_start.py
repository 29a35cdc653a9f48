"""The command line of vim, and how it opens a file."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Sequence

from worldline.kernels.screen.programs.base import Host, Operator, Program
from worldline.kernels.screen.programs.rows import odd_text
from worldline.kernels.screen.programs.vim import Vim
from worldline.kernels.screen.programs.vim_indent import kind_of
from worldline.kernels.screen.programs.vim_screen import Window
from worldline.kernels.screen.programs.vim_text import VimText
from worldline.kernels.shell.builtins.base import Unknown

__all__ = ["vim_program"]


def vim_program(words: Sequence[str], host: Host) -> Program | None:
    """Build the program for `vim` or `vi` with at most one file."""
    if any(isinstance(word, Operator) for word in words):
        return None
    files, doubt, line = list[str](), "", 0
    readonly = words[0].rpartition("/")[2] == "view"
    for word in words[1:]:
        if word in ("--help", "-h", "--version"):
            return None
        if word in ("-R", "-n"):
            readonly = readonly or word == "-R"
        elif re.fullmatch(r"\+\d*", word):
            line = int(word[1:] or 10**9)
        elif word.startswith(("-", "+")):
            doubt = f"the option {word} of vim"
        else:
            files.append(word)
    if not files:
        start = doubt or "the first screen of vim without a file"
        return Vim("", VimText([""], empty=True), Window(), doubt=start)
    found = _opened(files[0], host)
    found.doubt = found.doubt or doubt or ("vim with several files" if files[1:] else "")
    if readonly:
        found.readonly = True
        found.message = found.message.replace('" ', '" [readonly] ', 1) if not found.text.empty else found.message
    place = (line - 1, 0) if line else _last_place(files[0], host)
    if place is not None and place[0] < 10**8:
        found.text.y, found.text.x = place
    elif place is not None:
        found.text.y = len(found.text.lines) - 1
    found.text.clamp()
    if line:
        found.text.x = found.text.first_nonblank(found.text.y)
    found.text.wanted = found.text.cursor_column(False)
    return found


def _last_place(path: str, host: Host) -> tuple[int, int] | None:
    """Where the cursor was when the file was last left."""
    full = path if path.startswith("/") else f"{host.cwd}/{path}"
    try:
        kept = host.read(host.run("echo ~/.viminfo", keep=False).text.strip()).decode()
    except (OSError, Unknown):
        return None
    match = re.search(rf"^> {re.escape(full)}\n\t\"\t(\d+)\t(\d+)$", kept, re.MULTILINE)
    return (int(match[1]) - 1, int(match[2])) if match else None


def _opened(path: str, host: Host) -> Vim:
    try:
        text = host.read(path).decode("utf-8", "surrogateescape")
    except Unknown as error:
        return Vim(path, VimText([""]), Window(), doubt=str(error) or "the content of the file")
    except FileNotFoundError:
        place = posixpath.dirname(path)
        missing = bool(place) and host.run(f"test -d {shlex.quote(place)}", keep=False).status != 0
        note = f'"{path}" [New{" DIRECTORY" if missing else ""}]'
        return Vim(path, VimText([""], empty=True), Window(), note, kind=kind_of(path, ""))
    except OSError as error:
        return Vim(path, VimText([""], empty=True), Window(), doubt=f"vim on what cannot be read: {error.strerror}")
    lines = text.split("\n")
    complete = lines[-1] == ""
    if complete:
        lines.pop()
    note = "" if complete or not text else "[noeol] "
    message = f'"{path}" {note}{len(lines)}L, {len(text.encode("utf-8", "surrogateescape"))}B'
    found = Vim(
        path, VimText(lines or [""], empty=not lines), Window(), message, kind=kind_of(path, lines[0] if lines else "")
    )
    if odd_text(text):
        found.doubt = "a text with control characters in vim"
    return found
