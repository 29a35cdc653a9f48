"""A repository: where it lies, its refs and their history, settings and index."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from worldline.kernels.git.config import Settings
from worldline.kernels.git.index import Index
from worldline.kernels.git.objects import Objects
from worldline.kernels.shell.builtins.base import Call

__all__ = ["PACKED_HEADER", "ZERO", "Moved", "Repository"]

ZERO = "0" * 40
PACKED_HEADER = "# pack-refs with: peeled fully-peeled sorted \n"


@dataclass(frozen=True, slots=True)
class Moved:
    """One line of a ref's history."""

    old: str
    new: str
    who: str
    message: str


class Repository:
    """A repository in the kernel's files.

    Args:
        call: The invocation, for its files.
        directory: The repository itself (`.git`).
        worktree: Top of its working tree; None in a bare one.
        settings: All settings that apply.
        common: The main repository, where `directory` is that of a linked working tree.
    """

    def __init__(
        self, call: Call, directory: str, worktree: str | None, settings: Settings, common: str | None = None
    ) -> None:
        self.call, self.files = call, call.files
        self.directory, self.worktree, self.settings = directory, worktree, settings
        self.common = common or directory
        self.objects = Objects(self.files, f"{self.common}/objects", call.unknown)
        self._index: Index | None = None

    # --- plain files

    def path(self, name: str) -> str:
        """Where a file of the repository lies."""
        shared = name.startswith(("refs/", "logs/refs/", "info/", "config", "packed-refs", "hooks", "objects"))
        return f"{self.common if shared else self.directory}/{name}"

    def text(self, name: str) -> str | None:
        """Content of a file of the repository; None where it is not there."""
        path = self.path(name)
        if not self.files.exists(path) or self.files.stat(path).kind != "file":
            return None
        return self.files.read(path).decode("utf-8", "surrogateescape")

    def put(self, name: str, text: str) -> None:
        """Write a file of the repository, making directories as needed."""
        path = self.path(name)
        self.make_parents(path)
        self.files.write(path, text.encode("utf-8", "surrogateescape"))

    def erase(self, name: str) -> None:
        """Remove a file of the repository if it is there."""
        if self.files.exists(self.path(name)):
            self.files.remove(self.path(name))

    def make_parents(self, path: str) -> None:
        """Make the directories above a path."""
        parent = posixpath.dirname(path)
        if not self.files.exists(parent):
            self.make_parents(parent)
            self.files.mkdir(parent)

    # --- index

    @property
    def index(self) -> Index:
        """The index, read once."""
        if self._index is None:
            path = f"{self.directory}/index"
            self._index = Index.decode(self.files.read(path) if self.files.exists(path) else b"")
        return self._index

    @index.setter
    def index(self, value: Index) -> None:
        self._index = value

    def save_index(self) -> None:
        """Write the index."""
        data = self.index.encode()
        path = f"{self.directory}/index"
        if not self.files.exists(path) or self.files.read(path) != data:
            self.files.write(path, data)

    # --- refs

    def symbolic(self, name: str = "HEAD") -> str | None:
        """The ref that a symbolic ref points to; None where it is none."""
        text = self.text(name)
        return text[5:].strip() if text is not None and text.startswith("ref: ") else None

    def resolve(self, name: str) -> str | None:
        """The object that a ref points to; None where there is no such ref."""
        for _ in range(6):
            text = self.text(name)
            if text is None:
                return self._packed().get(name)
            if not text.startswith("ref: "):
                return text.strip()
            name = text[5:].strip()
        return None

    def _packed(self) -> dict[str, str]:
        found = {}
        for line in (self.text("packed-refs") or "").split("\n"):
            if re.match(r"[0-9a-f]{40} ", line):
                found[line[41:]] = line[:40]
        return found

    @property
    def head(self) -> str | None:
        """The commit checked out; None before the first."""
        return self.resolve("HEAD")

    @property
    def branch(self) -> str | None:
        """Name of the branch checked out; None where HEAD is detached."""
        target = self.symbolic()
        return target.removeprefix("refs/heads/") if target else None

    def refs(self, prefix: str = "refs/") -> dict[str, str]:
        """All refs below a prefix (ending in a slash), by full name, sorted."""
        found = {name: sha for name, sha in self._packed().items() if name.startswith(prefix)}
        todo = [prefix.rstrip("/")]
        while todo:
            name = todo.pop()
            path = self.path(name + "/").rstrip("/")
            if not self.files.exists(path):
                continue
            if self.files.stat(path).kind == "directory":
                todo += [f"{name}/{child}" for child in self.files.list(path)]
            else:
                sha = self.resolve(name)
                if sha is not None:
                    found[name] = sha
        return dict(sorted(found.items()))

    def update(self, name: str, new: str, message: str, *, who: str, old: str | None = None) -> None:
        """Point a ref, or what a symbolic ref points to, to an object, and note that in the histories.

        A branch that stays where it is gets no note; HEAD does.

        Args:
            name: Full name, or `HEAD`.
            new: The object.
            message: What the histories say.
            who: The committer, as in a commit.
            old: Where it pointed before, if that is to be noted differently.
        """
        target = self.symbolic(name) or name
        before = old or self.resolve(target) or ZERO
        if self.resolve(target) != new or self.text(target) is None:
            self.put(target, new + "\n")
        if before != new:
            self.note(target, before, new, message, who)
        if target != "HEAD" and self.symbolic() == target:
            self.note("HEAD", before, new, message, who)

    def note(self, name: str, old: str, new: str, message: str, who: str) -> None:
        """Add a line to a ref's history."""
        logged = name == "HEAD" or name.startswith(("refs/heads/", "refs/remotes/", "refs/notes/"))
        path = self.path(f"logs/{name}")
        there = self.files.exists(path)
        if not there and not (logged and self.settings.flag("core.logallrefupdates", self.worktree is not None)):
            return
        text = " ".join(message.split())
        line = f"{old} {new} {who}\t{text}\n" if text else f"{old} {new} {who}\n"
        if there:
            self.files.append(path, line.encode("utf-8", "surrogateescape"))
        else:
            self.put(f"logs/{name}", line)

    def detach(self, sha: str) -> None:
        """Point HEAD at a commit itself."""
        self.put("HEAD", sha + "\n")

    def attach(self, branch: str) -> None:
        """Point HEAD at a branch."""
        self.put("HEAD", f"ref: refs/heads/{branch}\n")

    def delete_ref(self, name: str) -> None:
        """Remove a ref and its history, and directories left empty."""
        for place in (name, f"logs/{name}"):
            if self.files.exists(self.path(place)):
                self.files.remove(self.path(place))
                self._prune(posixpath.dirname(place))
        packed = self._packed()
        if packed.pop(name, None) is not None:
            lines = (self.text("packed-refs") or "").split("\n")
            self.put("packed-refs", "\n".join(line for line in lines if not line.endswith(f" {name}")))

    def touch_packed(self) -> None:
        """Leave the file of packed refs that git writes when it deletes branches or tags."""
        if not self.files.exists(self.path("packed-refs")):
            self.put("packed-refs", PACKED_HEADER)

    def _prune(self, name: str) -> None:
        while name.count("/") > (2 if name.startswith("logs/") else 1):
            path = self.path(name + "/").rstrip("/")
            if not self.files.exists(path) or self.files.list(path):
                return
            self.files.remove(path)
            name = posixpath.dirname(name)

    def history(self, name: str) -> list[Moved]:
        """A ref's history, newest first."""
        found = []
        for line in (self.text(f"logs/{name}") or "").split("\n"):
            head, _, message = line.partition("\t")
            if len(head) > 82:
                found.append(Moved(head[:40], head[41:81], head[82:], message))
        return found[::-1]

    def write_history(self, name: str, lines: list[Moved]) -> None:
        """Replace a ref's history (newest first)."""
        text = "".join(
            f"{line.old} {line.new} {line.who}" + (f"\t{line.message}" if line.message else "") + "\n"
            for line in reversed(lines)
        )
        self.put(f"logs/{name}", text)

    # --- states

    def operation(self) -> str | None:
        """What is under way: `merge`, `cherry-pick`, `revert`, `rebase` or None."""
        for name, word in (("MERGE_HEAD", "merge"), ("CHERRY_PICK_HEAD", "cherry-pick"), ("REVERT_HEAD", "revert")):
            if self.text(name) is not None:
                return word
        for name in ("rebase-merge", "rebase-apply"):
            if self.files.exists(self.path(name)):
                return "rebase"
        return None

    def head_tree(self) -> str | None:
        """The tree of the commit checked out."""
        head = self.head
        return self.objects.commit(head).tree if head else None

    def tree_of(self, sha: str) -> str | None:
        """The tree of a commit, a tag of one, or a tree; None for a blob."""
        sha = self.objects.peel(sha)
        kind = self.objects.kind(sha)
        return self.objects.commit(sha).tree if kind == "commit" else sha if kind == "tree" else None
