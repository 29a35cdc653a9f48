"""Loose objects: blobs, trees, commits and tags in a repository's `objects` directory."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from dulwich.objects import ShaFile

from worldline.kernels.git.failures import Failure
from worldline.kernels.shell.builtins.base import Files

__all__ = ["Commit", "Objects", "Tag", "TreeEntry", "path_bytes", "path_text"]

_KINDS = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
_SHORTEST = 4
_COMPRESSION = 1
"""What git compresses loose objects with: speed before size."""


def path_text(data: bytes) -> str:
    """Return a path of an object or index as text."""
    return data.decode("utf-8", "surrogateescape")


def path_bytes(text: str) -> bytes:
    """Return the bytes of a path."""
    return text.encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """What a tree holds under a name."""

    mode: int
    sha: str


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, its header taken apart."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: str
    """`NAME <EMAIL> SECONDS ZONE`, as are all such lines."""
    committer: str
    message: str

    @property
    def time(self) -> int:
        """When it was committed, in seconds since 1970."""
        return int(self.committer.rsplit(" ", 2)[1])

    @property
    def subject(self) -> str:
        """The first paragraph in one line."""
        return " ".join(self.message.lstrip("\n").split("\n\n", 1)[0].split("\n")).strip()

    @property
    def body(self) -> str:
        """What follows the first paragraph."""
        parts = re.split(r"\n(?:[ \t]*\n)+", self.message.lstrip("\n"), maxsplit=1)
        return parts[1] if len(parts) > 1 else ""


@dataclass(frozen=True, slots=True)
class Tag:
    """An annotated tag."""

    sha: str
    target: str
    kind: str
    name: str
    tagger: str
    message: str


class Objects:
    """The objects of a repository.

    Args:
        files: Where they lie.
        directory: The `objects` directory.
        unknown: Called where what is stored cannot be read.
    """

    def __init__(self, files: Files, directory: str, unknown: Callable[[str], NoReturn]) -> None:
        self._files, self._directory, self._unknown = files, directory, unknown
        self._known: dict[str, tuple[str, bytes]] = {}

    def path(self, sha: str) -> str:
        """Where an object lies."""
        return f"{self._directory}/{sha[:2]}/{sha[2:]}"

    def has(self, sha: str) -> bool:
        """Whether an object is there."""
        return sha in self._known or self._files.exists(self.path(sha))

    def read(self, sha: str) -> tuple[str, bytes]:
        """Return kind and content of an object.

        Raises:
            Failure: There is no such object.
        """
        found = self._known.get(sha)
        if found is None:
            if not self._files.exists(self.path(sha)):
                if self._packed():
                    self._unknown("packed objects")
                raise Failure(f"bad object {sha}")
            found = self._known[sha] = _decode(self._files.read(self.path(sha)))
        return found

    def _packed(self) -> bool:
        pack = f"{self._directory}/pack"
        return self._files.exists(pack) and bool(self._files.list(pack))

    def write(self, kind: str, data: bytes) -> str:
        """Store an object unless it is there; returns its name."""
        sha, stored = _encode(kind, data)
        if not self.has(sha):
            folder = f"{self._directory}/{sha[:2]}"
            if not self._files.exists(folder):
                self._files.mkdir(folder)
            self._files.write(self.path(sha), stored)
            self._files.chmod(self.path(sha), 0o444)
        self._known[sha] = (kind, data)
        return sha

    def name(self, kind: str, data: bytes) -> str:
        """The name that an object would have."""
        return _encode(kind, data)[0]

    def all(self) -> list[str]:
        """Names of all objects."""
        if self._packed():
            self._unknown("packed objects")
        found = []
        for folder in self._files.list(self._directory):
            if re.fullmatch(r"[0-9a-f]{2}", folder):
                found += [folder + name for name in self._files.list(f"{self._directory}/{folder}")]
        return found

    def starting(self, prefix: str) -> list[str]:
        """Names of objects that begin with some digits."""
        folder = f"{self._directory}/{prefix[:2]}"
        if len(prefix) < _SHORTEST or not self._files.exists(folder):
            return []
        return [prefix[:2] + name for name in self._files.list(folder) if name.startswith(prefix[2:])]

    def short(self, sha: str, length: int = 7) -> str:
        """Abbreviate a name to what is unique."""
        while length < len(sha) and any(other != sha for other in self.starting(sha[:length])):
            length += 1
        return sha[:length]

    def kind(self, sha: str) -> str:
        """The kind of an object."""
        return self.read(sha)[0]

    def blob(self, sha: str) -> bytes:
        """Content of a blob."""
        return self.read(sha)[1]

    def commit(self, sha: str) -> Commit:
        """Read a commit."""
        header, message = _header(self.read(sha)[1])
        return Commit(
            sha,
            header["tree"][0],
            tuple(header.get("parent", ())),
            header["author"][0],
            header["committer"][0],
            message,
        )

    def tag(self, sha: str) -> Tag:
        """Read an annotated tag."""
        header, message = _header(self.read(sha)[1])
        tagger = header.get("tagger", [""])[0]
        return Tag(sha, header["object"][0], header["type"][0], header["tag"][0], tagger, message)

    def peel(self, sha: str) -> str:
        """Follow annotated tags."""
        while self.kind(sha) == "tag":
            sha = self.tag(sha).target
        return sha

    def entries(self, tree: str) -> dict[str, TreeEntry]:
        """What a tree holds, by name, in the tree's order."""
        data, found, at = self.read(tree)[1], {}, 0
        while at < len(data):
            space, end = data.index(b" ", at), data.index(b"\0", at)
            found[path_text(data[space + 1 : end])] = TreeEntry(int(data[at:space], 8), data[end + 1 : end + 21].hex())
            at = end + 21
        return found

    def flat(self, tree: str | None, prefix: str = "") -> dict[str, TreeEntry]:
        """Every file of a tree and the trees in it, by path, sorted by bytes; None is the empty tree."""
        if tree is None:
            return {}
        found: dict[str, TreeEntry] = {}
        for name, entry in self.entries(tree).items():
            if entry.mode == 0o40000:
                found.update(self.flat(entry.sha, f"{prefix}{name}/"))
            else:
                found[prefix + name] = entry
        return found if prefix else dict(sorted(found.items(), key=lambda item: path_bytes(item[0])))

    def write_tree(self, flat: Mapping[str, TreeEntry]) -> str:
        """Store the trees of some files; returns the name of the outermost."""
        here: dict[str, TreeEntry] = {}
        below: dict[str, dict[str, TreeEntry]] = {}
        for path, entry in flat.items():
            folder, slash, rest = path.partition("/")
            if slash:
                below.setdefault(folder, {})[rest] = entry
            else:
                here[path] = entry
        for folder, inside in below.items():
            here[folder] = TreeEntry(0o40000, self.write_tree(inside))
        ordered = sorted(here.items(), key=lambda item: path_bytes(item[0] + "/" * (item[1].mode == 0o40000)))
        body = [b"%o %s\0" % (entry.mode, path_bytes(name)) + bytes.fromhex(entry.sha) for name, entry in ordered]
        return self.write("tree", b"".join(body))


def _header(data: bytes) -> tuple[dict[str, list[str]], str]:
    text, _, message = data.decode("utf-8", "surrogateescape").partition("\n\n")
    found: dict[str, list[str]] = {}
    for line in text.split("\n"):
        key, _, value = line.partition(" ")
        found.setdefault(key, []).append(value)
    return found, message


@lru_cache(4096)
def _encode(kind: str, data: bytes) -> tuple[str, bytes]:
    stored = ShaFile.from_raw_string(_KINDS[kind], data)
    return stored.id.decode(), stored.as_legacy_object(_COMPRESSION)


@lru_cache(4096)
def _decode(stored: bytes) -> tuple[str, bytes]:
    shown = ShaFile.from_file(io.BytesIO(stored))
    return shown.type_name.decode(), shown.as_raw_string()
