"""The whole error model of Worldline.

Every error a caller can meet is a :class:`WorldlineError`; the tree says whose fault it is and what can be
done about it:

    WorldlineError
    ├── InputError              something that was given to us is wrong
    │   ├── FormatError         a trajectory file: which file, which line, what was expected
    │   ├── WorldFileError      a world file: which file, which line, which key
    │   ├── ActionError         an action the domain's grammar refuses
    │   ├── EvaluationOnlyError data marked for evaluation was given to training or memory
    │   └── ConfigError         an option, `models.yaml`, an unknown name (lists the known ones)
    ├── ModelError              a language model did not give a usable answer
    │   ├── EndpointError       unreachable, or answers something that is not the protocol
    │   ├── RateLimitError      429 or 503 after all retries
    │   ├── ModelTimeoutError   no answer in time after all retries
    │   ├── TruncatedError      cut off by the token limit, in the reasoning or in the answer
    │   └── EmptyAnswerError    finished, but without content
    ├── SandboxError            the recorder's sandbox cannot be built or was lost
    ├── KernelError             a kernel cannot be built or restored
    ├── SessionError            a session cannot do this (unknown id, rewind too far, already closed)
    ├── StorageError            disk full, read-only, or a damaged database
    └── MissingExtraError       an optional dependency is not installed; the message is the install line

Vocabulary: the *message* says what happened, the *hint* what to do. A failure of one row in a long run is
data: it is recorded on the row as `error.as_record()` and the run goes on.

Foreign exceptions become one of these in exactly one place, :func:`boundary`.
"""

from __future__ import annotations

import errno
import importlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from worldline.types import Usage

__all__ = [
    "ActionError",
    "ConfigError",
    "EmptyAnswerError",
    "EndpointError",
    "EvaluationOnlyError",
    "FormatError",
    "InputError",
    "KernelError",
    "MissingExtraError",
    "ModelError",
    "ModelTimeoutError",
    "RateLimitError",
    "SandboxError",
    "SessionError",
    "StorageError",
    "TruncatedError",
    "WorldFileError",
    "WorldlineError",
    "boundary",
    "require_extra",
    "unknown_name",
]


class WorldlineError(Exception):
    """Base of every error this package raises on purpose.

    Args:
        message: What happened, in one sentence.
        hint: What the user can do about it.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def as_record(self) -> dict[str, Any]:
        """Return the error as plain data: `{type, message, hint}`."""
        return {"type": type(self).__name__, "message": self.message, "hint": self.hint}


class InputError(WorldlineError):
    """Something that was given to us is wrong."""


class _LocatedError(InputError):
    """An error with a place in a file. `line` is 1-based; None means the file as a whole."""

    def __init__(
        self, message: str, *, path: str | None = None, line: int | None = None, hint: str | None = None
    ) -> None:
        place = ":".join(str(part) for part in (path, line) if part is not None)
        super().__init__(f"{place}: {message}" if place else message, hint=hint)
        self.path = path
        self.line = line

    def as_record(self) -> dict[str, Any]:
        """Return the error as plain data, with `path` and `line`."""
        return {**super().as_record(), "path": self.path, "line": self.line}


class FormatError(_LocatedError):
    """A trajectory file does not hold what its format promises."""


class WorldFileError(_LocatedError):
    """A world file is wrong; `line` points at the key."""


class ActionError(InputError):
    """An action does not fit the domain's action grammar."""


class ConfigError(InputError):
    """An option or configuration file is wrong, or a name is unknown."""


class EvaluationOnlyError(InputError):
    """Data that serves evaluation alone was given to something that learns or remembers."""


class ModelError(WorldlineError):
    """A language model did not give a usable answer."""

    transient = False
    """Whether a later run, with nothing else changed, may get an answer."""
    tries = 1
    """Requests that were made before giving up."""

    def as_record(self) -> dict[str, Any]:
        """Return the error as plain data; with `transient: true` where it is."""
        return {**super().as_record(), **({"transient": True} if self.transient else {})}


class EndpointError(ModelError):
    """The endpoint is unreachable or does not speak the chat completions protocol."""

    transient = True


class RateLimitError(ModelError):
    """The endpoint kept answering 429 or 503 after all retries."""

    transient = True


class ModelTimeoutError(ModelError):
    """The endpoint did not answer in time, after all retries."""

    transient = True


class _NoAnswerError(ModelError):
    """A call that was answered and paid for, but without an answer in it.

    Args:
        message: What happened, in one sentence.
        reasoning: What the model wrote before.
        raw: The content as it came.
        finish_reason: As the endpoint named it.
        usage: What the call cost.
        hint: What the user can do about it.
    """

    def __init__(
        self,
        message: str,
        *,
        reasoning: str = "",
        raw: str = "",
        finish_reason: str = "",
        usage: Usage | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.reasoning = reasoning
        self.raw = raw
        self.finish_reason = finish_reason
        self.usage = usage


class TruncatedError(_NoAnswerError):
    """The answer was cut off by the token limit; `reasoning` holds what there was."""


class EmptyAnswerError(_NoAnswerError):
    """The model finished without any content."""


class SandboxError(WorldlineError):
    """The recorder's sandbox cannot be built, or was lost."""


class KernelError(WorldlineError):
    """A kernel cannot be built or restored."""


class SessionError(WorldlineError):
    """A session cannot do what was asked."""


class StorageError(WorldlineError):
    """Disk full, read-only, or a damaged database; what was acknowledged before is safe."""


class MissingExtraError(WorldlineError):
    """An optional dependency is not installed."""


_DISK_ADVICE = {
    errno.ENOSPC: "the disk is full: free some space and run the same command again, it resumes",
    errno.EDQUOT: "the disk quota is used up: free some space and run the same command again, it resumes",
    errno.EROFS: "the file system is read-only: choose another place with --out",
    errno.EACCES: "permission denied: choose another place or change its permissions",
}


@contextmanager
def boundary(error: type[WorldlineError], what: str, *catch: type[Exception]) -> Iterator[None]:
    """Turn foreign exceptions raised inside the block into `error`, chained to their cause.

    Args:
        error: The type to raise; an OSError about the disk always becomes :class:`StorageError`.
        what: What was being done, as the start of the message ("reading world.yaml").
        *catch: The foreign types to turn; OSError and ValueError if none are named.

    Raises:
        WorldlineError: Of type `error`; a WorldlineError from inside passes unchanged.
    """
    foreign = catch or (OSError, ValueError)
    try:
        yield
    except WorldlineError:
        raise
    except foreign as exc:
        number = exc.errno if isinstance(exc, OSError) else None
        if number in _DISK_ADVICE:
            raise StorageError(f"{what}: {exc}", hint=_DISK_ADVICE[number]) from exc
        raise error(f"{what}: {exc}") from exc


def require_extra(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say how to install it.

    Args:
        module: Dotted name to import.
        extra: The extra of this package that brings it.

    Raises:
        MissingExtraError: The module is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as exc:
        raise MissingExtraError(
            f"this needs {module.split('.')[0]}, which is not installed",
            hint=f"pip install 'worldline[{extra}]'",
        ) from exc


def unknown_name(kind: str, name: str, known: Iterable[str]) -> ConfigError:
    """Build the error for a name that is not in a registry; it lists the names that are."""
    return ConfigError(f"unknown {kind} {name!r}", hint=f"known: {', '.join(sorted(known))}")
