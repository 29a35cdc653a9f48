"""`git merge`."""

from __future__ import annotations

import re

from worldline.kernels.git.changes import compare, find_renames
from worldline.kernels.git.commands.commit import commit, editor_of
from worldline.kernels.git.committing import clean_message, write_commit
from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.options import Options
from worldline.kernels.git.patch import PatchStyle
from worldline.kernels.git.pretty import Pretty
from worldline.kernels.git.revisions import ancestors, find_commit, full_ref, merge_bases, upstream_of, walk
from worldline.kernels.git.snapshot import Contents
from worldline.kernels.git.statistics import count, stat, summary
from worldline.kernels.git.switching import apply_tree, force_tree
from worldline.kernels.git.threeway import lay_down, merge_trees

__all__ = ["abort_state", "merge", "show_stat"]

_SUPPORTED = (
    "--ff --ff-only --commit --message --edit --quiet --stat -n --summary --squash --abort --quit --continue --verbose "
    "--no-verify --verify --progress --strategy --strategy-option --signoff --into-name "
    "--allow-unrelated-histories --no-gpg-sign"
)


def show_stat(git: Git, old: str | None, new: str) -> None:
    """Say what changed between two commits."""
    objects = git.repo.objects
    contents = Contents(git)
    changes = compare(objects.flat(objects.commit(old).tree if old else None), objects.flat(objects.commit(new).tree))
    changes = find_renames(changes, contents.blob)
    counted = [count(c, contents.blob(c.old), contents.blob(c.new), PatchStyle()) for c in changes]
    git.say(stat(counted) + summary(changes))


def abort_state(git: Git) -> None:
    """Go back to the last commit, keeping what was not touched."""
    repo = git.repo
    head = repo.objects.flat(repo.head_tree())
    index = repo.index
    for path, entry in head.items():
        staged = index.entries.get(path)
        if staged == entry and git.tree.entry(path) != entry:
            git.call.unknown("local changes beside a merge")
    force_tree(git, head)
    repo.save_index()
    for name in ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "AUTO_MERGE"):
        repo.erase(name)


def merge(git: Git, argv: list[str]) -> int:
    """Join another line of history."""
    options = git.parse("merge", argv, _SUPPORTED)
    git.need_tree()
    repo = git.repo
    if "--abort" in options or "--continue" in options or "--quit" in options:
        return _state(git, options)
    if repo.index.conflicts:
        raise Failure(
            "Merging is not possible because you have unmerged files.\n"
            "hint: Fix them up in the work tree, and then use 'git add/rm <file>'\n"
            "hint: as appropriate to mark resolution and make a commit.\nfatal: Exiting because of "
            "an unresolved conflict.",
            128, "error: ",
        )  # fmt: skip
    if repo.operation() == "merge":
        raise Failure(
            "You have not concluded your merge (MERGE_HEAD exists).\nPlease, commit your changes before you merge."
        )
    if repo.operation() == "cherry-pick":
        raise Failure(
            "You have not concluded your cherry-pick (CHERRY_PICK_HEAD exists).\n"
            "Please, commit your changes before you merge."
        )
    if len(options.args) > 1:
        git.call.unknown("a merge of several branches")
    names = options.args or [_upstream(git)]
    sha = find_commit(repo, names[0])
    if sha is None:
        raise Failure(f"{names[0]} - not something we can merge", 1, "merge: ")
    head = repo.head
    if head is None:
        git.call.unknown("a merge into a branch without commits")
    return _join(git, options, names[0], head, sha)


def _upstream(git: Git) -> str:
    branch = git.repo.branch
    if branch is None:
        raise Failure("No current branch.")
    upstream = upstream_of(git.repo, branch)
    if upstream is None:
        raise Failure("No remote for the current branch.")
    return upstream.removeprefix("refs/remotes/")


def _join(git: Git, options: Options, name: str, head: str, sha: str) -> int:
    repo, quiet = git.repo, "--quiet" in options
    given = [key for key, _ in options.given]
    no_forward = "--no-ff" in given or git.settings.get("merge.ff") == "false"
    only = "--ff-only" in given or git.settings.get("merge.ff") == "only"
    squash = "--squash" in options
    if sha in ancestors(repo, [head]):
        git.say("" if quiet else "Already up to date. (nothing to squash)\n" if squash else "Already up to date.\n")
        return 0
    forward = head in ancestors(repo, [sha])
    if forward and not no_forward:
        return _forward(git, options, name, head, sha)
    if only:
        raise Failure("Not possible to fast-forward, aborting.")
    bases = merge_bases(repo, head, sha)
    if not bases and "--allow-unrelated-histories" not in options:
        raise Failure("refusing to merge unrelated histories")
    if len(bases) > 1 or "--signoff" in options or "--into-name" in given:
        git.call.unknown("this kind of merge")
    _check_index(git)
    return _three_way(git, options, name, (bases[0] if bases else "", head, sha), squash)


def _check_index(git: Git) -> None:
    repo = git.repo
    if compare(repo.objects.flat(repo.head_tree()), repo.index.entries):
        git.call.unknown("a merge with staged changes")


def _forward(git: Git, options: Options, name: str, head: str, sha: str) -> int:
    repo, quiet = git.repo, "--quiet" in options
    if not quiet:
        git.say(f"Updating {git.short(head)}..{git.short(sha)}\n")
    objects = repo.objects
    apply_tree(git, objects.flat(objects.commit(head).tree), objects.flat(objects.commit(sha).tree), "merge")
    repo.save_index()
    if not quiet:
        ignored = " (no commit created; -m option ignored)" if options.all("--message") else ""
        git.say(f"Fast-forward{ignored}\n")
    if "--squash" in options:
        _squash(git, head, sha, quiet)
        if not quiet and _shows_stat(git, options):
            show_stat(git, head, sha)
        return 0
    repo.put("ORIG_HEAD", head + "\n")
    repo.update("HEAD", sha, f"merge {name}: Fast-forward", who=git.who())
    if not quiet and _shows_stat(git, options):
        show_stat(git, head, sha)
    return 0


def _shows_stat(git: Git, options: Options) -> bool:
    given = [key for key, _ in options.given if key in ("--stat", "--no-stat", "-n", "--summary", "--no-summary")]
    return given[-1] in ("--stat", "--summary") if given else git.settings.flag("merge.stat", True)


def _title(git: Git, name: str) -> str:
    repo = git.repo
    full = full_ref(repo, name) or ""
    if full.startswith("refs/heads/"):
        what = f"branch '{full.removeprefix('refs/heads/')}'"
    elif full.startswith("refs/remotes/"):
        what = f"remote-tracking branch '{full.removeprefix('refs/remotes/')}'"
    elif full.startswith("refs/tags/"):
        if repo.objects.kind(repo.resolve(full) or "") == "tag":
            git.call.unknown("a merge of an annotated tag")
        what = f"tag '{full.removeprefix('refs/tags/')}'"
    elif re.fullmatch(r"(.+?)(?:~\d+|\^+)", name) and repo.resolve("refs/heads/" + re.sub(r"[~^].*", "", name)):
        what = f"branch '{re.sub(r'[~^].*', '', name)}' (early part)"
    else:
        what = f"commit '{name}'"
    branch = repo.branch
    return f"Merge {what}" + ("" if branch in ("master", "main", None) and branch else f" into {branch or 'HEAD'}")


def _three_way(git: Git, options: Options, name: str, commits: tuple[str, str, str], squash: bool) -> int:
    repo = git.repo
    base, head, sha = commits
    favor = options.get("--strategy-option") or ""
    if favor not in ("", "ours", "theirs") or options.get("--strategy") not in (None, "ort", "recursive"):
        git.call.unknown("this strategy")
    flats = [repo.objects.flat(repo.objects.commit(item).tree if item else None) for item in commits]
    label = git.short(base) if base else "empty tree"
    merged = merge_trees(git, flats[0], flats[1], flats[2], ("HEAD", name, label), favor=favor)
    try:
        lay_down(git, merged, flats[1])
    except Failure as failure:
        git.warn(failure.text)
        git.say("Merge with strategy ort failed.\n")
        return 2
    git.say("".join(merged.messages))
    text = "\n\n".join(part.rstrip("\n") for part in options.all("--message")) or _title(git, name)
    if not squash:
        repo.put("ORIG_HEAD", head + "\n")
    if squash:
        _squash(git, head, sha, "--quiet" in options)
        if merged.conflicts:
            git.call.unknown("a squashed merge with conflicts")
        git.warn("Automatic merge went well; stopped before committing as requested\n")
        return 0
    if merged.conflicts:
        _stop(git, sha, text, [*merged.conflicts], options)
        return 1
    if "--no-commit" in [key for key, _ in options.given]:
        repo.put("MERGE_HEAD", sha + "\n")
        repo.put("MERGE_MODE", "no-ff" if "--no-ff" in [key for key, _ in options.given] else "")
        repo.put("MERGE_MSG", text + "\n")
        git.warn("Automatic merge went well; stopped before committing as requested\n")
        return 0
    _needs_editor(git, options)
    message = clean_message(text + "\n", comments=False)
    who = git.committer()
    made = write_commit(git, repo.objects.write_tree(merged.entries), [head, sha], git.author(), who, message)
    repo.update("HEAD", made, f"merge {name}: Merge made by the 'ort' strategy.", who=who)
    if "--quiet" not in options:
        git.say("Merge made by the 'ort' strategy.\n")
        if _shows_stat(git, options):
            show_stat(git, head, made)
    return 0


def _squash(git: Git, head: str, sha: str, quiet: bool) -> None:
    """Prepare the message of a commit that takes in others without being a merge."""
    pretty = Pretty(git)
    texts = [pretty.text(commit) + "\n" for commit in walk(git.repo, [sha], [head])]
    git.repo.put("SQUASH_MSG", "Squashed commit of the following:\n\n" + "\n".join(texts))
    if not quiet:
        git.say("Squash commit -- not updating HEAD\n")


def _needs_editor(git: Git, options: Options) -> None:
    given = [key for key, _ in options.given]
    if "--edit" in given and editor_of(git) not in ("true", ":"):
        git.call.unknown("what an editor does")


def _stop(git: Git, sha: str, text: str, paths: list[str], options: Options) -> None:
    repo = git.repo
    repo.put("MERGE_HEAD", sha + "\n")
    repo.put("MERGE_MODE", "no-ff" if "--no-ff" in [key for key, _ in options.given] else "")
    repo.put("MERGE_MSG", text + "\n\n# Conflicts:\n" + "".join(f"#\t{path}\n" for path in paths))
    git.say("Automatic merge failed; fix conflicts and then commit the result.\n")


def _state(git: Git, options: Options) -> int:
    repo = git.repo
    if repo.text("MERGE_HEAD") is None:
        if "--quit" in options:
            return 0
        word = "to abort" if "--abort" in options else "in progress"
        raise Failure(f"There is no merge {word} (MERGE_HEAD missing).")
    if "--abort" in options:
        abort_state(git)
        if repo.head:
            repo.put("ORIG_HEAD", repo.head + "\n")
            repo.note("HEAD", repo.head, repo.head, "reset: moving to HEAD", git.who())
        return 0
    if "--quit" in options:
        for name in ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE"):
            repo.erase(name)
        return 0
    return commit(git, [])
