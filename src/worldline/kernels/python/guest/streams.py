"""The standard streams of a script: pipes that nobody sees but us."""

from __future__ import annotations

import io
from typing import Any, cast

from .frames import abstain

__all__ = ["TextInput", "TextOutput", "written"]


_PIPE_BUFFER = 4096
"""What comes together before Python writes to a pipe, in bytes."""

written: list[bytes] = []
"""What reached either stream, in order."""


class _Sink(io.RawIOBase):
    def __init__(self, name: str, limit: int) -> None:
        super().__init__()
        self.data = bytearray()
        self._name = name
        self._limit = limit

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.data += data
        written.append(bytes(data))
        if len(self.data) > self._limit:
            abstain("more output than fits")
        return len(data)

    def fileno(self) -> int:
        raise io.UnsupportedOperation("fileno")


class TextOutput(io.TextIOWrapper):
    """Standard output or error."""

    def __init__(self, name: str, limit: int) -> None:
        self.sink = _Sink(name, limit)
        errors = "backslashreplace" if name == "<stderr>" else "surrogateescape"
        buffer = io.BufferedWriter(cast(Any, self.sink), _PIPE_BUFFER)
        super().__init__(buffer, "utf-8", errors, line_buffering=name == "<stderr>")
        self._shown = name

    @property
    def name(self) -> str:
        return self._shown

    @property
    def mode(self) -> str:
        return "w"

    def text(self) -> str:
        """Everything written so far, each byte as one Latin-1 character."""
        if not self.closed:
            self.flush()
        return self.sink.data.decode("latin-1")


class TextInput(io.TextIOWrapper):
    """Standard input."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BufferedReader(io.BytesIO(data)), "utf-8", "surrogateescape")

    @property
    def name(self) -> str:
        return "<stdin>"

    @property
    def mode(self) -> str:
        return "r"

    def fileno(self) -> int:
        abstain("the file descriptor of standard input")
