"""The commands `ls`, `dir` and `vdir`."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from worldline.kernels.shell.builtins.base import Builtin, Call, FileStat, Result
from worldline.kernels.shell.builtins.listing_format import Entry, Layout, render
from worldline.kernels.shell.builtins.messages import Report, quote, shell_quote
from worldline.kernels.shell.builtins.options import UsageError, command, parse
from worldline.kernels.shell.builtins.order import directory_order
from worldline.kernels.shell.builtins.sizes import SizeError, parse_size
from worldline.kernels.shell.builtins.times import FULL_ISO, zone_of
from worldline.kernels.shell.builtins.versions import version_key

__all__ = ["COMMANDS"]

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
    for name in ("literal", "shell", "shell-always", "shell-escape", "shell-escape-always", "c", "c-maybe", "escape")
}
_TIMES = {
    "atime": "atime", "access": "atime", "use": "atime", "ctime": "ctime", "status": "ctime", "mtime": "mtime",
    "modification": "mtime", "birth": "birth", "creation": "birth",
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


def _read_options(call: Call) -> tuple[Settings, list[str]]:
    options, operands = parse(call, _SHORT, _LONG, same=_SAME)
    layout = Layout(zone=zone_of(call), now=call.now)
    settings = Settings(layout=layout)
    columns = call.env.get("COLUMNS", "")
    if columns.isdigit():
        layout.width = int(columns)
    style = call.env.get("TIME_STYLE")
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
    if name in ("-l", "-n", "-g", "-o", "--full-time"):
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
            chosen = ""
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
        if _word(call, name, value, _TIMES) not in ("mtime", "modification"):
            call.unknown("access, status change and birth times")
    elif name in ("--color", "--hyperlink"):
        always = not value or _word(call, name, value, _WHEN) in ("always", "yes", "force")
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


class _Lister:
    """One run of `ls`."""

    def __init__(self, call: Call, settings: Settings) -> None:
        self.call = call
        self.settings = settings
        layout = settings.layout
        self.report = Report(call.name, 2)
        self.needs_stat = (
            layout.format == "l"
            or layout.blocks
            or layout.color
            or layout.indicator != ""
            or settings.sort in ("t", "S")
            or settings.recursive
            or settings.directories_first
        )
        self.printed = False

    def run(self, operands: list[str]) -> Result:
        settings = self.settings
        files: list[Entry] = []
        directories: list[Entry] = []
        for name in operands or ["."]:
            entry = self._operand(name)
            if entry is None:
                continue
            is_directory = entry.stat is not None and entry.stat.kind == "directory"
            (directories if is_directory and not settings.directory else files).append(entry)
        if files:
            self.report.out(render(self._sorted(files), settings.layout))
            self.printed = True
        many = len(operands) > 1 or settings.recursive
        for entry in self._sorted(directories):
            self._directory(entry.name, header=many, top=True)
        return self.report.result()

    def _operand(self, name: str) -> Entry | None:
        """Look at a command-line argument, following a link as `ls` would."""
        settings = self.settings
        files = self.call.files
        never = settings.layout.format == "l" or settings.layout.indicator == "F" or settings.directory
        try:
            if not self.needs_stat and settings.directory:
                stat = None
                files.stat(name, follow=False) if not files.exists(name, follow=False) else None
                return Entry(name, None)
            stat = files.stat(name, follow=False)
            target = ""
            if stat.kind == "symlink":
                target = files.readlink(name)
                stat = self._through(name, stat, never)
        except OSError as error:
            self.report.fail(f"cannot access {shell_quote(name)}", error)
            return None
        return self._entry(name, name, stat, target)

    def _through(self, name: str, stat: FileStat, never: bool) -> FileStat:
        settings = self.settings
        if settings.follow or settings.follow_operands:
            try:
                return self.call.files.stat(name)
            except FileNotFoundError:
                if settings.follow:
                    raise
                return stat
        if never:
            return stat
        try:
            behind = self.call.files.stat(name)
        except FileNotFoundError:
            return stat
        return behind if behind.kind == "directory" else stat

    def _entry(self, name: str, path: str, stat: FileStat, target: str = "") -> Entry:
        behind = None
        layout = self.settings.layout
        shown = layout.format == "l" and (layout.color or layout.indicator)
        if stat.kind == "symlink" and (shown or self.settings.directories_first):
            try:
                behind = self.call.files.stat(path)
            except OSError:
                behind = None
        return Entry(name, stat, target if stat.kind == "symlink" else "", behind)

    def _directory(self, path: str, *, header: bool, top: bool) -> None:
        settings = self.settings
        try:
            names = self._names(path)
        except OSError as error:
            status = self.report.status
            self.report.fail(f"cannot open directory {shell_quote(path)}", error)
            self.report.status = 2 if top else status or 1
            return
        if self.printed:
            self.report.out("\n")
        if header:
            self.report.out(f"{path}:\n")
        self.printed = True
        entries = [entry for name in names if (entry := self._member(path, name)) is not None]
        entries = self._sorted(entries)
        self.report.out(render(entries, settings.layout, total=True))
        if settings.recursive:
            for entry in entries:
                if entry.name not in (".", "..") and entry.stat is not None and entry.stat.kind == "directory":
                    self._directory(posixpath.join(path, entry.name), header=True, top=False)

    def _names(self, path: str) -> list[str]:
        settings = self.settings
        names = (
            directory_order(self.call, path)
            if settings.sort == "U"
            else [*([".", ".."] if settings.hidden == "a" else []), *self.call.files.list(path)]
        )
        if settings.sort == "U" and settings.hidden == "a":
            names = [".", "..", *names]
        if not settings.hidden:
            names = [name for name in names if not name.startswith(".") and not _matches(name, settings.hide)]
        return [name for name in names if not _matches(name, settings.ignore)]

    def _member(self, directory: str, name: str) -> Entry | None:
        if not self.needs_stat:
            return Entry(name, None)
        path = name if directory == "." else posixpath.join(directory, name)
        try:
            stat = self.call.files.stat(path, follow=self.settings.follow)
            target = self.call.files.readlink(path) if stat.kind == "symlink" else ""
        except OSError:
            self.call.unknown(f"what ls shows for {path}, which cannot be looked at")
        return self._entry(name, path, stat, target)

    def _sorted(self, entries: list[Entry]) -> list[Entry]:
        sort = self.settings.sort
        if sort == "U":
            return entries
        ordered = sorted(entries, key=lambda entry: entry.name.encode("utf-8", "surrogateescape"))
        if sort == "v":
            ordered.sort(key=lambda entry: version_key(entry.name.encode("utf-8", "surrogateescape")))
        elif sort == "X":
            ordered.sort(key=lambda entry: _extension(entry.name))
        elif sort == "W":
            ordered.sort(key=lambda entry: len(entry.name))
        elif sort == "t":
            ordered.sort(key=lambda entry: -entry.stat.mtime.timestamp() if entry.stat else 0.0)
        elif sort == "S":
            ordered.sort(key=lambda entry: -entry.stat.size if entry.stat else 0)
        if self.settings.reverse:
            ordered.reverse()
        if self.settings.directories_first:
            ordered.sort(key=lambda entry: not _leads_to_directory(entry))
        return ordered


def _leads_to_directory(entry: Entry) -> bool:
    stat = entry.behind or entry.stat
    return stat is not None and stat.kind == "directory"


def _extension(name: str) -> str:
    position = name.rfind(".")
    return name[position:] if position >= 0 else ""


def _matches(name: str, patterns: list[str]) -> bool:
    for pattern in patterns:
        if name.startswith(".") and not pattern.startswith("."):
            continue
        if re.match(fnmatch.translate(pattern.replace("[^", "[!")), name):
            return True
    return False


def _ls(call: Call) -> Result:
    settings, operands = _read_options(call)
    if settings.layout.format == "":
        settings.layout.format = {"dir": "C", "vdir": "l"}.get(call.name, "1")
    if settings.layout.quoting == "":
        settings.layout.quoting = "literal" if call.name == "ls" else "escape"
    return _Lister(call, settings).run(operands)


COMMANDS: dict[str, Builtin] = {name: command(usage_status=2)(_ls) for name in ("ls", "dir", "vdir")}
