"""Making commits: messages cleaned up, objects written, branches moved, and what is said about it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from worldline.kernels.git.changes import compare, find_renames
from worldline.kernels.git.context import Git
from worldline.kernels.git.objects import Commit
from worldline.kernels.git.patch import PatchStyle
from worldline.kernels.git.people import show_date, take_apart
from worldline.kernels.git.snapshot import Contents
from worldline.kernels.git.statistics import count, shortstat, summary

__all__ = ["announce", "clean_message", "split_message", "write_commit"]


def clean_message(text: str, *, comments: bool) -> str:
    """Strip trailing white space and blank lines, as git cleans up messages.

    Args:
        text: The message.
        comments: Whether lines that begin with `#` are dropped.
    """
    lines = [line.rstrip() for line in text.split("\n")]
    if comments:
        lines = [line for line in lines if not line.startswith("#")]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
    return text + "\n" if text else ""


def write_commit(git: Git, tree: str, parents: Sequence[str], author: str, committer: str, message: str) -> str:
    """Store a commit; returns its name."""
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents), f"author {author}", f"committer {committer}"]
    text = "\n".join(lines) + "\n\n" + message
    return git.repo.objects.write("commit", text.encode("utf-8", "surrogateescape"))


def announce(git: Git, commit: Commit, *, dated: bool = False, amended: bool = False) -> None:
    """Say `[BRANCH NAME] SUBJECT` and what changed."""
    repo = git.repo
    branch = repo.branch or "detached HEAD"
    first = " (root-commit)" if not commit.parents and not amended else ""
    git.say(f"[{branch}{first} {git.short(commit.sha)}] {commit.subject}\n")
    if take_apart(commit.author)[:2] != take_apart(commit.committer)[:2]:
        git.say(f" Author: {' <'.join(take_apart(commit.author)[:2])}>\n")
    if dated:
        git.say(f" Date: {show_date(take_apart(commit.author)[2], 'default', git.call.now, git.zone)}\n")
    if len(commit.parents) > 1:
        return
    old = repo.objects.commit(commit.parents[0]).tree if commit.parents else None
    contents = Contents(git)
    changes = find_renames(compare(repo.objects.flat(old), repo.objects.flat(commit.tree)), contents.blob)
    style = PatchStyle()
    counted = [count(c, contents.blob(c.old), contents.blob(c.new), style) for c in changes]
    git.say(shortstat(counted) + summary(changes))


def split_message(message: str) -> tuple[str, str]:
    """Subject (the first paragraph in one line) and body of a message."""
    parts = re.split(r"\n(?:[ \t]*\n)+", message.lstrip("\n"), maxsplit=1)
    return " ".join(parts[0].split("\n")).strip(), parts[1] if len(parts) > 1 else ""
