"""Commands of vim's last line, and its command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from worldline.kernels.screen.programs.base import Host, Operator, Program
from worldline.kernels.screen.programs.rows import odd_text
from worldline.kernels.screen.programs.vim_screen import Window
from worldline.kernels.screen.programs.vim_text import VimText
from worldline.kernels.shell.builtins.base import Unknown

if TYPE_CHECKING:
    from worldline.kernels.screen.programs.vim import Vim

__all__ = ["Asked", "run_command", "vim_program"]

Asked = Literal["", "leave"]

_RANGE = re.compile(r"\s*(%|(?:\d+|\.|\$)(?:,(?:\d+|\.|\$))?)?\s*(.*)", re.DOTALL)
_UNSAVED = "E37: No write since last change (add ! to override)"
_QUIET = re.compile(r"(?:noh(?:l(?:search)?)?|syntax (?:on|off)|syn (?:on|off)|set \w+(?:=\w*)?)!?")
_NO_INDENT = re.compile(r"(?:.*/)?[^./]+|.*\.(?:txt|log|csv|tsv|dat|out|text)")
"""Names of files whose lines vim does not indent by rules."""


def run_command(vim: Vim, line: str, host: Host) -> Asked:
    """Carry out what was typed after `:`."""
    match = _RANGE.fullmatch(line)
    assert match is not None
    lines, command = match[1] or "", match[2].strip()
    text = vim.text
    first, last = _range(vim, lines)
    if not command:
        if lines:
            text.y = min(max(last, 0), len(text.lines) - 1)
            text.x = text.first_nonblank(text.y)
            text.wanted = text.cursor_column(False)
        return ""
    name = re.match(r"[a-z]*!?", command)
    word, rest = (name[0] if name else ""), command[name.end() if name else 0 :]
    if word in ("w", "w!", "write", "wq", "wq!", "x", "x!", "xit", "up", "update", "exit"):
        return _write(vim, word, rest.strip(), host) if not lines else _doubt(vim, line)
    if word in ("q", "quit", "qa", "q!", "quit!", "qa!", "qall", "qall!", "cq"):
        if word == "cq":
            vim.status = 1
        elif text.modified and not word.endswith("!"):
            vim.say(
                _UNSAVED if not word.startswith("qa") else f'E37: No write since last change for buffer "{vim.file}"'
            )
            return "" if not word.startswith("qa") else _doubt(vim, line)
        return "leave"
    if word == "s" and rest[:1] in ("/", "#", ","):
        return _substitute(vim, first, last, rest)
    if word in ("d", "de", "delete") and not rest:
        from worldline.kernels.screen.programs.vim_change import more_or_fewer

        before = len(text.lines)
        text.cut_lines(first, last)
        more_or_fewer(vim, len(text.lines) - before if not text.empty else -before)
        text.wanted = text.cursor_column(False)
        return ""
    if command in ("set nu", "set number", "se nu"):
        vim.window.numbers = True
    elif command in ("set nonu", "set nonumber", "set nu!", "se nonu"):
        vim.window.numbers = False
    elif not re.fullmatch(r"noh(l(s(e(a(r(ch?)?)?)?)?)?)?|syn(tax)? (on|off)|set (no)?(hls|hlsearch|ic|ignorecase|is)|"
                          r"set paste|set (no)?cursorline", command):  # fmt: skip
        return _doubt(vim, line)
    return ""


def _doubt(vim: Vim, line: str) -> Asked:
    vim.doubt = vim.doubt or f"the command :{line} of vim"
    return ""


def _range(vim: Vim, lines: str) -> tuple[int, int]:
    """First and last line, from 0."""
    last = len(vim.text.lines) - 1
    if lines == "%":
        return 0, last
    numbers = [
        vim.text.y if word == "." else last if word == "$" else min(int(word) - 1, last)
        for word in lines.split(",")
        if word
    ]
    return (numbers[0], numbers[-1]) if numbers else (vim.text.y, vim.text.y)


def _write(vim: Vim, word: str, rest: str, host: Host) -> Asked:
    text = vim.text
    leaves = word[0] == "x" or word.startswith(("wq", "exit"))
    if rest.startswith("!"):
        return _doubt(vim, f"{word} {rest}")
    if (word[0] in "xu" or word == "exit") and not text.modified and not rest:
        return "leave" if leaves else ""
    path = rest or vim.file
    if not path:
        vim.say("E32: No file name")
        return ""
    new = not _exists(path, host)
    if rest and rest != vim.file and not new and not word.endswith("!"):
        vim.say("E13: File exists (add ! to override)")
        return ""
    data = "" if text.empty else "".join(f"{line}\n" for line in text.lines)
    try:
        host.write(path, data.encode("utf-8", "surrogateescape"))
    except Unknown as error:
        vim.doubt = str(error) or "whether the file may be written"
    except OSError as error:
        vim.say(f'"{path}" E212: Can\'t open file for writing')
        vim.doubt = vim.doubt or f"a file that cannot be written: {error.strerror}"
        return ""
    count = 0 if text.empty else len(text.lines)
    mark = "[New] " if new else ""
    vim.say(f'"{path}" {mark}{count}L, {len(data.encode("utf-8", "surrogateescape"))}B written')
    vim.file = vim.file or path
    if path == vim.file:
        text.mark_written()
    return "leave" if leaves else ""


def _exists(path: str, host: Host) -> bool:
    try:
        host.read(path)
    except FileNotFoundError:
        return False
    except (OSError, Unknown):
        return True
    return True


def _substitute(vim: Vim, first: int, last: int, rest: str) -> Asked:
    mark = rest[0]
    parts = re.split(rf"(?<!\\){re.escape(mark)}", rest[1:])
    pattern, replacement = parts[0], parts[1] if len(parts) > 1 else ""
    flags = parts[2] if len(parts) > 2 else ""
    if re.search(r"[\\~\[\]*^$.&]", pattern + replacement) or flags not in ("", "g") or not pattern:
        return _doubt(vim, f"s{rest}")
    text, changed, count = vim.text, list[int](), 0
    after = list(text.lines)
    for y in range(first, last + 1):
        times = text.lines[y].count(pattern) if flags else min(text.lines[y].count(pattern), 1)
        if times:
            after[y] = text.lines[y].replace(pattern, replacement, -1 if flags else 1)
            changed.append(y)
            count += times
    vim.pattern, vim.backward = pattern, False
    if not count:
        vim.say(f"E486: Pattern not found: {pattern}")
        return ""
    text.remember()
    text.lines, text.y = after, changed[-1]
    text.x = text.first_nonblank(text.y)
    text.wanted = text.cursor_column(False)
    if count > 2:
        many = len(changed)
        vim.say(f"{count} substitutions on {many} line{'' if many == 1 else 's'}")
    return ""


# --- the command line


def vim_program(words: Sequence[str], host: Host) -> Program | None:
    """Build the program for `vim` or `vi` with at most one file."""
    if any(isinstance(word, Operator) for word in words):
        return None
    files, doubt, line = list[str](), "", 0
    for word in words[1:]:
        if word in ("--help", "-h", "--version"):
            return None
        if re.fullmatch(r"\+\d*", word):
            line = int(word[1:] or 10**9)
        elif word.startswith(("-", "+")):
            doubt = f"the option {word} of vim"
        else:
            files.append(word)
    if not files:
        from worldline.kernels.screen.programs.vim import Vim

        start = doubt or "the first screen of vim without a file"
        return Vim("", VimText([""], empty=True), Window(), doubt=start)
    found = _opened(files[0], host)
    found.doubt = found.doubt or doubt or ("vim with several files" if files[1:] else "")
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
    from worldline.kernels.screen.programs.vim import Vim

    indents = _NO_INDENT.fullmatch(path) is None
    try:
        text = host.read(path).decode("utf-8", "surrogateescape")
    except Unknown as error:
        return Vim(path, VimText([""]), Window(), doubt=str(error) or "the content of the file")
    except FileNotFoundError:
        return Vim(path, VimText([""], empty=True), Window(), f'"{path}" [New]', indents=indents)
    except OSError as error:
        return Vim(path, VimText([""], empty=True), Window(), doubt=f"vim on what cannot be read: {error.strerror}")
    lines = text.split("\n")
    complete = lines[-1] == ""
    if complete:
        lines.pop()
    note = "" if complete or not text else "[noeol] "
    message = f'"{path}" {note}{len(lines)}L, {len(text.encode("utf-8", "surrogateescape"))}B'
    found = Vim(path, VimText(lines or [""], empty=not lines), Window(), message, indents=indents)
    if odd_text(text):
        found.doubt = "a text with control characters in vim"
    return found
