"""Bytes in and out of text tools, through a shell library that hands its commands strings.

A byte that is no part of valid UTF-8 travels as one private character (:data:`ESCAPES`), so that data of any kind
passes from command to command and into files; :func:`restore` turns what the shell stored or printed back.
"""

from __future__ import annotations

import codecs
import re

from worldline.kernels.shell.builtins.base import Call, Result
from worldline.kernels.shell.builtins.shared.messages import shell_quote_if_needed, strerror
from worldline.kernels.shell.builtins.shared.options import UsageError

__all__ = ["ESCAPES", "Output", "curly", "escape", "is_c_locale", "read", "records", "restore", "stdin", "unescape"]

ESCAPES = 0x10FE00
"""Code point of an escaped byte minus the byte; bytes 0x80 to 0xff use U+10FE80 to U+10FEFF."""

_ESCAPED = re.compile(rb"\xf4\x8f([\xba\xbb])([\x80-\xbf])")
_ESCAPED_TEXT = re.compile("[\U0010fe80-\U0010feff]")


def _escape_error(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data = error.object[error.start : error.end]
    return "".join(chr(ESCAPES + byte) for byte in data), error.end


codecs.register_error("worldline.escape", _escape_error)


def escape(data: bytes) -> str:
    """Return bytes as text for the shell; what is not UTF-8 becomes private characters."""
    return data.decode("utf-8", "worldline.escape")


def unescape(text: str) -> bytes:
    """Return the bytes that :func:`escape` was given."""
    return restore(text.encode())


def restore(data: bytes) -> bytes:
    """Return stored or printed bytes as they were before :func:`escape`."""
    if b"\xf4\x8f" not in data:
        return data
    return _ESCAPED.sub(lambda found: bytes([(found[1][0] - 0xBA << 6) + found[2][0]]), data)


def stdin(call: Call) -> bytes:
    """Return what the call reads from standard input; nothing where it is not redirected."""
    return b"" if call.stdin is None else unescape(call.stdin)


def read(call: Call, name: str) -> bytes:
    """Return the content of an operand; `-` is standard input.

    Raises:
        OSError: As opening or reading the file would.
        Unknown: The content is not known.
    """
    if name in ("-", "/dev/stdin"):
        return stdin(call)
    return restore(call.files.read(name))


def records(data: bytes, end: bytes = b"\n") -> list[bytes]:
    """Split into lines without their ends; a missing last end makes no difference."""
    if not data:
        return []
    parts = data.split(end)
    if not parts[-1]:
        parts.pop()
    return parts


def is_c_locale(call: Call) -> bool:
    """Whether the call's locale orders by bytes (C, POSIX, C.UTF-8)."""
    return _locale(call).split(".")[0] in ("C", "POSIX")


def _locale(call: Call) -> str:
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        if call.env.get(name):
            return call.env[name]
    return call.world.locale


def curly(call: Call, text: str) -> str:
    """Quote as GNU programs do in messages: curly in a UTF-8 locale, plain otherwise."""
    if "utf" in _locale(call).lower():
        return f"\u2018{text}\u2019"
    return f"'{text}'"


class Output:
    """Collects what a text tool writes, as bytes, and its status.

    Args:
        call: The invocation.
        failure: Status once anything has failed.
    """

    def __init__(self, call: Call, failure: int = 1) -> None:
        self.call = call
        self.failure = failure
        self.status = 0
        self.data: list[bytes] = []
        self._errors: list[str] = []
        self._places: list[int] = []
        """How much had been written to stdout at each message."""

    def write(self, data: bytes) -> None:
        """Write to stdout."""
        self.data.append(data)

    def line(self, data: bytes) -> None:
        """Write a line to stdout."""
        self.data.append(data + b"\n")

    def warn(self, message: str) -> None:
        """Write `NAME: MESSAGE` to stderr without failing."""
        self.raw(f"{self.call.name}: {message}\n")

    def raw(self, text: str) -> None:
        """Write to stderr as it is."""
        self._errors.append(text)
        self._places.append(len(self.data))

    def fail(self, message: str, error: OSError | None = None) -> None:
        """Write `NAME: MESSAGE[: REASON]` to stderr; the status becomes the failure status."""
        self.warn(message if error is None else f"{message}: {strerror(error)}")
        self.status = self.failure

    def open(self, name: str, wording: str = "{}", *, directory: str | None = None) -> bytes | None:
        """Read an operand; where that fails say so and return None.

        Args:
            name: The operand; `-` is standard input.
            wording: How the message names the file; without words it is quoted where a shell would need it.
            directory: The same for a directory, which opens and fails only when it is read; after a `!` it is the
                whole message, without the system's reason.
        """
        shown = shell_quote_if_needed(name, colon=True) if wording == "{}" else name
        try:
            return read(self.call, name)
        except IsADirectoryError as error:
            if directory is not None and directory.startswith("!"):
                self.fail(directory[1:].format(name))
            else:
                self.fail((directory or wording).format(shown), error)
            return None
        except OSError as error:
            self.fail(wording.format(shown), error)
            return None

    def result(self) -> Result:
        """Return what was written and the status."""
        return Result(escape(b"".join(self.data)), "".join(self._errors), self.status, self._merged())

    def _merged(self) -> str | None:
        """Both streams as one: GNU's `error` flushes stdout before it writes."""
        if self.call.name not in _COREUTILS or not self.data or not self._errors:
            return None
        text, done = "", 0
        for message, place in zip(self._errors, self._places, strict=True):
            text += escape(b"".join(self.data[done:place])) + message
            done = place
        return text + escape(b"".join(self.data[done:]))


_COREUTILS = frozenset(
    (
        "b2sum", "base32", "base64", "basenc", "cat", "cksum", "comm", "cut", "expand", "fmt", "fold", "head", "join",
        "md5sum", "nl", "od", "paste", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "sort", "sum",
        "tail", "tee", "tsort", "unexpand", "uniq", "wc",
    )
)  # fmt: skip


def usage(call: Call, message: str, value: str) -> UsageError:
    """Build the error `MESSAGE: ‘VALUE’` without a hint."""
    return UsageError(f"{message}: {curly(call, value)}", hint=False)
