"""What a program is that owns the terminal for a while: a REPL, a pager, an editor, a script that reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

__all__ = ["Host", "Operator", "Program", "Run", "Shown", "Starter"]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a program writes to the terminal in answer to a key or a line."""

    text: str = ""
    """As the program writes it: `\\n` for a new line (the terminal makes CR LF of it), escape sequences as they are."""
    later: tuple[tuple[float, str], ...] = ()
    """What follows by itself: the seconds after what came before, and the text. The program reads again, or has
    ended, after the last."""
    ended: bool = False
    """The program has given the terminal back."""
    status: int = 0
    """Its exit status, once it ended."""
    seconds: float = 0.0
    """Virtual time it took before the text appears."""
    echo: bool = True
    """The terminal echoes the lines typed from now on (`read -s`, `getpass` turn it off)."""
    unknown: str = ""
    """Why the text is only a guess; empty where it is known."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a command answered that a program had the shell kernel run."""

    text: str
    """Both streams, merged in order."""
    status: int
    known: bool
    why: str
    classes: tuple[str, ...] = ()
    seconds: float = 0.0
    """Virtual time it took."""
    programs: int = 0
    """Programs that ran in it, as far as they are counted."""


class Host(Protocol):
    """What a program may ask of the terminal it runs in."""

    columns: int
    lines: int
    row: int
    """Row of the cursor, from 0."""
    now: int
    """The second of the terminal's clock, since its start."""
    moment: float
    """The same with fractions."""
    entries: int
    """How many times keys were sent so far: what comes with one number comes in one go."""
    cwd: str

    def run(self, command: str, *, stdin: str | None = None, keep: bool = True) -> Run:
        """Run a shell command on the session's state.

        Args:
            command: What would be typed.
            stdin: What all of it reads from standard input; None: nothing (an empty input).
            keep: Keep its effects on files, variables and the clock; otherwise the state stays as it is (a trial that
                is rejected). Programs that run again and again with more input keep the last run only.
        """

    def read(self, path: str) -> bytes:
        """Read a file, a relative path being taken from `cwd`.

        Raises:
            OSError: It is missing, a directory or forbidden, with the errno of reality.
            Unknown: Its content is not known.
        """

    def write(self, path: str, data: bytes) -> None:
        """Write a file as the session's user, with the mode a new file gets.

        Raises:
            OSError: It may not be written, with the errno of reality.
            Unknown: It is not known whether it may.
        """


class Program(Protocol):
    """A program in the foreground.

    A full-screen program begins with `ESC [ ? 1049 h` and ends with `ESC [ ? 1049 l`: the terminal saves the main
    screen with its cursor at the first and brings it back at the second. Between them it only writes absolute positions
    (`ESC [ ROW ; COLUMN H`), texts, `ESC [ K`, `ESC [ 2 J` and attributes; it knows no scrolling region.

    Its attributes are plain data (numbers, texts, lists, dicts, frozen dataclasses of those), so that a state can be
    copied by `copy.deepcopy` and written down; the host is handed in with each call and never kept.
    """

    name: ClassVar[str]
    raw: bool
    """It reads single keys and draws by itself (curses, a pager): the terminal echoes nothing and hands every key on.
    Otherwise the terminal edits and echoes lines."""
    readline: bool
    """Where it is not raw: lines are edited as GNU readline does (arrows, C-a, C-e, C-k, C-u, C-w, C-y, C-r, Tab, and a
    history of the lines fed to this program). Otherwise as the kernel's terminal driver does (BSpace, C-u, C-w).
    The prompt is what stands on the cursor's line before the first key."""

    @property
    def silent(self) -> bool:
        """Whether C-c is not shown as `^C` (Python's own prompt)."""

    def start(self, host: Host) -> Shown:
        """Begin; called once."""

    def feed(self, text: str, host: Host) -> Shown:
        """Take input: a key or several (`raw`), or one line with its newline."""

    def end_of_input(self, host: Host) -> Shown:
        """Take the end of the input (C-d on an empty line); not called for a `raw` program, which gets the key."""

    def interrupt(self, host: Host) -> Shown:
        """Take C-c; not called for a `raw` program, which gets the key.

        The terminal has shown `^C` already (what was typed on the line stays before it and is dropped), unless the
        program is `silent`. Where C-c ends the program (`ended`, status 130), the newline before the next prompt is the
        shell's, so the terminal's; `text` has what the program itself writes.
        """


class Operator(str):
    """A redirection operator or a pipe among a command's words: `>`, `>>`, `<`, `<<<`, `2>`, `2>&1`, `&>`, `|`."""

    __slots__ = ()


Starter = Callable[[Sequence[str], Host], "Program | None"]
"""Builds the program for a simple command's words, or None where it would not take the terminal (`bc < file`, `cat f`);
the command is then run by the shell kernel. The host is only asked: nothing is changed before `start`.

The words are those after expansions and quote removal. Redirections and pipes stay in their places as words of their
own (`cat > notes.txt` is `["cat", ">", "notes.txt"]`, `sort | uniq -c` is `["sort", "|", "uniq", "-c"]`), each operator
as an :class:`Operator`, so that a quoted `">"` differs from it. A here-document, a here-string or an input redirection
means that the first command does not read the terminal; then None is returned."""
