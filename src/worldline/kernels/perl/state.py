"""What a running Perl program holds: variables in nested scopes, open files, the last match."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from worldline.kernels.perl.values import PerlGap, Value
from worldline.kernels.shell.builtins.base import Call
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.textio import restore, unescape

__all__ = ["Die", "Exit", "Frame", "Handle", "Jump", "Return", "State", "bytes_of", "text_of"]


class Die(Exception):
    """`die`: the value is what `$@` gets."""

    def __init__(self, value: Value) -> None:
        super().__init__(value)
        self.value = value


class Exit(Exception):
    """`exit`."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Jump(Exception):
    """`next` or `last`."""

    def __init__(self, kind: str, label: str) -> None:
        super().__init__(kind)
        self.kind = kind
        self.label = label


class Return(Exception):
    """`return`."""

    def __init__(self, values: list[Value]) -> None:
        super().__init__()
        self.values = values


class Frame:
    """The variables of one block. Scalars are cells (lists of one), arrays lists, hashes dicts.

    Args:
        outer: The enclosing block's.
    """

    __slots__ = ("names", "outer")

    def __init__(self, outer: Frame | None = None) -> None:
        self.outer = outer
        self.names: dict[str, Any] = {}

    def find(self, name: str) -> Any | None:
        """Look a variable up, by its name with the sign."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.names:
                return frame.names[name]
            frame = frame.outer
        return None


@dataclass(slots=True, eq=False)
class Handle:
    """An open file."""

    name: str
    data: str = ""
    position: int = 0
    path: str | None = None
    """Where what is written goes; None: it is read."""
    written: list[str] = field(default_factory=list)
    lines: int = 0

    def at_end(self) -> bool:
        """Whether all has been read."""
        return self.position >= len(self.data)


class State:
    """One run of a program.

    Args:
        call: The invocation of perl.
        script: The program's name in messages.
        arguments: `@ARGV`.
    """

    def __init__(self, call: Call, script: str, arguments: list[str]) -> None:
        self.call = call
        self.script = script
        self.root = Frame()
        self.frame = self.root
        self.out: list[str] = []
        self.err: list[str] = []
        self.match: re.Match[str] | None = None
        self.subs: dict[str, Any] = {}
        self.handles: dict[str, Handle] = {}
        self.warnings = False
        self.steps = 0
        self.positions: dict[int, tuple[str, int]] = {}
        """Where the next `m//g` on a cell goes on: by the cell's identity."""
        self.last_read: Handle | None = None
        self.diamond: Handle | None = None
        self.in_place: str | None = None
        self.output: Handle | None = None
        """Where `print` writes while files are edited in place."""
        self.status = 0
        self.numbers: dict[str, int] = {}
        self._standard: Handle | None = None
        values: dict[str, Any] = {
            "$_": [None],
            "$,": [None],
            "$\\": [None],
            "$/": ["\n"],
            '$"': [" "],
            "$0": [script],
            "$@": [""],
            "$!": [""],
            "$;": ["\x1c"],
            "$|": [0],
            "$.": [None],
            "@ARGV": list(arguments),
            "%ENV": {name: bytes_of(value) for name, value in call.env.items()},
            "@F": [],
            "$a": [None],
            "$b": [None],
        }
        self.root.names = values

    # --- variables

    def cell(self, name: str) -> list[Value]:
        """The cell of a scalar; made where there is none."""
        found = self.frame.find("$" + name)
        if found is None:
            found = self.root.names["$" + name] = [None]
        return found

    def array(self, name: str) -> list[Value]:
        """An array; made where there is none."""
        found = self.frame.find("@" + name)
        if found is None:
            found = self.root.names["@" + name] = []
        return found

    def hash(self, name: str) -> dict[str, Value]:
        """A hash; made where there is none."""
        found = self.frame.find("%" + name)
        if found is None:
            found = self.root.names["%" + name] = {}
        return found

    # --- reading

    def standard_input(self) -> Handle:
        """`STDIN`."""
        if self._standard is None:
            if self.call.stdin is None:
                self._standard = Handle("STDIN")
            else:
                self._standard = Handle("STDIN", unescape(self.call.stdin).decode("latin-1"))
        return self._standard

    def open_read(self, path: str, name: str) -> Handle:
        """Open a file for reading.

        Raises:
            OSError: As the system would.
        """
        data = restore(self.call.files.read(text_of(path))).decode("latin-1")
        return Handle(name, data)

    def read_line(self, handle: Handle) -> str | None:
        """Read a record; None at the end."""
        if handle.at_end():
            return None
        separator = self.cell("/")[0]
        if separator is None:
            end = len(handle.data)
        elif separator == "":
            found = re.compile(r"\n\n+").search(handle.data, handle.position)
            while handle.data.startswith("\n", handle.position) and handle.position == 0:
                handle.position += 1
            found = re.compile(r"\n\n+").search(handle.data, handle.position)
            end = found.end() if found else len(handle.data)
            line = handle.data[handle.position : found.start() + 2] if found else handle.data[handle.position :]
            handle.position = end
            self._count(handle)
            return line
        else:
            place = handle.data.find(str(separator), handle.position)
            end = len(handle.data) if place < 0 else place + len(str(separator))
        line = handle.data[handle.position : end]
        handle.position = end
        self._count(handle)
        return line

    def _count(self, handle: Handle) -> None:
        handle.lines += 1
        self.last_read = handle
        self.cell(".")[0] = handle.lines

    def diamond_line(self) -> str | None:
        """Read a line of `<>`: the files of `@ARGV`, or standard input."""
        while True:
            if self.diamond is None:
                names = self.array("ARGV")
                if "started" not in self.numbers:
                    self.numbers["started"] = 1
                    if not names:
                        self.diamond = self.standard_input()
                        self.diamond.name = "STDIN"
                        self.numbers["plain"] = 1
                if self.diamond is None and not self._next_file(names):
                    return None
            assert self.diamond is not None
            line = self.read_line(self.diamond)
            if line is not None:
                return line
            self.finish_file()
            if self.numbers.get("plain"):
                return None

    def _next_file(self, names: list[Value]) -> bool:
        while names:
            path = str(names.pop(0))
            if path == "-":
                self.diamond = self.standard_input()
                return True
            try:
                handle = self.open_read(path, "")
            except IsADirectoryError as error:
                raise PerlGap("reading a directory") from error
            except OSError as error:
                where = f", <> line {self.last_read.lines}" if self.last_read is not None else ""
                self.err.append(f"Can't open {path}: {strerror(error)}{where}.\n")
                continue
            handle.lines = self.last_read.lines if self.last_read is not None else 0
            self.cell("ARGV")[0] = path
            self.diamond = handle
            if self.in_place is not None:
                self._start_in_place(path, handle)
            return True
        return False

    def _start_in_place(self, path: str, handle: Handle) -> None:
        files = self.call.files
        if self.in_place:
            kept = self.in_place.replace("*", path) if "*" in self.in_place else path + self.in_place
            files.write(kept, handle.data.encode("latin-1"))
        self.output = Handle("ARGVOUT", path=path)

    def finish_file(self) -> None:
        """Close the file that `<>` is in; one that is edited in place is written."""
        if self.output is not None and self.output.path is not None:
            self.call.files.write(text_of(self.output.path), "".join(self.output.written).encode("latin-1"))
        self.output = None
        self.diamond = None

    def diamond_ends(self) -> bool:
        """Whether `<>` is at the end of its file (`eof`)."""
        return self.diamond is None or self.diamond.at_end()

    # --- writing

    def write(self, text: str, handle: Handle | None = None, *, stderr: bool = False) -> None:
        """Write to a handle, or where `print` goes."""
        target = handle if handle is not None else self.output
        if stderr:
            self.err.append(text)
        elif target is None:
            self.out.append(text)
        elif target.path is None:
            raise PerlGap("writing to what is read")
        else:
            target.written.append(text)

    def close(self, handle: Handle) -> None:
        """Close a handle: what was written to it reaches its file."""
        if handle.path is not None:
            self.call.files.write(text_of(handle.path), "".join(handle.written).encode("latin-1"))
            handle.path = None

    def place(self, line: int) -> str:
        """What `die` and `warn` add to a message without a newline."""
        read = self.last_read
        where = f", <{read.name}> line {read.lines}" if read is not None and read.lines else ""
        return f" at {self.script} line {line}{where}.\n"


def bytes_of(text: str) -> str:
    """Text of the shell as a string of bytes."""
    return unescape(text).decode("latin-1")


def text_of(value: str) -> str:
    """A string of bytes as text of the shell."""
    try:
        return value.encode("latin-1").decode()
    except UnicodeDecodeError as error:
        raise PerlGap("a name that is not text") from error
