"""`git add`, `git rm` and `git mv`."""

from __future__ import annotations

import posixpath

from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.objects import TreeEntry, path_bytes
from worldline.kernels.git.options import usage
from worldline.kernels.git.pathspec import Pathspec

__all__ = ["add", "move", "remove", "store"]


def store(git: Git, path: str) -> TreeEntry:
    """Put the content of a file into the objects; returns its entry."""
    entry = git.tree.entry(path)
    assert entry is not None
    git.repo.objects.write("blob", git.tree.data(path))
    return entry


def _candidates(git: Git, spec: Pathspec, *, forced: bool) -> tuple[list[str], list[str]]:
    """Untracked files that are meant, and words that name what is ignored."""
    tracked = {*git.repo.index.entries, *git.repo.index.conflicts}
    found, refused = [], []
    for path in git.tree.scan():
        if path in tracked or not spec.matches(path, path.endswith("/")):
            continue
        if path.endswith("/"):
            git.call.unknown("a repository inside this one")
        if not forced and git.tree.ignored.ignores(path):
            refused.append(path)
        else:
            found.append(path)
    words = []
    if refused and not forced:
        for item in spec.items:
            rule = git.tree.ignored.rule(item.path, git.tree.is_directory(item.path)) if item.path else None
            if rule is not None and rule.ignores and item.pattern is None and git.tree.exists(item.path):
                words.append(_ignored_name(git, item.path))
    return found, words


def _ignored_name(git: Git, path: str) -> str:
    parts = path.split("/")
    for count in range(1, len(parts)):
        name = "/".join(parts[:count])
        if git.tree.ignored.ignores(name, True):
            return name
    return path


def add(git: Git, argv: list[str]) -> int:
    """Put files into the index."""
    options = git.parse(
        "add", argv, "--verbose --all --update --dry-run --force --intent-to-add --ignore-errors --chmod --sparse"
    )
    git.need_tree()
    if "--intent-to-add" in options or "--chmod" in [name for name, _ in options.given]:
        git.call.unknown("these options of add")
    everything, update = "--all" in options, "--update" in options
    if everything and update:
        raise Failure("options '-A' and '-u' cannot be used together")
    if not options.args and not (everything or update):
        git.warn("Nothing specified, nothing added.\n")
        if git.settings.flag("advice.addemptypathspec", True):
            git.warn(
                "hint: Maybe you wanted to say 'git add .'?\nhint: Turn this message off by running\n"
                'hint: "git config advice.addEmptyPathspec false"\n'
            )
        return 0
    spec = git.pathspec(options.args)
    index, tree = git.repo.index, git.tree
    fresh, refused = ([], []) if update else _candidates(git, spec, forced="--force" in options)
    if options.args:
        _warn_of_directory(git, spec)
        known = [*fresh, *index.paths()]
        for word in spec.missing(known):
            item = next(item for item in spec.items if item.word == word)
            if not (tree.exists(item.path) and item.pattern is None):
                raise Failure(f"pathspec '{word}' did not match any files")
    talks = "--verbose" in options or "--dry-run" in options
    dry = "--dry-run" in options
    if refused:
        git.warn("The following paths are ignored by one of your .gitignore files:\n")
        git.warn("".join(f"{word}\n" for word in refused))
        if git.settings.flag("advice.addignoredfile", True):
            git.warn(
                "hint: Use -f if you really want to add them.\nhint: Turn this message off by running\n"
                'hint: "git config advice.addIgnoredFile false"\n'
            )
    if dry and refused:
        return 1
    removals = options.args and "--no-all" in [name for name, _ in options.given]
    for path in [*index.paths(), *fresh] if talks else sorted([*index.paths(), *fresh], key=path_bytes):
        if spec.matches(path):
            _take(git, path, talks, dry, not removals)
    if not dry:
        git.repo.save_index()
    return 1 if refused else 0


def _warn_of_directory(git: Git, spec: Pathspec) -> None:
    """Warn where the directory that all paths lie in is not there."""
    literal = [item.path if item.pattern is None else "" for item in spec.items if not item.exclude]
    folder = posixpath.dirname(posixpath.commonprefix(literal) if len(literal) > 1 else literal[0] if literal else "")
    if folder and not git.tree.exists(folder):
        git.warn(f"warning: could not open directory '{folder}/': No such file or directory\n")


def _take(git: Git, path: str, talks: bool, dry: bool, removals: bool) -> None:
    index = git.repo.index
    here = git.tree.entry(path)
    if here is None:
        if removals and path in {**index.entries, **index.conflicts}:
            if talks:
                git.say(f"remove '{path}'\n")
            if not dry:
                index.drop(path)
        return
    if index.entries.get(path) == here:
        return
    if talks:
        git.say(f"add '{path}'\n")
    if not dry:
        index.set(path, store(git, path))


def remove(git: Git, argv: list[str]) -> int:
    """Take files out of the index and the working tree."""
    options = git.parse("rm", argv, "--dry-run --quiet --cached --force -r --ignore-unmatch --sparse")
    if not options.args:
        git.need_repository()
        raise Failure("No pathspec was given. Which files should I remove?")
    git.need_tree()
    spec = git.pathspec(options.args)
    index = git.repo.index
    paths = [path for path in index.paths() if spec.matches(path)]
    for item in spec.items:
        inside = [path for path in paths if git.pathspec([item.word]).matches(path)]
        if not inside:
            if "--ignore-unmatch" not in options:
                raise Failure(f"pathspec '{item.word}' did not match any files")
        elif "-r" not in options and item.path not in inside and item.pattern is None:
            raise Failure(f"not removing '{item.word}' recursively without -r")
    cached = "--cached" in options
    if "--force" not in options:
        _check_removal(git, paths, cached)
    for path in paths:
        if "--quiet" not in options:
            git.say(f"rm '{path}'\n")
        if "--dry-run" not in options:
            if not cached and path in {**index.entries, **index.conflicts}:
                if git.tree.is_directory(path):
                    git.call.unknown("a directory in place of a file")
                git.tree.remove(path)
            index.drop(path)
    if "--dry-run" not in options:
        git.repo.save_index()
    return 0


def _check_removal(git: Git, paths: list[str], cached: bool) -> None:
    head = git.repo.objects.flat(git.repo.head_tree())
    groups: dict[str, list[str]] = {"both": [], "staged": [], "local": []}
    for path in paths:
        entry = git.repo.index.entries.get(path)
        here = git.tree.entry(path)
        if entry is None or here is None:
            continue
        local, staged = here != entry, head.get(path) != entry
        if local and staged:
            groups["both"].append(path)
        elif not cached and staged:
            groups["staged"].append(path)
        elif not cached and local:
            groups["local"].append(path)
    texts = (
        ("both", "staged content different from both the\nfile and the HEAD:", "use -f to force removal"),
        ("staged", "changes staged in the index:", "use --cached to keep the file, or -f to force removal"),
        ("local", "local modifications:", "use --cached to keep the file, or -f to force removal"),
    )
    said = ""
    for kind, what, hint in texts:
        names = groups[kind]
        if names:
            word = "file has" if len(names) == 1 else "files have"
            said += f"error: the following {word} {what}\n" + "".join(f"    {name}\n" for name in names) + f"({hint})\n"
    if said:
        raise Failure(said.removesuffix("\n"), 1, "")


def move(git: Git, argv: list[str]) -> int:
    """Move or rename files."""
    options = git.parse("mv", argv, "--verbose --dry-run --force -k --sparse")
    if len(options.args) < 2:
        raise Failure(usage("mv").removesuffix("\n"), 129, "")
    *words, last = options.args
    target = _place(git, last)
    into = git.tree.is_directory(target) or target == ""
    if (len(words) > 1 or last.endswith("/")) and not into:
        if len(words) > 1:
            raise Failure(f"destination '{target}' is not a directory")
        raise Failure(f"destination directory does not exist, source={_place(git, words[0])}, destination={target}/")
    for word in words:
        source = _place(git, word)
        goal = posixpath.join(target, posixpath.basename(source)) if into else target
        problem = _move_problem(git, source, goal, "--force" in options)
        if problem is None:
            _move_one(git, source, goal, options.flag("--verbose"), options.flag("--dry-run"))
        elif "-k" not in options:
            raise Failure(f"{problem}, source={source}, destination={goal}")
    if "--dry-run" not in options:
        git.repo.save_index()
    return 0


def _place(git: Git, word: str) -> str:
    return git.pathspec([word]).items[0].path


def _move_problem(git: Git, source: str, goal: str, force: bool) -> str | None:
    index = git.repo.index
    if not git.tree.exists(source):
        return "bad source"
    if goal == source or goal.startswith(source + "/"):
        return "can not move directory into itself"
    if git.tree.is_directory(source):
        if git.tree.exists(goal):
            return "destination already exists"
        inside = any(path.startswith(source + "/") for path in index.entries)
        return None if inside else "source directory is empty"
    if source in index.conflicts:
        return "conflicted"
    if source not in index.entries:
        return "not under version control"
    if git.tree.exists(goal) and not (force and not git.tree.is_directory(goal)):
        return "destination exists"
    parent = posixpath.dirname(goal)
    if parent and not git.tree.is_directory(parent):
        raise Failure(f"renaming '{source}' failed: No such file or directory")
    return None


def _rename(git: Git, old: str, new: str) -> None:
    """Rename a file, or a directory file by file."""
    if git.files.stat(old, follow=False).kind != "directory":
        git.files.rename(old, new)
        return
    git.files.mkdir(new)
    for name in git.files.list(old):
        _rename(git, f"{old}/{name}", f"{new}/{name}")
    git.files.remove(old)


def _move_one(git: Git, source: str, goal: str, verbose: bool, dry: bool) -> None:
    if verbose or dry:
        if dry:
            git.say(f"Checking rename of '{source}' to '{goal}'\n")
        git.say(f"Renaming {source} to {goal}\n")
    if dry:
        return
    index, tree = git.repo.index, git.tree
    if tree.exists(goal):
        tree.files.remove(tree.full(goal))
    _rename(git, tree.full(source), tree.full(goal))
    for path in [name for name in index.entries if name == source or name.startswith(source + "/")]:
        entry = index.entries[path]
        index.drop(path)
        index.set(goal + path[len(source) :], entry)
