"""How GNU programs word errors: names of system errors and the quoting of file names."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable

from worldline.kernels.shell.builtins.base import Result

__all__ = ["Report", "display", "quote", "shell_quote", "shell_quote_if_needed", "strerror"]

_SPECIAL = frozenset(" !\"$&'()*;<=>?[\\^`|")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_ESCAPES = {"\a": "\\a", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f", "\r": "\\r"}


def strerror(error: OSError) -> str:
    """Return the C library's name for a system error ("No such file or directory")."""
    number = error.errno
    if number is None:
        for kind, code in _BY_TYPE:
            if isinstance(error, kind):
                number = code
                break
    return os.strerror(number if number is not None else errno.EIO)


_BY_TYPE: tuple[tuple[type[OSError], int], ...] = (
    (FileNotFoundError, errno.ENOENT),
    (PermissionError, errno.EACCES),
    (IsADirectoryError, errno.EISDIR),
    (NotADirectoryError, errno.ENOTDIR),
    (FileExistsError, errno.EEXIST),
)


def quote(text: str) -> str:
    """Quote as GNU's `quote` does under a UTF-8 locale: curly quotes, control characters escaped."""
    body = "".join(_escape(char) for char in text.replace("\\", "\\\\"))
    return f"\u2018{body}\u2019"


def shell_quote(text: str) -> str:
    """Quote as GNU's `quoteaf` does: always in shell quotes, so that it can be pasted."""
    if "'" in text and not _CONTROL.search(text) and not re.search(r'["$`\\!]', text):
        return f'"{text}"'
    parts: list[str] = []
    position = 0
    for match in _CONTROL.finditer(text):
        parts.append(text[position : match.start()].replace("'", "'\\''"))
        parts.append("'$'" + "".join(_escape(char) for char in match.group()) + "''")
        position = match.end()
    parts.append(text[position:].replace("'", "'\\''"))
    quoted = "'" + "".join(parts) + "'"
    return quoted[:-2] if quoted.endswith("'''") and position == len(text) and position else quoted


def shell_quote_if_needed(text: str, *, colon: bool = False) -> str:
    """Quote as GNU's `quotef` does: only where a shell would need it.

    Args:
        text: A file name.
        colon: Whether a colon needs quotes too (messages of the form `program: NAME: error`).
    """
    special = (
        not text
        or not _SPECIAL.isdisjoint(text)
        or _CONTROL.search(text)
        or text[0] in "#~"
        or text in ("{", "}")
        or (colon and ":" in text)
    )
    return shell_quote(text) if special else text


def display(text: str) -> str:
    """Show a file name as programs do that escape control characters with `?`."""
    return re.sub(r"[\x00-\x1f\x7f]", "?", text)


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    return f"\\{ord(char):03o}" if ord(char) < 32 or ord(char) == 127 else char


class Report:
    """Collects what a program writes while it goes through its operands.

    Args:
        name: The program's name, which starts each message.
        failure: Exit status once anything has failed.
    """

    def __init__(self, name: str, failure: int = 1) -> None:
        self.name = name
        self.failure = failure
        self.status = 0
        self._out: list[str] = []
        self._err: list[str] = []
        self._both: list[str] = []
        self._held: list[str] = []
        """What of stdout is still in the program's buffer."""

    def out(self, text: str) -> None:
        """Write to stdout."""
        self._out.append(text)
        self._held.append(text)

    def lines(self, lines: Iterable[str]) -> None:
        """Write lines to stdout, each ended with a newline."""
        for line in lines:
            self.out(f"{line}\n")

    def warn(self, message: str) -> None:
        """Write `NAME: MESSAGE` to stderr, without changing the status.

        What was written to stdout goes first, as GNU's `error` has it.
        """
        self.flush()
        self.raw_err(f"{self.name}: {message}\n")

    def raw_err(self, text: str) -> None:
        """Write to stderr as it is (a prompt)."""
        self._err.append(text)
        self._both.append(text)

    def flush(self) -> None:
        """Let what was written to stdout so far go before what comes."""
        self._both += self._held
        self._held = []

    def add(self, result: Result) -> None:
        """Take over what another program wrote that ran in between."""
        self.flush()
        self._out.append(result.stdout)
        self._err.append(result.stderr)
        self._both.append(result.stdout + result.stderr if result.merged is None else result.merged)

    def fail(self, message: str, error: OSError | None = None) -> None:
        """Write an error message, with the system's reason where there is one, and remember the failure."""
        self.warn(f"{message}: {strerror(error)}" if error is not None else message)
        self.status = self.failure

    def result(self) -> Result:
        """Return what was written and the status."""
        self.flush()
        out, err = "".join(self._out), "".join(self._err)
        return Result(out, err, self.status, "".join(self._both) if out and err and len(out) < 4096 else None)
