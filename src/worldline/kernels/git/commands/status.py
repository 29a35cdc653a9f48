"""`git status`, also as a commit shows it that has nothing to commit."""

from __future__ import annotations

import re

from worldline.kernels.git.changes import FileChange
from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.options import Options
from worldline.kernels.git.patch import quoted
from worldline.kernels.git.revisions import ancestors, full_ref, upstream_of
from worldline.kernels.git.snapshot import Status, take_status

__all__ = [
    "conflict",
    "detached_at",
    "long_status",
    "short_status",
    "status",
    "tracking",
    "tracking_text",
    "untracked_mode",
]

_WORDS = {
    "A": "new file:", "M": "modified:", "D": "deleted:", "R": "renamed:", "C": "copied:", "T": "typechange:",
}  # fmt: skip
_CONFLICTS = {
    (True, True, True): ("UU", "both modified:"), (False, True, True): ("AA", "both added:"),
    (True, False, False): ("DD", "both deleted:"), (True, True, False): ("UD", "deleted by them:"),
    (True, False, True): ("DU", "deleted by us:"), (False, True, False): ("AU", "added by us:"),
    (False, False, True): ("UA", "added by them:"),
}  # fmt: skip


def status(git: Git, argv: list[str]) -> int:
    """Show what a commit would hold and what it would not."""
    supported = (
        "--short --branch --porcelain --long --null --untracked-files --ignored --verbose --ahead-behind "
        "--renames --find-renames --no-renames --show-stash"
    )
    options = git.parse("status", argv, supported)
    git.need_tree()
    if "--show-stash" in options or options.get("--porcelain") in ("v2", "2") or "--verbose" in options:
        git.call.unknown("these options of status")
    untracked = untracked_mode(git, options)
    ignored = options.flag("--ignored")
    if options.get("--ignored") not in (None, "", "traditional", "no"):
        git.call.unknown("this mode of --ignored")
    renames = not ("--no-renames" in options or git.settings.get("status.renames") == "false")
    found = take_status(git, untracked=untracked, ignored=ignored, renames=renames)
    spec = git.pathspec(options.args)
    if spec:
        found = Status(
            [c for c in found.staged if spec.matches(c.path)],
            [c for c in found.unstaged if spec.matches(c.path)],
            spec.keep(found.unmerged),
            spec.keep(found.untracked),
            spec.keep(found.ignored),
        )
        if any(spec.reaches(path) and not spec.matches(path) for path in git.tree.untracked() if path.endswith("/")):
            git.call.unknown("a path in an untracked directory")
    porcelain = options.flag("--porcelain") or (options.flag("--null") and "--short" not in options)
    short = options.flag("--short") or git.settings.flag("status.short")
    if (short or porcelain) and "--long" not in options:
        branch = options.flag("--branch") or (not porcelain and git.settings.flag("status.branch"))
        git.say(short_status(git, found, branch, porcelain, options.flag("--null")))
    else:
        git.say(long_status(git, found, untracked))
    return 0


def untracked_mode(git: Git, options: Options) -> str:
    """How untracked files are listed: `no`, `normal` or `all`."""
    given = options.get("--untracked-files")
    if "--no-untracked-files" in [name for name, _ in options.given]:
        return "no"
    mode = given if given else "all" if given == "" else git.settings.get("status.showuntrackedfiles") or "normal"
    mode = {"false": "no", "true": "normal"}.get(mode, mode)
    if mode not in ("no", "normal", "all"):
        raise Failure(f"Invalid untracked files mode '{mode}'")
    return mode


def conflict(git: Git, path: str) -> tuple[str, str]:
    """The two letters and the words of a conflict."""
    sides = git.repo.index.conflicts[path]
    return _CONFLICTS[(sides.base is not None, sides.ours is not None, sides.theirs is not None)]


def _quoted(path: str) -> str:
    shown = quoted(path)
    return f'"{shown}"' if " " in shown and not shown.startswith('"') else shown


def short_status(git: Git, found: Status, branch: bool, porcelain: bool, null: bool) -> str:
    """Two letters per file."""
    lines = [_branch_line(git)] if branch else []
    pairs: dict[str, list[str]] = {}
    sources = {}
    for change in found.staged:
        pairs[change.path] = [change.status, " "]
        if change.source is not None:
            sources[change.path] = change.source
    for change in found.unstaged:
        pairs.setdefault(change.path, [" ", " "])[1] = change.status
    for path in found.unmerged:
        pairs[path] = list(conflict(git, path)[0])

    def name(path: str) -> str:
        shown = path if porcelain else git.shown(path)
        return shown if null else _quoted(shown)

    for path in sorted(pairs, key=lambda text: text.encode("utf-8", "surrogateescape")):
        letters = "".join(pairs[path])
        if path in sources and null:
            lines.append(f"{letters} {name(path)}\0{name(sources[path])}")
        else:
            lines.append(f"{letters} " + (f"{name(sources[path])} -> " if path in sources else "") + name(path))
    lines += [f"?? {name(path)}" for path in found.untracked]
    lines += [f"!! {name(path)}" for path in found.ignored]
    end = "\0" if null else "\n"
    return "".join(line + end for line in lines)


def tracking(git: Git, branch: str) -> tuple[str, int, int] | None:
    """The upstream of a branch with how many commits it is ahead and behind; -1 where the upstream is gone."""
    upstream = upstream_of(git.repo, branch)
    if upstream is None:
        return None
    short = upstream.removeprefix("refs/heads/").removeprefix("refs/remotes/")
    theirs, ours = git.repo.resolve(upstream), git.repo.resolve(f"refs/heads/{branch}")
    if theirs is None or ours is None:
        return short, -1, -1
    one, two = ancestors(git.repo, [ours]), ancestors(git.repo, [theirs])
    return short, len(one - two), len(two - one)


def _branch_line(git: Git) -> str:
    branch = git.repo.branch
    if branch is None:
        return "## HEAD (no branch)"
    head = f"## No commits yet on {branch}" if git.repo.head is None else f"## {branch}"
    track = tracking(git, branch)
    if track is None:
        return head
    name, ahead, behind = track
    parts = [f"ahead {ahead}"] * (ahead > 0) + [f"behind {behind}"] * (behind > 0) + ["gone"] * (ahead < 0)
    return f"{head}...{name}" + (f" [{', '.join(parts)}]" if parts else "")


def tracking_text(git: Git, branch: str) -> str:
    """How a branch stands to its upstream, in words."""
    track = tracking(git, branch)
    if track is None:
        return ""
    name, ahead, behind = track
    if ahead < 0:
        text = f"Your branch is based on '{name}', but the upstream is gone.\n"
        return text + '  (use "git branch --unset-upstream" to fixup)\n'
    if not ahead and not behind:
        return f"Your branch is up to date with '{name}'.\n"
    if not behind:
        word = "commit" if ahead == 1 else "commits"
        return (
            f"Your branch is ahead of '{name}' by {ahead} {word}.\n  (use \"git push\" to publish your local commits)\n"
        )
    if not ahead:
        word = "commit" if behind == 1 else "commits"
        text = f"Your branch is behind '{name}' by {behind} {word}, and can be fast-forwarded.\n"
        return text + '  (use "git pull" to update your local branch)\n'
    text = f"Your branch and '{name}' have diverged,\n"
    text += f"and have {ahead} and {behind} different commits each, respectively.\n"
    return text + '  (use "git pull" to merge the remote branch into yours)\n'


def _head_lines(git: Git) -> str:
    repo = git.repo
    if repo.branch is not None:
        text = f"On branch {repo.branch}\n"
        track = tracking_text(git, repo.branch) if repo.head else ""
        return text + (track + "\n" if track else "")
    return f"HEAD detached {detached_at(git)}\n"


def detached_at(git: Git) -> str:
    """`at NAME` or `from NAME`: where HEAD was detached."""
    for line in git.repo.history("HEAD"):
        if line.message.startswith("checkout: moving from "):
            name = line.message.rsplit(" to ", 1)[1]
            full = full_ref(git.repo, name) if name != "HEAD" else None
            target = git.repo.resolve(full) if full else None
            matches = target is not None and line.new in (target, git.repo.objects.peel(target))
            shown = re.sub("^refs/(?:tags|remotes)/", "", full) if full and matches else git.short(line.new)
            return f"at {shown}" if line.new == git.repo.head else f"from {shown}"
    return git.call.unknown("where HEAD was detached")


def _state(git: Git, unmerged: bool, dirty: bool) -> str:
    repo, operation = git.repo, git.repo.operation()
    if operation == "merge":
        if unmerged:
            text = 'You have unmerged paths.\n  (fix conflicts and run "git commit")\n'
            return text + '  (use "git merge --abort" to abort the merge)\n\n'
        return 'All conflicts fixed but you are still merging.\n  (use "git commit" to conclude merge)\n\n'
    if operation in ("cherry-pick", "revert"):
        word = "cherry-picking" if operation == "cherry-pick" else "reverting"
        sha = (repo.text("CHERRY_PICK_HEAD" if operation == "cherry-pick" else "REVERT_HEAD") or "").strip()
        first = "(fix conflicts and run" if unmerged else "(all conflicts fixed: run"
        text = f"You are currently {word} commit {git.short(sha)}.\n"
        text += f'  {first} "git {operation} --continue")\n  (use "git {operation} --skip" to skip this patch)\n'
        return text + f'  (use "git {operation} --abort" to cancel the {operation} operation)\n\n'
    if operation is not None or repo.text("BISECT_LOG") is not None:
        git.call.unknown("a rebase or bisection under way")
    return ""


def _entry(git: Git, change: FileChange, width: int = 12) -> str:
    name = quoted(git.shown(change.path))
    if change.source is not None:
        name = f"{quoted(git.shown(change.source))} -> {name}"
    return f"\t{_WORDS[change.status]:<{width}}{name}\n"


def long_status(
    git: Git, found: Status, untracked: str = "normal", *, commit: bool = False, amend: bool = False
) -> str:
    """The status in words.

    Args:
        git: The invocation.
        found: What there is to show.
        untracked: How untracked files were listed.
        commit: Whether a commit shows it.
        amend: Whether the last commit is to be replaced.
    """
    repo = git.repo
    first = repo.head is None or (amend and not repo.objects.commit(repo.head).parents)
    text = _head_lines(git)
    text += _state(git, bool(found.unmerged), bool(found.unstaged))
    if first:
        text += "\nInitial commit\n\n" if commit else "\nNo commits yet\n\n"
    if found.staged:
        text += "Changes to be committed:\n"
        if repo.operation() not in ("merge", "cherry-pick"):
            text += (
                '  (use "git rm --cached <file>..." to unstage)\n'
                if first
                else '  (use "git restore --staged <file>..." to unstage)\n'
            )
        text += "".join(_entry(git, change) for change in found.staged) + "\n"
    text += _unmerged(git, found.unmerged)
    if found.unstaged:
        word = "add/rm" if any(change.status == "D" for change in found.unstaged) else "add"
        text += f'Changes not staged for commit:\n  (use "git {word} <file>..." to update what will be committed)\n'
        text += '  (use "git restore <file>..." to discard changes in working directory)\n'
        text += "".join(_entry(git, change) for change in found.unstaged) + "\n"
    for title, hint, names in (
        ("Untracked files", '  (use "git add <file>..." to include in what will be committed)\n', found.untracked),
        ("Ignored files", '  (use "git add -f <file>..." to include in what will be committed)\n', found.ignored),
    ):
        if names:
            text += f"{title}:\n{hint}" + "".join(f"\t{quoted(git.shown(name))}\n" for name in names) + "\n"
    if untracked == "no" and not (found.staged and not found.unstaged):
        text += _not_listed(found)
    return text + ("No changes\n" if amend and not found.staged else _last_line(git, found, untracked))


def _not_listed(found: Status) -> str:
    return "Untracked files not listed (use -u option to show untracked files)\n" if found.staged else ""


def _unmerged(git: Git, paths: list[str]) -> str:
    if not paths:
        return ""
    words = [conflict(git, path)[1] for path in paths]
    hint = "add/rm" if any("deleted" in word for word in words) else "add"
    if all(word == "both deleted:" for word in words):
        hint = "rm"
    text = "Unmerged paths:\n"
    if git.repo.operation() not in ("merge", "cherry-pick"):
        text += '  (use "git restore --staged <file>..." to unstage)\n'
    text += f'  (use "git {hint} <file>..." {"as appropriate to " if hint == "add/rm" else "to "}mark resolution)\n'
    return (
        text
        + "".join(f"\t{word:<17}{quoted(git.shown(path))}\n" for word, path in zip(words, paths, strict=True))
        + "\n"
    )


def _last_line(git: Git, found: Status, untracked: str) -> str:
    if found.staged:
        return ""
    if found.unstaged or found.unmerged:
        return 'no changes added to commit (use "git add" and/or "git commit -a")\n'
    if found.untracked:
        return 'nothing added to commit but untracked files present (use "git add" to track)\n'
    if git.repo.head is None:
        return 'nothing to commit (create/copy files and use "git add" to track)\n'
    if untracked == "no":
        return "nothing to commit (use -u to show untracked files)\n"
    return "nothing to commit, working tree clean\n"
