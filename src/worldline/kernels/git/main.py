"""`git` itself: options before the command, the table of commands, unknown commands."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import replace

from worldline.kernels.git.commands.adding import add, move, remove
from worldline.kernels.git.commands.branches import branch, tag
from worldline.kernels.git.commands.checkout import checkout, restore, switch
from worldline.kernels.git.commands.commit import commit
from worldline.kernels.git.commands.describing import blame, describe, grep, shortlog
from worldline.kernels.git.commands.exchange import clone, fetch, ls_remote, pull, push
from worldline.kernels.git.commands.inspecting import (
    check_ignore,
    count_objects,
    for_each_ref,
    fsck,
    ls_files,
    rev_parse,
    show_ref,
    symbolic_ref,
)
from worldline.kernels.git.commands.merge import merge
from worldline.kernels.git.commands.plumbing import cat_file, diff_tree, hash_object, ls_tree, merge_base, var
from worldline.kernels.git.commands.rebasing import rebase
from worldline.kernels.git.commands.resetting import clean, reset
from worldline.kernels.git.commands.sequence import cherry_pick, revert
from worldline.kernels.git.commands.setting import config, remote
from worldline.kernels.git.commands.showing import diff, log, reflog, rev_list, show, whatchanged
from worldline.kernels.git.commands.starting import init
from worldline.kernels.git.commands.stash import stash
from worldline.kernels.git.commands.status import status
from worldline.kernels.git.commands.worktrees import bisect, worktree
from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.options import usage
from worldline.kernels.git.suggesting import NAMES, similar
from worldline.kernels.shell.builtins.base import Call, Result
from worldline.kernels.shell.builtins.shared.messages import strerror

__all__ = ["run"]

Command = Callable[[Git, list[str]], int]

_COMMANDS: dict[str, Command] = {
    "add": add,
    "bisect": bisect,
    "blame": blame,
    "clone": clone,
    "describe": describe,
    "diff-tree": diff_tree,
    "fetch": fetch,
    "var": var,
    "whatchanged": whatchanged,
    "grep": grep,
    "push": push,
    "shortlog": shortlog,
    "worktree": worktree,
    "branch": branch,
    "cat-file": cat_file,
    "check-ignore": check_ignore,
    "checkout": checkout,
    "cherry-pick": cherry_pick,
    "clean": clean,
    "commit": commit,
    "config": config,
    "count-objects": count_objects,
    "ls-remote": ls_remote,
    "pull": pull,
    "for-each-ref": for_each_ref,
    "fsck": fsck,
    "hash-object": hash_object,
    "ls-files": ls_files,
    "ls-tree": ls_tree,
    "merge": merge,
    "merge-base": merge_base,
    "rebase": rebase,
    "remote": remote,
    "reset": reset,
    "restore": restore,
    "rev-parse": rev_parse,
    "revert": revert,
    "show-ref": show_ref,
    "stash": stash,
    "switch": switch,
    "symbolic-ref": symbolic_ref,
    "tag": tag,
    "diff": diff,
    "init": init,
    "log": log,
    "mv": move,
    "reflog": reflog,
    "rev-list": rev_list,
    "rm": remove,
    "show": show,
    "stage": add,
    "status": status,
}

_VERSION = "git version 2.39.5\n"


def run(call: Call) -> Result:
    """Run git as it was called.

    Raises:
        Unknown: What it would do is not known.
    """
    words = list(call.argv)
    settings: list[tuple[str, str]] = []
    directory = worktree = ""
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word == "-C" and words:
            place = words.pop(0)
            moved = _enter(call, place)
            if isinstance(moved, Result):
                return moved
            call = moved
        elif word == "-c" and words:
            key, _, value = words.pop(0).partition("=")
            settings.append((key, value))
        elif word.startswith("--git-dir=") or (word == "--git-dir" and words):
            directory = word[10:] or words.pop(0)
        elif word.startswith("--work-tree=") or (word == "--work-tree" and words):
            worktree = word[12:] or words.pop(0)
        elif word in ("--no-pager", "-P", "--literal-pathspecs", "--no-optional-locks", "-p", "--paginate"):
            if word in ("-p", "--paginate", "--literal-pathspecs"):
                call.unknown(f"the option {word}")
        elif word in ("--version", "-v"):
            return Result(_VERSION)
        elif word in ("--help", "-h"):
            words = ["help", *words]
        elif word == "--exec-path":
            return Result("/usr/lib/git-core\n")
        elif word.startswith(("--html-path", "--man-path", "--info-path", "--exec-path", "--bare", "--namespace")):
            call.unknown(f"the option {word}")
        else:
            return Result(stderr=f"unknown option: {word}\n{_short_usage()}", status=129)
    if not words:
        return Result(usage("git"), status=1)
    return _dispatch(Git(call, settings, directory, worktree), words[0], words[1:])


def _short_usage() -> str:
    return usage("git").split("\n\n")[0] + "\n"


def _enter(call: Call, place: str) -> Call | Result:
    path = posixpath.normpath(posixpath.join(call.cwd, place))
    try:
        kind = call.files.stat(path).kind
        if kind != "directory":
            raise NotADirectoryError(20, "Not a directory")
    except OSError as error:
        return Result(stderr=f"fatal: cannot change to '{place}': {strerror(error)}\n", status=128)
    return replace(call, cwd=path, files=_Moved(call.files, path))  # type: ignore[arg-type]


class _Moved:
    """The files as seen from another working directory."""

    def __init__(self, files: object, cwd: str) -> None:
        self._files, self._cwd = files, cwd

    def __getattr__(self, name: str) -> object:
        method = getattr(self._files, name)
        if name in ("refresh",):
            return method
        cwd = self._cwd

        def moved(path: str, *args: object, **more: object) -> object:
            if name == "symlink":
                return method(path, posixpath.join(cwd, str(args[0])))
            if name == "rename":
                return method(posixpath.join(cwd, path), posixpath.join(cwd, str(args[0])))
            return method(posixpath.join(cwd, path), *args, **more)

        return moved


def _dispatch(git: Git, name: str, argv: list[str]) -> Result:
    try:
        return git.result(_command(git, name, argv))
    except Failure as failure:
        if failure.text.startswith("help:"):
            git.say(failure.text.removeprefix("help:"))
        else:
            git.warn(failure.text)
        return git.result(failure.status)


def _command(git: Git, name: str, argv: list[str]) -> int:
    if name in ("help", "version"):
        return _general(git, name, argv)
    alias = git.settings.get(f"alias.{name}") if name not in NAMES else None
    if alias is not None:
        git.call.unknown("an alias") if alias.startswith("!") else None
        words = alias.split()
        if any(char in alias for char in "'\"\\") or not words:
            git.call.unknown("an alias with quotes")
        return _command(git, words[0], [*words[1:], *argv])
    if not git.settings.flag("core.quotepath", True):
        git.call.unknown("unquoted paths")
    command = _COMMANDS.get(name)
    if command is not None:
        return command(git, argv)
    if name in NAMES:
        git.call.unknown(f"git {name}")
    git.warn(f"git: '{name}' is not a git command. See 'git --help'.\n")
    near = similar(name)
    if near:
        word = "command is" if len(near) == 1 else "commands are"
        git.warn(f"\nThe most similar {word}\n" + "".join(f"\t{other}\n" for other in near))
    return 1


def _general(git: Git, name: str, argv: list[str]) -> int:
    if name == "version" and not argv:
        git.say(_VERSION)
    elif name == "help" and not argv:
        git.say(usage("git"))
    elif name == "help" and argv in (["-a"], ["--all"]):
        git.say(usage("help-all"))
    else:
        git.call.unknown(f"git {name}")
    return 0
