"""What a world file of the domain `code` declares."""

from __future__ import annotations

import posixpath
from base64 import b64decode
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from worldline.domains.terminal.state import Variables
from worldline.types import Frozen

__all__ = ["HOME", "CodeState", "FileContent"]

HOME = "/home/user"
"""The user's home, in which the session starts; relative paths of a world file count from here."""


def _placed(path: str) -> str:
    full = posixpath.normpath(posixpath.join(HOME, path))
    if "\0" in path or not full.startswith((f"{HOME}/", "/tmp/")):
        raise ValueError(f"must lie in {HOME} or /tmp")
    return full


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _content(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


class FileContent(Frozen):
    """A file that is there at the start. A bare string is its text."""

    text: str | None = None
    base64: str | None = None
    """Bytes that are no text."""

    @model_validator(mode="after")
    def _one_form(self) -> FileContent:
        if (self.text is None) == (self.base64 is None):
            raise ValueError("a file has `text` or `base64`")
        if self.base64 is not None:
            b64decode(self.base64, validate=True)
        return self

    @property
    def data(self) -> bytes:
        """Its bytes."""
        return (self.text or "").encode() if self.base64 is None else b64decode(self.base64)


class CodeState(Frozen):
    """`initial_state` of a world of this domain."""

    python: Literal["3.11"] = "3.11"
    """Version of Python: what its messages and tracebacks look like."""
    files: dict[Annotated[str, AfterValidator(_placed)], Annotated[FileContent, BeforeValidator(_content)]] = Field(
        default_factory=dict
    )
    """By path, relative to the user's home."""
    complete: bool = True
    """All files in the home and in /tmp are declared, so that another one does not exist; otherwise that is unknown."""
    packages: tuple[str, ...] | None = ()
    """Packages beside the standard library that can be imported; None: unknown."""
    env: Variables = Field(default_factory=dict)
    """Environment variables beside PATH, HOME, USER, LOGNAME, SHELL, LC_ALL and TZ."""
    clock: Annotated[datetime, AfterValidator(_aware)] | None = None
    """When the session starts; None: unknown. Time stands still while a cell runs."""
    timeout: Annotated[float, Field(gt=0, le=120)] = 10.0
    """Seconds that one cell may take; then the session is started anew, with the files as they are."""
