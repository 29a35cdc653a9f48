"""Which files are ignored: `.gitignore`, `info/exclude` and the user's own list."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from dulwich.ignore import Pattern

from worldline.kernels.git.objects import path_bytes
from worldline.kernels.git.repository import Repository

__all__ = ["Ignored", "Rule"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a list of patterns."""

    source: str
    line: int
    text: str
    base: str
    """Directory that the pattern is relative to, with a slash at the end; empty for the top."""
    pattern: Pattern

    @property
    def ignores(self) -> bool:
        """False where the rule takes others back."""
        return not self.text.startswith("!")


class Ignored:
    """The rules of a working tree, read as they are needed."""

    def __init__(self, repo: Repository) -> None:
        self.repo = repo
        self._lists: dict[str, list[Rule]] = {}
        self._decided: dict[tuple[str, bool], Rule | None] = {}

    def _read(self, path: str, shown: str, base: str) -> list[Rule]:
        files = self.repo.files
        if not files.exists(path) or files.stat(path).kind != "file":
            return []
        found = []
        for number, raw in enumerate(files.read(path).split(b"\n"), 1):
            line = raw.rstrip(b"\r")
            while line.endswith(b" ") and not line.endswith(b"\\ "):
                line = line[:-1]
            if line and not line.startswith(b"#"):
                text = line.decode("utf-8", "surrogateescape")
                found.append(Rule(shown, number, text, base, Pattern(line)))
        return found

    def _rules(self, directory: str) -> list[Rule]:
        if directory not in self._lists:
            top = self.repo.worktree or ""
            name = directory + ".gitignore"
            self._lists[directory] = self._read(posixpath.join(top, name), name, directory)
        return self._lists[directory]

    def _general(self) -> list[Rule]:
        if "/" not in self._lists:
            user = self.repo.settings.get("core.excludesfile")
            env = self.repo.call.env
            home = env.get("HOME", "")
            own = (
                user.replace("~", home, 1)
                if user
                else (env.get("XDG_CONFIG_HOME") or f"{home}/.config") + "/git/ignore"
            )
            exclude = self.repo.path("info/exclude")
            shown = ".git/info/exclude" if exclude == f"{self.repo.worktree}/.git/info/exclude" else exclude
            self._lists["/"] = [*self._read(own, own, ""), *self._read(exclude, shown, "")]
        return self._lists["/"]

    def rule(self, path: str, directory: bool) -> Rule | None:
        """The rule that decides about a path, or about a directory it lies in."""
        key = (path, directory)
        if key not in self._decided:
            parent = posixpath.dirname(path)
            above = self.rule(parent, True) if parent else None
            self._decided[key] = above if above is not None and above.ignores else self._own(path, directory)
        return self._decided[key]

    def _own(self, path: str, directory: bool) -> Rule | None:
        parts = path.split("/")[:-1]
        for count in range(len(parts), -1, -1):
            base = "".join(part + "/" for part in parts[:count])
            rule = _last(self._rules(base), path, directory)
            if rule is not None:
                return rule
        return _last(self._general(), path, directory)

    def ignores(self, path: str, directory: bool = False) -> bool:
        """Whether a path is ignored."""
        rule = self.rule(path, directory)
        return rule is not None and rule.ignores


def _last(rules: list[Rule], path: str, directory: bool) -> Rule | None:
    for rule in reversed(rules):
        if rule.pattern.matches(path_bytes(path[len(rule.base) :]), directory):
            return rule
    return None
