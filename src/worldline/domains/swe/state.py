"""What a world file of the domain `swe` declares."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from worldline.domains.terminal.state import DEFAULT_CLOCK, FileSpec, PlainText, TerminalState, Variables
from worldline.types import Frozen

__all__ = ["SweState"]


def _place(path: str) -> str:
    if "\0" in path or ".." in path.split("/") or path in ("", ".", "/"):
        raise ValueError("must be a path without '..' or NUL, relative to the repository or absolute")
    return posixpath.normpath(path)


def _absolute(path: str) -> str:
    if not path.startswith("/") or path == "/":
        raise ValueError("must be an absolute path below /")
    return _place(path)


def _file(value: object) -> object:
    return {"content": value} if isinstance(value, str) else value


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=DEFAULT_CLOCK.tzinfo)


class SweState(Frozen):
    """`initial_state` of a world of software engineering: a repository, and who works on it."""

    family: Literal["editor", "envelope"] = "editor"
    """Which tools answer: `editor` is Read, Write, Edit, Glob, Grep, Bash; `envelope` is read_file, write_file, edit,
    list_directory, glob, search_file_content, run_shell_command."""
    cwd: Annotated[str, AfterValidator(_absolute)] = "/home/user/project"
    """The repository's root, in which tools work."""
    repository: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")] | None = None
    """A shipped package, `NAME-VERSION`, whose files lie in the root."""
    files: dict[Annotated[str, AfterValidator(_place)], Annotated[FileSpec, BeforeValidator(_file)]] = Field(
        default_factory=dict
    )
    """Files beside or instead of the package's: by path relative to the root, or absolute. A bare text is a content."""
    taken: dict[Annotated[str, AfterValidator(_place)], str] = Field(default_factory=dict)
    """Files that are those of another shipped package: its name by path relative to the root."""
    removed: tuple[Annotated[str, AfterValidator(_place)], ...] = ()
    """Files of the package that are not there."""
    commit: PlainText | None = "Initial commit"
    """Message of the commit that holds everything at the start; null: no git repository."""
    branch: Annotated[str, Field(pattern=r"^[\w./-]+$")] = "main"
    author: Annotated[str, Field(pattern=r"^[^<>\n\"\\]+ <[^<>\n\"\\]+>$")] = "Dev <dev@example.com>"
    """Who commits."""
    env: Variables = Field(default_factory=dict)
    """Exported variables."""
    user: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_-]*$")] = "user"
    hostname: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]*$")] = "box"
    clock: Annotated[datetime, AfterValidator(_aware)] = DEFAULT_CLOCK
    """When the session starts."""

    def absolute(self, path: str) -> str:
        """Where a declared path lies."""
        return path if path.startswith("/") else posixpath.join(self.cwd, path)

    def terminal(self, package: Mapping[str, FileSpec], *, clock: datetime | None = None) -> TerminalState:
        """The machine that the repository lies on.

        Args:
            package: Files of the package, by path relative to the root.
            clock: Another start of the clock.
        """
        kept = {path: spec for path, spec in package.items() if path not in self.removed}
        files = {self.absolute(path): spec for path, spec in {**kept, **self.files}.items()}
        home = "/root" if self.user == "root" else f"/home/{self.user}"
        name, _, mail = self.author.rstrip(">").partition(" <")
        config = f"[user]\n\tname = {name}\n\temail = {mail}\n[init]\n\tdefaultBranch = {self.branch}\n"
        files.setdefault(f"{home}/.gitconfig", FileSpec(content=config))
        files.setdefault(self.cwd, FileSpec(kind="directory"))
        return TerminalState.model_validate(
            {
                "files": files,
                "cwd": self.cwd,
                "env": {**_ENVIRONMENT, **self.env},
                "user": self.user,
                "hostname": self.hostname,
                "clock": clock or self.clock,
                "packages": _PACKAGES,
                "shell": {"merged": True},
            }
        )


_PACKAGES = ("git", "python3", "pytest")
"""What is installed for certain; the last one is no Debian package, so that other programs may be there or not."""

_ENVIRONMENT = {
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "PYTEST_ADDOPTS": "-p no:cacheprovider",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "TERM": "dumb",
}
"""What a harness sets so that programs neither page nor leave caches behind."""
