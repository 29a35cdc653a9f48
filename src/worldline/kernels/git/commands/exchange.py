"""`git push`, `git fetch` and `git clone` between repositories in the same files."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from worldline.kernels.git.commands.merge import merge
from worldline.kernels.git.commands.starting import lay_out
from worldline.kernels.git.config import Settings
from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.options import Options
from worldline.kernels.git.repository import PACKED_HEADER, ZERO, Repository
from worldline.kernels.git.revisions import ancestors, find, full_ref, upstream_of
from worldline.kernels.git.settings_file import set_value
from worldline.kernels.git.switching import force_tree

__all__ = ["clone", "fetch", "ls_remote", "pull", "push"]

_NO_ACCESS = (
    "'{url}' does not appear to be a git repository\nfatal: Could not read from remote repository.\n\n"
    "Please make sure you have the correct access rights\nand the repository exists."
)


def _open(git: Git, url: str, base: str) -> Repository | None:
    """The repository at a path; None where there is none.

    Raises:
        Unknown: It is somewhere else.
    """
    if "://" in url or (":" in url and not url.startswith(("/", "."))):
        git.call.unknown("a repository on another machine")
    place = posixpath.normpath(posixpath.join(base, url))
    for directory in (f"{place}/.git", place):
        if all(git.files.exists(f"{directory}/{name}") for name in ("HEAD", "objects", "refs", "config")):
            settings = Settings([("local", git.files.read(f"{directory}/config"))])
            return Repository(git.call, directory, None if directory == place else place, settings)
    return None


def _remote(git: Git, name: str) -> tuple[str, Repository]:
    url = git.settings.get(f"remote.{name}.url") or name
    if git.settings.get(f"remote.{name}.pushurl"):
        git.call.unknown("another place to push to")
    other = _open(git, url, git.repo.worktree or git.call.cwd)
    if other is None:
        raise Failure(_NO_ACCESS.format(url=url))
    return url, other


def _copy(source: Repository, target: Repository, tips: Iterable[str]) -> None:
    """Copy objects that can be reached."""
    waiting, seen = list(tips), set()
    while waiting:
        sha = waiting.pop()
        if sha in seen:
            continue
        seen.add(sha)
        kind, data = source.objects.read(sha)
        target.objects.write(kind, data)
        if kind == "commit":
            commit = source.objects.commit(sha)
            waiting += [commit.tree, *commit.parents]
        elif kind == "tree":
            waiting += [entry.sha for entry in source.objects.entries(sha).values()]
        elif kind == "tag":
            waiting.append(source.objects.tag(sha).target)


def push(git: Git, argv: list[str]) -> int:
    """Send commits to another repository."""
    supported = (
        "--quiet --set-upstream --force --tags --delete --all --verbose --progress --dry-run --no-verify --verify"
    )
    options = git.parse("push", argv, supported)
    if {"--verbose", "--progress", "--dry-run", "--all", "--force"} & {name for name, _ in options.given}:
        git.call.unknown("these options of push")
    repo = git.repo
    name = options.args[0] if options.args else git.settings.get(f"branch.{repo.branch}.remote") or "origin"
    if not options.args and not git.settings.get(f"remote.{name}.url"):
        raise Failure(_NO_DESTINATION)
    specs = options.args[1:]
    pairs = _pairs(git, name, specs, options)
    url, other = _remote(git, name)
    lines, status = [], 0
    for source, target in pairs:
        line, refused = _send(git, other, source, target, name)
        lines += [line] if line else []
        status |= refused
    if status:
        git.call.unknown("a push that is refused")
    if "--quiet" not in options:
        git.warn(f"To {url}\n" + "".join(lines) if lines else "Everything up-to-date\n")
    if "--set-upstream" in options:
        _follow(git, name, pairs)
    return 0


_NO_DESTINATION = (
    "No configured push destination.\nEither specify the URL from the command-line or configure a "
    "remote repository using\n"
    "\n    git remote add <name> <url>\n\nand then push using the remote name\n\n    git push <name>\n"
)


_NO_TRACKING = (
    "There is no tracking information for the current branch.\nPlease specify which branch you want to merge with.\n"
    "See git-pull(1) for details.\n\n    git pull <remote> <branch>\n\n"
    "If you wish to set tracking information for this branch you can do so with:\n\n"
    "    git branch --set-upstream-to={remote}/<branch> {branch}\n"
)


def _pairs(git: Git, name: str, specs: list[str], options: Options) -> list[tuple[str, str]]:
    """What is sent where, as full names; an empty source deletes."""
    repo = git.repo
    if "--tags" in options and not specs:
        return [(ref, ref) for ref in repo.refs("refs/tags/")]
    if "--delete" in options:
        return [("", f"refs/heads/{spec}") for spec in specs]
    if not specs:
        branch = repo.branch
        if branch is None:
            git.call.unknown("a push of a detached HEAD")
        merge = git.settings.get(f"branch.{branch}.merge")
        if merge is None and "--set-upstream" not in options:
            raise Failure(
                f"The current branch {branch} has no upstream branch.\nTo push the current branch and "
                "set the remote as upstream, use\n\n"
                f"    git push --set-upstream {name} {branch}\n\n"
                "To have this happen automatically for branches without a tracking\nupstream, see "
                "'push.autoSetupRemote' in 'git help config'.\n"
            )
        return [(f"refs/heads/{branch}", merge or f"refs/heads/{branch}")]
    found = []
    for spec in specs:
        if spec.startswith("+"):
            git.call.unknown("a forced push")
        source, colon, target = spec.partition(":")
        if not source:
            found.append(("", f"refs/heads/{target}"))
            continue
        full = repo.symbolic() if source == "HEAD" and not colon else full_ref(repo, source) or source
        if find(repo, source) is None:
            url = git.settings.get(f"remote.{name}.url") or name
            raise Failure(
                f"src refspec {source} does not match any\nerror: failed to push some refs to '{url}'", 1, "error: "
            )
        if colon and not target.startswith("refs/"):
            target = f"refs/tags/{target}" if (full or "").startswith("refs/tags/") else f"refs/heads/{target}"
        found.append(("HEAD" if source == "HEAD" and colon else full or "", target or full or ""))
    return found


def _short(name: str) -> str:
    return name.removeprefix("refs/heads/").removeprefix("refs/tags/")


def _send(git: Git, other: Repository, source: str, target: str, name: str) -> tuple[str, int]:
    repo = git.repo
    before = other.resolve(target)
    tracked = f"refs/remotes/{name}/{target.removeprefix('refs/heads/')}" if target.startswith("refs/heads/") else ""
    configured = git.settings.get(f"remote.{name}.url") is not None
    if not source:
        if before is None:
            git.call.unknown("a deletion of what is not there")
        if other.symbolic() == target:
            git.call.unknown("a deletion of the current branch")
        other.delete_ref(target)
        if configured and tracked and repo.resolve(tracked):
            repo.delete_ref(tracked)
        return f" - [deleted]         {_short(target)}\n", 0
    sha = repo.resolve(source) or find(repo, source) or ""
    if before == sha:
        return "", 0
    if other.worktree is not None and other.symbolic() == target:
        git.call.unknown("a push to a branch that is checked out")
    if before is not None and (not other.objects.has(before) or not repo.objects.has(before)):
        return "", 1
    if before is not None and before not in ancestors(repo, [repo.objects.peel(sha)]):
        return "", 1
    _copy(repo, other, [sha])
    other.put(target, sha + "\n")
    if configured and tracked:
        repo.update(tracked, sha, "update by push", who=git.who())
    names = f"{_short(source)} -> {_short(target)}"
    if before is None:
        kind = "[new tag]" if target.startswith("refs/tags/") else "[new branch]"
        return f" * {kind:<17} {names}\n", 0
    return f"   {git.short(before)}..{git.short(sha)}  {names}\n", 0


def _follow(git: Git, name: str, pairs: list[tuple[str, str]]) -> None:
    for source, target in pairs:
        if source.startswith("refs/heads/"):
            branch = source.removeprefix("refs/heads/")
            set_value(git, f"branch.{branch}.remote", name)
            set_value(git, f"branch.{branch}.merge", target)
            git.say(f"branch '{branch}' set up to track '{name}/{_short(target)}'.\n")


def fetch(git: Git, argv: list[str]) -> int:
    """Get commits of another repository."""
    options = git.parse("fetch", argv, "--quiet --all --tags --prune")
    if options.args[1:] or {name for name, _ in options.given} - {"--quiet"}:
        git.call.unknown("these options of fetch")
    repo = git.repo
    name = options.args[0] if options.args else git.settings.get(f"branch.{repo.branch}.remote") or "origin"
    if not git.settings.get(f"remote.{name}.url") and not options.args:
        return 0
    url, other = _remote(git, name)
    if any(repo.resolve(ref) is None for ref in other.refs("refs/tags/")):
        git.call.unknown("new tags")
    lines = []
    for ref, sha in other.refs("refs/heads/").items():
        short = ref.removeprefix("refs/heads/")
        mine = f"refs/remotes/{name}/{short}"
        before = repo.resolve(mine)
        if before == sha:
            continue
        if before is not None and before not in ancestors(other, [sha]):
            git.call.unknown("a branch that was moved elsewhere")
        _copy(other, repo, [sha])
        message = "fetch: storing head" if before is None else "fetch: fast-forward"
        if not options.args:
            repo.update(mine, sha, message, who=git.who())
        else:
            repo.update(mine, sha, message.replace("fetch:", f"fetch {name}:"), who=git.who())
        lines.append((before, sha, short))
    if lines and "--quiet" not in options:
        width = max(10, *(len(short) for _, _, short in lines))
        git.warn(f"From {url if not url.endswith('.git') else url[:-4]}\n")
        for before, sha, short in lines:
            what = " * [new branch]     " if before is None else f"   {git.short(before)}..{git.short(sha)} "
            git.warn(f"{what} {short:<{width}} -> {name}/{short}\n")
    return 0


def pull(git: Git, argv: list[str]) -> int:
    """Get commits of another repository and go on to them."""
    options = git.parse("pull", argv, "--quiet --ff-only --ff")
    repo = git.repo
    if len(options.args) > 1 or "--no-ff" in [name for name, _ in options.given]:
        git.call.unknown("these options of pull")
    name = options.args[0] if options.args else git.settings.get(f"branch.{repo.branch}.remote") or "origin"
    upstream = upstream_of(repo, repo.branch or "")
    quiet = ["--quiet"] if "--quiet" in options else []
    if not options.args and upstream is None and repo.branch is not None:
        remotes = git.settings.subsections("remote")
        if "origin" in remotes:
            fetch(git, quiet)
        raise Failure(
            _NO_TRACKING.format(remote=remotes[0] if len(remotes) == 1 else "<remote>", branch=repo.branch), 1, ""
        )
    if _open(git, git.settings.get(f"remote.{name}.url") or name, repo.worktree or git.call.cwd) is None:
        raise Failure(_NO_ACCESS.format(url=git.settings.get(f"remote.{name}.url") or name), 1)
    if upstream is None or options.args:
        git.call.unknown("a pull of another branch")
    fetch(git, quiet)
    theirs, head = repo.resolve(upstream), repo.head
    if theirs is None or head is None:
        git.call.unknown("a pull of nothing")
    if head not in ancestors(repo, [theirs]) and theirs not in ancestors(repo, [head]):
        git.call.unknown("a pull of a branch that went elsewhere")
    return merge(git, [*quiet, upstream.removeprefix("refs/remotes/")])


def ls_remote(git: Git, argv: list[str]) -> int:
    """List refs of another repository."""
    options = git.parse("ls-remote", argv, "--heads --tags --quiet")
    name = options.args[0] if options.args else "origin"
    if len(options.args) != 1:
        git.call.unknown("these options of ls-remote")
    _, other = _remote(git, name)
    kinds = [f"refs/{kind}/" for kind in ("heads", "tags") if f"--{kind}" in options]
    refs = {name: sha for name, sha in other.refs().items() if not kinds or name.startswith(tuple(kinds))}
    if other.head and not kinds:
        git.say(f"{other.head}\tHEAD\n")
    for ref, sha in refs.items():
        git.say(f"{sha}\t{ref}\n")
        if other.objects.kind(sha) == "tag":
            git.say(f"{other.objects.peel(sha)}\t{ref}^{{}}\n")
    return 0


def clone(git: Git, argv: list[str]) -> int:
    """Copy a repository."""
    options = git.parse(
        "clone", argv, "--quiet --bare --no-local --local --no-hardlinks --hardlinks --branch --progress"
    )
    if not options.args:
        raise Failure("You must specify a repository to clone.", 128)
    if {"--bare", "--branch", "--progress"} & {name for name, _ in options.given}:
        git.call.unknown("these options of clone")
    url = options.args[0]
    other = _open(git, url, git.call.cwd)
    if other is None:
        raise Failure(f"repository '{url}' does not exist")
    base = posixpath.basename(url.rstrip("/").removesuffix("/.git")).removesuffix(".git")
    shown = options.args[1] if len(options.args) > 1 else base
    place = git.files.absolute(shown)
    if git.files.exists(place) and git.files.list(place):
        raise Failure(f"destination path '{shown}' already exists and is not an empty directory.")
    if "--quiet" not in options:
        git.warn(f"Cloning into '{shown}'...\n")
    return _fill(git, options, url, place, other)


def _fill(git: Git, options: Options, url: str, place: str, other: Repository) -> int:
    head, sha = other.symbolic(), other.head
    if head is None or sha is None:
        git.call.unknown("a clone of a repository without a branch")
    branch = head.removeprefix("refs/heads/")
    lay_out(git, f"{place}/.git", branch, bare=False)
    inner = Git(git.call, git.extra, f"{place}/.git", place)
    repo = inner.repo
    source = (
        url
        if "://" in url
        else posixpath.normpath(posixpath.join(git.call.cwd, url))
        if url.startswith("/")
        else posixpath.join(git.call.cwd, url)
    )
    set_value(inner, "remote.origin.url", source)
    set_value(inner, "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    set_value(inner, f"branch.{branch}.remote", "origin")
    set_value(inner, f"branch.{branch}.merge", head)
    refs = {**other.refs("refs/heads/"), **other.refs("refs/tags/")}
    _copy(other, repo, refs.values())
    lines = [PACKED_HEADER]
    named = {ref.replace("refs/heads/", "refs/remotes/origin/", 1): target for ref, target in refs.items()}
    for ref, target in sorted(named.items()):
        lines.append(f"{target} {ref}\n")
        if repo.objects.kind(target) == "tag":
            lines.append(f"^{repo.objects.peel(target)}\n")
    repo.put("packed-refs", "".join(lines))
    who, message = inner.who(), f"clone: from {source}"
    repo.put(f"refs/remotes/origin/{'HEAD'}", f"ref: refs/remotes/origin/{branch}\n")
    repo.note("refs/remotes/origin/HEAD", ZERO, sha, message, who)
    repo.update("HEAD", sha, message, who=who)
    force_tree(inner, repo.objects.flat(repo.tree_of(sha)))
    repo.save_index()
    if "--quiet" not in options:
        git.warn("done.\n")
    return 0
