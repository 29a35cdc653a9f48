"""`git revert` and `git cherry-pick`."""

from __future__ import annotations

from worldline.kernels.git.changes import compare
from worldline.kernels.git.commands.commit import commit as run_commit
from worldline.kernels.git.commands.commit import editor_of
from worldline.kernels.git.commands.merge import abort_state
from worldline.kernels.git.commands.status import long_status
from worldline.kernels.git.committing import announce, clean_message, write_commit
from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.objects import Commit
from worldline.kernels.git.options import Options, usage
from worldline.kernels.git.revisions import find_commit
from worldline.kernels.git.selecting import is_revision, read_selection, select
from worldline.kernels.git.snapshot import take_status
from worldline.kernels.git.texts import EMPTY_PICK
from worldline.kernels.git.threeway import lay_down, merge_trees

__all__ = ["cherry_pick", "revert"]

_SUPPORTED = (
    "--no-commit --edit --signoff --mainline --abort --continue --quit --skip -x --ff --allow-empty --no-gpg-sign"
)


def revert(git: Git, argv: list[str]) -> int:
    """Undo commits."""
    return _run(git, "revert", argv)


def cherry_pick(git: Git, argv: list[str]) -> int:
    """Apply commits again."""
    return _run(git, "cherry-pick", argv)


def _run(git: Git, name: str, argv: list[str]) -> int:
    try:
        options = git.parse(name, argv, _SUPPORTED)
    except Failure as failure:
        if failure.text.startswith("error: unknown"):
            raise Failure(usage(name).removesuffix("\n"), 129, "") from failure
        raise
    git.need_tree()
    repo = git.repo
    doing = {"--abort", "--continue", "--quit", "--skip"} & {key for key, _ in options.given}
    if doing:
        return _resume(git, name, doing.pop())
    if not options.args:
        raise Failure(usage(name).removesuffix("\n"), 129, "")
    if repo.head is None:
        git.call.unknown("no commits yet")
    commits = _commits(git, name, options)
    if repo.index.conflicts:
        word = "Reverting" if name == "revert" else "Cherry-picking"
        raise Failure(
            f"{word} is not possible because you have unmerged files.\n"
            "hint: Fix them up in the work tree, and then use 'git add/rm <file>'\n"
            f"hint: as appropriate to mark resolution and make a commit.\nfatal: {name} failed",
            128, "error: ",
        )  # fmt: skip
    for number, commit in enumerate(commits):
        status = _apply(git, name, commit, options, last=number == len(commits) - 1)
        if status:
            return status
    return 0


def _commits(git: Git, name: str, options: Options) -> list[Commit]:
    found: list[Commit] = []
    for word in options.args:
        if ".." in word or word.startswith("^"):
            if not is_revision(git, word):
                raise Failure(f"bad revision '{word}'")
            selection = read_selection(git, [word, "--"], None, None, name)
            commits = select(git, selection)
            found += commits if name == "revert" else commits[::-1]
        else:
            sha = find_commit(git.repo, word)
            if sha is None:
                raise Failure(f"bad revision '{word}'")
            found.append(git.repo.objects.commit(sha))
    return found


def _apply(git: Git, name: str, commit: Commit, options: Options, *, last: bool) -> int:
    repo, objects = git.repo, git.repo.objects
    head = repo.head or ""
    main = options.get("--mainline")
    if len(commit.parents) > 1 and main is None:
        raise Failure(
            f"commit {commit.sha} is a merge but no -m option was given.\nfatal: {name} failed", 128, "error: "
        )
    if main is not None and len(commit.parents) < 2:
        raise Failure(
            f"mainline was specified but commit {commit.sha} is not a merge.\nfatal: {name} failed", 128, "error: "
        )
    parent = commit.parents[int(main or 1) - 1] if commit.parents else None
    changes = [objects.flat(commit.tree), objects.flat(objects.commit(parent).tree if parent else None)]
    short = git.short(commit.sha)
    label = f"{short} ({commit.subject})"
    if name == "revert":
        base, theirs, labels = (
            changes[0],
            changes[1],
            ("HEAD", f"parent of {label}" if parent else "(empty tree)", short),
        )
    else:
        base, theirs, labels = changes[1], changes[0], ("HEAD", label, f"parent of {label}")
    keep = "--no-commit" in options
    ours = objects.flat(repo.head_tree())
    dirty = compare(ours, repo.index.entries)
    if dirty and not keep:
        verb = "revert" if name == "revert" else "cherry-pick"
        raise Failure(
            f"your local changes would be overwritten by {verb}.\nhint: commit your changes or stash "
            f"them to proceed.\nfatal: {verb} failed",
            128, "error: ",
        )  # fmt: skip
    if keep:
        ours = dict(repo.index.entries)
    merged = merge_trees(git, base, ours, theirs, labels)
    try:
        lay_down(git, merged, ours)
    except Failure as failure:
        raise Failure(f"{failure.text}fatal: {name} failed", 128, "") from failure
    git.say("".join(merged.messages))
    message = _message(git, name, commit, parent if main else None, options)
    if merged.conflicts:
        return _stop(git, name, commit, message, [*merged.conflicts], last)
    if keep:
        if name == "revert" and len(options.args) == 1:
            repo.put("REVERT_HEAD", commit.sha + "\n")
        repo.put("MERGE_MSG", message)
        return 0
    return _record(git, name, commit, message, options, head)


def _message(git: Git, name: str, commit: Commit, parent: str | None, options: Options) -> str:
    if name == "cherry-pick":
        if "-x" in options:
            end = f"(cherry picked from commit {commit.sha})\n"
            body = commit.message.rstrip("\n") + "\n"
            return body + ("\n" if "cherry picked from" not in body.split("\n\n")[-1] else "") + end
        return commit.message
    tail = f", reversing\nchanges made to {parent}." if parent else "."
    return f'Revert "{commit.subject}"\n\nThis reverts commit {commit.sha}{tail}\n'


def _stop(git: Git, name: str, commit: Commit, message: str, paths: list[str], last: bool) -> int:
    repo = git.repo
    if not last:
        git.call.unknown("a conflict before the last of several commits")
    repo.put("REVERT_HEAD" if name == "revert" else "CHERRY_PICK_HEAD", commit.sha + "\n")
    repo.put("MERGE_MSG", message.rstrip("\n") + "\n\n# Conflicts:\n" + "".join(f"#\t{path}\n" for path in paths))
    word = "revert" if name == "revert" else "apply"
    git.warn(
        f"error: could not {word} {git.short(commit.sha)}... {commit.subject}\n"
        "hint: After resolving the conflicts, mark them with\n"
        'hint: "git add/rm <pathspec>", then run\n'
        f'hint: "git {name} --continue".\n'
        f'hint: You can instead skip this commit with "git {name} --skip".\n'
        f'hint: To abort and get back to the state before "git {name}",\nhint: run "git {name} --abort".\n'
    )
    return 1


def _record(git: Git, name: str, commit: Commit, message: str, options: Options, head: str) -> int:
    repo = git.repo
    given = [key for key, _ in options.given]
    edits = "--edit" in given if name == "cherry-pick" else "--no-edit" not in given
    if edits and editor_of(git) not in ("true", ":"):
        if editor_of(git) == "editor" and git.env.get("TERM", "dumb") == "dumb" and "--edit" in given:
            git.call.unknown("an editor that cannot start")
        if "--edit" in given:
            git.call.unknown("what an editor does")
    tree = repo.objects.write_tree(repo.index.entries)
    if tree == repo.head_tree():
        before = repo.objects.commit(commit.parents[0]).tree if commit.parents else ""
        if name == "revert" or commit.tree == before:
            git.call.unknown(f"an empty {name}")
        repo.put("CHERRY_PICK_HEAD", commit.sha + "\n")
        repo.put("MERGE_MSG", message)
        git.say(long_status(git, take_status(git), commit=True))
        git.warn(EMPTY_PICK)
        return 1
    who = git.committer()
    author = commit.author if name == "cherry-pick" else git.author()
    text = clean_message(message, comments=False)
    sha = write_commit(git, tree, [head], author, who, text)
    made = repo.objects.commit(sha)
    if name == "cherry-pick" and "--ff" in options:
        git.call.unknown("--ff")
    repo.update("HEAD", sha, f"{name}: {made.subject}", who=who)
    announce(git, made, dated=True)
    return 0


def _resume(git: Git, name: str, doing: str) -> int:
    repo = git.repo
    state = "REVERT_HEAD" if name == "revert" else "CHERRY_PICK_HEAD"
    if repo.operation() is None:
        word = {"--abort": "no cherry-pick or revert in progress", "--continue": "no cherry-pick or revert in progress"}
        if doing == "--quit":
            return 0
        if doing == "--skip":
            raise Failure(f"no {name} in progress\nfatal: {name} failed", 128, "error: ")
        raise Failure(f"{word[doing]}\nfatal: {name} failed", 128, "error: ")
    if repo.text(state) is None:
        git.call.unknown(f"{name} {doing} in the middle of something else")
    if doing in ("--abort", "--skip"):
        abort_state(git)
        if repo.head:
            repo.note("HEAD", repo.head, repo.head, f"reset: moving to {repo.head}", git.who())
        return 0
    if doing == "--quit":
        repo.erase(state)
        return 0
    return run_commit(git, ["--no-edit", "--cleanup=strip"])
