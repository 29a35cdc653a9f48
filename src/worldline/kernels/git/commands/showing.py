"""`git log`, `git show`, `git diff` and `git rev-list`."""

from __future__ import annotations

import posixpath
from dataclasses import replace
from functools import partial

from worldline.kernels.git.changes import FileChange, compare
from worldline.kernels.git.combined import combined_patch
from worldline.kernels.git.commands.histories import show_history
from worldline.kernels.git.context import Git
from worldline.kernels.git.diffing import DiffOptions, show_changes
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.graph import Graph
from worldline.kernels.git.objects import Commit
from worldline.kernels.git.options import usage
from worldline.kernels.git.patch import is_binary
from worldline.kernels.git.people import show_date, take_apart
from worldline.kernels.git.pretty import Pretty
from worldline.kernels.git.revisions import ambiguous, find, no_such_path
from worldline.kernels.git.selecting import Selection, commit_changes, is_path, is_revision, read_selection, select
from worldline.kernels.git.snapshot import Contents, against_index

__all__ = ["diff", "log", "reflog", "rev_list", "show", "whatchanged"]


def _pretty(git: Git) -> Pretty:
    pretty = Pretty(git)
    named = git.settings.get("format.pretty")
    if named:
        pretty.choose(named)
    pretty.date = git.settings.get("log.date") or "default"
    decorate = git.settings.get("log.decorate")
    if decorate in ("true", "short", "yes", "full"):
        pretty.decorate = "full" if decorate == "full" else "short"
    elif git.call.columns is not None and decorate in (None, "", "auto"):
        pretty.decorate = "short"
    pretty.abbreviate = git.settings.flag("log.abbrevcommit")
    return pretty


def _options(git: Git) -> DiffOptions:
    options = DiffOptions()
    if git.settings.get("diff.renames") in ("false", "no", "0"):
        options.renames = None
    if git.settings.get("diff.noprefix") in ("true", "yes", "1"):
        options.style.old_prefix = options.style.new_prefix = ""
    context = git.settings.get("diff.context")
    if context and context.isdigit():
        options.style.context = int(context)
    for key in ("diff.external", "diff.mnemonicprefix", "diff.algorithm"):
        if git.settings.get(key):
            git.call.unknown(f"the setting {key}")
    if git.repo.worktree and git.files.exists(posixpath.join(git.repo.worktree, ".gitattributes")):
        git.call.unknown("attributes")
    return options


def _unrecognized(found: Selection) -> None:
    if found.rest:
        raise Failure(f"unrecognized argument: {found.rest[0]}")


def log(git: Git, argv: list[str]) -> int:
    """Show history."""
    if {"-g", "--walk-reflogs"} & set(argv):
        if not any(word.startswith(("--oneline", "--format", "--pretty=")) for word in argv):
            git.call.unknown("a history with whole commits")
        return show_history(git, [word for word in argv if word not in ("-g", "--walk-reflogs")])
    pretty, diff_options = _pretty(git), _options(git)
    if "-h" in argv[:1]:
        git.say(usage("log"))
        return 129
    git.need_repository()
    found = read_selection(git, argv, pretty, diff_options, "log")
    if not found.include and not found.names and not found.everything and git.repo.head is None:
        raise Failure(f"your current branch '{git.repo.branch}' does not have any commits yet")
    _unrecognized(found)
    pretty.parents = found.show_parents
    filtered = diff_options.filter or diff_options.search is not None
    limit, found.limit = found.limit, None if filtered else found.limit
    commits = select(git, found)
    if filtered:
        commits = [commit for commit in commits if _interesting(git, commit, diff_options, found)][:limit]
    if found.graph:
        body = partial(_graphed, git, diff_options, found)
        return Graph(git, pretty, found, diff_options, body).show(commits)
    for number, commit in enumerate(commits):
        _one(git, commit, pretty, diff_options, found, number == 0)
    return 0


def _interesting(git: Git, commit: Commit, options: DiffOptions, found: Selection) -> bool:
    """Whether a commit changes what `-S`, `-G` or `--diff-filter` ask for."""
    if len(commit.parents) > 1:
        return False
    probe = replace(options, outputs=["names"])
    return bool(show_changes(git, commit_changes(git, commit, found.paths), probe, Contents(git))[1])


def whatchanged(git: Git, argv: list[str]) -> int:
    """Show history with the files that each commit changed."""
    shows = any(word in ("-p", "--stat", "--raw", "--name-only", "--name-status", "--patch") for word in argv)
    return log(git, [*([] if shows else ["--raw"]), "--no-merges", *argv])


def _graphed(git: Git, options: DiffOptions, found: Selection, commit: Commit) -> bytes:
    return _body(git, commit, options, found)


def _body(git: Git, commit: Commit, options: DiffOptions, found: Selection) -> bytes:
    """What a commit changed, as asked for; merges show nothing unless that is asked for."""
    if not options.outputs or options.outputs[-1] == "none":
        return b""
    if len(commit.parents) > 1:
        if found.merge_patches in ("-c", "--cc"):
            git.call.unknown("combined differences")
        if not (found.first_parent or found.merge_patches in ("-m", "--diff-merges=first-parent")):
            return b""
        if found.merge_patches == "-m" and not found.first_parent:
            git.call.unknown("differences against each parent")
    spec = None if found.follow else found.paths
    return show_changes(git, commit_changes(git, commit, spec), options, Contents(git))[0]


def _one(git: Git, commit: Commit, pretty: Pretty, options: DiffOptions, found: Selection, first: bool) -> None:
    if pretty.separates and not first:
        git.say("\n")
    text = pretty.text(commit)
    if len(commit.parents) > 1 and found.merge_patches == "-m" and pretty.name != "oneline" and pretty.template is None:
        if not options.outputs:
            options.outputs.append("patch")
        if not found.first_parent:
            git.call.unknown("differences against each parent")
    body = _body(git, commit, options, found)
    if not body:
        git.say(text if pretty.name == "format" else text + "\n" if text or pretty.template is None else "")
        return
    git.say(text + "\n" if text or pretty.template is None else "")
    if pretty.name not in ("oneline", "reference") and (text or pretty.template is None):
        git.say("\n")
    git.say(body)


def show(git: Git, argv: list[str]) -> int:
    """Show objects: commits with what they changed, tags, trees and files."""
    if "-h" in argv[:1]:
        git.say(usage("show"))
        return 129
    pretty, options = _pretty(git), _options(git)
    git.need_repository()
    found = read_selection(git, argv, pretty, options, "show")
    names = found.names or ["HEAD"]
    if not found.names and git.repo.head is None:
        raise Failure(f"your current branch '{git.repo.branch}' does not have any commits yet")
    _unrecognized(found)
    if found.graph or found.everything or found.limit is not None:
        git.call.unknown("these options of show")
    if not options.outputs:
        options.outputs.append("patch")
    pretty.parents = found.show_parents
    shown = 0
    for name in names:
        if ".." in name:
            for commit in select(git, Selection(found.include, found.exclude, found.names, found.paths)):
                _show_commit(git, commit, pretty, options, found, shown == 0)
                shown += 1
            continue
        sha = find(git.repo, name)
        assert sha is not None
        shown += _show_object(git, name, sha, pretty, options, found, shown)
    return 0


def _show_commit(git: Git, commit: Commit, pretty: Pretty, options: DiffOptions, found: Selection, first: bool) -> None:
    if len(commit.parents) > 1 and not (found.first_parent or found.merge_patches == "--diff-merges=first-parent"):
        if options.outputs[-1] == "none":
            _one(git, commit, pretty, options, found, first)
            return
        if pretty.separates and not first:
            git.say("\n")
        _show_merge(git, commit, pretty, options, found)
        return
    _one(git, commit, pretty, options, found, first)


def _show_merge(git: Git, commit: Commit, pretty: Pretty, options: DiffOptions, found: Selection) -> None:
    """A merge is shown with the files that differ from all its parents."""
    sides = [{c.path for c in commit_changes(git, commit, found.paths, n)} for n in range(len(commit.parents))]
    common = set.intersection(*sides)
    stats = {"stat", "numstat", "shortstat", "summary"} & set(options.outputs)
    text = pretty.text(commit)
    git.say(text + "\n" if text else "")
    if common and not stats and set(options.outputs) not in ({"names"}, {"patch"}):
        git.call.unknown("combined differences")
    if stats or set(options.outputs) == {"names"}:
        if stats:
            changes = commit_changes(git, commit, found.paths)
            body = show_changes(git, changes, options, Contents(git))[0]
        else:
            body = "".join(f"{path}\n" for path in sorted(common)).encode()
        if body and pretty.name != "oneline":
            git.say("\n")
        git.say(body)
    elif "patch" in options.outputs:
        body = _merged_patch(git, commit, sorted(common, key=str.encode), options)
        if pretty.name != "oneline" and (pretty.template is None or body):
            git.say("\n")
        git.say(body)


def _show_object(
    git: Git, name: str, sha: str, pretty: Pretty, options: DiffOptions, found: Selection, shown: int
) -> int:
    objects = git.repo.objects
    kind, data = objects.read(sha)
    if kind == "blob":
        git.say(data)
    elif kind == "tree":
        git.say(("\n" if shown else "") + f"tree {name}\n\n")
        git.say("".join(f"{entry}{'/' * (item.mode == 0o40000)}\n" for entry, item in objects.entries(sha).items()))
    elif kind == "tag":
        tag = objects.tag(sha)
        if shown:
            git.say("\n")
        git.say(f"tag {tag.name}\n")
        if tag.tagger:
            who, email, stamp = take_apart(tag.tagger)
            date = show_date(stamp, pretty.date, git.call.now, git.zone)
            git.say(f"Tagger: {who} <{email}>\nDate:   {date}\n")
        git.say("\n" + tag.message + "\n")
        if objects.kind(tag.target) != "commit":
            git.call.unknown("a tag of something else")
        _show_commit(git, objects.commit(tag.target), pretty, options, found, True)
    else:
        _show_commit(git, objects.commit(sha), pretty, options, found, shown == 0)
    return 1


def diff(git: Git, argv: list[str]) -> int:
    """Show differences between commits, the index and the working tree."""
    if "-h" in argv[:1]:
        raise Failure(usage("diff").removesuffix("\n"), 129, "")
    if "--no-index" in argv or git.found is None:
        if git.found is None and "--no-index" not in argv:
            git.warn("warning: Not a git repository. Use --no-index to compare two paths outside a working tree\n")
            raise Failure(usage("diff-no-index").removesuffix("\n"), 129, "")
        git.call.unknown("--no-index")
    options = _options(git)
    cached = any(word in ("--cached", "--staged") for word in argv)
    words = [word for word in argv if word not in ("--cached", "--staged", "--merge-base")]
    if "--merge-base" in argv:
        git.call.unknown("--merge-base")
    found = _diff_selection(git, words, options)
    changes, contents = _diff_changes(git, found, cached)
    if found.rest:
        if found.names:
            raise Failure(usage("diff").removesuffix("\n"), 129, "")
        raise Failure(f"invalid option: {found.rest[0]}", 255 if not cached else 129, "error: ")
    if found.paths:
        changes = [change for change in changes if found.paths.matches(change.path)]
    text, status = show_changes(git, changes, options, contents)
    if any(change.unmerged for change in changes) and not found.names and not cached:
        if set(options.outputs) <= {"patch"} and not options.reverse:
            text = _unmerged(git, changes, options, contents)
        elif set(options.outputs) - {"names", "check"}:
            git.call.unknown("a summary of files in conflict")
    git.say(text)
    return status if options.exit_code or status == 2 else 0


def _unmerged(git: Git, changes: list[FileChange], options: DiffOptions, contents: Contents) -> bytes:
    """Differences of the working tree while files are in conflict: those against both sides."""
    parts = []
    for change in changes:
        sides = git.repo.index.conflicts.get(change.path)
        here = git.tree.entry(change.path)
        if sides is None or sides.ours is None or sides.theirs is None or here is None:
            parts.append(show_changes(git, [change], options, contents)[0])
            continue
        modes = {sides.ours.mode, sides.theirs.mode, here.mode}
        data = git.tree.data(change.path)
        blobs = git.repo.objects.blob(sides.ours.sha), git.repo.objects.blob(sides.theirs.sha)
        if len(modes) > 1 or any(is_binary(blob) for blob in (*blobs, data)):
            git.call.unknown("combined differences of modes or binary files")
        names = (git.short(sides.ours.sha), git.short(sides.theirs.sha), "0" * 7)
        parts.append(combined_patch(change.path, names, blobs, data, options.style, always=True))
    return b"".join(parts)


def _merged_patch(git: Git, commit: Commit, paths: list[str], options: DiffOptions) -> bytes:
    """The patch of a merge commit against both parents."""
    objects = git.repo.objects
    if len(commit.parents) > 2:
        git.call.unknown("combined differences of many parents")
    flats = [objects.flat(objects.commit(parent).tree) for parent in commit.parents] + [objects.flat(commit.tree)]
    parts = []
    for path in paths:
        entries = [flat.get(path) for flat in flats]
        found = [entry for entry in entries if entry is not None]
        blobs = [objects.blob(entry.sha) for entry in found]
        if len(found) < 3 or len({entry.mode for entry in found}) > 1 or any(is_binary(blob) for blob in blobs):
            git.call.unknown("combined differences of new, deleted or binary files")
        names = (git.short(found[0].sha), git.short(found[1].sha), git.short(found[2].sha))
        parts.append(combined_patch(path, names, (blobs[0], blobs[1]), blobs[2], options.style, always=False))
    return b"".join(parts)


def _diff_selection(git: Git, words: list[str], options: DiffOptions) -> Selection:
    found = Selection()
    dashes = words.index("--") if "--" in words else len(words)
    revs, paths = words[:dashes], words[dashes + 1 :]
    while revs:
        if revs[0].startswith("-") and revs[0] != "-" and paths and dashes >= len(words):
            raise Failure(f"option '{revs[0]}' must come before non-option arguments")
        if revs[0].startswith("-") and revs[0] != "-":
            if not options.take(git, revs):
                if revs[0] in ("-0", "--base", "-1", "--ours", "-2", "--theirs", "-3", "-c", "--cc"):
                    git.call.unknown(f"the option {revs[0]}")
                found.rest.append(revs.pop(0))
            continue
        word = revs.pop(0)
        if not paths or dashes < len(words):
            probe = read_selection(git, [word, "--"], None, None, "diff") if is_revision(git, word) else None
            if probe is not None:
                found.names.append(word)
                found.include += probe.include
                found.exclude += probe.exclude
                continue
        if dashes < len(words):
            raise Failure(f"bad revision '{word}'")
        if not is_path(git, word):
            raise no_such_path(word) if paths else ambiguous(word)
        paths.append(word)
    found.paths = git.pathspec(paths)
    return found


def _diff_changes(git: Git, found: Selection, cached: bool) -> tuple[list[FileChange], Contents]:
    repo, contents = git.repo, Contents(git)
    names = found.names
    if len(names) == 1 and ".." in names[0]:
        left, right = found.exclude[0] if found.exclude else found.include[0], found.include[-1]
        return _between(git, left, right), contents
    kinds = [repo.objects.kind(repo.objects.peel(sha)) for sha in found.include]
    if "blob" in kinds:
        git.call.unknown("differences between blobs")
    if len(names) == 2:
        return _between(git, found.include[0], found.include[1]), contents
    if len(names) > 2:
        git.call.unknown("combined differences")
    index = repo.index
    if cached:
        base = found.include[0] if names else repo.head
        old = repo.objects.flat(repo.tree_of(base) if base else None)
        changes = [c for c in compare(old, index.entries) if c.path not in index.conflicts]
        changes += [FileChange(path, None, None, unmerged=True) for path in index.conflicts]
        return sorted(changes, key=lambda c: c.path.encode()), contents
    git.need_tree()
    here = against_index(git)
    for path in index.conflicts:
        entry = git.tree.entry(path)
        if entry is not None:
            here[path] = entry
    for path, entry in here.items():
        contents.note(path, entry)
    if names:
        old = repo.objects.flat(repo.tree_of(found.include[0]))
        return compare(old, here), contents
    changes = compare(index.entries, {path: entry for path, entry in here.items() if path in index.entries})
    changes += [FileChange(path, None, None, unmerged=True) for path in index.conflicts]
    return sorted(changes, key=lambda c: c.path.encode()), contents


def _between(git: Git, old: str, new: str) -> list[FileChange]:
    objects = git.repo.objects
    return compare(objects.flat(git.repo.tree_of(old)), objects.flat(git.repo.tree_of(new)))


def rev_list(git: Git, argv: list[str]) -> int:
    """List commits, for programs."""
    words = [word for word in argv if word not in ("--count", "--objects", "--quiet")]
    pretty = Pretty(git)
    plain = not any(word.startswith(("--pretty", "--format", "--oneline")) for word in words)
    found = read_selection(git, words, pretty, None, "rev-list")
    if found.rest:
        raise Failure(usage("rev-list").removesuffix("\n"), 129, "")
    if not found.names and not found.everything:
        raise Failure(usage("rev-list").removesuffix("\n"), 129, "")
    commits = select(git, found)
    if "--count" in argv:
        git.say(f"{len(commits)}\n")
        return 0
    if "--quiet" in argv:
        return 0
    if found.graph:
        git.call.unknown("--graph")
    for number, commit in enumerate(commits):
        if plain:
            name = git.repo.objects.short(commit.sha, pretty.length) if pretty.abbreviate else commit.sha
            git.say(name + "".join(f" {parent}" for parent in commit.parents if found.show_parents) + "\n")
        elif pretty.name == "oneline":
            git.say(pretty.text(commit) + "\n")
        else:
            if pretty.template is not None:
                git.say(f"commit {commit.sha}\n")
            git.say(pretty.text(commit) + "\n" + ("\n" if pretty.template is None else ""))
            number += 1
    if "--objects" in argv:
        _objects(git, commits, found)
    return 0


def _objects(git: Git, commits: list[Commit], found: Selection) -> None:
    objects, seen = git.repo.objects, set()
    for sha in found.exclude:
        git.call.unknown(f"the objects beyond {sha}")

    def visit(tree: str, path: str) -> None:
        if tree in seen:
            return
        seen.add(tree)
        git.say(f"{tree} {path}\n")
        for name, entry in objects.entries(tree).items():
            inner = f"{path}/{name}" if path else name
            if entry.mode == 0o40000:
                visit(entry.sha, inner)
            elif entry.sha not in seen:
                seen.add(entry.sha)
                git.say(f"{entry.sha} {inner}\n")

    for commit in commits:
        visit(commit.tree, "")


def reflog(git: Git, argv: list[str]) -> int:
    """Show the history of a ref."""
    words = argv[1:] if argv[:1] == ["show"] else argv
    if argv[:1] in (["expire"], ["delete"]):
        git.call.unknown(f"reflog {argv[0]}")
    if argv[:1] == ["exists"]:
        name = argv[1] if len(argv) > 1 else ""
        return 0 if git.repo.text(f"logs/{name}") is not None else 1
    return show_history(git, words)
