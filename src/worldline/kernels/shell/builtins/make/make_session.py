"""One run of make: its options, its messages, its variables and rules, and how it looks at files."""

from __future__ import annotations

import fnmatch
import posixpath
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NoReturn

from worldline.kernels.shell.builtins.base import Call, Result
from worldline.kernels.shell.builtins.make.make_functions import control_functions, text_functions
from worldline.kernels.shell.builtins.make.make_parts import MakeError, PatternRule, Place, Target, Variable, words
from worldline.kernels.shell.builtins.make.make_variables import Expander, Function
from worldline.kernels.shell.builtins.shared.recipe_shell import run_line

__all__ = ["MakeOptions", "Session"]

_LATE = datetime(9999, 1, 1, tzinfo=UTC)
_EARLY = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class MakeOptions:
    """What the command line asks for."""

    files: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    includes: list[str] = field(default_factory=list)
    goals: list[str] = field(default_factory=list)
    assignments: list[tuple[str, str, str]] = field(default_factory=list)
    evaluate: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    old: list[str] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    """Letters of the flags that are on; `warn` and `noprint` for two without a letter."""
    jobs: int | None = 1

    def letters(self) -> str:
        """The flags as `MAKEFLAGS` shows them."""
        return "".join(sorted(self.flags & set("Beiknqrst"), key=lambda flag: "Beiknqrst".index(flag)))


class Session:
    """Everything that reading makefiles and making targets share.

    Args:
        call: The invocation.
        options: Its command line.
        cwd: Where make works, after `-C`.
        level: `MAKELEVEL`.
    """

    def __init__(self, call: Call, options: MakeOptions, cwd: str, level: int) -> None:
        self.call = call
        self.options = options
        self.cwd = cwd
        self.level = level
        self.name = f"make[{level}]" if level else "make"
        self.events: list[tuple[int, str]] = []
        """Texts written, each with its stream."""
        self.targets: dict[str, Target] = {}
        self.patterns: list[PatternRule] = []
        self.special: dict[str, list[str]] = {}
        """Prerequisites of `.PHONY`, `.SILENT`, ...; names mentioned without any are there too."""
        self.default_goal = ""
        self.makefiles: list[str] = []
        self.missing_includes: list[tuple[str, Place, bool]] = []
        """Files to be included that are not there, where, and whether that is no fault."""
        self.mixed = False
        """Whether a line of a recipe wrote to both streams, in an order that is not known."""
        self.skewed = False
        """Whether a file was seen that is from the future."""
        self.started = 0
        """Recipe lines run or printed so far."""
        self.export_all = False
        warn = self.warn if "warn" in options.flags else None
        self.expander = Expander(self._functions(), warn)

    # --- messages

    def out(self, text: str) -> None:
        """Write to stdout."""
        if text:
            self.events.append((1, text))

    def err(self, text: str) -> None:
        """Write to stderr."""
        if text:
            self.events.append((2, text))

    def tell(self, message: str) -> None:
        """Write a message to stdout, unless make is to be silent."""
        if "s" not in self.options.flags:
            self.out(f"{self.name}: {message}\n")

    def complain(self, message: str) -> None:
        """Write an error to stderr."""
        self.err(f"{self.name}: *** {message}\n")

    def warn(self, place: Place | None, message: str) -> None:
        """Write a warning to stderr."""
        self.err(f"{place if place is not None else self.name}: warning: {message}\n")

    def result(self, status: int) -> Result:
        """Everything written, and the status."""
        return Result(
            "".join(text for stream, text in self.events if stream == 1),
            "".join(text for stream, text in self.events if stream == 2),
            status,
            "".join(text for _, text in self.events),
        )

    def unknown(self, why: str) -> NoReturn:
        """Give up; what has been written so far is the guess."""
        self.call.unknown(why, self.result(0))

    # --- files

    def path(self, name: str) -> str:
        """A file's path as the call's files know it."""
        return posixpath.join(self.cwd, name)

    def exists(self, name: str) -> bool:
        """Whether a file is there."""
        try:
            return self.call.files.exists(self.path(name))
        except OSError:
            return False

    def mtime(self, name: str) -> datetime | None:
        """A file's modification time, after `-W` and `-o`; None where it does not exist."""
        if name in self.options.new:
            return _LATE
        if name in self.options.old:
            return _EARLY
        try:
            moment = self.call.files.stat(self.path(name)).mtime
        except OSError:
            return None
        ahead = (moment - self.call.now).total_seconds()
        if ahead > 0 and not self.skewed:
            self.skewed = True
            shown = f"{ahead:.0f}" if ahead >= 99 else f"{ahead:.2g}"
            self.err(f"{self.name}: Warning: File '{name}' has modification time {shown} s in the future\n")
        return moment

    def glob(self, pattern: str) -> list[str]:
        """Names that match a pattern, sorted; parts with blanks are several patterns."""
        if not set(pattern) & set("*?["):
            return [pattern] if self.exists(pattern) else []
        found = [""]
        if pattern.startswith("/"):
            found = ["/"]
        for part in pattern.strip("/").split("/"):
            found = [path for start in found for path in self._glob_part(start, part)]
        if pattern.endswith("/"):
            found = [f"{path}/" for path in found if self._is_directory(path)]
        return sorted(found, key=str.encode)

    def _glob_part(self, start: str, part: str) -> list[str]:
        if not set(part) & set("*?["):
            path = f"{start}{part}" if start in ("", "/") else f"{start}/{part}"
            return [path] if self.exists(path) else []
        try:
            names = self.call.files.list(self.path(start or "."))
        except OSError:
            return []
        hidden = part.startswith(".")
        chosen = [name for name in names if fnmatch.fnmatchcase(name, part) and (hidden or not name.startswith("."))]
        return [f"{start}{name}" if start in ("", "/") else f"{start}/{name}" for name in chosen]

    def _is_directory(self, name: str) -> bool:
        try:
            return self.call.files.stat(self.path(name)).kind == "directory"
        except OSError:
            return False

    def read(self, name: str, text: str) -> None:
        """Read a makefile's text."""
        # Imported late: the reader works on sessions.
        from worldline.kernels.shell.builtins.make.make_reader import Reader

        self.makefiles.append(name)
        old = self.expander.table.get("MAKEFILE_LIST")
        self.expander.table["MAKEFILE_LIST"] = Variable(f"{old.value if old else ''} {name}", False)
        Reader(self, name).read_text(text)

    # --- variables and functions

    def _functions(self) -> dict[str, Function]:
        return {
            **text_functions(self.cwd),
            **control_functions(lambda: self.expander),
            "wildcard": (0, 1, True, lambda a: " ".join(path for word in words(a[0]) for path in self.glob(word))),
            "realpath": (0, 1, True, lambda a: self._realpath(a[0])),
            "shell": (0, 1, True, lambda a: self.shell(a[0])),
            "error": (0, 1, True, lambda a: self._error(a[0])),
            "warning": (0, 1, True, lambda a: self._warning(a[0])),
            "info": (0, 1, True, lambda a: self._info(a[0])),
            "eval": (0, 1, True, lambda a: self._eval(a[0])),
            "file": (1, 2, True, lambda a: self.unknown("$(file ...)")),
        }

    def _realpath(self, text: str) -> str:
        found = []
        for word in words(text):
            path = posixpath.normpath(posixpath.join(self.cwd, word))
            if self.exists(path):
                if self.call.files.stat(path, follow=False).kind == "symlink":
                    self.unknown("realpath of a link")
                found.append(path)
        return " ".join(found)

    def _error(self, text: str) -> str:
        raise MakeError(text, self.expander.place)

    def _warning(self, text: str) -> str:
        place = self.expander.place
        self.err(f"{place}: {text}\n" if place is not None else f"{text}\n")
        return ""

    def _info(self, text: str) -> str:
        self.out(f"{text}\n")
        return ""

    def _eval(self, text: str) -> str:
        from worldline.kernels.shell.builtins.make.make_reader import Reader

        place = self.expander.place
        Reader(self, place.file if place is not None else "").read_text(text)
        self.expander.place = place
        return ""

    def shell(self, text: str) -> str:
        """`$(shell TEXT)`."""
        result = run_line(self.call, text, shell=self.shell_path(), cwd=self.cwd)
        self.err(result.stderr)
        status = Variable(str(result.status), False, "default")
        self.expander.table[".SHELLSTATUS"] = status
        return result.stdout.rstrip("\n").replace("\n", " ")

    def shell_path(self) -> str:
        """The shell that runs recipes."""
        return self.expander.value("SHELL").strip() or "/bin/sh"

    def environment(self) -> dict[str, str]:
        """What recipes find in their environment."""
        env = dict(self.call.env)
        for name, variable in self.expander.table.items():
            if name in ("SHELL", "MAKEFLAGS", "MAKELEVEL") or not name.replace("_", "a").isalnum():
                continue
            wanted = variable.exported
            if wanted is None:
                wanted = name in self.call.env or variable.origin == "command line"
                wanted = wanted or (self.export_all and variable.origin == "file")
            if wanted:
                env[name] = self.expander.value(name)
            else:
                env.pop(name, None)
        flags = self.expander.value("MAKEFLAGS")
        env["MAKELEVEL"] = str(self.level + 1)
        env["MAKEFLAGS"] = flags
        env["MFLAGS"] = f"-{self.options.letters()}" if self.options.letters() else ""
        if self.options.assignments:
            env["MAKEOVERRIDES"] = "${-*-command-variables-*-}"
        return env
