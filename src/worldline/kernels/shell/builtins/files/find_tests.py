"""The tests of `find`: `-name`, `-type`, `-size`, `-mtime`, `-perm` and their like."""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from worldline.kernels.shell.builtins.base import Call, FileStat
from worldline.kernels.shell.builtins.files.statting import access_time
from worldline.kernels.shell.builtins.shared.dates import DateError, parse_date
from worldline.kernels.shell.builtins.shared.messages import Report, quote, strerror
from worldline.kernels.shell.builtins.shared.modes import ModeError, apply_mode
from worldline.kernels.shell.builtins.shared.options import UsageError
from worldline.kernels.shell.builtins.shared.paths import canonical
from worldline.kernels.shell.builtins.shared.patterns import PatternError, glob_regex, path_regex
from worldline.kernels.shell.builtins.shared.people import known_group, known_user
from worldline.kernels.shell.builtins.shared.times import zone_of

__all__ = ["TESTS", "FindError", "Rule", "Run", "Visit"]


class FindError(UsageError):
    """What `find` says about a wrong expression; no hint follows."""

    def __init__(self, message: str) -> None:
        super().__init__(message, hint=False)


@dataclass
class Run:
    """One run of `find`: its options and what it has to say."""

    call: Call
    report: Report
    follow: bool = False
    follow_operands: bool = False
    max_depth: int | None = None
    min_depth: int = 0
    depth_first: bool = False
    regex: str = "emacs"
    quit: bool = False
    batches: list[tuple[list[str], list[str]]] = field(default_factory=list)
    """Commands of `-exec ... +`, each with the paths collected for it."""
    saved: dict[str, list[str]] = field(default_factory=dict)
    """What `-fprint`, `-fprint0` and `-fprintf` write to each of their files."""


@dataclass
class Visit:
    """The file that is looked at."""

    path: str
    start: str
    depth: int
    stat: FileStat
    prune: bool = False

    @property
    def name(self) -> str:
        """The last component, as `-name` sees it."""
        return posixpath.basename(self.path.rstrip("/")) or "/"


Rule = Callable[[Run, Visit], bool]


def _glob(part: str, *, ignore_case: bool) -> Callable[[Run, str], Rule]:
    def build(run: Run, text: str) -> Rule:
        regex = glob_regex(text, ignore_case=ignore_case)
        if part == "name":
            return lambda _, visit: regex.match(visit.name) is not None
        if part == "path":
            return lambda _, visit: regex.match(visit.path) is not None

        def link(run: Run, visit: Visit) -> bool:
            return visit.stat.kind == "symlink" and regex.match(run.call.files.readlink(visit.path)) is not None

        return link

    return build


def _regex(*, ignore_case: bool) -> Callable[[Run, str], Rule]:
    def build(run: Run, text: str) -> Rule:
        try:
            regex = path_regex(text, run.regex, ignore_case=ignore_case)
        except PatternError:
            run.call.unknown(f"the regular expression {text}")
        return lambda _, visit: regex.match(visit.path) is not None

    return build


_TYPES = {"f": "file", "d": "directory", "l": "symlink", "p": "fifo", "s": "socket", "b": "block", "c": "character"}


def _type(*, through: bool) -> Callable[[Run, str], Rule]:
    option = "-xtype" if through else "-type"

    def build(run: Run, text: str) -> Rule:
        kinds = set()
        for letter in text.split(","):
            if letter not in _TYPES:
                if len(letter) > 1 and letter[0] in _TYPES:
                    raise FindError(f"Must separate multiple arguments to {option} using: ','")
                raise FindError(f"Unknown argument to {option}: {text}")
            kinds.add(_TYPES[letter])

        def test(run: Run, visit: Visit) -> bool:
            stat = visit.stat
            if through and stat.kind == "symlink":
                with contextlib.suppress(OSError):
                    stat = run.call.files.stat(visit.path)
            return stat.kind in kinds

        return test

    return build


def _number(run: Run, option: str, text: str, message: str = "") -> tuple[str, float]:
    """Read `+N`, `-N` or `N`."""
    match = re.fullmatch(r"([-+]?)(\d+(?:\.\d+)?)", text)
    if match is None:
        raise FindError(message or f"invalid argument `{text}' to `{option}'")
    return match.group(1), float(match.group(2))


def _compare(sign: str, value: float, wanted: float) -> bool:
    return value > wanted if sign == "+" else value < wanted if sign == "-" else value == wanted


def _size(run: Run, text: str) -> Rule:
    units = {"b": 512, "c": 1, "w": 2, "k": 1024, "M": 1024**2, "G": 1024**3}
    body, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 512)
    if not re.fullmatch(r"[-+]?\d+", body):
        if text and not text[-1].isdigit():
            raise FindError(f"invalid -size type `{text[-1]}'")
        raise FindError(f"Invalid argument `{text}' to -size")
    sign, wanted = _number(run, "-size", body)
    return lambda _, visit: _compare(sign, -(-visit.stat.size // unit), wanted)


def _age(moment: str, unit: int) -> Callable[[str], Callable[[Run, str], Rule]]:
    def named(option: str) -> Callable[[Run, str], Rule]:
        def build(run: Run, text: str) -> Rule:
            sign, wanted = _number(run, option, text)

            def test(run: Run, visit: Visit) -> bool:
                when = visit.stat.mtime if moment == "m" else access_time(run.call, visit.stat)
                seconds = (run.call.now - when).total_seconds()
                if sign == "-":
                    return seconds < wanted * unit
                if unit == 86400:
                    wanted_age = wanted * unit
                    return seconds > wanted_age + unit if sign else wanted_age <= seconds < wanted_age + unit
                return seconds > wanted * unit if sign else (wanted - 1) * unit <= seconds < wanted * unit

            return test

        return build

    return named


def _perm(run: Run, text: str) -> Rule:
    sign = text[:1] if text[:1] in ("-", "/") else ""
    try:
        wanted = apply_mode(text[len(sign) :], 0, directory=False, umask=0)
    except ModeError:
        raise FindError(f"invalid mode {quote(text)}") from None
    if sign == "-":
        return lambda _, visit: visit.stat.mode & wanted == wanted
    if sign == "/":
        return lambda _, visit: wanted == 0 or visit.stat.mode & wanted != 0
    return lambda _, visit: visit.stat.mode == wanted


def _owner(kind: str) -> Callable[[Run, str], Rule]:
    def build(run: Run, text: str) -> Rule:
        number = (known_user if kind == "user" else known_group)(run.call, text)
        if number is None:
            if kind == "user":
                raise FindError(f"{quote(text)} is not the name of a known user")
            run.call.unknown(f"what find says about the group {text}")
        if kind == "user":
            return lambda _, visit: visit.stat.uid == number
        return lambda _, visit: visit.stat.gid == number

    return build


def _numeric(what: str) -> Callable[[Run, str], Rule]:
    def build(run: Run, text: str) -> Rule:
        sign, wanted = _number(run, f"-{what}", text)

        def test(_: Run, visit: Visit) -> bool:
            value = {"uid": visit.stat.uid, "gid": visit.stat.gid, "links": visit.stat.nlink}[what]
            return _compare(sign, value, wanted)

        return test

    return build


def _newer(run: Run, text: str) -> Rule:
    try:
        moment = run.call.files.stat(text, follow=run.follow).mtime
    except OSError as error:
        raise FindError(f"{quote(text)}: {strerror(error)}") from error
    return lambda _, visit: visit.stat.mtime > moment


def _newer_date(run: Run, text: str) -> Rule:
    try:
        moment: datetime = parse_date(text, run.call.now, zone_of(run.call))
    except DateError:
        raise FindError(f"I cannot figure out how to interpret {quote(text)} as a date or time") from None
    return lambda _, visit: visit.stat.mtime > moment


def _empty(run: Run, visit: Visit) -> bool:
    if visit.stat.kind == "directory":
        try:
            return not run.call.files.list(visit.path)
        except OSError as error:
            run.report.fail(quote(visit.path), error)
            return False
    return visit.stat.kind == "file" and visit.stat.size == 0


def _access(want: int) -> Rule:
    def test(run: Run, visit: Visit) -> bool:
        allowed = getattr(run.call.files, "allowed", None)
        if allowed is None:
            run.call.unknown("what the user may do with a file")
        try:
            return bool(allowed(visit.path, want))
        except OSError:
            return False

    return test


def _same(run: Run, text: str) -> Rule:
    try:
        stat = run.call.files.stat(text, follow=run.follow)
        place = canonical(run.call, text)
    except OSError as error:
        raise FindError(f"{quote(text)}: {strerror(error)}") from error

    def test(run: Run, visit: Visit) -> bool:
        if stat.inode:
            return visit.stat.inode == stat.inode
        return visit.stat.kind == stat.kind and canonical(run.call, visit.path) == place

    return test


def _constant(value: bool) -> Rule:
    return lambda _run, _visit: value


TESTS: dict[str, tuple[int, Callable[[Run, str], Rule]]] = {
    "-name": (1, _glob("name", ignore_case=False)),
    "-iname": (1, _glob("name", ignore_case=True)),
    "-path": (1, _glob("path", ignore_case=False)),
    "-wholename": (1, _glob("path", ignore_case=False)),
    "-ipath": (1, _glob("path", ignore_case=True)),
    "-iwholename": (1, _glob("path", ignore_case=True)),
    "-lname": (1, _glob("link", ignore_case=False)),
    "-ilname": (1, _glob("link", ignore_case=True)),
    "-regex": (1, _regex(ignore_case=False)),
    "-iregex": (1, _regex(ignore_case=True)),
    "-type": (1, _type(through=False)),
    "-xtype": (1, _type(through=True)),
    "-size": (1, _size),
    "-mtime": (1, _age("m", 86400)("-mtime")),
    "-mmin": (1, _age("m", 60)("-mmin")),
    "-atime": (1, _age("a", 86400)("-atime")),
    "-amin": (1, _age("a", 60)("-amin")),
    "-ctime": (1, _age("c", 86400)("-ctime")),
    "-cmin": (1, _age("c", 60)("-cmin")),
    "-perm": (1, _perm),
    "-user": (1, _owner("user")),
    "-group": (1, _owner("group")),
    "-uid": (1, _numeric("uid")),
    "-gid": (1, _numeric("gid")),
    "-links": (1, _numeric("links")),
    "-newer": (1, _newer),
    "-newermm": (1, _newer),
    "-newermt": (1, _newer_date),
    "-samefile": (1, _same),
    "-empty": (0, lambda _run, _text: _empty),
    "-readable": (0, lambda _run, _text: _access(4)),
    "-writable": (0, lambda _run, _text: _access(2)),
    "-executable": (0, lambda _run, _text: _access(1)),
    "-true": (0, lambda _run, _text: _constant(True)),
    "-false": (0, lambda _run, _text: _constant(False)),
    "-nouser": (0, lambda _run, _text: _constant(False)),
    "-nogroup": (0, lambda _run, _text: _constant(False)),
}
"""Name -> how many arguments it takes, and what builds the test."""
