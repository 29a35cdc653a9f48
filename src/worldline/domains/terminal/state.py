"""The declared initial state of a terminal world: what `initial_state` of its world file may hold."""

from __future__ import annotations

import posixpath
from base64 import b64decode
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

__all__ = [
    "DEFAULT_CLOCK",
    "AbsolutePath",
    "FileSpec",
    "PlainText",
    "ScreenSpec",
    "ShellSpec",
    "TerminalState",
    "Variables",
]

DEFAULT_CLOCK = datetime(2026, 1, 1, tzinfo=UTC)


def _absolute(path: str) -> str:
    if not path.startswith("/"):
        raise ValueError("must be an absolute path")
    if ".." in path.split("/") or "\0" in path:
        raise ValueError("must not contain '..' or NUL")
    return posixpath.normpath(path)


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _file(value: object) -> object:
    return {"content": value} if isinstance(value, str) else value


def _plain(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not contain NUL")
    return text


def _variable(name: str) -> str:
    if not name or "=" in name:
        raise ValueError("a variable's name must not be empty or contain '='")
    return name


AbsolutePath = Annotated[str, AfterValidator(_absolute)]
PlainText = Annotated[str, AfterValidator(_plain)]
"""A text that can be a program's argument: without NUL."""
Variables = dict[Annotated[PlainText, AfterValidator(_variable)], PlainText]
"""Environment variables."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FileSpec(_Part):
    """A file, directory or symbolic link that is there at the start. A bare string is a file's content."""

    content: str | None = None
    """Text content; absent for a directory, a link or binary content."""
    base64: str | None = None
    """Binary content."""
    kind: Literal["file", "directory", "symlink"] = "file"
    target: PlainText | None = None
    """Where a symlink points."""
    mode: Annotated[str, Field(pattern=r"^[0-7]{3,4}$")] | None = None
    """Octal permissions; default 644 for files, 755 for directories."""
    owner: str | None = None
    """User and group name; default the world's user inside its home and /tmp, otherwise root."""
    mtime: Annotated[datetime, AfterValidator(_aware)] | None = None
    """Modification time; default the clock's start."""
    complete: bool = False
    """For a directory: everything in it is declared, so what is not listed does not exist (closed world)."""

    @model_validator(mode="after")
    def _consistent(self) -> FileSpec:
        if self.content is not None and self.base64 is not None:
            raise ValueError("a file has `content` or `base64`, not both")
        if self.kind != "file" and (self.content is not None or self.base64 is not None):
            raise ValueError(f"a {self.kind} has no content")
        if (self.kind == "symlink") != (self.target is not None):
            raise ValueError("a symlink, and nothing else, has a `target`")
        if self.complete and self.kind != "directory":
            raise ValueError("only a directory can be `complete`")
        if self.base64 is not None:
            try:
                b64decode(self.base64, validate=True)
            except ValueError as exc:
                raise ValueError("`base64` does not hold base64 text") from exc
        return self


class ShellSpec(_Part):
    """The shell that reads the commands; decides state and the shape of its own messages."""

    program: Literal["bash", "sh"] = "bash"
    """`sh` is dash."""
    mode: Literal["command", "script", "interactive"] = "command"
    """How commands reach the shell: as `bash -c COMMAND` (messages say `bash: line 1:`), over standard input
    (line numbers run on), or typed at an interactive shell (`bash: ...`)."""
    persist: bool = True
    """One shell lives through the session, so that variables, cwd, functions and jobs stay; otherwise each
    command gets a fresh one, started in the world's cwd and environment."""
    merged: bool = False
    """Both streams arrive as one text, in the order written."""


class ScreenSpec(_Part):
    """The screen of a world that is used by keystrokes: each observation is what the screen shows."""

    columns: Annotated[int, Field(ge=20, le=500)] = 120
    lines: Annotated[int, Field(ge=5, le=200)] = 40
    term: Literal["xterm-256color", "screen-256color", "linux"] = "xterm-256color"
    """Value of TERM."""
    prompt: str = r"\u@\h:\w\$ "
    """PS1 as bash reads it."""
    completion: str = (
        "The task is about to be marked as complete, after which nothing can be changed. "
        "Repeat the empty action to confirm."
    )
    """What answers an empty list of keystrokes, under the screen."""


class TerminalState(_Part):
    """What is declared about a terminal at the start. Everything else is unknown, not absent."""

    files: dict[AbsolutePath, Annotated[FileSpec, BeforeValidator(_file)]] = Field(default_factory=dict)
    """By absolute path. Parent directories are made as needed. The user's home and /tmp are closed: what is
    not declared there does not exist."""
    cwd: AbsolutePath | None = None
    """Working directory; default the user's home."""
    env: Variables = Field(default_factory=dict)
    """Exported variables beside PATH, HOME, USER, LOGNAME, SHELL, LANG/LC_ALL and TZ."""
    user: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_-]*$")] = "user"
    uid: Annotated[int, Field(ge=0, lt=1 << 31)] | None = None
    """Default 0 for root, otherwise 1000."""
    hostname: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]*$")] = "box"
    locale: PlainText = "C.UTF-8"
    timezone: PlainText = "UTC"
    packages: tuple[str, ...] | None = None
    """Names of the Debian packages that are installed beside the essential ones. None: unknown, so that no
    command is ever known to be missing."""
    clock: Annotated[datetime, AfterValidator(_aware)] = DEFAULT_CLOCK
    """When the session starts."""
    shell: ShellSpec = ShellSpec()
    screen: ScreenSpec | None = None
    """Makes it a world of keystrokes and screens: the shell is an interactive bash on a terminal of this size, whatever
    `shell` says."""

    @property
    def home(self) -> str:
        """The user's home directory."""
        return "/root" if self.user == "root" else f"/home/{self.user}"

    @property
    def start_directory(self) -> str:
        """The working directory the session starts in."""
        return self.cwd or self.home

    @property
    def user_id(self) -> int:
        """The numeric user and group id."""
        return self.uid if self.uid is not None else (0 if self.user == "root" else 1000)
