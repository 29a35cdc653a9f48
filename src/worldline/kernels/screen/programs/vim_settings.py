"""`:set` of vim."""

from __future__ import annotations

import re

from worldline.kernels.screen.programs.vim_view import VimView

__all__ = ["change_settings"]

_SHORT = {
    "number": "nu", "list": "list", "hlsearch": "hls", "incsearch": "is", "ignorecase": "ic", "smartcase": "scs",
    "autoindent": "ai", "expandtab": "et", "wrap": "wrap", "ruler": "ru", "showcmd": "sc", "showmode": "smd",
    "cursorline": "cul", "paste": "paste", "relativenumber": "rnu", "wrapscan": "ws", "smartindent": "si",
    "spell": "spell", "tabstop": "ts", "shiftwidth": "sw", "softtabstop": "sts", "textwidth": "tw", "scrolloff": "so",
    "laststatus": "ls", "filetype": "ft", "syntax": "syn", "background": "bg", "fileformat": "ff", "mouse": "mouse",
    "backup": "bk", "swapfile": "swf", "undofile": "udf", "compatible": "cp", "showmatch": "sm", "hidden": "hid",
    "modifiable": "ma", "readonly": "ro", "confirm": "cf", "encoding": "enc", "smarttab": "sta", "title": "title",
}  # fmt: skip
"""Names of options and their short forms."""
_LONG = {short: name for name, short in _SHORT.items()}
_FREE = frozenset(
    [
        "hls",
        "is",
        "scs",
        "sc",
        "paste",
        "ws",
        "cul",
        "sm",
        "bk",
        "swf",
        "udf",
        "cp",
        "hid",
        "cf",
        "smd",
        "mouse",
        "bg",
        "enc",
        "sta",
        "ic",
        "et",
        "ai",
        "nu",
        "list",
    ]
)
"""Options of two states that are understood, or change nothing of what is computed."""
_NUMBERS = frozenset(("ts", "sw", "sts"))


def change_settings(vim: VimView, rest: str) -> None:
    """Carry out `:set`."""
    for word in rest.split():
        match = re.fullmatch(r"(no|inv)?([a-z]+)([!?&]|[=:]\S*)?", word)
        if match is None:
            vim.doubt = vim.doubt or f"the command :set {rest} of vim"
            return
        name, negated = match[2], match[1] or ""
        if name not in _SHORT and name not in _LONG:
            vim.say(f"E518: Unknown option: {word}")
            return
        name, what = _SHORT.get(name, name), match[3] or ""
        if what == "?":
            _show(vim, name)
        elif what[:1] in ("=", ":") and what:
            _assign(vim, name, what[1:])
        elif name in _NUMBERS or name not in _FREE:
            vim.doubt = vim.doubt or f"the option {name} of vim"
        else:
            on = not negated
            if what == "!" or negated == "inv":
                on = not _value(vim, name)
            _switch(vim, name, on)


def _value(vim: VimView, name: str) -> int:
    if name in ("nu", "list"):
        return vim.window.numbers if name == "nu" else vim.window.marks
    usual = {"et": vim.kind == "python", "ts": vim.tab_stop, "sw": vim.shift_width, "is": 1, "sc": 1, "smd": 1,
             "ws": 1}  # fmt: skip
    return vim.options.get(name, int(usual.get(name, 0)))


def _switch(vim: VimView, name: str, on: bool) -> None:
    if name == "nu":
        vim.window.numbers = on
    elif name == "list":
        vim.window.marks = on
    else:
        vim.options[name] = int(on)
        if name == "et" and on and "sts" not in vim.options and vim.kind == "python":
            vim.options["sts"] = 4


def _assign(vim: VimView, name: str, value: str) -> None:
    if name in _NUMBERS and value.isdigit():
        if name == "ts" and any("\t" in line for line in vim.text.lines) and value != "8":
            vim.doubt = vim.doubt or "tabs of another width in vim"
        vim.options[name] = int(value)
    elif name == "ft" or name == "syn":
        vim.doubt = vim.doubt or "another kind of file in vim" if value != "text" else vim.doubt
    elif name not in ("mouse", "bg", "enc"):
        vim.doubt = vim.doubt or f"the option {name} of vim"


def _show(vim: VimView, name: str) -> None:
    long = _LONG.get(name, name)
    if name in _NUMBERS:
        vim.say(f"  {long}={_value(vim, name)}")
    elif name in _FREE:
        vim.say(f"  {long}" if _value(vim, name) else f"no{long}")
    else:
        vim.doubt = vim.doubt or f"the option {name} of vim"
