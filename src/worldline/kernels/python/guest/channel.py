"""Framed JSON messages over a stream socket; bytes travel as Latin-1 text.

JSON, because the other end may be under the control of a hostile script: reading a message never creates
anything but plain data.
"""

from __future__ import annotations

import json
import struct
from typing import Any, Protocol

__all__ = ["Channel", "Closed"]

_HEADER = struct.Struct("!I")
_LARGEST = 256 * 1024 * 1024


class Closed(Exception):
    """The other end is gone."""


class _Socket(Protocol):
    def recv(self, size: int, /) -> bytes: ...

    def sendall(self, data: bytes, /) -> None: ...


class Channel:
    """One end of a connection."""

    def __init__(self, sock: _Socket) -> None:
        self._sock = sock

    def send(self, message: Any) -> None:
        """Write one message.

        Raises:
            Closed: The other end is gone.
        """
        data = json.dumps(message).encode()
        try:
            self._sock.sendall(_HEADER.pack(len(data)) + data)
        except OSError as exc:
            raise Closed(str(exc)) from exc

    def receive(self) -> Any:
        """Wait for one message.

        Raises:
            Closed: The other end is gone, or what it sent is no message.
        """
        (size,) = _HEADER.unpack(self._exactly(_HEADER.size))
        if size > _LARGEST:
            raise Closed("message too large")
        try:
            return json.loads(self._exactly(size))
        except ValueError as exc:
            raise Closed("not a message") from exc

    def _exactly(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            try:
                data = self._sock.recv(min(size, 1 << 20))
            except OSError as exc:
                raise Closed(str(exc)) from exc
            if not data:
                raise Closed("end of stream")
            parts.append(data)
            size -= len(data)
        return b"".join(parts)
