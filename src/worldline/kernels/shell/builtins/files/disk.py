"""The commands `du` and `df`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from worldline.kernels.shell.builtins.base import Builtin, Call, FileStat, Result, Unknown
from worldline.kernels.shell.builtins.files.listing_format import disk_bytes
from worldline.kernels.shell.builtins.shared.messages import Report, quote, shell_quote, shell_quote_if_needed, strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, command, parse
from worldline.kernels.shell.builtins.shared.order import directory_order
from worldline.kernels.shell.builtins.shared.paths import canonical, join, strip_slashes
from worldline.kernels.shell.builtins.shared.patterns import glob_regex
from worldline.kernels.shell.builtins.shared.sizes import SizeError, human, parse_size, scaled

__all__ = ["COMMANDS"]

_LONG = (
    "all apparent-size block-size= bytes count-links dereference dereference-args exclude= exclude-from= files0-from="
    " human-readable inodes si max-depth= null no-dereference one-file-system separate-dirs summarize total threshold="
    " time=? time-style="
)
_SAME = {
    "--all": "-a",
    "--block-size": "-B",
    "--bytes": "-b",
    "--count-links": "-l",
    "--dereference": "-L",
    "--dereference-args": "-D",
    "-H": "-D",
    "--human-readable": "-h",
    "--max-depth": "-d",
    "--null": "-0",
    "--no-dereference": "-P",
    "--one-file-system": "-x",
    "--separate-dirs": "-S",
    "--summarize": "-s",
    "--total": "-c",
    "--threshold": "-t",
}


@dataclass
class _Settings:
    names: set[str]
    human: str = ""
    block: int = 1024
    suffix: str = ""
    apparent: bool = False
    inodes: bool = False
    depth: int | None = None
    threshold: int | None = None
    excluded: list[re.Pattern[str]] = field(default_factory=list)


def _read(call: Call) -> tuple[_Settings, list[str]]:
    options, operands = parse(call, "0abd:chHklmst:xB:DLPSX:", _LONG, same=_SAME)
    settings = _Settings({name for name, _ in options})
    for name, value in options:
        if name in ("-h", "--si"):
            settings.human = "si" if name == "--si" else "h"
        elif name in ("-k", "-m", "-b", "-B"):
            settings.human, settings.suffix = "", ""
            settings.block = {"-k": 1024, "-m": 1024**2, "-b": 1, "-B": 0}[name] or _block(settings, value)
            settings.apparent |= name == "-b"
        elif name == "--apparent-size":
            settings.apparent = True
        elif name == "-d":
            if not value.isdigit():
                raise UsageError(f"invalid maximum depth {quote(value)}")
            settings.depth = int(value)
        elif name == "-t":
            settings.threshold = _threshold(value)
        elif name == "--exclude":
            settings.excluded.append(glob_regex(value))
        elif name == "--inodes":
            settings.inodes = True
        elif name in ("-L", "--time", "--time-style", "-X", "--exclude-from", "--files0-from"):
            call.unknown(f"the option {name}")
    if "-s" in settings.names:
        if "-a" in settings.names:
            raise UsageError("cannot both summarize and show all entries")
        if settings.depth:
            raise UsageError(f"warning: summarizing conflicts with --max-depth={settings.depth}")
        settings.depth = 0
    return settings, operands


def _block(settings: _Settings, value: str) -> int:
    if value in ("human-readable", "si"):
        settings.human = "si" if value == "si" else "h"
        return 1
    try:
        size = parse_size(value)
    except SizeError:
        raise UsageError(f"invalid -B argument '{value}'", hint=False) from None
    settings.suffix = value if not value[:1].isdigit() else ""
    return size


def _threshold(value: str) -> int:
    try:
        size = parse_size(value.removeprefix("-"))
    except SizeError:
        raise UsageError(f"invalid --threshold argument '{value}'", hint=False) from None
    return -size if value.startswith("-") else size


class _Measure:
    def __init__(self, call: Call, settings: _Settings) -> None:
        self.call = call
        self.settings = settings
        self.report = Report("du")
        self.seen: set[str] = set()
        self.total = 0

    def operand(self, path: str) -> None:
        if path == "":
            self.report.fail("invalid zero-length file name")
            return
        try:
            follow = "-D" in self.settings.names or path.endswith("/")
            stat = self.call.files.stat(path, follow=follow)
            place = canonical(self.call, path) if stat.kind != "symlink" else path
        except OSError as error:
            self.report.fail(f"cannot access {shell_quote(path)}", error)
            return
        bare = strip_slashes(path) if path.endswith("//") else path
        size = self._entry(bare, stat, place, 0)
        self.total += size or 0

    def _entry(self, path: str, stat: FileStat, place: str, depth: int) -> int | None:
        """Measure what is at a path; None where it was counted before."""
        settings = self.settings
        if any(regex.match(path) or regex.match(path.split("/")[-1]) for regex in settings.excluded):
            return None
        mark = str(stat.inode) if stat.inode and "-l" not in settings.names else place
        if mark in self.seen:
            return None
        self.seen.add(mark)
        own = 1 if settings.inodes else stat.size if settings.apparent else disk_bytes(stat)
        if stat.kind == "file" and not settings.apparent and self._may_have_holes(path, stat):
            self.vague = f"{path} may have holes"
        below = own
        if stat.kind == "directory":
            below += self._inside(path, place, depth)
        shown = stat.kind == "directory" or "-a" in settings.names or depth == 0
        if shown and (settings.depth is None or depth <= settings.depth):
            size = below if "-S" not in settings.names else self._separate(own, path, stat)
            self._line(size, path)
        return below

    vague = ""
    """Why the sizes are only a guess."""

    def _may_have_holes(self, path: str, stat: FileStat) -> bool:
        """Whether a file holds a block of zeros, which takes no place if it was never written."""
        if stat.size < 4096:
            return False
        try:
            data = self.call.files.read(path)
        except OSError:
            return True
        return any(not data[start : start + 4096].strip(b"\0") for start in range(0, len(data), 4096))

    _files: int = 0

    def _inside(self, path: str, place: str, depth: int) -> int:
        try:
            names = directory_order(self.call, path)
        except OSError as error:
            self.report.fail(f"cannot read directory {shell_quote(path)}", error)
            self._files = 0
            return 0
        total = files = 0
        for name in names:
            child = join(path, name)
            stat = self.call.files.stat(child, follow=False)
            size = self._entry(child, stat, join(place, name), depth + 1) or 0
            total += size
            files += size if stat.kind != "directory" else 0
        self._files = files
        return total

    def _separate(self, own: int, path: str, stat: FileStat) -> int:
        return own + (self._files if stat.kind == "directory" else 0)

    def _line(self, size: int, path: str) -> None:
        limit = self.settings.threshold
        if limit is not None and (size < limit if limit >= 0 else size > -limit):
            return
        self.report.out(f"{self.text(size)}\t{path}" + ("\0" if "-0" in self.settings.names else "\n"))

    def text(self, size: int) -> str:
        """A size in the unit asked for."""
        settings = self.settings
        if settings.inodes and not settings.human:
            return str(size)
        if settings.human:
            return human(size, si=settings.human == "si")
        return f"{scaled(size, settings.block)}{settings.suffix}"


@command()
def _du(call: Call) -> Result:
    settings, operands = _read(call)
    measure = _Measure(call, settings)
    for operand in operands or ["."]:
        measure.operand(operand)
    if "-c" in settings.names:
        measure.report.out(f"{measure.text(measure.total)}\ttotal" + ("\0" if "-0" in settings.names else "\n"))
    if measure.vague:
        raise Unknown(f"du: {measure.vague}", measure.report.result())
    return measure.report.result()


@command()
def _df(call: Call) -> Result:
    _, operands = parse(
        call,
        "aB:iF:hHklmPTt:vx:",
        "all block-size= inodes human-readable si local output=? portability print-type sync no-sync total type="
        " exclude-type=",
    )
    report = Report("df")
    for operand in operands:
        try:
            if not call.files.exists(operand):
                call.files.stat(operand)
        except OSError as error:
            report.fail(f"{shell_quote_if_needed(operand, colon=True)}: {strerror(error)}")
    if not operands or report.status == 0 or len(operands) > 1:
        call.unknown("the file systems and how full they are")
    return report.result()


COMMANDS: dict[str, Builtin] = {"du": _du, "df": _df}
