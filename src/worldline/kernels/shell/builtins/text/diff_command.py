"""`diff` and `cmp`."""

from __future__ import annotations

import fnmatch
import posixpath
import re
import shlex
from dataclasses import dataclass, field
from datetime import datetime

from worldline.kernels.shell.builtins.base import Builtin, Call, FileStat, Result
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.options import Options, UsageError, parse
from worldline.kernels.shell.builtins.shared.textio import Output, read
from worldline.kernels.shell.builtins.text.diff_styles import (
    Layout,
    Sides,
    context,
    ed,
    normal,
    side_by_side,
    unified,
)
from worldline.kernels.shell.builtins.text.differences import Change, TooExpensive, changes

__all__ = ["COMMANDS", "line_changes", "split_lines"]

_LONG = (
    "binary", "brief", "changed-group-format=", "color=?", "context=?", "ed", "exclude=", "exclude-from=",
    "expand-tabs", "forward-ed", "from-file=", "horizon-lines=", "ifdef=", "ignore-all-space", "ignore-blank-lines",
    "ignore-case", "ignore-file-name-case", "ignore-matching-lines=", "ignore-space-change", "ignore-tab-expansion",
    "ignore-trailing-space", "inhibit-hunk-merge", "initial-tab", "label=", "left-column", "line-format=", "minimal",
    "new-file", "new-group-format=", "new-line-format=", "no-dereference", "no-ignore-file-name-case", "normal",
    "old-group-format=", "old-line-format=", "paginate", "palette=", "rcs", "recursive", "report-identical-files",
    "sdiff-merge-assist", "show-c-function", "show-function-line=", "side-by-side", "speed-large-files",
    "starting-file=", "strip-trailing-cr", "suppress-blank-empty", "suppress-common-lines", "tabsize=", "text",
    "to-file=", "unchanged-group-format=", "unchanged-line-format=", "unidirectional-new-file", "unified=?",
    "width=",
)  # fmt: skip
_SAME = {
    "--brief": "-q", "--context": "-C", "--ed": "-e", "--exclude": "-x", "--expand-tabs": "-t",
    "--ignore-all-space": "-w", "--ignore-blank-lines": "-B", "--ignore-case": "-i", "--ignore-matching-lines": "-I",
    "--ignore-space-change": "-b", "--ignore-tab-expansion": "-E", "--ignore-trailing-space": "-Z",
    "--initial-tab": "-T", "--label": "-L", "--minimal": "-d", "--new-file": "-N", "--recursive": "-r",
    "--report-identical-files": "-s", "--show-c-function": "-p", "--side-by-side": "-y", "--text": "-a",
    "--unified": "-U", "--width": "-W", "--speed-large-files": "-H",
}  # fmt: skip
_STYLES = {"-u": "unified", "-U": "unified", "-c": "context", "-C": "context", "-y": "side", "-e": "ed",
           "--normal": "normal"}  # fmt: skip


@dataclass
class _Plan:
    style: str = "normal"
    size: int = 3
    flags: set[str] = field(default_factory=set)
    labels: list[str] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    layout: Layout = field(default_factory=Layout)
    switches: str = ""


def diff(call: Call) -> Result:
    """Compare files line by line."""
    try:
        argv = [re.sub(r"^-(\d+)$", r"-U\1", word) for word in call.argv]
        options, names = parse(
            call, "0123456789abBcC:dD:eEfF:hHiI:lL:nNpPqrsS:tTuU:vwW:x:X:yZ", _LONG, same=_SAME, argv=argv
        )
        plan = _plan(call, options)
        if len(names) < 2:
            raise UsageError(f"missing operand after '{(['diff', *call.argv])[-1]}'")
        if len(names) > 2:
            raise UsageError(f"extra operand '{names[2]}'")
    except UsageError as error:
        hint = "diff: Try 'diff --help' for more information.\n" if error.hint else ""
        return Result(stderr=f"diff: {error.message}\n{hint}", status=2)
    plan.switches = "".join(f" {shlex.quote(word)}" for word in _switches(call.argv, names))
    out = Output(call, 2)
    status = _Comparison(call, plan, out).names(names[0], names[1])
    out.status = max(out.status, status)
    return out.result()


def _switches(argv: list[str], names: list[str]) -> list[str]:
    rest = list(names)
    found = []
    for word in argv:
        if word in rest and (not word.startswith("-") or word == "-"):
            rest.remove(word)
        elif word != "--":
            found.append(word)
    return found


def _plan(call: Call, options: Options) -> _Plan:
    plan = _Plan()
    layout: dict[str, int | bool] = {}
    styles: list[str] = []
    for name, value in options:
        if name[1].isdigit():
            plan.size = int(name[1])
        elif name in _STYLES:
            if name in ("-U", "-C"):
                if value and not value.isdigit():
                    raise UsageError(f"invalid context length '{value}'")
                plan.size = int(value) if value else 3
            styles.append(_STYLES[name])
        elif name == "-L":
            plan.labels.append(value)
        elif name == "-x":
            plan.excluded.append(value)
        elif name == "-I":
            plan.ignored.append(value)
        elif name == "-W":
            if not value.isdigit() or int(value) == 0:
                raise UsageError(f"invalid width '{value}'")
            layout["width"] = int(value)
        elif name == "--left-column":
            layout["left_column"] = True
        elif name == "--suppress-common-lines":
            layout["suppress"] = True
        elif name == "--color":
            if value not in ("never", "auto"):
                call.unknown("colours")
        elif name in ("-a", "-b", "-B", "-d", "-i", "-N", "-p", "-q", "-r", "-s", "-t", "-T", "-w", "-Z",
                      "--strip-trailing-cr", "--no-dereference", "-v"):  # fmt: skip
            plan.flags.add(name)
        else:
            call.unknown(f"the option {name}")
    if len(set(styles)) > 1:
        raise UsageError("conflicting output style options")
    plan.style = styles[0] if styles else ("context" if "-p" in plan.flags else "normal")
    if "-t" in plan.flags:
        layout["expand"] = True
        if plan.style != "side":
            call.unknown("expanded tabs")
    if "-T" in plan.flags and plan.style != "normal":
        call.unknown("-T")
    if ("-B" in plan.flags or plan.ignored) and plan.style in ("unified", "context", "side"):
        call.unknown("ignored lines in this style")
    plan.layout = Layout(**layout)  # type: ignore[arg-type]
    return plan


def split_lines(data: bytes) -> list[bytes]:
    """Split into lines with their ends."""
    return re.findall(rb"[^\n]*\n|[^\n]+", data)


def line_changes(call: Call, old: list[bytes], new: list[bytes], *, horizon: int = 0) -> list[Change]:
    """Compare lines as GNU diff does, or give up where it would take short cuts."""
    try:
        return changes(old, new, horizon=horizon)
    except TooExpensive:
        call.unknown("files that differ this much")


def _key(line: bytes, flags: set[str]) -> bytes:
    if "-w" in flags:
        line = re.sub(rb"[ \t\n\v\f\r]+", b"", line)
    elif "-b" in flags:
        line = re.sub(rb"[ \t\v\f\r]+", b" ", line.rstrip(b" \t\n\v\f\r"))
    elif "-Z" in flags:
        line = line.rstrip(b" \t\n\v\f\r")
    return line.lower() if "-i" in flags else line


class _Comparison:
    def __init__(self, call: Call, plan: _Plan, out: Output) -> None:
        self.call, self.plan, self.out = call, plan, out

    def stat(self, name: str) -> FileStat | None:
        """What is at a name; None for standard input. Raises OSError."""
        if name == "-":
            return None
        return self.call.files.stat(name)

    def names(self, old: str, new: str) -> int:
        """Compare two operands; returns the status."""
        missing = []
        stats: list[FileStat | None] = []
        for name in (old, new):
            try:
                stats.append(self.stat(name))
            except OSError as error:
                stats.append(None)
                missing.append((name, error))
        if missing:
            absent_ok = "-N" in self.plan.flags and len(missing) == 1
            if not absent_ok or not isinstance(missing[0][1], FileNotFoundError):
                for name, problem in missing:
                    self.out.warn(f"{name}: {strerror(problem)}")
                return 2
        directories = [stat is not None and stat.kind == "directory" for stat in stats]
        if not missing and directories[0] != directories[1]:
            if "-" in (old, new):
                self.call.unknown("standard input against a directory")
            if directories[0]:
                return self.names(posixpath.join(old, posixpath.basename(new)), new)
            return self.names(old, posixpath.join(new, posixpath.basename(old)))
        if any(directories):
            return self.directories(old, new, top=True)
        return self.files(old, new, absent=[name for name, _ in missing])

    def directories(self, old: str, new: str, *, top: bool) -> int:
        if not top and "-r" not in self.plan.flags:
            self.out.write(f"Common subdirectories: {old} and {new}\n".encode())
            return 0
        listed = []
        for name in (old, new):
            names = self.call.files.list(name) if self.call.files.exists(name) else []
            listed.append({n for n in names if not any(fnmatch.fnmatchcase(n, p) for p in self.plan.excluded)})
        status = 0
        for name in sorted(listed[0] | listed[1], key=str.encode):
            status = max(status, self.entry(old, new, name, name in listed[0], name in listed[1]))
        return status

    def entry(self, old: str, new: str, name: str, in_old: bool, in_new: bool) -> int:
        left, right = posixpath.join(old, name), posixpath.join(new, name)
        if not (in_old and in_new) and "-N" not in self.plan.flags:
            self.out.write(f"Only in {old if in_old else new}: {name}\n".encode())
            return 1
        kinds = {path: self.call.files.stat(path).kind for path, there in ((left, in_old), (right, in_new)) if there}
        if "directory" in kinds.values():
            if set(kinds.values()) == {"directory"}:
                if len(kinds) == 1 and "-r" not in self.plan.flags:
                    self.out.write(f"Only in {old if in_old else new}: {name}\n".encode())
                    return 1
                return self.directories(left, right, top=False)
            words = {"directory": "a directory", "file": "a regular file"}
            if "symlink" in kinds.values() or "fifo" in kinds.values():
                self.call.unknown("a special file")
            texts = [words[kinds[path]] for path in (left, right)]
            if self.call.files.stat(left).size == 0 and kinds[left] == "file":
                texts[0] = "a regular empty file"
            if self.call.files.stat(right).size == 0 and kinds[right] == "file":
                texts[1] = "a regular empty file"
            self.out.write(f"File {left} is {texts[0]} while file {right} is {texts[1]}\n".encode())
            return 1
        absent = [path for path, there in ((left, in_old), (right, in_new)) if not there]
        return self.files(left, right, absent=absent, header=True)

    def files(self, old: str, new: str, *, absent: list[str], header: bool = False) -> int:
        sides = []
        for name in (old, new):
            try:
                sides.append(b"" if name in absent else read(self.call, name))
            except OSError as error:
                self.out.warn(f"{name}: {strerror(error)}")
                return 2
        left, right = sides
        title = f"diff{self.plan.switches} {old} {new}\n".encode() if header else b""
        if left == right:
            if "-s" in self.plan.flags:
                self.out.write(f"Files {old} and {new} are identical\n".encode())
            return 0
        if "-a" not in self.plan.flags and any(b"\0" in side for side in sides):
            kind = "Binary files" if "-q" not in self.plan.flags else "Files"
            self.out.write(f"{kind} {old} and {new} differ\n".encode())
            return 1
        found, lines = self.compare(left, right)
        if not found:
            if "-s" in self.plan.flags:
                self.out.write(f"Files {old} and {new} are identical\n".encode())
            elif self.plan.style == "side" and not self.plan.layout.suppress:
                self.out.write(self.styled(lines, found))
            return 0
        if "-q" in self.plan.flags:
            self.out.write(f"Files {old} and {new} differ\n".encode())
            return 1
        first, second = (self.label(name, index, name in absent) for index, name in enumerate((old, new)))
        shown = Sides(lines.old, lines.new, first, second, "-p" in self.plan.flags)
        self.out.write(title + self.styled(shown, found))
        return 1

    def compare(self, left: bytes, right: bytes) -> tuple[list[Change], Sides]:
        flags = self.plan.flags
        if "--strip-trailing-cr" in flags:
            left, right = left.replace(b"\r\n", b"\n"), right.replace(b"\r\n", b"\n")
        old, new = split_lines(left), split_lines(right)
        sides = Sides(old, new)
        context_size = self.plan.size if self.plan.style in ("unified", "context") else 0
        if flags & {"-w", "-b", "-Z", "-i"}:
            keys = [[_key(line, flags) for line in lines] for lines in (old, new)]
            found = line_changes(self.call, keys[0], keys[1], horizon=context_size)
        else:
            found = line_changes(self.call, old, new, horizon=context_size)
        return [change for change in found if not self.ignorable(sides, change)], sides

    def ignorable(self, sides: Sides, change: Change) -> bool:
        lines = sides.old[change.old_start : change.old_end] + sides.new[change.new_start : change.new_end]
        patterns = [re.compile(pattern.encode()) for pattern in self.plan.ignored]
        if any(re.search(rb"[\\+?{}()|]", pattern.pattern) for pattern in patterns):
            self.call.unknown("a regular expression")
        blank = "-B" in self.plan.flags

        def skip(line: bytes) -> bool:
            if blank and line == b"\n":
                return True
            return any(pattern.search(line.rstrip(b"\n")) for pattern in patterns)

        return bool(lines) and all(skip(line) for line in lines) and bool(blank or patterns)

    def styled(self, sides: Sides, found: list[Change]) -> bytes:
        style = self.plan.style
        if style == "unified":
            return unified(sides, found, self.plan.size)
        if style == "context":
            return context(sides, found, self.plan.size)
        if style == "side":
            return side_by_side(sides, found, self.plan.layout)
        if style == "ed":
            return ed(sides, found)
        return normal(sides, found, tab=b"\t" if "-T" in self.plan.flags else b" ")

    def label(self, name: str, index: int, absent: bool) -> str:
        if index < len(self.plan.labels):
            return self.plan.labels[index]
        if absent:
            return f"{name}\t1970-01-01 00:00:00.000000000 +0000"
        moment = self.call.now if name == "-" else self.call.files.stat(name).mtime
        return f"{name}\t{_stamp(self.call, moment)}"


def _stamp(call: Call, moment: datetime) -> str:
    if call.env.get("TZ", call.world.timezone) not in ("UTC", "UTC0", ""):
        call.unknown("another time zone")
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond:06d}000 +0000"


COMMANDS: dict[str, Builtin] = {"diff": diff}
