"""The command line of vim, and how it opens a file."""

from __future__ import annotations

import re
from collections.abc import Sequence

from worldline.kernels.screen.programs.base import Host, Operator, Program
from worldline.kernels.screen.programs.vim import Vim
from worldline.kernels.screen.programs.vim_file import last_place, opened
from worldline.kernels.screen.programs.vim_screen import Window
from worldline.kernels.screen.programs.vim_text import VimText

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
    found.doubt = found.doubt or doubt or ""
    if files[1:]:
        found.buffers, found.unseen = files, len(files) - 1
    if readonly:
        found.readonly = True
        found.message = found.message.replace('" ', '" [readonly] ', 1) if not found.text.empty else found.message
    place = (line - 1, 0) if line else last_place(files[0], host)
    if place is not None and place[0] < 10**8:
        found.text.y, found.text.x = place
    elif place is not None:
        found.text.y = len(found.text.lines) - 1
    found.text.clamp()
    if line:
        found.text.x = found.text.first_nonblank(found.text.y)
    found.text.wanted = found.text.cursor_column(False)
    return found


def _opened(path: str, host: Host) -> Vim:
    found = opened(path, host)
    text = VimText(list(found.lines), empty=found.empty)
    return Vim(path, text, Window(), found.message, found.doubt, kind=found.kind)
