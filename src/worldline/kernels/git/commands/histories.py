"""Histories of refs, as `git reflog` and `git stash list` show them."""

from __future__ import annotations

import re

from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.people import show_date, take_apart
from worldline.kernels.git.pretty import Pretty
from worldline.kernels.git.revisions import full_ref
from worldline.kernels.git.selecting import read_selection

__all__ = ["show_history"]


def show_history(git: Git, words: list[str], *, ref: str = "", name: str = "") -> int:
    """Show the history of a ref, a line per change.

    Args:
        git: The invocation.
        words: Options, and the name of a ref unless `ref` is given.
        ref: Full name of the ref.
        name: What it is called in selectors.
    """
    pretty = Pretty(git)
    pretty.choose("oneline")
    pretty.abbreviate = True
    found = read_selection(git, words, pretty, None, "reflog")
    if found.names and not ref:
        name = found.names[0]
        full = full_ref(git.repo, name)
        if full is None or len(found.names) > 1:
            git.call.unknown("the history of something else")
        ref = full
    ref, name = ref or "HEAD", name or "HEAD"
    if git.repo.head is None and ref == "HEAD":
        raise Failure(f"your current branch '{git.repo.branch}' does not have any commits yet")
    if found.rest:
        raise Failure(f"unrecognized argument: {found.rest[0]}")
    if found.paths or found.grep or found.authors or found.graph:
        git.call.unknown("these options of reflog")
    dated = pretty.date != "default"
    lines = list(enumerate(git.repo.history(ref)))[found.skip :]
    lines = lines[: found.limit] if found.limit is not None else lines
    if pretty.name not in ("oneline", "tformat", "format"):
        git.call.unknown("this format of reflog")
    shown = []
    for number, line in lines:
        commit = git.repo.objects.commit(line.new)
        selector = f"{name}@{{{number}}}"
        if dated:
            selector = f"{name}@{{{show_date(take_apart(line.who)[2], pretty.date, git.call.now, git.zone)}}}"
        if pretty.template is None:
            sha = git.repo.objects.short(commit.sha, pretty.length) if pretty.abbreviate else commit.sha
            names = pretty.marks(commit.sha) if pretty.decorate else []
            mark = f" ({', '.join(names)})" if names else ""
            shown.append(f"{sha}{mark} {selector}: {line.message}")
            continue
        template = re.sub(r"%g[dD]", selector.replace("%", "%%"), pretty.template)
        who, email, _ = take_apart(line.who)
        for code, value in (("%gs", line.message), ("%gn", who), ("%ge", email)):
            template = template.replace(code, value.replace("%", "%%"))
        shown.append(pretty.expand(template, commit))
    git.say("\n".join(shown) if pretty.name == "format" else "".join(text + "\n" for text in shown))
    return 0
