"""Commands of vim's last line."""

from __future__ import annotations

import re
from typing import Literal

from worldline.kernels.screen.programs.base import Host
from worldline.kernels.screen.programs.vim_change import undo
from worldline.kernels.screen.programs.vim_file import last_place, opened
from worldline.kernels.screen.programs.vim_lines import LINE_COMMANDS, run_global
from worldline.kernels.screen.programs.vim_operate import more_or_fewer
from worldline.kernels.screen.programs.vim_pattern import is_command
from worldline.kernels.screen.programs.vim_ranges import Lines, read_lines
from worldline.kernels.screen.programs.vim_settings import change_settings
from worldline.kernels.screen.programs.vim_substitute import confirm, substitute
from worldline.kernels.screen.programs.vim_text import VimText
from worldline.kernels.screen.programs.vim_view import VimView
from worldline.kernels.shell.builtins.base import Unknown

__all__ = ["Asked", "confirm", "run_command"]

Asked = Literal["", "leave"]

_UNSAVED = "E37: No write since last change (add ! to override)"
_NAME = re.compile(
    r"(?:k(?=[ ]?[a-z]$)|s(?=[^a-zA-Z0-9]|$|[gcie]+$)|[gv]!?(?=[^a-zA-Z0-9!\s])|norm(?:al)?!?|[a-z]+!?|&&?|[<>!=#~@*])"
)
_WHOLE = {
    "d": "delete", "de": "delete", "y": "yank", "ya": "yank", "pu": "put", "m": "move", "mo": "move", "t": "copy",
    "co": "copy", "cop": "copy", "j": "join", "jo": "join", "sor": "sort", "norm": "normal", "le": "left",
    "ce": "center", "ri": "right", "p": "print", "pr": "print", "nu": "number", "#": "number", "k": "mark",
    "ma": "mark", "w": "write", "q": "quit", "e": "edit", "r": "read", "g": "global", "v": "vglobal",
    "s": "substitute", "u": "undo", "un": "undo", "red": "redo", "se": "set", "setl": "set", "setlocal": "set",
    "&": "substitute", "f": "file", "pw": "pwd", "ec": "echo", "x": "xit", "up": "update", "exi": "exit", "qa": "qall",
    "wa": "wall", "wqa": "xall", "xa": "xall", "wqall": "xall", "ls": "buffers", "files": "buffers", "b": "buffer",
    "prev": "previous",
    "N": "previous",
    "bn": "bnext", "bp": "bprevious", "n": "next", "cq": "cquit", "noh": "nohlsearch", "reg": "registers",
    "di": "registers", "display": "registers", "sy": "syntax", "syn": "syntax", "ret": "retab", "sav": "saveas",
}  # fmt: skip
"""What short names of commands stand for."""
_WINDOWS = frozenset(
    ("sp", "split", "vs", "vsp", "vsplit", "new", "vne", "vnew", "tabnew", "tabe", "tabedit", "h", "help")
)
"""They open another window, which `:q` closes."""
_QUIET = frozenset(("nohlsearch", "syntax", "retab", "filetype", "hi", "highlight", "let", "silent", "map", "nnoremap"))


def run_command(vim: VimView, line: str, host: Host) -> Asked:
    """Carry out what was typed after `:`."""
    if not re.match(r"[\s%,.$\d'<>]*(?:g!?|v|norm(?:al)?!?|r(?:ead)?\s*!|!|.*/.*\\\|)", line):
        first, *rest = re.split(r"(?<!\\)\|", line)
        for part in (first, *rest):
            if _run(vim, part, host) == "leave":
                return "leave"
        return ""
    return _run(vim, line, host)


def _run(vim: VimView, line: str, host: Host) -> Asked:
    lines, command = read_lines(vim, line)
    text = vim.text
    if lines.error:
        vim.say(lines.error)
        vim.failed = True
        return ""
    if not command:
        if lines.given:
            vim.set_jump()
            text.y = min(max(lines.last, 0), len(text.lines) - 1)
            text.x = text.first_nonblank(text.y)
            text.wanted = text.cursor_column(False)
        return ""
    match = _NAME.match(command)
    if match is None:
        vim.say(f"E492: Not an editor command: {line.strip()}")
        return ""
    name, rest = match[0], command[match.end() :]
    bang = "!" if name.endswith("!") and len(name) > 1 else ""
    bare = name.removesuffix("!") if bang else name
    whole = _WHOLE.get(bare, bare)
    lowest = -1 if whole in ("read", "put") else 0
    if lines.given and not (lowest <= lines.first < len(text.lines) and lines.last < len(text.lines)):
        vim.say("E16: Invalid range")
        vim.failed = True
        return ""
    if lines.given and lines.first > lines.last:
        vim.doubt = vim.doubt or "a range of vim that goes backwards"
        return ""
    if whole + bang in LINE_COMMANDS:
        LINE_COMMANDS[whole + bang](vim, lines, rest.lstrip(" ") if whole == "normal" else rest, host)
        return ""
    if whole in ("global", "vglobal"):
        run_global(vim, lines, rest.strip(), host, whole == "vglobal" or bool(bang), _run)
        return ""
    if whole in ("substitute", "&&"):
        substitute(vim, lines.first, lines.last, "&" + rest if name == "&&" else rest)
        return ""
    return _others(vim, line, lines, whole, bang, rest, host)


def _others(vim: VimView, line: str, lines: Lines, whole: str, bang: str, rest: str, host: Host) -> Asked:
    text = vim.text
    if whole in ("write", "wq", "xit", "update", "exit"):
        return _write(vim, whole + bang, rest.strip(), host) if not lines.given else _doubt(vim, line)
    if whole == "xall" or whole == "wall":
        return _write(vim, "wq" if whole == "xall" else "w", "", host)
    if whole in ("quit", "qall", "cquit"):
        return _quit(vim, whole, bang)
    if whole == "edit":
        _edit(vim, rest.strip(), bang, host)
    elif whole in ("buffer", "bnext", "bprevious", "next", "previous"):
        _buffer(vim, whole, rest.strip(), bang, host)
    elif whole == "read":
        _read(vim, lines, rest, host)
    elif whole == "!" or (bang and not whole):
        _shell(vim, rest, host)
    elif whole in ("undo", "redo") and not rest.strip():
        undo(vim, whole == "undo")
    elif whole == "set":
        change_settings(vim, rest) if rest.strip() else _doubt(vim, line)
    elif whole in ("pwd", "file", "echo", "=", "buffers"):
        _tell(vim, whole, lines, rest.strip(), host)
    elif re.match(r"[a-z]", whole) and not is_command(whole):
        vim.say(f"E492: Not an editor command: {line.strip()}")
        vim.failed = True
    elif whole in _WINDOWS:
        vim.windows += 1
        return _doubt(vim, line)
    elif whole not in _QUIET or (whole == "retab" and any("\t" in one for one in text.lines)):
        return _doubt(vim, line)
    return ""


def _quit(vim: VimView, whole: str, bang: str) -> Asked:
    if vim.windows > 1 and whole == "quit":
        vim.windows -= 1
        return ""
    if whole == "cquit":
        vim.status = 1
    elif vim.text.modified and not bang:
        if whole == "qall":
            vim.say(f'E37: No write since last change for buffer "{vim.file}"')
            return _doubt(vim, whole)
        vim.say(_UNSAVED)
        return ""
    elif vim.unseen and whole == "quit" and not bang:
        more = "1 more file" if vim.unseen == 1 else f"{vim.unseen} more files"
        vim.unseen = 0
        vim.say(f"E173: {more} to edit")
        return ""
    return "leave"


def _edit(vim: VimView, path: str, bang: str, host: Host) -> None:
    """`:e`: the file anew, or another one."""
    text = vim.text
    if path == "#" or path == "%":
        path = vim.alternate if path == "#" else vim.file
        if not path:
            vim.say("E194: No alternate file name to substitute for '#'")
            return
    same = not path or path == vim.file
    if not path and not vim.file:
        vim.say("E32: No file name")
        return
    if text.modified and not bang:
        if same and path:
            return _forget(vim, "editing the same file again in vim")
        vim.say(_UNSAVED)
        return
    place = (text.y, text.x)
    if not same:
        if not vim.file:
            _forget(vim, "another file after one without a name in vim")
        vim.places[vim.file] = place
        vim.buffers = vim.buffers or [vim.file]
        vim.buffers += [path] if path not in vim.buffers else []
        vim.alternate, vim.file = vim.file, path
    found = opened(vim.file, host)
    vim.kind, vim.doubt = found.kind, vim.doubt or found.doubt
    fresh = VimText(list(found.lines), empty=found.empty, register=text.register, linewise=text.linewise)
    fresh.clock = text.clock
    vim.text = fresh
    if not same:
        vim.marks.clear()
        vim.window.top = 0
    fresh.y, fresh.x = place if same else vim.places.get(vim.file) or last_place(vim.file, host) or (0, 0)
    fresh.clamp()
    if same:
        fresh.x = fresh.first_nonblank(fresh.y)
    fresh.wanted = fresh.cursor_column(False)
    vim.reloaded = True
    vim.say(found.message)


def _forget(vim: VimView, why: str) -> None:
    vim.doubt = vim.doubt or why


def _buffer(vim: VimView, whole: str, rest: str, bang: str, host: Host) -> None:
    buffers = vim.buffers or [vim.file]
    here = buffers.index(vim.file) if vim.file in buffers else 0
    if whole == "buffer" and rest.isdigit() and 0 < int(rest) <= len(buffers):
        target = buffers[int(rest) - 1]
    elif whole == "buffer":
        found = [name for name in buffers if rest and rest in name]
        if rest == "#":
            found = [vim.alternate]
        if len(found) != 1:
            return _forget(vim, f"the buffer {rest} of vim")
        target = found[0]
    else:
        step = 1 if whole in ("bnext", "next") else -1
        if whole in ("next", "previous") and not 0 <= here + step < len(buffers):
            last = "E165: Cannot go beyond last file" if step > 0 else "E164: Cannot go before first file"
            vim.say("E163: There is only one file to edit" if len(buffers) == 1 else last)
            return
        target = buffers[(here + step) % len(buffers)]
        vim.unseen = max(vim.unseen - (step > 0), 0)
    if target == vim.file:
        if len(buffers) > 1 or whole == "buffer":
            return
        return
    _edit(vim, target, bang, host)
    return None


def _read(vim: VimView, lines: Lines, rest: str, host: Host) -> None:
    """`:r`: the lines of a file, or what a command writes, come in below."""
    text, rest = vim.text, rest.strip()
    if rest.startswith("!"):
        run = host.run(f"{{ {rest[1:].strip()}; }} 2>&1")
        if not run.known:
            _forget(vim, run.why)
        new, said = run.text.removesuffix("\n").split("\n") if run.text else [], ""
    else:
        path = rest or vim.file
        found = opened(path, host)
        if "[New" in found.message:
            vim.say(f"E484: Can't open file {path}")
            vim.failed = True
            return
        vim.doubt = vim.doubt or found.doubt
        new, said = [] if found.empty else list(found.lines), found.message
    empty = text.empty or text.lines == [""]
    if empty:
        _forget(vim, "reading into an empty text in vim") if text.empty else None
    text.remember()
    place = lines.last + 1
    text.lines[place:place] = new
    text.y = min(place, len(text.lines) - 1)
    text.x = text.first_nonblank(text.y)
    text.wanted = text.cursor_column(False)
    if said:
        vim.say(said)
    else:
        more_or_fewer(vim, len(new))


def _shell(vim: VimView, rest: str, host: Host) -> None:
    """`:!`: a command on the main screen."""
    command = re.sub(r"(?<!\\)%", vim.file, rest.strip())
    if re.match(r"(?:vim?|less|more|nano|bash|sh|python3?|man|top|cat|bc)\s*$", command) or not command:
        _forget(vim, "a program that takes the terminal from vim")
    run = host.run(command)
    if not run.known:
        _forget(vim, run.why)
    shown = run.text.removesuffix("\n").split("\n") if run.text else []
    status = ["", f"shell returned {run.status}"] if run.status else []
    warning = ["[No write since last change]"] if vim.text.modified else []
    vim.overlay = (*warning, *shown, *status)
    vim.outside = True


def _tell(vim: VimView, whole: str, lines: Lines, rest: str, host: Host) -> None:
    text = vim.text
    if whole == "pwd":
        vim.say(host.cwd)
    elif whole == "=":
        vim.say(str((lines.last if lines.given else len(text.lines) - 1) + 1))
    elif whole == "file" and not rest and vim.file and not text.empty:
        many, mark = len(text.lines), " [Modified]" if text.modified else ""
        words = f"{many} line{'' if many == 1 else 's'}"
        vim.say(f'"{vim.file}"{mark} {words} --{(text.y + 1) * 100 // many}%--')
    elif whole == "echo" and re.fullmatch(r"\d+|\"[^\"\\]*\"|'[^']*'", rest):
        vim.say(rest.strip("\"'"))
    elif whole == "buffers" and vim.file:
        mark = " + " if text.modified else "   "
        shown = []
        for number, name in enumerate(vim.buffers or [vim.file], 1):
            here = name == vim.file
            state = "%a" if here else "# " if name == vim.alternate else "  "
            line = (text.y if here else vim.places.get(name, (0, 0))[0]) + 1
            shown.append(f"{number:3} {state}{mark if here else '   '}{chr(34) + name + chr(34):<30} line {line}")
        vim.overlay = (vim.message, *shown)
    else:
        _forget(vim, f"the command :{whole} of vim")


def _doubt(vim: VimView, line: str) -> Asked:
    vim.doubt = vim.doubt or f"the command :{line} of vim"
    return ""


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
