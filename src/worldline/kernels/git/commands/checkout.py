"""`git checkout`, `git switch` and `git restore`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from worldline.kernels.git.commands.status import tracking_text
from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.objects import TreeEntry
from worldline.kernels.git.options import Options
from worldline.kernels.git.repository import ZERO
from worldline.kernels.git.revisions import find, find_commit, previous_branch, walk
from worldline.kernels.git.selecting import is_path
from worldline.kernels.git.switching import apply_tree, force_tree, local_changes
from worldline.kernels.git.texts import DETACHED

__all__ = ["bad_branch_name", "checkout", "restore", "switch"]


def bad_branch_name(name: str) -> bool:
    """Whether a branch cannot be called so."""
    return bool(
        not name
        or re.search(r"[\x00-\x20~^:?*\[\\\x7f]|\.\.|@\{|//|/\.|\.lock(?:/|$)|\.$", name)
        or name.startswith(("-", "/", "."))
        or name.endswith("/")
        or name in ("HEAD", "@")
    )


@dataclass(slots=True)
class _Change:
    """A change of branch."""

    target: str
    """What was asked for, as a name."""
    create: str = ""
    reset: bool = False
    detach: bool = False
    force: bool = False
    quiet: bool = False
    merge: bool = False
    orphan: bool = False
    track: bool = False


def checkout(git: Git, argv: list[str]) -> int:
    """Switch branches or bring back files."""
    options = git.parse(
        "checkout", argv, "-b -B -l --quiet --detach --force --ours --theirs --no-track --track "
        "--orphan --guess --progress "
        "--overwrite-ignore --merge --conflict"
    )  # fmt: skip
    git.need_tree()
    create = options.get("-b") or options.get("-B") or ""
    orphan = options.get("--orphan")
    args = list(options.args)
    if "-b" in [n for n, _ in options.given] and "-B" in [n for n, _ in options.given]:
        raise Failure("options '-b', '-B', and '--orphan' cannot be used together")
    if options.dashes == 0 or (options.dashes is None and args and not create and _only_paths(git, args)):
        return _files(git, args, None, options)
    if (options.dashes is not None and options.dashes == 1 and len(args) > 1) or (
        len(args) > 1 and options.dashes is None
    ):
        if create:
            raise Failure(f"Cannot update paths and switch to branch '{create}' at the same time.")
        source = find(git.repo, args[0])
        if source is None:
            if options.dashes == 1:
                raise Failure(f"invalid reference: {args[0]}")
            return _files(git, args, None, options)
        return _files(git, args[1:], args[0], options)
    if "--ours" in options or "--theirs" in options:
        raise Failure("'--ours/--theirs' cannot be used with switching branches")
    if not args and not create and orphan is None:
        _carried(git, "--quiet" in options)
        if git.repo.branch and "--quiet" not in options:
            git.say(tracking_text(git, git.repo.branch) if git.repo.head else "")
        return 0
    change = _Change(
        args[0] if args else "HEAD", orphan or create, "-B" in options, "--detach" in options, "--force" in options,
        "--quiet" in options, "--merge" in options, orphan is not None,
    )  # fmt: skip
    return _change(git, change, explicit=bool(args))


def _only_paths(git: Git, args: list[str]) -> bool:
    """Whether the first word can only be a path."""
    word = args[0]
    if word == "-":
        return False
    is_rev = find(git.repo, word) is not None
    if is_rev and len(args) > 1 and is_path(git, word) and not word.startswith(":"):
        raise _both(word)
    if is_rev:
        return False
    guessed = [name for name in git.repo.refs("refs/remotes/") if name.split("/", 3)[3:] == [word]]
    if guessed and not is_path(git, word):
        git.call.unknown("a branch of a remote repository")
    return True


def _both(word: str) -> Failure:
    return Failure(
        f"ambiguous argument '{word}': both revision and filename\nUse '--' to separate paths from "
        "revisions, like this:\n"
        "'git <command> [<revision>...] -- [<file>...]'"
    )


def _files(git: Git, words: list[str], source: str | None, options: Options) -> int:
    """Bring back files from the index or a commit."""
    if "--merge" in options or "--conflict" in [n for n, _ in options.given]:
        git.call.unknown("checkout --merge of files")
    index, tree = git.repo.index, git.tree
    spec = git.pathspec(words)
    entries: dict[str, TreeEntry] = dict(index.entries)
    if source is not None:
        sha = find(git.repo, source)
        entries = git.repo.objects.flat(git.repo.tree_of(sha)) if sha else {}
    side = "--ours" if "--ours" in options else "--theirs" if "--theirs" in options else ""
    known = [*entries, *(index.conflicts if source is None else ())]
    missing = spec.missing(known)
    if missing:
        lines = [f"error: pathspec '{word}' did not match any file(s) known to git" for word in missing]
        raise Failure("\n".join(lines), 1, "")
    if source is None:
        for path in [name for name in index.paths() if name in index.conflicts and spec.matches(name)]:
            sides = index.conflicts[path]
            entry = sides.ours if side == "--ours" else sides.theirs if side == "--theirs" else None
            if not side:
                raise Failure(f"path '{path}' is unmerged", 1, "error: ")
            if entry is None:
                raise Failure(
                    f"path '{path}' does not have {'our' if side == '--ours' else 'their'} version", 1, "error: "
                )
            tree.put(path, entry)
    count = _write(git, {path: entry for path, entry in entries.items() if spec.matches(path)}, source is not None)
    conflicted = sum(spec.matches(path) for path in index.conflicts) if side else 0
    total = count + conflicted
    if "--quiet" not in options and options.dashes is None:
        word = "path" if total == 1 else "paths"
        origin = "the index" if source is None else git.short(git.repo.tree_of(find(git.repo, source) or "") or "")
        git.warn(f"Updated {total} {word} from {origin}\n")
    return 0


def _write(git: Git, entries: dict[str, TreeEntry], staged: bool) -> int:
    """Write files; returns how many were different."""
    count = 0
    for path, entry in entries.items():
        here = git.tree.entry(path)
        if here != entry:
            git.tree.put(path, entry)
        if here != entry or (staged and git.repo.index.entries.get(path) != entry):
            count += 1
        if staged:
            git.repo.index.set(path, entry)
    if staged:
        git.repo.save_index()
    return count


def _carried(git: Git, quiet: bool) -> None:
    if not quiet:
        git.say("".join(f"{letter}\t{path}\n" for letter, path in local_changes(git)))


def switch(git: Git, argv: list[str]) -> int:
    """Switch branches."""
    options = git.parse(
        "switch", argv,
        "--create --force-create --quiet --detach --force --discard-changes --no-track --track "
        "--orphan --guess --progress --merge",
    )  # fmt: skip
    git.need_tree()
    create = options.get("--create") or options.get("--force-create") or ""
    orphan = options.get("--orphan")
    if not options.args and not create and orphan is None and "--detach" not in options:
        raise Failure("missing branch or commit argument")
    if len(options.args) > 1:
        raise Failure(f"only one reference expected, {len(options.args)} given.")
    force = "--force" in options or "--discard-changes" in options
    change = _Change(
        options.args[0] if options.args else "HEAD", orphan or create,
        "--force-create" in [n for n, _ in options.given],
        "--detach" in options, force, "--quiet" in options, "--merge" in options, orphan is not None,
    )  # fmt: skip
    return _change(git, change, explicit=bool(options.args), strict=True)


def _change(git: Git, change: _Change, *, explicit: bool, strict: bool = False) -> int:
    repo = git.repo
    if change.merge:
        git.call.unknown("a merging checkout")
    if change.orphan:
        return _orphan(git, change, explicit, strict)
    name = change.target
    if name == "-":
        before = previous_branch(repo, 1)
        name = before if before is not None and find_commit(repo, before) is not None else "@{-1}"
    elif re.fullmatch(r"@\{-\d+\}", name):
        name = previous_branch(repo, int(name[3:-1])) or name
    if change.create and bad_branch_name(change.create):
        raise Failure(f"'{change.create}' is not a valid branch name")
    if change.create and not change.reset and repo.resolve(f"refs/heads/{change.create}") is not None:
        raise Failure(f"a branch named '{change.create}' already exists")
    if change.create and not explicit and repo.head is None:
        repo.attach(change.create)
        if not change.quiet:
            git.warn(f"Switched to a new branch '{change.create}'\n")
        return 0
    sha = find_commit(repo, name)
    branch = name if repo.resolve(f"refs/heads/{name}") is not None else None
    if sha is None:
        _no_such(git, change, name, strict)
    assert sha is not None
    if strict and branch is None and not change.create and not change.detach:
        kind = (
            "tag"
            if repo.resolve(f"refs/tags/{name}")
            else "remote branch"
            if repo.resolve(f"refs/remotes/{name}")
            else "commit"
        )
        shown = name
        raise Failure(
            f"a branch is expected, got {kind} '{shown}'"
            + ("\nhint: If you want to detach HEAD at the commit, try again with the --detach option.")
        )
    operation = repo.operation() if strict and not change.force else None
    if operation is not None:
        word = {"merge": "merging", "cherry-pick": "cherry-picking", "revert": "reverting", "rebase": "rebasing"}
        raise Failure(
            f'cannot switch branch while {word[operation]}\nConsider "git {operation} --quit" or "git worktree add".'
        )
    stays = bool(change.create) and not change.reset and sha == repo.head
    if repo.index.conflicts and not change.force and not stays:
        raise Failure(_needs_merge(git), 1, "")
    return _move(git, change, name, branch if not change.detach else None, sha)


def _orphan(git: Git, change: _Change, explicit: bool, strict: bool) -> int:
    """Begin a branch without a history; only `switch` empties the index and the tree."""
    repo = git.repo
    if explicit or change.force or (strict and (git.tree.differing() or repo.index.conflicts)):
        git.call.unknown("an orphan branch with a start or over changes")
    if bad_branch_name(change.create):
        raise Failure(f"'{change.create}' is not a valid branch name")
    if repo.resolve(f"refs/heads/{change.create}") is not None:
        raise Failure(f"a branch named '{change.create}' already exists")
    if strict:
        force_tree(git, {})
        repo.save_index()
    repo.attach(change.create)
    if not change.quiet:
        git.warn(f"Switched to a new branch '{change.create}'\n")
    return 0


def _needs_merge(git: Git) -> str:
    lines = [f"{path}: needs merge" for path in git.repo.index.conflicts]
    return "\n".join(lines) + "\nerror: you need to resolve your current index first"


def _no_such(git: Git, change: _Change, name: str, strict: bool) -> None:
    if change.create:
        raise Failure(f"'{name}' is not a commit and a branch '{change.create}' cannot be created from it")
    if strict or change.detach:
        raise Failure(f"invalid reference: {name}")
    if name.startswith("@{-"):
        name = change.target
    raise Failure(f"pathspec '{name}' did not match any file(s) known to git", 1, "error: ")


def _move(git: Git, change: _Change, name: str, branch: str | None, sha: str) -> int:
    repo = git.repo
    old, old_branch = repo.head, repo.branch
    who = git.who()
    old_tree = repo.objects.flat(repo.head_tree())
    new_tree = repo.objects.flat(repo.tree_of(sha))
    if change.force:
        force_tree(git, new_tree)
    elif old != sha:
        apply_tree(git, old_tree, new_tree)
    repo.save_index()
    source = old_branch or old or ""
    if change.create:
        fresh = repo.resolve(f"refs/heads/{change.create}")
        message = f"branch: {'Reset to' if fresh else 'Created from'} {change.target}"
        if fresh != sha or not fresh:
            repo.put(f"refs/heads/{change.create}", sha + "\n")
            repo.note(f"refs/heads/{change.create}", fresh or ZERO, sha, message, who)
        branch = change.create
    stays = change.create and not change.reset and old == sha
    if not change.quiet and not change.force and not stays:
        _carried_from(git, new_tree)
    if branch is not None:
        repo.attach(branch)
        repo.note("HEAD", old or ZERO, sha, f"checkout: moving from {source} to {branch}", who)
    else:
        repo.detach(sha)
        repo.note("HEAD", old or ZERO, sha, f"checkout: moving from {source} to {name}", who)
    operation = repo.operation()
    for name_of in (
        "MERGE_HEAD",
        "MERGE_MSG",
        "MERGE_MODE",
        "CHERRY_PICK_HEAD",
        "REVERT_HEAD",
        "SQUASH_MSG",
        "AUTO_MERGE",
    ):
        repo.erase(name_of)
    if not change.quiet:
        _announce(git, change, name, branch, old, old_branch, sha)
    if operation in ("cherry-pick", "revert") and not change.quiet:
        word = "cherry picking" if operation == "cherry-pick" else "revert"
        git.warn(f"warning: cancelling a {word} in progress\n")
    return 0


def _carried_from(git: Git, tree: dict[str, TreeEntry]) -> None:
    index = git.repo.index
    for path in sorted({**tree, **index.entries}, key=lambda text: text.encode("utf-8", "surrogateescape")):
        here = git.tree.entry(path) if path in index.entries else None
        if path not in index.entries or here is None:
            git.say(f"D\t{path}\n")
        elif path not in tree:
            git.say(f"A\t{path}\n")
        elif here != tree[path] or index.entries[path] != tree[path]:
            git.say(f"M\t{path}\n")


def _announce(
    git: Git, change: _Change, name: str, branch: str | None, old: str | None, old_branch: str | None, sha: str
) -> None:
    objects = git.repo.objects
    if old_branch is None and old is not None and old != sha:
        _left_behind(git, old, sha)
    if branch is None:
        if old_branch is not None and git.settings.flag("advice.detachedhead", True) and not change.detach:
            git.warn(DETACHED.format(name=name))
        git.warn(f"HEAD is now at {git.short(sha)} {objects.commit(sha).subject}\n")
        return
    if change.create:
        word = "Switched to and reset branch" if change.reset and old_branch != branch else "Switched to a new branch"
        if change.reset and old_branch == branch:
            word = "Reset branch"
        if change.reset and word == "Switched to and reset branch":
            git.call.unknown("a branch that is reset")
        git.warn(f"{word} '{branch}'\n")
    elif branch == old_branch:
        git.warn(f"Already on '{branch}'\n")
    else:
        git.warn(f"Switched to branch '{branch}'\n")
    if not change.create:
        git.say(tracking_text(git, branch))


def _left_behind(git: Git, old: str, new: str) -> None:
    tips = [sha for name, sha in git.repo.refs().items() if not name.startswith("refs/stash")]
    lost = walk(git.repo, [old], [*(git.repo.objects.peel(sha) for sha in tips), new])
    if not lost:
        git.warn(f"Previous HEAD position was {git.short(old)} {git.repo.objects.commit(old).subject}\n")
        return
    if len(lost) > 4:
        git.call.unknown("many commits left behind")
    word = "commit" if len(lost) == 1 else "commits"
    git.warn(f"Warning: you are leaving {len(lost)} {word} behind, not connected to\nany of your branches:\n\n")
    git.warn("".join(f"  {git.short(commit.sha)} {commit.subject}\n" for commit in lost) + "\n")
    it = "it" if len(lost) == 1 else "them"
    git.warn(f"If you want to keep {it} by creating a new branch, this may be a good time\nto do so with:\n\n")
    git.warn(f" git branch <new-branch-name> {git.short(old)}\n\n")


def restore(git: Git, argv: list[str]) -> int:
    """Bring back files."""
    options = git.parse(
        "restore", argv, "--source --staged --worktree --quiet --ours --theirs --progress --overlay --ignore-unmerged"
    )
    git.need_tree()
    if not options.args:
        raise Failure("you must specify path(s) to restore")
    staged = "--staged" in options
    worktree = "--worktree" in options or not staged
    source = options.get("--source")
    if "--ours" in options or "--theirs" in options:
        return _files(git, options.args, None, options)
    repo = git.repo
    spec = git.pathspec(options.args)
    if source is None and not staged:
        entries = dict(repo.index.entries)
    else:
        sha = find(repo, source or "HEAD")
        if sha is None and source is not None:
            raise Failure(f"could not resolve {source}")
        entries = repo.objects.flat(repo.tree_of(sha) if sha else None)
        if sha is None:
            raise Failure("could not resolve HEAD")
    index = repo.index
    missing = spec.missing([*entries, *index.entries, *index.conflicts])
    if missing:
        lines = [f"error: pathspec '{word}' did not match any file(s) known to git" for word in missing]
        raise Failure("\n".join(lines), 1, "")
    if not staged and any(spec.matches(path) for path in index.conflicts):
        path = next(path for path in index.conflicts if spec.matches(path))
        raise Failure(f"path '{path}' is unmerged", 1, "error: ")
    for path in [name for name in {**index.entries, **index.conflicts, **entries} if spec.matches(name)]:
        entry = entries.get(path)
        tracked = path in index.entries or path in index.conflicts
        if worktree:
            if entry is None and tracked:
                git.tree.remove(path)
            elif entry is not None and git.tree.entry(path) != entry:
                git.tree.put(path, entry)
        if staged:
            if entry is None:
                index.drop(path)
            else:
                index.set(path, entry)
    repo.save_index()
    return 0
