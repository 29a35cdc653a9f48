"""`git commit`."""

from __future__ import annotations

import re

from worldline.kernels.git.commands.adding import store
from worldline.kernels.git.commands.status import long_status, short_status, untracked_mode
from worldline.kernels.git.committing import announce, clean_message, write_commit
from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.index import Index
from worldline.kernels.git.objects import Commit
from worldline.kernels.git.options import Options
from worldline.kernels.git.people import parse_date, take_apart
from worldline.kernels.git.revisions import find_commit
from worldline.kernels.git.snapshot import take_status
from worldline.kernels.git.texts import EMPTY_AMEND, EMPTY_PICK
from worldline.kernels.shell.builtins.shared.textio import restore, stdin, unescape

__all__ = ["commit", "editor_of"]

_SUPPORTED = (
    "--quiet --message --all --amend --edit --allow-empty --allow-empty-message --file --author --date --reuse-message "
    "--reedit-message --signoff --no-verify --verify --reset-author --cleanup --dry-run --short "
    "--branch --porcelain --long "
    "--untracked-files --null --only --include --status --no-gpg-sign --gpg-sign --no-post-rewrite --fixup --squash"
)
_REST = ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG", "AUTO_MERGE")


def editor_of(git: Git) -> str:
    """The editor that git would start."""
    for name in ("GIT_EDITOR", "VISUAL", "EDITOR"):
        if name == "VISUAL" and git.settings.get("core.editor"):
            return git.settings.get("core.editor") or ""
        if git.env.get(name):
            return git.env[name]
    return git.settings.get("core.editor") or "editor"


def commit(git: Git, argv: list[str]) -> int:
    """Record what is in the index."""
    options = git.parse("commit", argv, _SUPPORTED)
    git.need_tree()
    repo = git.repo
    amend = "--amend" in options
    if amend and repo.head is None:
        raise Failure("You have nothing to amend.")
    if amend and repo.operation() in ("merge", "cherry-pick"):
        word = "a merge" if repo.operation() == "merge" else "a cherry-pick"
        raise Failure(f"You are in the middle of {word} -- cannot amend.")
    if "--all" in options and options.args:
        raise Failure(f"paths '{options.args[0]} ...' with -a does not make sense")
    if "--fixup" in [n for n, _ in options.given] or "--squash" in [n for n, _ in options.given]:
        git.call.unknown("commits for autosquash")
    wanted, kept = _stage(git, options)
    if wanted.conflicts:
        return _refuse_conflicts(git)
    if {"--dry-run", "--short", "--porcelain", "--long"} & {name for name, _ in options.given}:
        return _dry_run(git, options)
    message, author, edits = _given_message(git, options)
    merging = repo.text("MERGE_HEAD")
    parents = _parents(git, amend)
    tree = repo.objects.write_tree(wanted.entries)
    if not amend and merging is None and "--allow-empty" not in options and _same_tree(git, tree):
        return _nothing(git, options, kept)
    before = repo.objects.commit(parents[0]).tree if parents else repo.objects.name("tree", b"")
    if amend and "--allow-empty" not in options and len(parents) < 2 and tree == before:
        return _nothing(git, options, kept, amend=True)
    if edits:
        message = _edit(git, message, options)
    return _record(git, options, kept, wanted, tree, parents, message, author)


def _stage(git: Git, options: Options) -> tuple[Index, Index]:
    """The index that is committed, and the one that stays."""
    repo = git.repo
    index = repo.index
    if "--all" in options:
        for path in index.paths():
            here = git.tree.entry(path)
            if here is None:
                index.drop(path)
            elif here != index.entries.get(path):
                index.set(path, store(git, path))
        return index, index
    if not options.args:
        return index, index
    if repo.operation() == "merge" and "--include" not in options:
        raise Failure("cannot do a partial commit during a merge.")
    spec = git.pathspec(options.args)
    missing = spec.missing(index.paths())
    if missing:
        lines = [f"error: pathspec '{word}' did not match any file(s) known to git" for word in missing]
        raise Failure("\n".join(lines), 1, "")
    wanted = index if "--include" in options else Index(dict(repo.objects.flat(repo.head_tree())))
    for path in index.paths():
        if spec.matches(path):
            for target in (index, wanted):
                here = git.tree.entry(path)
                if here is None:
                    target.drop(path)
                else:
                    target.set(path, store(git, path))
    return wanted, index


def _refuse_conflicts(git: Git) -> int:
    for path in git.repo.index.paths():
        if path in git.repo.index.conflicts:
            git.say(f"U\t{path}\n")
    git.warn(
        "error: Committing is not possible because you have unmerged files.\n"
        "hint: Fix them up in the work tree, and then use 'git add/rm <file>'\n"
        "hint: as appropriate to mark resolution and make a commit.\nfatal: Exiting because of an "
        "unresolved conflict.\n"
    )
    return 128


def _dry_run(git: Git, options: Options) -> int:
    mode = untracked_mode(git, options)
    found = take_status(git, untracked=mode)
    if "--short" in options or "--porcelain" in options:
        git.say(short_status(git, found, "--branch" in options, "--porcelain" in options, "--null" in options))
    else:
        git.say(long_status(git, found, mode, commit=True))
    return 0 if found.staged or git.repo.operation() == "merge" else 1


def _parents(git: Git, amend: bool) -> list[str]:
    head = git.repo.head
    if amend:
        assert head is not None
        return list(git.repo.objects.commit(head).parents)
    merging = (git.repo.text("MERGE_HEAD") or "").split()
    return ([head] if head else []) + merging


def _same_tree(git: Git, tree: str) -> bool:
    head = git.repo.head_tree()
    return tree == head if head is not None else not git.repo.index.entries


def _nothing(git: Git, options: Options, kept: Index, *, amend: bool = False) -> int:
    mode = untracked_mode(git, options)
    git.repo.index = kept
    if "--all" in options or options.args:
        git.repo.save_index()
    found = take_status(git, untracked=mode)
    if git.repo.operation() == "cherry-pick":
        git.warn(EMPTY_PICK)
    if amend:
        found.staged = []
        git.warn(EMPTY_AMEND)
    git.say(long_status(git, found, mode, commit=True, amend=amend))
    return 1


def _from_commit(git: Git, name: str) -> Commit:
    sha = find_commit(git.repo, name)
    if sha is None:
        raise Failure(f"could not lookup commit {name}")
    return git.repo.objects.commit(sha)


def _given_message(git: Git, options: Options) -> tuple[str, str, bool]:
    """The message before it is cleaned, the author's line if another commit's is reused, and whether to edit it."""
    names = [name for name, _ in options.given]
    reuse = options.get("--reuse-message") or options.get("--reedit-message")
    head = git.repo.head
    amended = git.repo.objects.commit(head) if "--amend" in options and head else None
    author = amended.author if amended else ""
    edits = "--edit" in options
    if "--message" in names and "--file" in names:
        raise Failure("options '-m' and '-F' cannot be used together")
    if "--message" in names:
        message = "\n\n".join(re.sub(r"\n*$", "", _raw(value)) for value in options.all("--message")) + "\n"
    elif "--file" in names:
        message = _file(git, options.get("--file") or "")
    elif reuse is not None:
        source = _from_commit(git, reuse)
        message, author = source.message, source.author
        edits = edits or ("--reedit-message" in names and "--no-edit" not in names)
    elif amended is not None:
        message, edits = amended.message, "--no-edit" not in names
    else:
        prepared = git.repo.text("MERGE_MSG") or git.repo.text("SQUASH_MSG")
        message, edits = prepared or "", not (prepared and "--no-edit" in names)
    if git.repo.text("CHERRY_PICK_HEAD") is not None and not author:
        author = _from_commit(git, "CHERRY_PICK_HEAD").author
    if "--reset-author" in options:
        author = ""
    return message, author, edits


def _raw(text: str) -> str:
    return unescape(text).decode("utf-8", "surrogateescape")


def _file(git: Git, name: str) -> str:
    try:
        data = stdin(git.call) if name == "-" else restore(git.files.read(name))
    except OSError as error:
        raise Failure(f"could not read log file '{name}': {error.strerror}") from error
    return data.decode("utf-8", "surrogateescape")


def _edit(git: Git, message: str, options: Options) -> str:
    """What an editor leaves of a message; only editors that change nothing are known."""
    editor = editor_of(git).strip()
    if editor in ("true", ":", "/bin/true", "/usr/bin/true"):
        if "--status" in [name for name, _ in options.given]:
            git.call.unknown("a message with a status in it")
        return message
    if editor in ("cat", "/bin/cat"):
        git.call.unknown("the message as an editor sees it")
    if editor == "false":
        raise Failure(
            f"There was a problem with the editor '{editor}'.\nPlease supply the message using either -m or -F option.",
            1,
            "error: ",
        )
    if editor == "editor" and "EDITOR" not in git.env and git.env.get("TERM", "dumb") == "dumb":
        text = "Terminal is dumb, but EDITOR unset\nPlease supply the message using either -m or -F option."
        raise Failure(text, 1, "error: ")
    return git.call.unknown("what an editor does")


def _record(
    git: Git, options: Options, kept: Index, wanted: Index, tree: str, parents: list[str], message: str, author: str
) -> int:
    repo = git.repo
    cleanup = options.get("--cleanup") or "default"
    edited = bool({"--message", "--file", "--reuse-message"} & {name for name, _ in options.given}) or "--no-edit" in [
        name for name, _ in options.given
    ]
    if cleanup not in ("default", "strip", "whitespace", "verbatim"):
        git.call.unknown("this cleanup mode")
    if cleanup != "verbatim":
        message = clean_message(message, comments=cleanup == "strip" or (cleanup == "default" and not edited))
    date = _date(git, options)
    if author and (date or options.get("--author")):
        name, email, stamp = take_apart(author)
        author = git.author(date or f"@{stamp.seconds} {stamp.zone}", options.get("--author") or f"{name} <{email}>")
    reused = bool(author)
    line = author or git.author(date, options.get("--author") or "")
    committer = git.committer()
    if "--signoff" in options:
        message = _signed(message, " <".join(take_apart(committer)[:2]) + ">")
    if not message.strip() and "--allow-empty-message" not in options:
        git.warn("Aborting commit due to empty commit message.\n")
        return 1
    sha = write_commit(git, tree, parents, line, committer, message)
    made = repo.objects.commit(sha)
    word = "amend" if "--amend" in options else "merge" if len(parents) > 1 else "initial" if not parents else ""
    if repo.text("CHERRY_PICK_HEAD") is not None and not word:
        word = "cherry-pick"
    repo.put("COMMIT_EDITMSG", message)
    repo.update("HEAD", sha, f"commit{f' ({word})' if word else ''}: {made.subject}", who=committer)
    for name in _REST:
        repo.erase(name)
    repo.index = kept
    repo.save_index()
    if "--quiet" not in options:
        announce(git, made, dated=reused or bool(date), amended="--amend" in options)
    return 0


def _date(git: Git, options: Options) -> str:
    date = options.get("--date") or ""
    if date and parse_date(date, git.zone) is None:
        git.call.unknown("this form of a date")
    return date


def _signed(message: str, who: str) -> str:
    line = f"Signed-off-by: {who}"
    body = message.rstrip("\n")
    last = body.split("\n\n")[-1]
    if line in last.split("\n"):
        return message
    trailers = "\n\n" in body and all(re.match(r"[\w-]+: ", part) for part in last.split("\n"))
    return f"{body}\n{line}\n" if trailers else f"{body}\n\n{line}\n"
