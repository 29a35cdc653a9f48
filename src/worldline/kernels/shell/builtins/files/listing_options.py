"""The options of `ls`, `dir` and `vdir`."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field

from worldline.kernels.shell.builtins.base import Call
from worldline.kernels.shell.builtins.files.listing_format import Layout
from worldline.kernels.shell.builtins.shared.messages import quote
from worldline.kernels.shell.builtins.shared.options import UsageError, parse
from worldline.kernels.shell.builtins.shared.sizes import SizeError, parse_size
from worldline.kernels.shell.builtins.shared.times import FULL_ISO, zone_of

__all__ = ["Settings", "read_options"]

_SHORT = "abcdfghiklmnopqrstuvw:xABCDFGHI:LNQRST:UXZ1"
_LONG = (
    "all escape directory dired full-time group-directories-first human-readable inode kibibytes numeric-uid-gid"
    " no-group hide-control-chars reverse size width= almost-all ignore-backups classify=? file-type si"
    " dereference-command-line dereference-command-line-symlink-to-dir hide= ignore= indicator-style= dereference"
    " literal quote-name quoting-style= recursive format= show-control-chars sort= tabsize= time= time-style= zero"
    " color=? hyperlink=? block-size= context author"
)
_SAME = {
    "--all": "-a",
    "--almost-all": "-A",
    "--directory": "-d",
    "--human-readable": "-h",
    "--inode": "-i",
    "--kibibytes": "-k",
    "--numeric-uid-gid": "-n",
    "--no-group": "-G",
    "--reverse": "-r",
    "--size": "-s",
    "--width": "-w",
    "--ignore-backups": "-B",
    "--ignore": "-I",
    "--dereference": "-L",
    "--dereference-command-line": "-H",
    "--literal": "-N",
    "--quote-name": "-Q",
    "--escape": "-b",
    "--recursive": "-R",
    "--hide-control-chars": "-q",
    "--tabsize": "-T",
    "--context": "-Z",
    "--dired": "-D",
}
_SORTS = {"none": "U", "time": "t", "size": "S", "extension": "X", "version": "v", "width": "W"}
_FORMATS = {
    "verbose": "l",
    "long": "l",
    "commas": "m",
    "horizontal": "x",
    "across": "x",
    "vertical": "C",
    "single-column": "1",
}
_INDICATORS = {"none": "", "slash": "p", "file-type": "t", "classify": "F"}
_QUOTING = {
    name: name
    for name in (
        "literal", "shell", "shell-always", "shell-escape", "shell-escape-always", "c", "c-maybe", "escape",
        "locale", "clocale",
    )
}  # fmt: skip
_TIMES = {
    "atime": "atime", "access": "atime", "use": "atime", "ctime": "ctime", "status": "ctime", "birth": "birth",
    "creation": "birth",
}  # fmt: skip
_TERMINALS = (
    "Eterm", "ansi", "*color*", "con[0-9]*x[0-9]*", "cons25", "console", "cygwin", "*direct*", "dtterm", "gnome",
    "hurd", "jfbterm", "konsole", "kterm", "linux", "linux-c", "mlterm", "putty", "rxvt*", "screen*", "st",
    "terminator", "tmux*", "vt100", "vt220", "xterm*",
)  # fmt: skip
"""Terminals that `ls` colours for without LS_COLORS (dircolors --print-database)."""
_STYLES: dict[str, tuple[str, str]] = {
    "full-iso": (FULL_ISO, FULL_ISO),
    "long-iso": ("%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M"),
    "iso": ("%Y-%m-%d ", "%m-%d %H:%M"),
}


@dataclass
class Settings:
    """What the options of `ls` ask for."""

    layout: Layout
    hidden: str = ""
    """`a`: all; `A`: all but `.` and `..`."""
    directory: bool = False
    recursive: bool = False
    reverse: bool = False
    sort: str = ""
    directories_first: bool = False
    other_time: bool = False
    """Times of access or status change; known where they are the same as the time of modification."""
    follow: bool = False
    follow_operands: bool = False
    ignore: list[str] = field(default_factory=list)
    hide: list[str] = field(default_factory=list)


def _word(call: Call, option: str, value: str, known: Mapping[str, str]) -> str:
    """Find a keyword argument by an unambiguous start of it."""
    names = list(known)
    if value in names:
        return value
    found = [name for name in names if name.startswith(value)] if value else []
    if len(found) == 1:
        return found[0]
    if found:
        call.unknown(f"the ambiguous argument {value} of {option}")
    groups: dict[str, list[str]] = {}
    for name in names:  # words of one meaning stand on one line
        groups.setdefault(known[name], []).append(quote(name))
    valid = "".join(f"\n  - {', '.join(group)}" for group in groups.values())
    raise UsageError(f"invalid argument {quote(value)} for {quote(option)}\nValid arguments are:{valid}", status=1)


def read_options(call: Call) -> tuple[Settings, list[str]]:
    """Read the command line of `ls`; returns what it asks for and the operands."""
    options, operands = parse(call, _SHORT, _LONG, same=_SAME)
    layout = Layout(zone=zone_of(call), now=call.now)
    settings = Settings(layout=layout)
    columns = call.env.get("COLUMNS", "" if call.columns is None else str(call.columns))
    if columns.isdigit():
        layout.width = int(columns)
    style = call.env.get("TIME_STYLE")
    quoting = call.env.get("QUOTING_STYLE")
    if quoting is not None:
        if quoting not in _QUOTING:
            call.unknown(f"the quoting style {quoting}")
        layout.quoting = quoting
    for name, value in options:
        if name == "--time-style":
            style = value
        elif not _set_shape(call, layout, name, value):
            _set_choice(call, settings, name, value)
    if layout.color and call.env.get("LS_COLORS"):
        call.unknown("the colours of LS_COLORS")
    terminal = call.env.get("TERM", "")
    layout.color &= bool(call.env.get("COLORTERM") or any(fnmatch.fnmatchcase(terminal, kind) for kind in _TERMINALS))
    if layout.format == "l" and style is not None:
        _set_style(call, layout, style)
    if layout.format not in ("1", "l") and layout.zero:
        layout.format = "1"
    return settings, operands


def _set_shape(call: Call, layout: Layout, name: str, value: str) -> bool:
    """Apply an option about how names are shown; False where it is another."""
    if name == "-i":
        layout.inode = True
    elif name in ("-l", "-n", "-g", "-o", "--full-time"):
        layout.format = "l"
        layout.numeric |= name == "-n"
        layout.owner &= name != "-g"
        layout.group &= name != "-o"
        if name == "--full-time":
            layout.style = (FULL_ISO, FULL_ISO)
    elif name in ("-1", "-C", "-x", "-m"):
        if name != "-1" or layout.format != "l":
            layout.format = name[1]
    elif name in ("-h", "--si"):
        layout.human = "si" if name == "--si" else "h"
    elif name in ("-F", "--classify", "-p", "--file-type"):
        chosen = {"-F": "F", "-p": "p", "--file-type": "t", "--classify": "F"}[name]
        if name == "--classify" and value and _word(call, name, value, _WHEN) not in ("always", "yes", "force"):
            chosen = "F" if call.columns is not None and value in ("auto", "tty", "if-tty") else ""
        layout.indicator = chosen
    elif name in ("-N", "-Q", "-b", "-q", "--show-control-chars"):
        layout.quoting = {"-N": "literal", "-Q": "c", "-b": "escape"}.get(name, layout.quoting)
        layout.hide_control = name == "-q"
    elif name in ("-s", "-G", "--zero", "--author", "-k"):
        layout.blocks |= name == "-s"
        layout.group &= name != "-G"
        layout.zero |= name == "--zero"
        layout.author |= name == "--author"
    elif name in ("-w", "-T"):
        if not value.isdigit():
            what = "line width" if name == "-w" else "tab size"
            raise UsageError(f"invalid {what}: {quote(value)}", hint=False)
        if name == "-w":
            layout.width = int(value)
        else:
            layout.tab = int(value)
    else:
        return False
    return True


_WHEN = {
    "always": "always", "yes": "always", "force": "always", "never": "never", "no": "never", "none": "never",
    "auto": "auto", "tty": "auto", "if-tty": "auto",
}  # fmt: skip


def _set_choice(call: Call, settings: Settings, name: str, value: str) -> None:
    layout = settings.layout
    if name in ("-a", "-A"):
        settings.hidden = name[1]
    elif name in ("-d", "-R", "-r"):
        settings.directory |= name == "-d"
        settings.recursive |= name == "-R"
        settings.reverse |= name == "-r"
    elif name in ("-t", "-S", "-U", "-X", "-v", "-f"):
        settings.sort = "U" if name == "-f" else name[1]
        settings.hidden = "a" if name == "-f" else settings.hidden
    elif name == "--sort":
        settings.sort = _SORTS[_word(call, name, value, _SORTS)]
    elif name == "--format":
        layout.format = _FORMATS[_word(call, name, value, _FORMATS)]
    elif name == "--indicator-style":
        layout.indicator = _INDICATORS[_word(call, name, value, _INDICATORS)]
    elif name == "--quoting-style":
        layout.quoting = _word(call, name, value, _QUOTING)
    elif name == "--block-size":
        _set_units(layout, value)
    elif name == "--time":
        settings.other_time |= _TIMES[_word(call, name, value, _TIMES)] != "mtime"
    elif name in ("-u", "-c"):
        settings.other_time = True
    elif name in ("--color", "--hyperlink"):
        when = _word(call, name, value, _WHEN) if value else "always"
        always = when == "always" or (when == "auto" and call.columns is not None)
        if always and name == "--hyperlink":
            call.unknown("hyperlinks")
        layout.color = always if name == "--color" else layout.color
    elif name in ("-L", "-H"):
        settings.follow |= name == "-L"
        settings.follow_operands = True
    elif name == "--dereference-command-line-symlink-to-dir":
        call.unknown("this kind of following links")
    elif name == "--group-directories-first":
        settings.directories_first = True
    elif name in ("-B", "-I"):
        settings.ignore += ["*~", ".*~"] if name == "-B" else [value]
    elif name == "--hide":
        settings.hide.append(value)
    else:
        call.unknown(f"the option {name}")


def _set_units(layout: Layout, value: str) -> None:
    if value.removeprefix("'") in ("human-readable", "si"):
        layout.human = "si" if value == "si" else "h"
        return
    try:
        layout.block = parse_size(value)
    except SizeError:
        raise UsageError(f"invalid --block-size argument '{value}'", hint=False) from None
    layout.block_suffix = value.lstrip("0123456789") if not value[:1].isdigit() else ""


def _set_style(call: Call, layout: Layout, value: str) -> None:
    style = value.removeprefix("posix-")
    if style.startswith("+"):
        old, _, recent = style[1:].partition("\n")
        layout.style = (old, recent or old)
    elif style != "locale":
        if style not in _STYLES:
            call.unknown(f"the time style {value}")
        layout.style = _STYLES[style]
