"""Names of objects and walks through history."""

from __future__ import annotations

import re
from collections.abc import Iterable

from worldline.kernels.git.failures import Failure
from worldline.kernels.git.objects import Commit
from worldline.kernels.git.repository import Repository

__all__ = [
    "ambiguous", "ancestors", "find", "find_commit", "full_ref", "merge_bases", "no_such_path",
    "previous_branch", "topological", "upstream_of", "walk",
]  # fmt: skip

_RULES = ("{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD")


def full_ref(repo: Repository, name: str) -> str | None:
    """The full name of the ref that a short one means."""
    for rule in _RULES:
        full = rule.format(name)
        if rule == "{}" and not (full.startswith("refs/") or re.fullmatch(r"[A-Z_]+", full)):
            continue
        if repo.resolve(full) is not None:
            return full
    return None


def ambiguous(name: str) -> Failure:
    """The error about a word that is neither a revision nor a path."""
    return Failure(
        f"ambiguous argument '{name}': unknown revision or path not in the working tree.\n"
        "Use '--' to separate paths from revisions, like this:\n"
        "'git <command> [<revision>...] -- [<file>...]'"
    )


def no_such_path(name: str) -> Failure:
    """The error about a further word that is no path."""
    return Failure(
        f"{name}: no such path in the working tree.\n"
        "Use 'git <command> -- <path>...' to specify paths that do not exist locally."
    )


def find(repo: Repository, name: str) -> str | None:
    """The object that a name means (`HEAD~2`, `v1^{}`, `master:file`, `HEAD@{1}`); None where there is none."""
    if name.startswith(":") and len(name) > 1:
        return _in_index(repo, name[1:])
    if ":" in name and not re.search(r"\{[^}]*:", name):
        rev, _, path = name.partition(":")
        sha = find(repo, rev)
        return None if sha is None else _in_tree(repo, sha, path)
    found = re.match(r"(.*?)((?:[~^](?:\d+|\{[^}]*\})?)*)$", name, re.DOTALL)
    assert found is not None
    sha = _base(repo, found[1] or "HEAD") if found[1] or name else None
    for step in re.findall(r"[~^](?:\d+|\{[^}]*\})?", found[2]):
        if sha is None:
            return None
        sha = _step(repo, sha, step)
    return sha


def _base(repo: Repository, name: str) -> str | None:
    if name == "@":
        name = "HEAD"
    log = re.fullmatch(r"(.*)@\{(.*)\}", name, re.DOTALL)
    if log is not None:
        return _logged(repo, log[1], log[2])
    full = full_ref(repo, name)
    if full is not None:
        return repo.resolve(full)
    if re.fullmatch(r"[0-9a-f]{40}", name):
        return name
    described = re.fullmatch(r".*-g([0-9a-f]{4,40})", name)
    digits = described[1] if described else name
    if re.fullmatch(r"[0-9a-fA-F]{4,40}", digits):
        found = repo.objects.starting(digits.lower())
        if len(found) > 1:
            commits = [sha for sha in found if repo.objects.kind(sha) == "commit"]
            if len(commits) == 1:
                return commits[0]
            repo.call.unknown("an abbreviation that fits several objects")
        return found[0] if found else None
    return None


def _logged(repo: Repository, name: str, what: str) -> str | None:
    if re.fullmatch(r"-\d+", what) and not name:
        branch = previous_branch(repo, int(what[1:]))
        return None if branch is None else _base(repo, branch)
    if what in ("u", "upstream", "push"):
        upstream = upstream_of(repo, name or repo.branch or "")
        if upstream is None:
            branch = name or repo.branch or ""
            raise Failure(f"no upstream configured for branch '{branch}'")
        return repo.resolve(upstream)
    full = full_ref(repo, name) if name else (repo.symbolic() or "HEAD")
    if full is None:
        return None
    if not what.isdigit():
        repo.call.unknown("a date in a revision")
    lines = repo.history(full)
    number = int(what)
    if number == 0:
        return repo.resolve(full)
    if number < len(lines):
        return lines[number].new
    if number == len(lines) and lines and lines[-1].old.strip("0"):
        return lines[-1].old
    raise Failure(f"log for '{name or full.removeprefix('refs/heads/')}' only has {len(lines)} entries")


def previous_branch(repo: Repository, number: int) -> str | None:
    """The branch that was checked out before the last `number` changes."""
    for line in repo.history("HEAD"):
        found = re.match(r"checkout: moving from (\S+) to ", line.message)
        if found is not None:
            number -= 1
            if number == 0:
                return found[1]
    return None


def upstream_of(repo: Repository, branch: str) -> str | None:
    """Full name of the ref that a branch follows."""
    remote, merge = repo.settings.get(f"branch.{branch}.remote"), repo.settings.get(f"branch.{branch}.merge")
    if remote is None or merge is None:
        return None
    return merge if remote == "." else f"refs/remotes/{remote}/{merge.removeprefix('refs/heads/')}"


def _step(repo: Repository, sha: str, step: str) -> str | None:
    objects = repo.objects
    if step.startswith("^{"):
        return _peel(repo, sha, step[2:-1])
    sha = objects.peel(sha)
    if objects.kind(sha) != "commit":
        return None
    count = int(step[1:] or 1)
    if step[0] == "~":
        for _ in range(count):
            parents = objects.commit(sha).parents
            if not parents:
                return None
            sha = parents[0]
        return sha
    if count == 0:
        return sha
    parents = objects.commit(sha).parents
    return parents[count - 1] if count <= len(parents) else None


def _peel(repo: Repository, sha: str, kind: str) -> str | None:
    if kind.startswith("/"):
        repo.call.unknown("a search in a revision")
    if kind == "object":
        return sha
    sha = repo.objects.peel(sha)
    if kind == "tree":
        return repo.tree_of(sha)
    return sha if kind in ("", repo.objects.kind(sha)) else None


def _in_index(repo: Repository, text: str) -> str | None:
    stage = re.match(r"([0-3]):", text)
    number, path = (int(stage[1]), text[2:]) if stage else (0, text)
    path = relative_to_top(repo, path)
    if number == 0:
        entry = repo.index.entries.get(path)
    else:
        sides = repo.index.conflicts.get(path)
        entry = None if sides is None else (sides.base, sides.ours, sides.theirs)[number - 1]
    return entry.sha if entry else None


def relative_to_top(repo: Repository, path: str) -> str:
    """A path as `REV:PATH` gives it, from the top: it is relative to there unless it begins with a dot."""
    if not path.startswith(("./", "../")) or repo.worktree is None:
        return path
    full = repo.files.absolute(path)
    return full.removeprefix(repo.worktree.rstrip("/") + "/")


def _in_tree(repo: Repository, sha: str, path: str) -> str | None:
    tree = repo.tree_of(sha)
    path = relative_to_top(repo, path)
    if tree is None or not path.strip("/"):
        return tree
    parts = path.strip("/").split("/")
    for part in parts:
        if repo.objects.kind(tree) != "tree":
            return None
        entry = repo.objects.entries(tree).get(part)
        if entry is None:
            raise Failure(_not_in_tree(repo, path, sha))
        tree = entry.sha
    return tree


def _not_in_tree(repo: Repository, path: str, sha: str) -> str:
    return f"path '{path}' does not exist in '{{rev}}'"


def find_commit(repo: Repository, name: str) -> str | None:
    """The commit that a name means; None where there is none."""
    sha = find(repo, name)
    if sha is None:
        return None
    sha = repo.objects.peel(sha)
    return sha if repo.objects.kind(sha) == "commit" else None


def ancestors(repo: Repository, starts: Iterable[str]) -> set[str]:
    """Commits that can be reached, the starts among them."""
    seen: set[str] = set()
    todo = list(starts)
    while todo:
        sha = todo.pop()
        if sha not in seen:
            seen.add(sha)
            todo += repo.objects.commit(sha).parents
    return seen


def walk(repo: Repository, starts: Iterable[str], hidden: Iterable[str] = (), *, first: bool = False) -> list[Commit]:
    """Commits that can be reached from the starts but not from the hidden, newest first.

    Args:
        repo: The repository.
        starts: Where to begin.
        hidden: Commits that are left out with all before them.
        first: Follow only the first parents.
    """
    out = ancestors(repo, hidden)
    queue: list[Commit] = []
    seen: set[str] = set()

    def push(sha: str) -> None:
        if sha in seen or sha in out:
            return
        seen.add(sha)
        commit = repo.objects.commit(sha)
        at = len(queue)
        while at and queue[at - 1].time < commit.time:
            at -= 1
        queue.insert(at, commit)

    for sha in starts:
        push(sha)
    found = []
    while queue:
        commit = queue.pop(0)
        found.append(commit)
        for parent in commit.parents[:1] if first else commit.parents:
            push(parent)
    return found


def topological(commits: list[Commit]) -> list[Commit]:
    """Order commits so that none comes before all its children, lines of history kept together."""
    there = {commit.sha: commit for commit in commits}
    waiting = dict.fromkeys(there, 0)
    for commit in commits:
        for parent in commit.parents:
            if parent in waiting:
                waiting[parent] += 1
    stack = [commit for commit in reversed(commits) if not waiting[commit.sha]]
    found = []
    while stack:
        commit = stack.pop()
        found.append(commit)
        for parent in commit.parents:
            if parent in waiting:
                waiting[parent] -= 1
                if not waiting[parent]:
                    stack.append(there[parent])
    return found


def merge_bases(repo: Repository, one: str, two: str) -> list[str]:
    """Best common ancestors of two commits."""
    common = ancestors(repo, [one]) & ancestors(repo, [two])
    worse: set[str] = set()
    for sha in common:
        if sha not in worse:
            worse |= ancestors(repo, repo.objects.commit(sha).parents)
    best = [sha for sha in common if sha not in worse]
    return sorted(best, key=lambda sha: -repo.objects.commit(sha).time)
