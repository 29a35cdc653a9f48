"""`git reset` and `git clean`."""

from __future__ import annotations

import posixpath

from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.index import Index
from worldline.kernels.git.objects import TreeEntry, path_bytes
from worldline.kernels.git.options import Options
from worldline.kernels.git.patch import quoted
from worldline.kernels.git.revisions import ambiguous, find, find_commit
from worldline.kernels.git.selecting import is_path
from worldline.kernels.git.switching import apply_tree, force_tree

__all__ = ["clean", "reset"]

_STATES = ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG", "AUTO_MERGE")


def reset(git: Git, argv: list[str]) -> int:
    """Move the branch, the index or both to another commit."""
    options = git.parse(
        "reset", argv, "--quiet --mixed --soft --hard --keep --merge --refresh --no-refresh --intent-to-add"
    )
    repo = git.repo
    modes = [name for name, _ in options.given if name in ("--mixed", "--soft", "--hard", "--keep", "--merge")]
    mode = modes[-1] if modes else ""
    if mode != "--soft":
        git.need_tree()
    args, paths = list(options.args), None
    if options.dashes is not None:
        args, paths = options.args[: options.dashes], options.args[options.dashes :]
    target, named = "HEAD", bool(args)
    if args and (options.dashes is not None or find(repo, args[0]) is not None or not is_path(git, args[0])):
        target = args.pop(0)
    if args:
        for word in args:
            if not is_path(git, word) and word not in repo.index.entries:
                raise ambiguous(word)
        paths = [*args, *(paths or [])]
    sha = find(repo, target) if paths else find_commit(repo, target)
    if sha is None and not (target == "HEAD" and repo.head is None and (not named or paths)):
        if find(repo, target) is not None:
            raise Failure(f"Could not parse object '{target}'.")
        if paths and options.dashes is not None:
            raise Failure(f"Failed to resolve '{target}' as a valid tree.")
        raise ambiguous(target)
    if paths:
        if mode not in ("", "--mixed"):
            raise Failure(f"Cannot do {mode[2:]} reset with paths.")
        return _paths(git, paths, sha, options)
    return _whole(git, mode or "--mixed", target, sha, options)


def _whole(git: Git, mode: str, target: str, sha: str | None, options: Options) -> int:
    repo = git.repo
    old = repo.head
    if mode == "--soft" and (repo.index.conflicts or repo.operation() == "merge"):
        raise Failure("Cannot do a soft reset in the middle of a merge.")
    new = repo.objects.flat(repo.tree_of(sha) if sha else None)
    if mode == "--hard":
        force_tree(git, new)
    elif mode == "--mixed":
        repo.index = Index(dict(new))
    elif mode in ("--keep", "--merge"):
        _keep(git, mode, target, new)
    if mode != "--soft":
        repo.save_index()
    if sha is not None:
        if old is not None:
            repo.put("ORIG_HEAD", old + "\n")
        repo.update("HEAD", sha, f"reset: moving to {target}", who=git.who())
    if mode != "--soft":
        for name in _STATES:
            repo.erase(name)
    quiet = "--quiet" in options
    if mode == "--hard" and not quiet and sha is not None:
        git.say(f"HEAD is now at {git.short(sha)} {repo.objects.commit(sha).subject}\n")
    if mode == "--mixed" and not quiet:
        git.say(_unstaged(git))
    return 0


def _keep(git: Git, mode: str, target: str, new: dict[str, TreeEntry]) -> None:
    repo = git.repo
    old = repo.objects.flat(repo.head_tree())
    if repo.index.conflicts or mode == "--merge":
        git.call.unknown("reset --merge or --keep in the middle of something")
    for path in {**old, **new, **repo.index.entries}:
        staged, here = repo.index.entries.get(path), git.tree.entry(path)
        if old.get(path) != new.get(path) and (staged != old.get(path) or here != old.get(path)):
            text = (
                f"Entry '{path}' not uptodate. Cannot merge."
                if staged == old.get(path)
                else f"Entry '{path}' would be overwritten by merge. Cannot merge."
            )
            raise Failure(f"{text}\nfatal: Could not reset index file to revision '{target}'.", 128, "error: ")
    apply_tree(git, old, new)
    repo.index = Index(dict(new))


def _unstaged(git: Git) -> str:
    lines = []
    for path in git.repo.index.paths():
        here = git.tree.entry(path)
        if here is None:
            lines.append(f"D\t{quoted(path)}\n")
        elif here != git.repo.index.entries[path]:
            lines.append(f"M\t{quoted(path)}\n")
    return "Unstaged changes after reset:\n" + "".join(lines) if lines else ""


def _paths(git: Git, words: list[str], sha: str | None, options: Options) -> int:
    repo = git.repo
    spec = git.pathspec(words)
    wanted = repo.objects.flat(repo.tree_of(sha) if sha else None)
    index = repo.index
    for path in {**wanted, **index.entries, **index.conflicts}:
        if spec.matches(path):
            if path in wanted:
                index.set(path, wanted[path])
            else:
                index.drop(path)
    repo.save_index()
    if "--quiet" not in options:
        git.say(_unstaged(git))
    return 0


def clean(git: Git, argv: list[str]) -> int:
    """Remove files that are not in the index."""
    options = git.parse("clean", argv, "--quiet --dry-run --force -d -x -X --exclude")
    git.need_tree()
    dry = "--dry-run" in options
    if "--exclude" in [name for name, _ in options.given]:
        git.call.unknown("clean --exclude")
    if "-x" in options and "-X" in options:
        raise Failure("options '-x' and '-X' cannot be used together")
    if not dry and "--force" not in options and git.settings.flag("clean.requireforce", True):
        text = "clean.requireForce defaults to true and neither -i, -n, nor -f given; refusing to clean"
        if git.settings.get("clean.requireforce") is not None:
            text = "clean.requireForce set to true and neither -i, -n, nor -f given; refusing to clean"
        raise Failure(text)
    spec = git.pathspec(options.args)
    for path in _victims(git, options):
        directory = path.endswith("/")
        if spec and not spec.matches(path):
            if spec.reaches(path) and directory:
                git.call.unknown("a path in an untracked directory")
            continue
        if directory and not ("-d" in options or spec.exact(path)):
            continue
        if git.prefix and not path.startswith(git.prefix) and not spec:
            continue
        if directory and git.tree.nested(path.rstrip("/")):
            git.call.unknown("a repository inside this one")
        if dry or "--quiet" not in options:
            git.say(f"{'Would remove' if dry else 'Removing'} {quoted(git.shown(path))}\n")
        if not dry:
            git.tree.remove(path.rstrip("/"), prune=False)
    return 0


def _victims(git: Git, options: Options) -> list[str]:
    untracked = [] if "-X" in options else git.tree.untracked()
    ignored = git.tree.untracked(ignored=True) if {"-x", "-X"} & {name for name, _ in options.given} else []
    if "-x" not in options:
        kept = git.tree.untracked(ignored=True)
        parted = [path for path in untracked if path.endswith("/") and any(name.startswith(path) for name in kept)]
        if parted:
            untracked = [path for path in untracked if path not in parted]
            git.call.unknown("ignored files in an untracked directory")
    found = {*untracked, *ignored, *([] if "-X" in options else _empty(git))}
    return sorted(found, key=path_bytes)


def _empty(git: Git) -> list[str]:
    """Directories in which there is no file at all; outermost ones only."""
    found: list[str] = []

    def visit(base: str) -> bool:
        used = False
        empty = []
        for name in git.files.list(git.tree.full(base) if base else git.tree.top):
            path = posixpath.join(base, name)
            directory = git.files.stat(git.tree.full(path), follow=False).kind == "directory"
            if name == ".git" or not directory or visit(path):
                used = True
            else:
                empty.append(path + "/")
        if used:
            found.extend(empty)
        return used

    if not visit(""):
        return []
    return found
