"""`git branch` and `git tag`."""

from __future__ import annotations

import re

from worldline.kernels.git.commands.checkout import bad_branch_name
from worldline.kernels.git.commands.commit import editor_of
from worldline.kernels.git.commands.status import detached_at, tracking
from worldline.kernels.git.commands.worktrees import linked
from worldline.kernels.git.committing import clean_message, split_message
from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.listing import contains_filter, expand_ref, matching, sort_refs
from worldline.kernels.git.options import Options, usage
from worldline.kernels.git.repository import ZERO
from worldline.kernels.git.revisions import ancestors, find, find_commit, full_ref, upstream_of
from worldline.kernels.git.statistics import cell_width
from worldline.kernels.shell.builtins.shared.textio import restore, stdin

__all__ = ["branch", "tag"]

_FILTERS = "--contains --no-contains --merged --no-merged --points-at"


def branch(git: Git, argv: list[str]) -> int:
    """List, make, move and delete branches."""
    supported = (
        "--list --all -a --remotes -r --verbose --show-current --delete -D --move -M --copy -C "
        "--force --quiet --sort --format "
        f"--color --column --track --set-upstream-to --unset-upstream --ignore-case --abbrev --create-reflog {_FILTERS}"
    )
    options = git.parse("branch", argv, supported)
    repo = git.repo
    given = {name for name, _ in options.given}
    if "--show-current" in options:
        if repo.branch:
            git.say(f"{repo.branch}\n")
        return 0
    if {"--delete", "-D"} & given:
        return _delete(git, options)
    if {"--move", "-M"} & given:
        return _rename(git, options)
    if {"--copy", "-C", "--unset-upstream", "--color", "--column", "--ignore-case"} & given:
        git.call.unknown("these options of branch")
    if "--set-upstream-to" in given:
        return _follow(git, options)
    listing = not options.args or {"--list", "--all", "--remotes", "-a", "-r"} & given or set(_FILTERS.split()) & given
    if listing:
        return _list(git, options)
    return _create(git, options)


def _list(git: Git, options: Options) -> int:
    repo = git.repo
    remotes = options.flag("--remotes") or options.flag("-r")
    everything = options.flag("--all") or options.flag("-a")
    refs = {} if remotes else repo.refs("refs/heads/")
    if remotes or everything:
        refs |= repo.refs("refs/remotes/")
    test = contains_filter(git, options.given)
    refs = {name: sha for name, sha in refs.items() if test(sha) and matching(_short(name, everything), options.args)}
    ordered = sort_refs(git, refs, options.all("--sort"))
    if not options.all("--sort"):
        ordered.sort(key=lambda item: (item[0].startswith("refs/remotes/"), item[0]))
    template = options.get("--format")
    rows = []
    detached = repo.branch is None and repo.head and not remotes and not (options.args or not test(repo.head))
    if detached:
        if template is not None:
            git.call.unknown("a format of a detached HEAD")
        rows.append(("* ", f"(HEAD detached {detached_at(git)})", repo.head or "", ""))
    elsewhere = {git.files.read(f"{repo.common}/worktrees/{tree}/HEAD").decode()[5:].strip() for tree, _ in linked(git)}
    for name, sha in ordered:
        mark = "* " if name == repo.symbolic() else "+ " if name in elsewhere else "  "
        rows.append((mark, _short(name, everything), sha, name))
    if template is not None:
        git.say("".join(expand_ref(git, template, name, sha) + "\n" for _, _, sha, name in rows))
        return 0
    count = sum(name == "--verbose" for name, _ in options.given)
    width = max((cell_width(row[1]) for row in rows), default=0)
    for mark, shown, sha, name in rows:
        target = repo.symbolic(name) if name.startswith("refs/remotes/") else None
        if target is not None:
            git.say(f"{mark}{shown}{' ' * (width - cell_width(shown)) if count else ''} -> {_short(target, False)}\n")
        elif count:
            pad = " " * (width - cell_width(shown))
            subject = repo.objects.commit(sha).subject
            git.say(f"{mark}{shown}{pad} {git.short(sha)} {_track(git, name, count)}{subject}\n")
        else:
            git.say(f"{mark}{shown}\n")
    return 0


def _short(name: str, everything: bool) -> str:
    if name.startswith("refs/remotes/"):
        return name.removeprefix("refs/") if everything else name.removeprefix("refs/remotes/")
    return name.removeprefix("refs/heads/")


def _track(git: Git, name: str, count: int) -> str:
    found = tracking(git, name.removeprefix("refs/heads/")) if name.startswith("refs/heads/") else None
    if found is None:
        return ""
    upstream, ahead, behind = found
    parts = [f"ahead {ahead}"] * (ahead > 0) + [f"behind {behind}"] * (behind > 0) + ["gone"] * (ahead < 0)
    if count > 1:
        return f"[{upstream}{': ' + ', '.join(parts) if parts else ''}] "
    return f"[{', '.join(parts)}] " if parts else ""


def _create(git: Git, options: Options) -> int:
    repo = git.repo
    name, start = options.args[0], options.args[1] if len(options.args) > 1 else "HEAD"
    if len(options.args) > 2:
        raise Failure(usage("branch").removesuffix("\n"), 129, "")
    if "--track" in options:
        git.call.unknown("--track")
    if bad_branch_name(name):
        raise Failure(f"'{name}' is not a valid branch name")
    full = f"refs/heads/{name}"
    before = repo.resolve(full)
    if before is not None and "--force" not in options:
        raise Failure(f"a branch named '{name}' already exists")
    if before is not None and repo.symbolic() == full:
        raise Failure(f"cannot force update the branch '{name}' checked out at '{repo.worktree}'")
    sha = find_commit(repo, start)
    if sha is None:
        if start == "HEAD":
            raise Failure(f"not a valid object name: '{repo.branch}'")
        raise Failure(f"not a valid object name: '{start}'")
    _check_parents(git, name)
    if (full_ref(repo, start) or "").startswith("refs/remotes/"):
        git.call.unknown("a branch that follows another")
    repo.put(full, sha + "\n")
    origin = start if len(options.args) > 1 else repo.branch or "HEAD"
    repo.note(full, before or ZERO, sha, f"branch: {'Reset to' if before else 'Created from'} {origin}", git.who())
    return 0


def _check_parents(git: Git, name: str) -> None:
    for other in git.repo.refs("refs/heads/"):
        short = other.removeprefix("refs/heads/")
        if name.startswith(short + "/"):
            raise Failure(f"cannot lock ref 'refs/heads/{name}': '{other}' exists; cannot create 'refs/heads/{name}'")
        if short.startswith(name + "/"):
            raise Failure(f"cannot lock ref 'refs/heads/{name}': '{other}' exists; cannot create 'refs/heads/{name}'")


def _delete(git: Git, options: Options) -> int:
    repo = git.repo
    if not options.args:
        raise Failure("branch name required")
    remote = options.flag("--remotes") or options.flag("-r")
    force = options.flag("-D") or options.flag("--force")
    status = 0
    for name in options.args:
        full = f"refs/{'remotes' if remote else 'heads'}/{name}"
        sha = repo.resolve(full)
        if repo.symbolic() == full and not remote:
            git.warn(f"error: Cannot delete branch '{name}' checked out at '{repo.worktree}'\n")
            status = 1
        elif sha is None:
            git.warn(f"error: {'remote-tracking ' if remote else ''}branch '{name}' not found.\n")
            status = 1
        elif not force and not _merged(git, name, sha, remote):
            git.warn(
                f"error: The branch '{name}' is not fully merged.\n"
                f"If you are sure you want to delete it, run 'git branch -D {name}'.\n"
            )
            status = 1
        else:
            repo.delete_ref(full)
            repo.touch_packed()
            _forget(git, name)
            if "--quiet" not in options:
                git.say(f"Deleted {'remote-tracking ' if remote else ''}branch {name} (was {git.short(sha)}).\n")
    return status


def _forget(git: Git, name: str) -> None:
    if git.settings.get(f"branch.{name}.remote") is not None or git.settings.get(f"branch.{name}.merge") is not None:
        from worldline.kernels.git.settings_file import remove_section

        remove_section(git, f"branch.{name}")


def _merged(git: Git, name: str, sha: str, remote: bool) -> bool:
    if remote:
        return True
    upstream = upstream_of(git.repo, name)
    target = git.repo.resolve(upstream) if upstream else None
    base = target or git.repo.head
    if base is None:
        return False
    inside = sha in ancestors(git.repo, [base])
    if target and git.repo.head and inside != (sha in ancestors(git.repo, [git.repo.head])):
        git.call.unknown("a branch merged to one of its upstream and HEAD")
    return inside


def _rename(git: Git, options: Options) -> int:
    repo = git.repo
    if not options.args or len(options.args) > 2:
        raise Failure("branch name required" if not options.args else "too many arguments for a rename operation")
    old, new = options.args if len(options.args) == 2 else (repo.branch or "", options.args[0])
    force = options.flag("-M") or options.flag("--force")
    source, target = f"refs/heads/{old}", f"refs/heads/{new}"
    sha = repo.resolve(source)
    if bad_branch_name(new):
        raise Failure(f"'{new}' is not a valid branch name")
    if sha is None:
        if repo.symbolic() == source:
            repo.attach(new)
            return 0
        raise Failure(f"no branch named '{old}'")
    if repo.resolve(target) is not None and not force and old != new:
        raise Failure(f"a branch named '{new}' already exists")
    current = repo.symbolic() == source
    lines = repo.history(source)
    repo.delete_ref(source)
    repo.put(target, sha + "\n")
    if lines:
        repo.write_history(target, lines)
    message = f"Branch: renamed {source} to {target}"
    repo.note(target, sha, sha, message, git.who())
    if current:
        repo.attach(new)
        repo.note("HEAD", sha, ZERO, message, git.who())
        repo.note("HEAD", ZERO, sha, message, git.who())
    if git.settings.get(f"branch.{old}.remote") is not None:
        git.call.unknown("settings of a renamed branch")
    return 0


def _follow(git: Git, options: Options) -> int:
    from worldline.kernels.git.settings_file import set_value

    repo = git.repo
    wanted = options.get("--set-upstream-to") or ""
    name = options.args[0] if options.args else repo.branch or ""
    full = full_ref(repo, wanted)
    if full is None:
        git.call.unknown("an upstream that is not there")
    remote = re.fullmatch(r"refs/remotes/([^/]+)/(.*)", full)
    set_value(git, f"branch.{name}.remote", remote[1] if remote else ".")
    set_value(git, f"branch.{name}.merge", f"refs/heads/{remote[2]}" if remote else full)
    git.say(f"branch '{name}' set up to track '{remote[1] + '/' + remote[2] if remote else wanted}'.\n")
    return 0


def tag(git: Git, argv: list[str]) -> int:
    """List, make and delete tags."""
    supported = (
        f"--list --delete --annotate --message --file --force --sort --format --cleanup --edit -n {_FILTERS} --column"
    )
    options = git.parse("tag", argv, supported)
    repo = git.repo
    given = {name for name, _ in options.given}
    if "--delete" in given:
        return _delete_tags(git, options)
    if not options.args or {"--list", "-n"} & given or set(_FILTERS.split()) & given:
        return _list_tags(git, options)
    name, target = options.args[0], options.args[1] if len(options.args) > 1 else "HEAD"
    if len(options.args) > 2:
        raise Failure("too many arguments")
    sha = find(repo, target)
    if sha is None:
        raise Failure(f"Failed to resolve '{target}' as a valid ref.")
    if bad_branch_name(name) and name != "HEAD":
        raise Failure(f"'{name}' is not a valid tag name.")
    full = f"refs/tags/{name}"
    before = repo.resolve(full)
    if before is not None and "--force" not in options:
        raise Failure(f"tag '{name}' already exists")
    if {"--annotate", "--message", "--file"} & given:
        sha = _annotated(git, options, name, sha)
    repo.put(full, sha + "\n")
    if before is not None and before != sha:
        git.say(f"Updated tag '{name}' (was {git.short(before)})\n")
    return 0


def _annotated(git: Git, options: Options, name: str, sha: str) -> str:
    messages = options.all("--message")
    if messages:
        text = "\n\n".join(message.rstrip("\n") for message in messages)
    elif options.get("--file"):
        source = options.get("--file") or ""
        data = stdin(git.call) if source == "-" else restore(git.files.read(source))
        text = data.decode("utf-8", "surrogateescape")
    else:
        if editor_of(git) == "editor" and git.env.get("TERM", "dumb") == "dumb":
            text = "Terminal is dumb, but EDITOR unset\nPlease supply the message using either -m or -F option."
            raise Failure(text, 128, "error: ")
        git.call.unknown("what an editor does")
    if "--edit" in options:
        git.call.unknown("what an editor does")
    message = clean_message(text, comments=False)
    kind = git.repo.objects.kind(sha)
    head = f"object {sha}\ntype {kind}\ntag {name}\ntagger {git.committer()}\n\n"
    return git.repo.objects.write("tag", (head + message).encode("utf-8", "surrogateescape"))


def _delete_tags(git: Git, options: Options) -> int:
    status = 0
    for name in options.args:
        sha = git.repo.resolve(f"refs/tags/{name}")
        if sha is None:
            git.warn(f"error: tag '{name}' not found.\n")
            status = 1
        else:
            git.repo.delete_ref(f"refs/tags/{name}")
            git.repo.touch_packed()
            git.say(f"Deleted tag '{name}' (was {git.short(sha)})\n")
    return status


def _list_tags(git: Git, options: Options) -> int:
    test = contains_filter(git, options.given)
    refs = {name: sha for name, sha in git.repo.refs("refs/tags/").items() if test(sha)}
    refs = {name: sha for name, sha in refs.items() if matching(name.removeprefix("refs/tags/"), options.args)}
    keys = options.all("--sort") or ([git.settings.get("tag.sort") or ""] if git.settings.get("tag.sort") else [])
    lines = options.get("-n")
    for name, sha in sort_refs(git, refs, keys):
        short = name.removeprefix("refs/tags/")
        if options.get("--format") is not None:
            git.say(expand_ref(git, options.get("--format") or "", name, sha) + "\n")
        elif lines is not None:
            if lines not in ("", "1"):
                git.call.unknown("several lines of tags' messages")
            objects = git.repo.objects
            message = objects.tag(sha).message if objects.kind(sha) == "tag" else objects.commit(sha).message
            git.say(f"{short:<15} {split_message(message)[0]}\n")
        else:
            git.say(f"{short}\n")
    return 0
