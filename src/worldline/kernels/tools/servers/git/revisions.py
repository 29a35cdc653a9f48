"""Revisions and names of refs as GitPython reads them, with what it says of wrong ones."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from worldline.kernels.git import revisions
from worldline.kernels.git.repository import Repository
from worldline.kernels.git.revisions import full_ref
from worldline.kernels.shell.builtins.base import Unknown
from worldline.kernels.tools.servers.python_server import Crashed, ToolFailed

__all__ = ["bad_name", "check_ref_name", "resolve"]

_TOKENS = "^~:"
_HEX = re.compile(r"[0-9A-Fa-f]{4,40}")
_DESCRIBED = re.compile(r".+-g([0-9A-Fa-f]{4,40})(?:-dirty)?|([0-9A-Fa-f]{4,40})-dirty")


def bad_name(name: str) -> ToolFailed:
    """The error about a name that means nothing."""
    return ToolFailed(f"Ref '{name}' did not resolve to an object")


def resolve(repo: Repository, rev: str) -> str:
    """The object that a revision means.

    Raises:
        ToolFailed: It means none.
        Crashed: It uses what GitPython does not support.
        Unknown: It is not simulated.
    """
    if rev.startswith(":/"):
        return _by_message(repo, rev[2:])
    if rev.startswith(":"):
        return _in_index(repo, rev[1:])
    first = _first_token(rev)
    if first is None:
        return _named(repo, rev)
    if first == 0:
        if rev[0] != "@":
            raise ToolFailed(f"Revision specifier must start with an object name: {rev}")
        return _steps(repo, rev, _head(repo), 0 if rev.startswith("@{") else 1, "")
    anchor = rev[:first]
    if rev[first] == "@":
        full = full_ref(repo, anchor)
        sha = repo.resolve(full) if full is not None else None
        if full is None or sha is None:
            raise Unknown("the history of what is no ref")
        return _steps(repo, rev, sha, first, full)
    return _steps(repo, rev, _named(repo, anchor), first, "")


def _first_token(rev: str) -> int | None:
    for place, char in enumerate(rev):
        if char in _TOKENS:
            return place
        after = rev[place + 1 : place + 2]
        if char == "@" and (after == "{" or (place == 0 and after in ("", "^", "~", ":"))):
            return place
    return None


def _head(repo: Repository) -> str:
    head = repo.head
    if head is None:
        raise ToolFailed(f"Reference at {repo.symbolic()!r} does not exist")
    return head


def _named(repo: Repository, name: str) -> str:
    if _HEX.fullmatch(name):
        if len(name) == 40:
            if not repo.objects.has(name.lower()):
                raise ToolFailed(f"SHA {name.encode()!r} could not be resolved, git returned: b'{name} missing'")
            return name.lower()
        found = _short(repo, name)
        if found is not None:
            return found
    full = full_ref(repo, name) if name.strip() == name and name else None
    sha = repo.resolve(full) if full is not None else None
    if sha is None:
        described = _DESCRIBED.fullmatch(name)
        sha = _short(repo, described[1] or described[2]) if described is not None else None
    if sha is None:
        raise bad_name(name)
    return sha


def _short(repo: Repository, digits: str) -> str | None:
    found = repo.objects.starting(digits.lower())
    if len(found) > 1:
        raise Unknown("an abbreviation that fits several objects")
    return found[0] if found else None


def _in_index(repo: Repository, spec: str) -> str:
    if not spec:
        raise ToolFailed("':' must be followed by a path")
    stage, path = (int(spec[0]), spec[2:]) if re.match(r"[0-3]:", spec) else (0, spec)
    entry = repo.index.entries.get(path) if stage == 0 else None
    if entry is None:
        raise bad_name(f"Path {path!r} did not exist in the index at stage {stage}")
    return entry.sha


def _by_message(repo: Repository, pattern: str) -> str:
    if not pattern:
        raise ToolFailed("Revision search requires a pattern")
    if not re.fullmatch(r"[\w -]+", pattern):
        raise Unknown("a search for a pattern")
    reached = revisions.ancestors(repo, {_commit(repo, sha) for sha in (*repo.refs().values(), repo.head) if sha})
    commits = sorted(map(repo.objects.commit, reached), key=lambda commit: -commit.time)
    for commit in commits:
        if pattern in commit.message:
            return commit.sha
    raise bad_name(f"No commit found matching message pattern {pattern!r}")


def _steps(repo: Repository, rev: str, sha: str, at: int, ref: str) -> str:
    while at < len(rev):
        token = rev[at]
        if token == ":":
            return _in_tree(repo, sha, rev[at + 1 :])
        if token == "@":
            if rev[at + 1 : at + 2] != "{":
                raise ToolFailed(f"Invalid @ token in revision specifier: {rev}")
            end = _closing(rev, at + 1)
            sha = _logged(repo, ref, rev[at + 2 : end])
            ref, at = "", end + 1
            continue
        at += 1
        if token == "^" and rev[at : at + 1] == "{":
            end = _closing(rev, at)
            sha = _peeled(repo, sha, rev[at + 1 : end], rev)
            at = end + 1
            continue
        digits = re.match(r"\d*", rev[at:])
        assert digits is not None
        at += len(digits[0])
        sha = _parent(repo, sha, token, int(digits[0] or 1), rev)
    return sha


def _closing(rev: str, start: int) -> int:
    depth, escaped = 1, False
    for place in range(start + 1, len(rev)):
        char = rev[place]
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        else:
            depth += (char == "{") - (char == "}")
            if not depth:
                return place
    raise ToolFailed(f"Missing closing brace to define type in {rev}")


def _commit(repo: Repository, sha: str) -> str:
    sha = repo.objects.peel(sha)
    kind = repo.objects.kind(sha)
    if kind != "commit":
        raise Unknown(f"a {kind} where a commit must be")
    return sha


def _parent(repo: Repository, sha: str, token: str, number: int, rev: str) -> str:
    if token not in "~^":
        raise ToolFailed(f"Invalid token: {token!r}")
    sha = _commit(repo, sha)
    steps = [0] * min(number, 100_000) if token == "~" else [number - 1] if number else []
    for step in steps:
        parents = repo.objects.commit(sha).parents
        if step >= len(parents):
            spec = f"Invalid revision spec '{rev}' - not enough parent commits to reach '{token}{number}'"
            raise bad_name(spec)
        sha = parents[step]
    return sha


def _peeled(repo: Repository, sha: str, kind: str, rev: str) -> str:
    if kind.startswith("/"):
        raise Unknown("a search in messages")
    if kind == "object":
        return sha
    if kind == "":
        return repo.objects.peel(sha)
    if kind == "commit":
        return _commit(repo, sha)
    if kind == "tree":
        return sha if repo.objects.kind(sha) == "tree" else repo.objects.commit(_commit(repo, sha)).tree
    if kind in ("blob", "tag"):
        found = repo.objects.kind(sha)
        if found != kind:
            raise ToolFailed(f"Could not accommodate requested object type {kind!r}, got {found}")
        return sha
    raise ToolFailed(f"Invalid output type: {kind} ( in {rev} )")


def _in_tree(repo: Repository, sha: str, path: str) -> str:
    tree = sha if repo.objects.kind(sha) == "tree" else repo.objects.commit(_commit(repo, sha)).tree
    if not path:
        return tree
    parts = path.split("/")
    for place, part in enumerate(parts):
        entry = repo.objects.entries(tree).get(part)
        missing = f"Blob or Tree named {part!r} not found"
        if entry is None:
            raise ToolFailed(repr(missing))
        if place == len(parts) - 1:
            return entry.sha
        if entry.mode != 0o40000:
            raise ToolFailed(repr(f"Blob or Tree named {path!r} not found"))
        tree = entry.sha
    return tree


def _logged(repo: Repository, ref: str, what: str) -> str:
    what = what.removeprefix("+")
    if re.fullmatch(r"-\d+", what):
        return _previous(repo, int(what[1:]))
    branch = (ref or repo.symbolic() or "HEAD").removeprefix("refs/heads/")
    if what.lower() in ("u", "upstream", "push"):
        if repo.settings.get(f"branch.{branch}.merge") is not None:
            raise Unknown("an upstream branch")
        raise bad_name(f"{branch}@{{upstream}}")
    if not what.isdigit():
        if re.match(r"\d{4}-\d\d-\d\d", what):
            raise Unknown("a date in a revision")
        raise Crashed
    if what == "0":
        return repo.resolve(ref or "HEAD") or _head(repo)
    lines = repo.history(ref or repo.symbolic() or "HEAD")
    if int(what) >= len(lines):
        raise ToolFailed(f"Invalid revlog index: {int(what)}")
    return lines[int(what)].new


def _previous(repo: Repository, number: int) -> str:
    branch = revisions.previous_branch(repo, number) if number else None
    if branch is None:
        text = f"Invalid previous checkout selector: -{number}"
        raise ToolFailed("Negative zero is invalid in reflog selector" if not number else text)
    return _named(repo, branch)


def check_ref_name(ref: str) -> None:
    """Check the full name of a new ref.

    Raises:
        ToolFailed: It is not allowed.
    """
    wrong = _wrong(ref)
    if wrong:
        raise ToolFailed(f"Invalid reference '{ref}': references cannot {wrong}")


def _wrong(ref: str) -> str:
    before = ""
    for char in ref:
        if char in " ~^:?*[\\":
            return (
                "contain spaces, tildes (~), carets (^), colons (:), question marks (?), asterisks (*), "
                "open brackets ([) or backslashes (\\)"
            )
        if char == "." and before in ("", "/"):
            return "start with a period (.) or contain '/.'"
        if char == "." and before == ".":
            return "contain '..'"
        if char == "/" and before == "/":
            return "contain '//'"
        if char == "{" and before == "@":
            return "contain '@{'"
        if ord(char) < 32 or ord(char) == 127:
            return "contain ASCII control characters"
        before = char
    if before == ".":
        return "end with a period (.)"
    if before == "/":
        return "end with a forward slash (/)"
    if any(part.endswith(".lock") for part in PurePosixPath(ref).parts):
        return "have slash-separated components that end with '.lock'"
    return ""
