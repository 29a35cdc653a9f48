"""Commands of vim's last line."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from worldline.kernels.screen.programs.base import Host
from worldline.kernels.screen.programs.vim_change import more_or_fewer
from worldline.kernels.screen.programs.vim_pattern import is_command, regex_of, replaced
from worldline.kernels.screen.programs.vim_view import VimView
from worldline.kernels.shell.builtins.base import Unknown

__all__ = ["Asked", "run_command"]

Asked = Literal["", "leave"]

_RANGE = re.compile(r"\s*(%|(?:\d+|\.|\$)(?:,(?:\d+|\.|\$))?)?\s*(.*)", re.DOTALL)
_UNSAVED = "E37: No write since last change (add ! to override)"


def run_command(vim: VimView, line: str, host: Host) -> Asked:
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
        before = len(text.lines)
        text.cut_lines(first, last)
        more_or_fewer(vim, len(text.lines) - before if not text.empty else -before)
        text.wanted = text.cursor_column(False)
        return ""
    if word in ("sor", "sort", "sor!", "sort!"):
        return _sort(vim, (first, last) if lines else (0, len(text.lines) - 1), word, rest.strip())
    if command in ("set list", "set nolist", "set list!", "set invlist"):
        vim.window.marks = not vim.window.marks if command[-1] == "!" or "inv" in command else command == "set list"
    elif re.match(r"[a-z]", command) and not is_command(re.match(r"[a-z]*", command)[0]):  # type: ignore[index]
        vim.say(f"E492: Not an editor command: {line}")
    elif command in ("set nu", "set number", "se nu"):
        vim.window.numbers = True
    elif command in ("set nonu", "set nonumber", "set nu!", "se nonu"):
        vim.window.numbers = False
    elif not re.fullmatch(r"noh(l(s(e(a(r(ch?)?)?)?)?)?)?|syn(tax)? (on|off)|set (no)?(hls|hlsearch|ic|ignorecase|is)|"
                          r"set paste|set (no)?cursorline", command):  # fmt: skip
        return _doubt(vim, line)
    return ""


def _sort(vim: VimView, lines: tuple[int, int], word: str, rest: str) -> Asked:
    """`:sort`, by bytes or numbers, as it is or backwards, each line once."""
    if not re.fullmatch(r"[nui ]*", rest):
        return _doubt(vim, f"{word} {rest}")
    text, (first, last) = vim.text, lines

    def key(line: str) -> tuple[int, int, bytes]:
        number = re.search(r"-?\d+", line) if "n" in rest else None
        if "n" in rest:
            return (number is not None, int(number[0]) if number else 0, b"")
        return (0, 0, (line.lower() if "i" in rest else line).encode("utf-8", "surrogateescape"))

    ordered = sorted(text.lines[first : last + 1], key=key, reverse=word.endswith("!"))
    if "u" in rest:
        ordered = [line for number, line in enumerate(ordered) if not number or key(line) != key(ordered[number - 1])]
    text.remember()
    text.undos[-1] = replace(text.undos[-1], count=last + 1 - first)
    before = len(text.lines)
    text.lines[first : last + 1] = ordered
    text.y, text.x, text.wanted = first, 0, 0
    more_or_fewer(vim, len(text.lines) - before)
    return ""


def _doubt(vim: VimView, line: str) -> Asked:
    vim.doubt = vim.doubt or f"the command :{line} of vim"
    return ""


def _range(vim: VimView, lines: str) -> tuple[int, int]:
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


def _write(vim: VimView, word: str, rest: str, host: Host) -> Asked:
    text = vim.text
    leaves = word[0] == "x" or word.startswith(("wq", "exit"))
    if rest.startswith("!"):
        return _doubt(vim, f"{word} {rest}")
    if (word[0] in "xu" or word == "exit") and not text.modified and not rest:
        return "leave" if leaves else ""
    path = rest or vim.file
    if vim.readonly and not rest and not word.endswith("!"):
        vim.say("E45: 'readonly' option is set (add ! to override)")
        return ""
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
        vim.refused = f'"{path}"\n"{path}" E212: Can\'t open file for writing'
        if not isinstance(error, FileNotFoundError):
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


def _substitute(vim: VimView, first: int, last: int, rest: str) -> Asked:
    mark = rest[0]
    parts = re.split(rf"(?<!\\){re.escape(mark)}", rest[1:])
    pattern, replacement = parts[0], parts[1] if len(parts) > 1 else ""
    flags = parts[2] if len(parts) > 2 else ""
    regex = regex_of(pattern) if pattern else None
    if regex is None or "~" in replacement or "\\=" in replacement or set(flags) - set("gie"):
        return _doubt(vim, f"s{rest}")
    if "i" in flags:
        regex = re.compile(regex.pattern, re.IGNORECASE)
    text, changed, count = vim.text, list[int](), 0
    after = list(text.lines)
    for y in range(first, last + 1):
        after[y], times = regex.subn(
            lambda found: replaced(found, replacement), text.lines[y], count=0 if "g" in flags else 1
        )
        if "\n" in after[y] or "\0" in after[y]:
            return _doubt(vim, f"s{rest}")
        if times:
            changed.append(y)
            count += times
    vim.pattern, vim.backward = pattern, False
    if not count:
        if "e" not in flags:
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
