"""`git stash`."""

from __future__ import annotations

import re

from worldline.kernels.git.changes import compare
from worldline.kernels.git.commands.checkout import switch
from worldline.kernels.git.commands.histories import show_history
from worldline.kernels.git.commands.status import long_status
from worldline.kernels.git.committing import write_commit
from worldline.kernels.git.context import Git
from worldline.kernels.git.diffing import DiffOptions, show_changes
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.index import Index
from worldline.kernels.git.objects import Commit, TreeEntry
from worldline.kernels.git.options import Options, usage
from worldline.kernels.git.repository import ZERO
from worldline.kernels.git.revisions import find_commit
from worldline.kernels.git.snapshot import Contents, take_status
from worldline.kernels.git.switching import force_tree
from worldline.kernels.git.threeway import lay_down, merge_trees

__all__ = ["stash"]

_REF = "refs/stash"
_COMMANDS = ("push", "save", "list", "show", "pop", "apply", "drop", "clear", "branch", "create", "store")


def stash(git: Git, argv: list[str]) -> int:
    """Put changes aside and take them back."""
    if argv[:1] == ["-h"]:
        git.say(usage("stash"))
        return 129
    word = argv[0] if argv and argv[0] in _COMMANDS else ""
    git.need_tree()
    if not word:
        return _push(git, argv, implied=True)
    rest = argv[1:]
    if word == "push":
        return _push(git, rest, implied=False)
    if word == "list":
        if git.repo.resolve(_REF) is None:
            return 0
        return show_history(git, ["--format=%gd: %gs", *rest], ref=_REF, name="stash")
    if word == "show":
        return _show(git, rest)
    if word in ("pop", "apply"):
        return _apply(git, word, rest)
    if word == "drop":
        options = git.parse("stash-drop", rest, "--quiet")
        return _drop(git, _chosen(git, options.args), "--quiet" in options)
    if word == "clear":
        git.repo.delete_ref(_REF)
        return 0
    if word == "save":
        options = git.parse("stash-push", rest, "--quiet --include-untracked --keep-index --all")
        flags = [name for name, _ in options.given]
        return _push(git, [*flags, *(["--message", " ".join(options.args)] if options.args else [])], implied=False)
    if word == "branch" and rest and not rest[0].startswith("-"):
        number = _chosen(git, rest[1:])
        switch(git, ["--create", rest[0], _commit(git, number).parents[0]])
        return _apply(git, "pop", ["--index", *rest[1:]])
    return git.call.unknown(f"stash {word}")


def _push(git: Git, argv: list[str], *, implied: bool) -> int:
    supported = "--quiet --message --include-untracked --keep-index --all --staged --patch"
    options = git.parse("stash-push", argv, supported, error_usage="stash.error" if implied else "stash-push")
    if implied and options.args and options.dashes is None:
        raise Failure(
            f"subcommand wasn't specified; 'push' can't be assumed due to unexpected token '{options.args[0]}'"
        )
    repo = git.repo
    if "--patch" in options or "--staged" in options or options.args:
        git.call.unknown("a stash of some changes")
    if repo.head is None:
        raise Failure("You do not have the initial commit yet", 1, "")
    if repo.index.conflicts:
        git.say("".join(f"{path}: needs merge\n" for path in repo.index.conflicts))
        return 1
    untracked = (
        git.tree.untracked(everything=True) if {"--include-untracked", "--all"} & {n for n, _ in options.given} else []
    )
    if "--all" in options:
        untracked += git.tree.untracked(everything=True, ignored=True)
    if any(path.endswith("/") for path in untracked):
        git.call.unknown("whole directories in a stash")
    head = repo.objects.flat(repo.head_tree())
    here = _worktree(git, head)
    if here == head and repo.index.entries == head and not untracked:
        if "--quiet" not in options:
            git.say("No local changes to save\n")
        return 0
    sha, title = _make(git, options, here, untracked)
    who = git.committer()
    before = repo.resolve(_REF) or ZERO
    repo.put(_REF, sha + "\n")
    if repo.text(f"logs/{_REF}") is None:
        repo.put(f"logs/{_REF}", "")
    repo.note(_REF, before, sha, title, who)
    if "--quiet" not in options:
        git.say(f"Saved working directory and index state {title}\n")
    for path in untracked:
        git.tree.remove(path)
    staged = dict(repo.index.entries)
    force_tree(git, head)
    _note_reset(git)
    if "--keep-index" in options:
        force_tree(git, staged)
    repo.save_index()
    return 0


def _worktree(git: Git, head: dict[str, TreeEntry]) -> dict[str, TreeEntry]:
    """The working tree as a stash keeps it: new files in the index that are gone here stay."""
    found, index = {}, git.repo.index.entries
    for path in {**head, **index}:
        entry = git.tree.entry(path) or (index[path] if path not in head else None)
        if entry is not None:
            found[path] = entry
    return found


def _note_reset(git: Git) -> None:
    """Git resets to HEAD on the way, which its history tells."""
    head = git.repo.head or ""
    git.repo.put("ORIG_HEAD", head + "\n")
    git.repo.note("HEAD", head, head, "reset: moving to HEAD", git.who())
    for name in (
        "MERGE_HEAD",
        "MERGE_MSG",
        "MERGE_MODE",
        "CHERRY_PICK_HEAD",
        "REVERT_HEAD",
        "SQUASH_MSG",
        "AUTO_MERGE",
    ):
        git.repo.erase(name)


def _make(git: Git, options: Options, here: dict[str, TreeEntry], untracked: list[str]) -> tuple[str, str]:
    """Store the commits of a stash; returns the name of the outer one and its title."""
    repo, objects = git.repo, git.repo.objects
    head = repo.head or ""
    base = f"{repo.branch or '(no branch)'}: {git.short(head)} {objects.commit(head).subject}"
    author, committer = git.author(), git.committer()
    index_tree = objects.write_tree(repo.index.entries)
    staged = write_commit(git, index_tree, [head], author, committer, f"index on {base}\n")
    parents = [head, staged]
    if {"--include-untracked", "--all"} & {name for name, _ in options.given}:
        found = {}
        for path in untracked:
            entry = git.tree.entry(path)
            if entry is not None:
                objects.write("blob", git.tree.data(path))
                found[path] = entry
        parents.append(
            write_commit(git, objects.write_tree(found), [], author, committer, f"untracked files on {base}\n")
        )
    for path in here:
        if git.tree.entry(path) is not None:
            objects.write("blob", git.tree.data(path))
    message = options.get("--message")
    title = f"On {repo.branch or '(no branch)'}: {message}" if message else f"WIP on {base}"
    return write_commit(git, objects.write_tree(here), parents, author, committer, title), title


def _chosen(git: Git, args: list[str]) -> int:
    """Number of the stash that is meant."""
    if len(args) > 1:
        raise Failure("Too many revisions specified: " + " ".join(f"'{word}'" for word in args), 1, "")
    lines = git.repo.history(_REF)
    if not args:
        if not lines:
            raise Failure("No stash entries found.", 1, "")
        return 0
    found = re.fullmatch(r"(?:(?:refs/)?stash@\{)?(\d+)\}?", args[0])
    if found is None:
        if args[0] in ("stash", "refs/stash") and lines:
            return 0
        if find_commit(git.repo, args[0]) is None:
            raise Failure(f"{args[0]} is not a valid reference", 1, "error: ")
        git.call.unknown("a stash that is no entry of the list")
    number = int(found[1])
    if lines and number >= len(lines):
        raise Failure(f"log for 'stash' only has {len(lines)} entries")
    if not lines:
        raise Failure(f"stash@{{{number}}} is not a valid reference", 1, "error: ")
    return number


def _commit(git: Git, number: int) -> Commit:
    return git.repo.objects.commit(git.repo.history(_REF)[number].new)


def _drop(git: Git, number: int, quiet: bool) -> int:
    repo = git.repo
    lines = repo.history(_REF)
    gone = lines.pop(number)
    if not lines:
        repo.delete_ref(_REF)
    else:
        for at in range(number):
            if at == number - 1:
                newer = lines[at]
                lines[at] = type(newer)(gone.old, newer.new, newer.who, newer.message)
        repo.write_history(_REF, lines)
        repo.put(_REF, lines[0].new + "\n")
    if not quiet:
        git.say(f"Dropped refs/stash@{{{number}}} ({gone.new})\n")
    return 0


def _apply(git: Git, word: str, argv: list[str]) -> int:
    options = git.parse(f"stash-{word}", argv, "--quiet --index")
    number = _chosen(git, options.args)
    repo, objects = git.repo, git.repo.objects
    commit = _commit(git, number)
    base = objects.flat(objects.commit(commit.parents[0]).tree)
    theirs = objects.flat(commit.tree)
    staged = objects.flat(objects.commit(commit.parents[1]).tree)
    if repo.index.conflicts:
        lines = "".join(f"{path}: needs merge\n" for path in repo.index.conflicts)
        git.say(lines)
        if word == "pop":
            git.call.unknown("a stash in the middle of a merge")
        return 1
    head = objects.flat(repo.head_tree())
    ours = dict(repo.index.entries)
    if ours != head and base != staged and "--index" in options:
        git.call.unknown("a stash over staged changes")
    untracked = objects.flat(objects.commit(commit.parents[2]).tree) if len(commit.parents) > 2 else {}
    merged = merge_trees(git, base, ours, theirs, ("Updated upstream", "Stashed changes", "Stash base"), way="plain")
    try:
        lay_down(git, merged, ours)
    except Failure as failure:
        git.warn(failure.text)
        return _kept(git, word, options)
    _untracked(git, untracked)
    if merged.messages and "--quiet" not in options:
        git.say("".join(merged.messages))
    if merged.conflicts:
        if "--index" in options:
            git.warn("Index was not unstashed.\n")
        return _kept(git, word, options)
    result = dict(ours)
    result.update({path: entry for path, entry in merged.entries.items() if path not in ours})
    if "--index" in options and staged != base:
        if head != base:
            git.call.unknown("a stash's index on another commit")
        result = staged
        _note_reset(git)
    repo.index = Index(result)
    repo.save_index()
    if "--quiet" not in options:
        git.say(long_status(git, take_status(git)))
    if word == "pop":
        return _drop(git, number, "--quiet" in options)
    return 0


def _kept(git: Git, word: str, options: Options) -> int:
    """Say how things stand after a stash could not be applied."""
    if "--quiet" not in options:
        git.say(long_status(git, take_status(git)))
    if word == "pop":
        git.say("The stash entry is kept in case you need it again.\n")
    return 1


def _untracked(git: Git, found: dict[str, TreeEntry]) -> None:
    there = [path for path in found if git.tree.exists(path)]
    if there:
        git.call.unknown("untracked files that are there already")
    for path, entry in found.items():
        git.tree.put(path, entry)


def _show(git: Git, argv: list[str]) -> int:
    options, words = DiffOptions(), list(argv)
    args: list[str] = []
    while words:
        if words[0].startswith("-"):
            if words[0] in ("-u", "--include-untracked", "--only-untracked"):
                git.call.unknown("untracked files in stash show")
            if not options.take(git, words):
                _chosen(git, args)
                raise Failure(usage("stash-show").removesuffix("\n"), 129, "")
        else:
            args.append(words.pop(0))
    commit = _commit(git, _chosen(git, args))
    objects = git.repo.objects
    if not options.outputs:
        options.outputs.append("stat")
    base = objects.flat(objects.commit(commit.parents[0]).tree)
    git.say(show_changes(git, compare(base, objects.flat(commit.tree)), options, Contents(git))[0])
    return 0
