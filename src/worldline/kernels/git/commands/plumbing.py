"""Plumbing about single objects: `cat-file`, `ls-tree`, `hash-object`, `merge-base`."""

from __future__ import annotations

from dulwich.objects import Blob

from worldline.kernels.git.changes import compare
from worldline.kernels.git.context import Git
from worldline.kernels.git.diffing import DiffOptions, show_changes
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.objects import TreeEntry
from worldline.kernels.git.options import usage
from worldline.kernels.git.patch import quoted
from worldline.kernels.git.revisions import (
    ancestors,
    find,
    find_commit,
    merge_bases,
)
from worldline.kernels.git.snapshot import Contents
from worldline.kernels.shell.builtins.shared.textio import restore, stdin

__all__ = ["cat_file", "diff_tree", "hash_object", "ls_tree", "merge_base", "var"]


def cat_file(git: Git, argv: list[str]) -> int:
    """Print an object, its kind or its size."""
    flags, args = [word for word in argv if word.startswith("-")], [word for word in argv if not word.startswith("-")]
    if len(flags) > 1 or (flags and flags[0] not in ("-p", "-t", "-s", "-e")) or len(args) != (1 if flags else 2):
        git.call.unknown("this form of cat-file")
    sha = find(git.repo, args[-1])
    if sha is None:
        raise Failure(f"Not a valid object name {args[-1]}")
    kind, data = git.repo.objects.read(sha)
    if flags == ["-e"]:
        return 0
    if flags:
        git.say({"-t": f"{kind}\n", "-s": f"{len(data)}\n"}.get(flags[0], "") or _printed(git, kind, sha, data))
        return 0
    if args[0] != kind:
        git.call.unknown("another kind of object")
    git.say(data)
    return 0


def _printed(git: Git, kind: str, sha: str, data: bytes) -> bytes | str:
    if kind != "tree":
        return data
    return "".join(_tree_line(git, name, entry) for name, entry in git.repo.objects.entries(sha).items())


def _tree_line(git: Git, name: str, entry: TreeEntry) -> str:
    kind = {0o40000: "tree", 0o160000: "commit"}.get(entry.mode, "blob")
    return f"{entry.mode:06o} {kind} {entry.sha}\t{quoted(name)}\n"


def ls_tree(git: Git, argv: list[str]) -> int:
    """List a tree."""
    options = git.parse("ls-tree", argv, "-r -t -d --name-only --name-status --long --full-name --full-tree")
    if not options.args:
        raise Failure(usage("ls-tree").removesuffix("\n"), 129, "")
    if (
        {"-t", "-d", "--long", "--full-tree"} & {name for name, _ in options.given}
        or git.prefix
        or len(options.args) > 1
    ):
        git.call.unknown("these options of ls-tree")
    sha = find(git.repo, options.args[0])
    if sha is None:
        raise Failure(f"Not a valid object name {options.args[0]}")
    tree = git.repo.tree_of(sha)
    if tree is None:
        raise Failure("not a tree object")
    entries = git.repo.objects.flat(tree) if "-r" in options else git.repo.objects.entries(tree)
    names = "--name-only" in options or "--name-status" in options
    for name, entry in entries.items():
        git.say(f"{quoted(name)}\n" if names else _tree_line(git, name, entry))
    return 0


def diff_tree(git: Git, argv: list[str]) -> int:
    """Show what a commit changed, or how two trees differ."""
    options, words, args = DiffOptions(abbrev_raw=40), list(argv), []
    deep = quiet_name = False
    while words:
        if words[0] in ("-r", "--no-commit-id"):
            deep, quiet_name = deep or words[0] == "-r", quiet_name or words[0] == "--no-commit-id"
            words.pop(0)
        elif words[0].startswith("-"):
            if not options.take(git, words):
                git.call.unknown(f"diff-tree {words[0]}")
        else:
            args.append(words.pop(0))
    options.outputs = options.outputs or ["raw"]
    found = [find(git.repo, name) for name in args]
    if not 1 <= len(args) <= 2 or None in found:
        git.call.unknown("this form of diff-tree")
    shas = [git.repo.objects.peel(sha) for sha in found if sha is not None]
    if len(shas) == 1:
        commit = git.repo.objects.commit(shas[0])
        if len(commit.parents) != 1:
            return 0
        shas.insert(0, commit.parents[0])
        if not quiet_name:
            git.say(f"{commit.sha}\n")
    old, new = (git.repo.objects.flat(git.repo.tree_of(sha)) for sha in shas)
    changes = compare(old, new)
    if not deep and "patch" not in options.outputs and any("/" in change.path for change in changes):
        git.call.unknown("directories in diff-tree")
    git.say(show_changes(git, changes, options, Contents(git))[0])
    return 0


def var(git: Git, argv: list[str]) -> int:
    """Print what git would use for a name or an editor."""
    if argv == ["GIT_AUTHOR_IDENT"]:
        git.say(git.author() + "\n")
    elif argv == ["GIT_COMMITTER_IDENT"]:
        git.say(git.committer() + "\n")
    else:
        git.call.unknown("this variable")
    return 0


def hash_object(git: Git, argv: list[str]) -> int:
    """Print the names that files would have as objects."""
    options = git.parse("hash-object", argv, "-w --stdin -t")
    if options.get("-t") not in (None, "blob"):
        git.call.unknown("other kinds in hash-object")
    contents = [stdin(git.call)] if "--stdin" in options else []
    for name in options.args:
        try:
            contents.append(restore(git.files.read(name)))
        except OSError as error:
            raise Failure(f"could not open '{name}' for reading: {error.strerror}") from error
    for data in contents:
        if "-w" in options:
            git.say(git.repo.objects.write("blob", data) + "\n")
        else:
            git.say(Blob.from_string(data).id.decode() + "\n")
    return 0


def merge_base(git: Git, argv: list[str]) -> int:
    """Print the best common ancestor."""
    options = git.parse("merge-base", argv, "--all --is-ancestor")
    if len(options.args) != 2:
        git.call.unknown("this form of merge-base")
    found = []
    for word in options.args:
        sha = find_commit(git.repo, word)
        if sha is None:
            raise Failure(f"Not a valid object name {word}")
        found.append(sha)
    if "--is-ancestor" in options:
        return 0 if found[0] in ancestors(git.repo, [found[1]]) else 1
    bases = merge_bases(git.repo, found[0], found[1])
    git.say("".join(f"{sha}\n" for sha in (bases if "--all" in options else bases[:1])))
    return 0 if bases else 1
