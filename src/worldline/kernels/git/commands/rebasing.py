"""`git rebase` of a line of commits onto another, as long as nothing conflicts."""

from __future__ import annotations

from worldline.kernels.git.committing import write_commit
from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.revisions import ancestors, find_commit, merge_bases, upstream_of, walk
from worldline.kernels.git.switching import apply_tree
from worldline.kernels.git.threeway import merge_trees

__all__ = ["rebase"]

_CLEAR = "\r" + " " * 80 + "\r"


def rebase(git: Git, argv: list[str]) -> int:
    """Put the commits of a branch on top of another."""
    options = git.parse("rebase", argv, "--abort --continue --skip --quit --quiet")
    git.need_tree()
    repo = git.repo
    given = {name for name, _ in options.given}
    if repo.operation() == "rebase":
        git.call.unknown("a rebase under way")
    if given & {"--abort", "--continue", "--skip", "--quit"}:
        raise Failure("No rebase in progress?")
    if len(options.args) > 1 or repo.operation() is not None or repo.head is None:
        git.call.unknown("this form of rebase")
    branch = repo.branch
    if branch is None:
        git.call.unknown("a rebase of a detached HEAD")
    name = options.args[0] if options.args else upstream_of(repo, branch)
    if name is None:
        git.call.unknown("a rebase without an upstream")
    onto = find_commit(repo, name)
    if onto is None:
        raise Failure(f"invalid upstream '{name}'")
    if repo.index.entries != repo.objects.flat(repo.head_tree()) or git.tree.differing():
        raise Failure(_dirty(git), 1, "error: ")
    return _replay(git, branch, repo.head, onto, name, "--quiet" in options)


def _dirty(git: Git) -> str:
    staged = git.repo.index.entries != git.repo.objects.flat(git.repo.head_tree())
    if git.tree.differing():
        more = "\nerror: additionally, your index contains uncommitted changes." if staged else ""
        return f"cannot rebase: You have unstaged changes.{more}\nerror: Please commit or stash them."
    return "cannot rebase: Your index contains uncommitted changes.\nerror: Please commit or stash them."


def _replay(git: Git, branch: str, head: str, onto: str, name: str, quiet: bool) -> int:
    repo, objects = git.repo, git.repo.objects
    who = git.committer()
    commits = walk(repo, [head], [onto])[::-1]
    if any(len(commit.parents) != 1 for commit in commits) or len(merge_bases(repo, head, onto)) != 1:
        git.call.unknown("a rebase of merges")
    if onto in ancestors(repo, [head]):
        git.say("" if quiet else f"Current branch {branch} is up to date.\n")
        return 0
    there = {_change(git, commit.sha) for commit in walk(repo, [onto], [head])}
    if any(_change(git, commit.sha) in there for commit in commits):
        git.call.unknown("a rebase of commits that are there already")
    notes = [(head, onto, f"rebase (start): checkout {name}")]
    at, progress = onto, ""
    for number, commit in enumerate(commits, 1):
        progress += f"Rebasing ({number}/{len(commits)})\r"
        base = objects.flat(objects.commit(commit.parents[0]).tree)
        ours, theirs = objects.flat(objects.commit(at).tree), objects.flat(commit.tree)
        merged = merge_trees(git, base, ours, theirs, ("HEAD", commit.subject, ""))
        if merged.conflicts or merged.entries == ours:
            git.call.unknown("a rebase with conflicts or empty commits")
        if merged.messages:
            git.say("".join(merged.messages))
        made = write_commit(git, objects.write_tree(merged.entries), [at], commit.author, who, commit.message)
        notes.append((at, made, f"rebase (pick): {commit.subject}"))
        at = made
    apply_tree(git, objects.flat(objects.commit(head).tree), objects.flat(objects.commit(at).tree))
    repo.save_index()
    repo.put("ORIG_HEAD", head + "\n")
    for old, new, message in notes:
        repo.note("HEAD", old, new, message, who)
    repo.put(f"refs/heads/{branch}", at + "\n")
    repo.note(f"refs/heads/{branch}", head, at, f"rebase (finish): refs/heads/{branch} onto {onto}", who)
    repo.note("HEAD", at, at, f"rebase (finish): returning to refs/heads/{branch}", who)
    if not quiet:
        git.warn(f"{progress}{_CLEAR}Successfully rebased and updated refs/heads/{branch}.\n")
    return 0


def _change(git: Git, sha: str) -> tuple[tuple[str, str, str], ...]:
    """What a commit changed, so that two commits can be told to be the same change."""
    objects = git.repo.objects
    commit = objects.commit(sha)
    old = objects.flat(objects.commit(commit.parents[0]).tree if commit.parents else None)
    new = objects.flat(commit.tree)
    paths = sorted(path for path in {**old, **new} if old.get(path) != new.get(path))
    return tuple((path, old[path].sha if path in old else "", new[path].sha if path in new else "") for path in paths)
