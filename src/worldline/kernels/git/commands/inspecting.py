"""Plumbing that answers questions: `rev-parse`, `ls-files`, `cat-file`, `merge-base`, `show-ref`, ..."""

from __future__ import annotations

import posixpath
import re

from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.listing import contains_filter, expand_ref, sort_refs
from worldline.kernels.git.patch import quoted
from worldline.kernels.git.revisions import (
    ambiguous,
    find,
    full_ref,
    merge_bases,
    previous_branch,
    upstream_of,
)
from worldline.kernels.git.selecting import is_path
from worldline.kernels.shell.builtins.shared.textio import stdin

__all__ = [
    "check_ignore",
    "count_objects",
    "for_each_ref",
    "fsck",
    "ls_files",
    "rev_parse",
    "show_ref",
    "symbolic_ref",
]  # fmt: skip


_BLOCK = 4096
"""Bytes of a disk block."""


def rev_parse(git: Git, argv: list[str]) -> int:
    """Print names of objects and facts about the repository."""
    words, verify, quiet, short, abbrev, full = list(argv), False, False, 0, False, False
    if words[:1] in (["--parseopt"], ["--sq-quote"]):
        git.call.unknown("rev-parse as a parser")
    results: list[str] = []
    while words:
        word = words.pop(0)
        key, _, value = word.partition("=")
        if word == "--verify":
            verify = True
        elif word in ("-q", "--quiet"):
            quiet = True
        elif key == "--short":
            short, verify = int(value or 7), True
        elif key == "--abbrev-ref":
            abbrev = True
        elif word == "--symbolic-full-name":
            full = True
        elif word in (
            "--revs-only",
            "--no-revs",
            "--flags",
            "--no-flags",
            "--symbolic",
            "--sq",
            "--all",
            "--branches",
            "--tags",
        ):
            git.call.unknown(f"rev-parse {word}")
        elif word.startswith("--") and _fact(git, word):
            continue
        elif word == "--":
            results.append("--")
        elif word.startswith("-") and not re.match(r"-\d", word):
            if verify:
                raise Failure("Needed a single revision") if not quiet else Failure("", 1)
            results.append(word)
        else:
            shown = _revision(git, word, short, abbrev, full, verify, quiet)
            if shown is None:
                return 1
            results += shown
    if verify and len(results) != 1:
        if quiet:
            return 1
        raise Failure("Needed a single revision")
    git.say("".join(f"{text}\n" for text in results if text))
    return 0


def _revision(git: Git, word: str, short: int, abbrev: bool, full: bool, verify: bool, quiet: bool) -> list[str] | None:
    repo = git.repo
    span = re.fullmatch(r"(.*?)(\.\.\.?)(.*)", word)
    if span is not None and not verify and (span[1] or span[3]):
        one, two = find(repo, span[1] or "HEAD"), find(repo, span[3] or "HEAD")
        if one is not None and two is not None:
            bases = [f"^{sha}" for sha in merge_bases(repo, one, two)] if span[2] == "..." else []
            return [two, f"^{one}"] if span[2] == ".." else [one, two, *bases]
    hidden = word.startswith("^")
    sha = find(repo, word[1:] if hidden else word)
    if sha is None:
        if verify:
            if quiet:
                return None
            raise Failure("Needed a single revision")
        if is_path(git, word) and not word.startswith(":"):
            return [word]
        git.say(f"{word}\n")
        raise ambiguous(word)
    if abbrev or full:
        return [_symbolic(git, word, abbrev)]
    if short:
        sha = repo.objects.short(sha, short)
    return ["^" * hidden + sha]


def _symbolic(git: Git, word: str, abbrev: bool) -> str:
    repo = git.repo
    if word in ("HEAD", "@"):
        name = repo.symbolic() or "HEAD"
    elif word.endswith(("@{u}", "@{upstream}")):
        name = upstream_of(repo, word.partition("@")[0] or repo.branch or "") or ""
    elif re.fullmatch(r"@\{-\d+\}", word):
        name = full_ref(repo, previous_branch(repo, int(word[3:-1])) or "") or ""
    else:
        name = full_ref(repo, word) or ""
    return re.sub(r"^refs/(?:heads|tags|remotes)/", "", name) if abbrev else name


def _fact(git: Git, word: str) -> bool:
    """Print a fact that an option asks for; False where the option is none of these."""
    if word == "--is-inside-work-tree":
        repo = git.repo
        inside = repo.worktree is not None and not (git.call.cwd + "/").startswith(repo.directory + "/")
        git.say(f"{str(inside).lower()}\n")
    elif word == "--is-inside-git-dir":
        git.say(f"{str((git.call.cwd + '/').startswith(git.repo.directory + '/')).lower()}\n")
    elif word == "--is-bare-repository":
        git.say(f"{str(git.settings.flag('core.bare') and git.repo.worktree is None).lower()}\n")
    elif word == "--is-shallow-repository":
        git.say("false\n")
    elif word == "--show-toplevel":
        git.need_tree()
        git.say(f"{git.repo.worktree}\n")
    elif word in ("--git-dir", "--git-common-dir"):
        place = git.repo.directory if word == "--git-dir" else git.repo.common
        relative = git.repo.worktree == git.call.cwd and place == f"{git.call.cwd}/.git"
        inside = place == git.call.cwd
        if word == "--git-common-dir" and not relative and not inside:
            place = posixpath.relpath(place, git.call.cwd)
        git.say(".git\n" if relative else ".\n" if inside else f"{place}\n")
    elif word == "--absolute-git-dir":
        git.say(f"{git.repo.directory}\n")
    elif word == "--show-prefix":
        git.say(f"{git.prefix}\n")
    elif word == "--show-cdup":
        git.say("../" * git.prefix.count("/") + "\n")
    elif word == "--show-object-format":
        git.say("sha1\n")
    else:
        return False
    return True


def ls_files(git: Git, argv: list[str]) -> int:
    """List files of the index and of the working tree."""
    supported = (
        "--cached --deleted --modified --others --stage --unmerged --ignored --directory --no-empty-directory "
        "--exclude-standard --full-name --error-unmatch --exclude --killed -z --abbrev"
    )
    options = git.parse("ls-files", argv, supported)
    given = {name for name, _ in options.given}
    if {"--killed", "--exclude", "--directory", "--no-empty-directory", "--abbrev"} & given:
        git.call.unknown("these options of ls-files")
    repo = git.repo
    spec = git.pathspec(options.args)
    index = repo.index
    ignored = "--ignored" in options
    standard = "--exclude-standard" in options
    if ignored and not standard:
        raise Failure("ls-files --ignored needs some exclude pattern")
    if ignored and not {"--others", "--cached"} & given:
        raise Failure("ls-files -i must be used with either -o or -c")
    found: list[str] = []
    if "--others" in options:
        found += _others(git, standard, ignored)
    tracked = index.paths()
    kinds = {"--others", "--deleted", "--modified", "--unmerged", "--cached", "--stage"} & given
    if "--stage" in options or "--unmerged" in options:
        found += _staged(git, "--unmerged" in options)
    elif not kinds or "--cached" in options:
        found += [path for path in tracked if not ignored or git.tree.ignored.ignores(path)]
    if {"--deleted", "--modified"} & given:
        found += _changed(git, "--deleted" in options, "--modified" in options)
    end = "\0" if "-z" in options else "\n"
    shown = []
    for line in found:
        head, tab, path = line.rpartition("\t") if "\t" in line else ("", "", line)
        if not spec.matches(path) or not (path.startswith(git.prefix) or spec):
            continue
        name = path if "--full-name" in options else git.shown(path)
        shown.append((path, f"{head}{tab}{name if end == chr(0) else quoted(name)}"))
    git.say("".join(text + end for _, text in shown))
    if "--error-unmatch" in options:
        missing = spec.missing([path for path, _ in shown])
        if missing:
            lines = [f"error: pathspec '{word}' did not match any file(s) known to git" for word in missing]
            raise Failure("\n".join([*lines, "Did you forget to 'git add'?"]), 1, "")
    return 0


def _others(git: Git, standard: bool, ignored: bool) -> list[str]:
    tracked = {*git.repo.index.entries, *git.repo.index.conflicts}
    paths = [path for path in git.tree.scan() if path not in tracked]
    if not standard:
        return paths
    return [path for path in paths if git.tree.ignored.ignores(path.rstrip("/"), path.endswith("/")) == ignored]


def _staged(git: Git, unmerged: bool) -> list[str]:
    index, lines = git.repo.index, []
    for path in index.paths():
        if path in index.conflicts:
            sides = index.conflicts[path]
            for stage, entry in enumerate((sides.base, sides.ours, sides.theirs), 1):
                if entry is not None:
                    lines.append(f"{entry.mode:06o} {entry.sha} {stage}\t{path}")
        elif not unmerged:
            lines.append(f"{index.entries[path].mode:06o} {index.entries[path].sha} 0\t{path}")
    return lines


def _changed(git: Git, deleted: bool, modified: bool) -> list[str]:
    found = []
    for path in git.repo.index.paths():
        here = git.tree.entry(path)
        if here is None:
            found += [path] * (deleted + modified)
        elif modified and here != git.repo.index.entries.get(path):
            found.append(path)
    return found


def for_each_ref(git: Git, argv: list[str]) -> int:
    """List refs in a form of one's own."""
    supported = "--format --sort --count --contains --no-contains --merged --no-merged --points-at"
    options = git.parse("for-each-ref", argv, supported)
    test = contains_filter(git, options.given)
    refs = {}
    for name, sha in git.repo.refs().items():
        wanted = not options.args or any(
            name == word.rstrip("/") or name.startswith(word.rstrip("/") + "/") or _wild(name, word)
            for word in options.args
        )
        if wanted and test(sha):
            refs[name] = sha
    ordered = sort_refs(git, refs, options.all("--sort"))
    if options.get("--count"):
        ordered = ordered[: int(options.get("--count") or 0)]
    template = options.get("--format")
    template = "%(objectname) %(objecttype)\t%(refname)" if template is None else template
    for name, sha in ordered:
        git.say(expand_ref(git, template, name, sha) + "\n")
    return 0


def _wild(name: str, pattern: str) -> bool:
    if not re.search(r"[*?\[]", pattern):
        return False
    text = re.escape(pattern).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
    return re.match(text + r"(?:/|$)", name) is not None


def show_ref(git: Git, argv: list[str]) -> int:
    """List refs with their objects."""
    options = git.parse("show-ref", argv, "--tags --heads --head --dereference --hash --verify --quiet --abbrev")
    repo = git.repo
    if "--verify" in options:
        for word in options.args:
            sha = repo.resolve(word) if word.startswith("refs/") or word == "HEAD" else None
            if sha is None:
                if "--quiet" in options:
                    return 1
                raise Failure(f"'{word}' - not a valid ref")
            if "--quiet" not in options:
                git.say(f"{sha}\n" if "--hash" in options else f"{sha} {word}\n")
        return 0
    refs = repo.refs()
    kinds = [f"refs/{kind}/" for kind in ("tags", "heads") if f"--{kind}" in options]
    refs = {name: sha for name, sha in refs.items() if not kinds or name.startswith(tuple(kinds))}
    if "--head" in options and repo.head:
        refs = {"HEAD": repo.head, **refs}
    if options.args:
        refs = {
            name: sha for name, sha in refs.items() if any(("/" + name).endswith("/" + word) for word in options.args)
        }
    if "--abbrev" in [name for name, _ in options.given] or options.get("--hash"):
        git.call.unknown("abbreviations in show-ref")
    for name, sha in refs.items() if "--quiet" not in options else ():
        git.say(f"{sha}\n" if "--hash" in options else f"{sha} {name}\n")
        if "--dereference" in options and repo.objects.kind(sha) == "tag":
            git.say(f"{repo.objects.peel(sha)} {name}^{{}}\n")
    return 0 if refs else 1


def symbolic_ref(git: Git, argv: list[str]) -> int:
    """Print or set what a symbolic ref points to."""
    options = git.parse("symbolic-ref", argv, "--quiet --short")
    if len(options.args) == 2:
        if options.args[0] == "HEAD" and not options.args[1].startswith("refs/"):
            raise Failure("Refusing to point HEAD outside of refs/")
        git.repo.put(options.args[0], f"ref: {options.args[1]}\n")
        return 0
    name = options.args[0] if options.args else "HEAD"
    target = git.repo.symbolic(name)
    if target is None:
        if "--quiet" in options:
            return 1
        raise Failure(f"ref {name} is not a symbolic ref")
    git.say(f"{re.sub('^refs/(heads|tags|remotes)/', '', target) if '--short' in options else target}\n")
    return 0


def check_ignore(git: Git, argv: list[str]) -> int:
    """Say which paths are ignored, and by which rule."""
    options = git.parse("check-ignore", argv, "--verbose --quiet --non-matching --no-index --stdin")
    git.need_tree()
    words = list(options.args)
    if "--stdin" in options:
        words += stdin(git.call).decode("utf-8", "surrogateescape").splitlines()
    if not words:
        raise Failure("no path specified")
    verbose = "--verbose" in options
    hits = 0
    tracked = {*git.repo.index.entries, *git.repo.index.conflicts}
    for word in words:
        path = git.pathspec([word]).items[0].path
        rule = None
        if path not in tracked or options.flag("--no-index") or "--no-index" in [n for n, _ in options.given]:
            rule = git.tree.ignored.rule(path, git.tree.is_directory(path) or word.endswith("/"))
        if rule is not None and (verbose or rule.ignores):
            hits += 1
            if "--quiet" not in options:
                git.say(f"{rule.source}:{rule.line}:{rule.text}\t{quoted(word)}\n" if verbose else f"{quoted(word)}\n")
        elif verbose and "--non-matching" in options:
            git.say(f"::\t{quoted(word)}\n")
    return 0 if hits else 1


def fsck(git: Git, argv: list[str]) -> int:
    """Check the repository; all objects of ours are whole."""
    git.parse("fsck", argv, "--progress --full --strict --dangling --verbose")
    if argv:
        git.call.unknown("options of fsck")
    repo, objects = git.repo, git.repo.objects
    reached: set[str] = set()
    tips = [*repo.refs().values(), *([repo.head] if repo.head else [])]
    names = ["HEAD", *repo.refs()]
    tips += [
        sha
        for name in names
        for line in repo.history(name)
        for sha in (line.new, line.old)
        if sha.strip("0") and objects.has(sha)
    ]
    todo = [*tips, *(entry.sha for entry in repo.index.entries.values())]
    if repo.index.conflicts:
        git.call.unknown("fsck in the middle of a merge")
    while todo:
        sha = todo.pop()
        if sha in reached:
            continue
        reached.add(sha)
        todo += _links(git, sha)
    lost = [sha for sha in objects.all() if sha not in reached]
    pointed = {other for sha in lost for other in _links(git, sha)}
    dangling = [sha for sha in lost if sha not in pointed]
    if len(dangling) > 1:
        git.call.unknown("the order of dangling objects")
    git.say("".join(f"dangling {objects.kind(sha)} {sha}\n" for sha in dangling))
    if repo.head is None:
        git.warn(f"notice: HEAD points to an unborn branch ({repo.branch})\n")
        if not repo.refs():
            git.warn("notice: No default references\n")
    return 0


def count_objects(git: Git, argv: list[str]) -> int:
    """Count loose objects and the disk blocks they take."""
    if argv:
        git.call.unknown("options of count-objects")
    names = git.repo.objects.all()
    sizes = [git.files.stat(git.repo.objects.path(sha)).size for sha in names]
    git.say(f"{len(names)} objects, {sum(-(-size // _BLOCK) * _BLOCK for size in sizes) // 1024} kilobytes\n")
    return 0


def _links(git: Git, sha: str) -> list[str]:
    objects = git.repo.objects
    kind = objects.kind(sha)
    if kind == "commit":
        commit = objects.commit(sha)
        return [commit.tree, *commit.parents]
    if kind == "tree":
        return [entry.sha for entry in objects.entries(sha).values()]
    return [objects.tag(sha).target] if kind == "tag" else []
