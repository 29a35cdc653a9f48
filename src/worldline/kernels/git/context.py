"""One invocation of git: where it runs, its repository, and what it has said."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from datetime import timezone
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

from worldline.kernels.git.config import Settings
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.options import Options, parse
from worldline.kernels.git.pathspec import Pathspec
from worldline.kernels.git.people import identity, local_zone
from worldline.kernels.git.repository import Repository
from worldline.kernels.git.worktree import Worktree
from worldline.kernels.shell.builtins.base import Call, Result
from worldline.kernels.shell.builtins.shared.textio import escape

__all__ = ["Git"]


class Git:
    """One invocation.

    Args:
        call: The call as the shell made it; its working directory is git's.
        settings: Values of `-c`.
        directory: Value of `--git-dir`.
        worktree: Value of `--work-tree`.
    """

    def __init__(
        self, call: Call, settings: Sequence[tuple[str, str]] = (), directory: str = "", worktree: str = ""
    ) -> None:
        self.call, self.files, self.env = call, call.files, call.env
        self.extra = list(settings)
        self._given = (directory or call.env.get("GIT_DIR", ""), worktree or call.env.get("GIT_WORK_TREE", ""))
        self._out: list[bytes] = []
        self._err: list[str] = []
        self._all: list[bytes] = []

    # --- output

    def say(self, text: str | bytes) -> None:
        """Write to stdout."""
        self._out.append(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
        self._all.append(self._out[-1])

    def warn(self, text: str) -> None:
        """Write to stderr."""
        self._err.append(text)
        self._all.append(text.encode("utf-8", "surrogateescape"))

    def result(self, status: int) -> Result:
        """What was written; git writes to stdout at its end where that is no terminal."""
        out, err = escape(b"".join(self._out)), escape("".join(self._err).encode("utf-8", "surrogateescape"))
        merged = err + out if self.call.columns is None else escape(b"".join(self._all))
        return Result(out, err, status, merged=merged if out and err else None)

    def parse(self, name: str, argv: Sequence[str], supported: str, **more: Any) -> Options:
        """Read options; those that are not named in `supported` are not simulated."""
        options = parse(name, argv, **more)
        allowed = set(supported.split())
        for key, _ in options.given:
            plain = "--" + key[5:] if key.startswith("--no-") and key not in allowed else key
            if plain not in allowed:
                self.call.unknown(f"{name} {key}")
        return options

    # --- place

    @cached_property
    def zone(self) -> timezone | ZoneInfo:
        """The local time zone."""
        found = local_zone(self.env, self.call.world.timezone)
        return found if found is not None else self.call.unknown("this time zone")

    def _there(self, path: str) -> bool:
        """Whether something is at a path; above the user's places, what is not known is taken for absent."""
        home = self.call.world.home
        if not (path.startswith((home + "/", "/tmp/"))):
            probe = getattr(self.files, "probe", None)
            return bool(probe(path)) if probe is not None else False
        return self.files.exists(path)

    def discover(self) -> tuple[str, str | None, str | None] | None:
        """Find the repository, its working tree and the main one's directory; None where there is none."""
        given, tree = self._given
        if given:
            found = self.files.absolute(given)
            return (found, self.files.absolute(tree or "."), None) if self._is_repository(found) else None
        place = self.call.cwd
        while True:
            inside = posixpath.join(place, ".git")
            if self._there(inside):
                if self.files.stat(inside).kind == "file":
                    return self._linked(place, inside)
                if self._is_repository(inside):
                    return inside, place, None
            if self._there(posixpath.join(place, "HEAD")) and self._is_repository(place):
                return (place, None, None)
            if place == "/":
                return None
            place = posixpath.dirname(place)

    def _is_repository(self, path: str) -> bool:
        return all(self._there(f"{path}/{name}") for name in ("HEAD", "objects", "refs"))

    def _linked(self, place: str, file: str) -> tuple[str, str | None, str | None]:
        text = self.files.read(file).decode().strip()
        directory = posixpath.normpath(posixpath.join(place, text.removeprefix("gitdir: ")))
        common = None
        if self.files.exists(f"{directory}/commondir"):
            common = self.files.read(f"{directory}/commondir").decode().strip()
            common = posixpath.normpath(posixpath.join(directory, common))
        return directory, place, common

    @cached_property
    def found(self) -> Repository | None:
        """The repository, or None where there is none."""
        place = self.discover()
        if place is None:
            return None
        directory, tree, common = place
        local = f"{common or directory}/config"
        settings = Settings([*self.user_settings(), ("local", self._config(local))], self.extra)
        if directory.endswith("/.git") is False and settings.flag("core.bare") and not self._given[1]:
            tree = None
        repo = Repository(self.call, directory, tree, settings, common)
        version = settings.get("core.repositoryformatversion")
        if version not in (None, "0") or settings.get("core.worktree"):
            self.call.unknown("this kind of repository")
        return repo

    def _config(self, path: str) -> bytes:
        return self.files.read(path) if self.files.exists(path) else b""

    def user_settings(self) -> list[tuple[str, bytes]]:
        """Content of the user's own files of settings."""
        home = self.env.get("HOME", self.call.world.home)
        xdg = self.env.get("XDG_CONFIG_HOME") or f"{home}/.config"
        given = self.env.get("GIT_CONFIG_GLOBAL")
        paths = [given] if given is not None else [f"{xdg}/git/config", f"{home}/.gitconfig"]
        return [("global", self._config(path)) for path in paths if path]

    @cached_property
    def settings(self) -> Settings:
        """All settings that apply here."""
        return self.found.settings if self.found is not None else Settings(self.user_settings(), self.extra)

    @property
    def repo(self) -> Repository:
        """The repository.

        Raises:
            Failure: There is none.
        """
        if self.found is None:
            if self._given[0]:
                raise Failure(f"not a git repository: '{self._given[0]}'")
            raise Failure("not a git repository (or any of the parent directories): .git")
        return self.found

    @cached_property
    def tree(self) -> Worktree:
        """The working tree.

        Raises:
            Failure: There is none, or the command runs inside the repository's own directory.
        """
        repo = self.repo
        if repo.worktree is None or (self.call.cwd + "/").startswith(repo.directory + "/"):
            raise Failure("this operation must be run in a work tree")
        return Worktree(repo)

    def need_repository(self) -> None:
        """Fail where there is no repository."""
        _ = self.repo

    def need_tree(self) -> None:
        """Fail where there is no working tree."""
        _ = self.tree

    @property
    def prefix(self) -> str:
        """The working directory from the top of the working tree, with a slash at the end; empty at the top."""
        top = self.repo.worktree
        if top is None:
            return ""
        inside = (self.call.cwd.rstrip("/") + "/").removeprefix(top.rstrip("/") + "/")
        return inside if not inside.startswith("/") else ""

    def pathspec(self, words: Sequence[str]) -> Pathspec:
        """Paths as the command was given them."""
        top = self.repo.worktree or "/"
        return Pathspec(words, self.prefix, top, self.call)

    def shown(self, path: str) -> str:
        """A path of the repository as seen from the working directory."""
        if not self.prefix:
            return path
        shown = posixpath.relpath("/" + path, "/" + self.prefix)
        return shown + "/" if path.endswith("/") else shown

    # --- people

    def committer(self) -> str:
        """The committer's line."""
        return identity("committer", self.env, self.settings, self.call.now, self.zone)

    def author(self, date: str = "", given: str = "") -> str:
        """The author's line; `given` is `NAME <EMAIL>`."""
        env = dict(self.env)
        if given:
            found = re.fullmatch(r"(.*?)\s*<(.*)>\s*", given)
            if found is None:
                self.call.unknown("an author to search for")
            env["GIT_AUTHOR_NAME"], env["GIT_AUTHOR_EMAIL"] = found[1], found[2]
        return identity("author", env, self.settings, self.call.now, self.zone, date=date)

    def who(self) -> str:
        """The committer for histories, also where nobody is named."""
        try:
            return self.committer()
        except Failure:
            return self.call.unknown("a history without a name")

    def short(self, sha: str) -> str:
        """Abbreviate the name of an object."""
        wanted = self.settings.get("core.abbrev")
        return self.repo.objects.short(sha, int(wanted) if wanted and wanted.isdigit() else 7)
