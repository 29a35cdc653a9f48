"""`git init`."""

from __future__ import annotations

import posixpath

from worldline.kernels.git import texts
from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.options import usage

__all__ = ["init", "lay_out"]

_HOOKS = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-update", "pre-applypatch", "pre-commit",
    "pre-merge-commit", "pre-push", "pre-rebase", "pre-receive", "prepare-commit-msg", "push-to-checkout", "update",
)  # fmt: skip


def init(git: Git, argv: list[str]) -> int:
    """Make a repository."""
    options = git.parse("init", argv, "--quiet --bare --initial-branch --template --object-format")
    if len(options.args) > 1:
        raise Failure(usage("init").removesuffix("\n"), 129, "")
    bare = "--bare" in options
    place = git.files.absolute(options.args[0]) if options.args else git.call.cwd
    directory = place if bare else posixpath.join(place, ".git")
    again = all(git.files.exists(f"{directory}/{name}") for name in ("HEAD", "objects", "refs"))
    if not again and git.files.exists(directory) and git.files.stat(directory).kind != "directory":
        git.call.unknown("a linked repository")
    _make(git, directory)
    branch = options.get("--initial-branch") or git.settings.get("init.defaultbranch")
    if not again:
        if branch is None:
            branch = "master"
            if "--quiet" not in options:
                git.warn(texts.DEFAULT_BRANCH)
        lay_out(git, directory, branch, bare=bare)
    if "--quiet" not in options:
        word = "Reinitialized existing" if again else "Initialized empty"
        git.say(f"{word} Git repository in {directory}/\n")
    return 0


def _make(git: Git, directory: str) -> None:
    if directory != "/" and not git.files.exists(directory):
        _make(git, posixpath.dirname(directory))
        git.files.mkdir(directory)


def lay_out(git: Git, directory: str, branch: str, *, bare: bool) -> None:
    """Write what a new repository holds."""
    _make(git, directory)
    files = git.files
    for name in (
        "branches",
        "hooks",
        "info",
        "refs",
        "refs/heads",
        "refs/tags",
        "objects",
        "objects/pack",
        "objects/info",
    ):
        if not files.exists(f"{directory}/{name}"):
            files.mkdir(f"{directory}/{name}")
    for hook in _HOOKS:
        files.write_unknown(f"{directory}/hooks/{hook}.sample", 0o755)
    files.write(f"{directory}/description", texts.DESCRIPTION.encode())
    files.write(f"{directory}/info/exclude", texts.EXCLUDE.encode())
    files.write(f"{directory}/HEAD", f"ref: refs/heads/{branch}\n".encode())
    settings = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n"
    settings += "\tbare = true\n" if bare else "\tbare = false\n\tlogallrefupdates = true\n"
    files.write(f"{directory}/config", settings.encode())
