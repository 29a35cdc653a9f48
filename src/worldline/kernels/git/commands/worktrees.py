"""`git worktree` and `git bisect` where it only says that nothing is under way."""

from __future__ import annotations

import posixpath

from worldline.kernels.git.commands.checkout import bad_branch_name
from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.options import usage
from worldline.kernels.git.repository import ZERO
from worldline.kernels.git.revisions import find_commit
from worldline.kernels.git.switching import force_tree

__all__ = ["bisect", "linked", "worktree"]


def linked(git: Git) -> list[tuple[str, str]]:
    """Name and place of the linked working trees."""
    folder = f"{git.repo.common}/worktrees"
    if not git.files.exists(folder):
        return []
    found = []
    for name in git.files.list(folder):
        text = git.files.read(f"{folder}/{name}/gitdir").decode().strip()
        found.append((name, posixpath.dirname(text)))
    return found


def worktree(git: Git, argv: list[str]) -> int:
    """Check out several branches in several places."""
    git.need_repository()
    word, rest = (argv[0], argv[1:]) if argv else ("", [])
    if word == "list":
        return _list(git, rest)
    if word == "add":
        return _add(git, rest)
    if word == "remove":
        return _remove(git, rest)
    if word == "prune" and not rest:
        if any(not git.files.exists(place) for _, place in linked(git)):
            git.call.unknown("a working tree that is gone")
        return 0
    if word in ("lock", "unlock", "move", "repair", "prune"):
        git.call.unknown(f"worktree {word}")
    if not word:
        raise Failure(f"need a subcommand\n{usage('worktree')}".removesuffix("\n"), 129, "error: ")
    raise Failure(f"unknown subcommand: `{word}'\n{usage('worktree')}".removesuffix("\n"), 129, "error: ")


def _list(git: Git, argv: list[str]) -> int:
    options = git.parse("worktree-list", argv, "")
    if options.args:
        raise Failure(usage("worktree-list").removesuffix("\n"), 129, "")
    main = git.repo.common
    rows = [(posixpath.dirname(main) if main.endswith("/.git") else main, main)]
    rows += [(place, f"{main}/worktrees/{name}") for name, place in sorted(linked(git), key=lambda item: item[1])]
    width = max(len(place) for place, _ in rows)
    for place, directory in rows:
        head = git.files.read(f"{directory}/HEAD").decode().strip()
        bare = directory == main and git.settings.flag("core.bare")
        if bare:
            git.say(f"{place:<{width + 1}} (bare)\n")
            continue
        branch = head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else None
        sha = git.repo.resolve(f"refs/heads/{branch}") if branch else head
        shown = git.short(sha) if sha else "0000000"
        if branch and not git.files.exists(place):
            git.call.unknown("a working tree that is gone")
        git.say(f"{place:<{width + 1}} {shown} " + (f"[{branch}]\n" if branch else "(detached HEAD)\n"))
    return 0


def _add(git: Git, argv: list[str]) -> int:
    options = git.parse("worktree-add", argv, "-b --force --detach --quiet --checkout")
    repo = git.repo
    if not options.args or len(options.args) > 2:
        raise Failure(usage("worktree-add").removesuffix("\n"), 129, "")
    place = git.files.absolute(options.args[0])
    name = posixpath.basename(place)
    start = options.args[1] if len(options.args) > 1 else "HEAD"
    create = options.get("-b") or ("" if len(options.args) > 1 or "--detach" in options else name)
    if {"--force", "--detach", "--checkout", "--no-checkout"} & {key for key, _ in options.given}:
        git.call.unknown("these options of worktree add")
    if git.files.exists(place) and git.files.list(place):
        raise Failure(f"'{options.args[0]}' already exists")
    sha = find_commit(repo, start)
    if sha is None:
        raise Failure(f"invalid reference: {start}")
    if create and options.get("-b") is None and repo.resolve(f"refs/heads/{create}") is not None:
        create, start = "", create
        sha = find_commit(repo, start) or sha
    if create and bad_branch_name(create):
        raise Failure(f"'{create}' is not a valid branch name")
    if create and repo.resolve(f"refs/heads/{create}") is not None:
        raise Failure(f"a branch named '{create}' already exists")
    branch = create or start
    if not create and repo.resolve(f"refs/heads/{start}") is None:
        git.call.unknown("a detached working tree")
    if not create and (branch == repo.branch or linked(git)):
        git.call.unknown("a branch that is checked out elsewhere")
    quiet = "--quiet" in options
    if not quiet:
        git.warn(
            f"Preparing worktree (new branch '{create}')\n"
            if create
            else f"Preparing worktree (checking out '{branch}')\n"
        )
    who = git.who()
    if create:
        repo.put(f"refs/heads/{create}", sha + "\n")
        repo.note(f"refs/heads/{create}", ZERO, sha, f"branch: Created from {start}", who)
    _make(git, place, name, branch, sha, who)
    if not quiet:
        git.say(f"HEAD is now at {git.short(sha)} {repo.objects.commit(sha).subject}\n")
    return 0


def _make(git: Git, place: str, name: str, branch: str, sha: str, who: str) -> None:
    repo, files = git.repo, git.files
    inside = f"{repo.common}/worktrees/{name}"
    if files.exists(inside):
        git.call.unknown("another working tree of the same name")
    repo.make_parents(f"{inside}/x")
    repo.make_parents(f"{place}/x")
    files.write(f"{inside}/gitdir", f"{place}/.git\n".encode())
    files.write(f"{inside}/commondir", b"../..\n")
    files.write(f"{inside}/HEAD", f"ref: refs/heads/{branch}\n".encode())
    files.write(f"{inside}/ORIG_HEAD", f"{sha}\n".encode())
    files.write(f"{place}/.git", f"gitdir: {inside}\n".encode())
    inner = Git(git.call, git.extra)
    inner.__dict__["found"] = type(repo)(git.call, inside, place, git.settings, repo.common)
    inner.repo.note("HEAD", ZERO, sha, "", who)
    inner.repo.note("HEAD", sha, sha, "reset: moving to HEAD", who)
    force_tree(inner, repo.objects.flat(repo.tree_of(sha)))
    inner.repo.save_index()


def _remove(git: Git, argv: list[str]) -> int:
    options = git.parse("worktree-remove", argv, "--force")
    if len(options.args) != 1:
        raise Failure(usage("worktree-remove").removesuffix("\n"), 129, "")
    word = options.args[0]
    place = git.files.absolute(word)
    found = next((item for item in linked(git) if item[1] == place or item[1].endswith("/" + word)), None)
    if found is None:
        if place == git.repo.worktree:
            raise Failure(f"'{word}' is a main working tree")
        raise Failure(f"'{word}' is not a working tree")
    name, place = found
    inner = Git(git.call, git.extra)
    inside = f"{git.repo.common}/worktrees/{name}"
    inner.__dict__["found"] = type(git.repo)(git.call, inside, place, git.settings, git.repo.common)
    head = inner.repo.objects.flat(inner.repo.head_tree())
    dirty = inner.repo.index.entries != head or inner.tree.differing() or inner.tree.untracked()
    if dirty and "--force" not in options:
        raise Failure(f"'{word}' contains modified or untracked files, use --force to delete it")
    for folder in (place, inside):
        _delete(git, folder)
    if not git.files.list(f"{git.repo.common}/worktrees"):
        git.files.remove(f"{git.repo.common}/worktrees")
    return 0


def _delete(git: Git, path: str) -> None:
    if git.files.stat(path, follow=False).kind == "directory":
        for name in git.files.list(path):
            _delete(git, f"{path}/{name}")
    git.files.remove(path)


def bisect(git: Git, argv: list[str]) -> int:
    """Say that no search is under way; others are not simulated."""
    git.need_repository()
    if git.repo.text("BISECT_LOG") is not None or git.repo.text("BISECT_START") is not None:
        git.call.unknown("a bisection")
    if argv == ["log"]:
        raise Failure("We are not bisecting.", 1, "error: ")
    if argv == ["reset"]:
        git.say("We are not bisecting.\n")
        return 0
    if argv and argv[0] in ("good", "bad", "skip", "next", "old", "new", "run"):
        git.call.unknown("a bisection that was not started")
    return git.call.unknown("a bisection")
