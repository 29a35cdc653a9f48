"""Which commits a command line means: revisions, ranges, limits and paths."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta

from worldline.kernels.git.changes import FileChange, compare, find_renames
from worldline.kernels.git.context import Git
from worldline.kernels.git.diffing import DiffOptions
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.objects import Commit
from worldline.kernels.git.pathspec import Pathspec
from worldline.kernels.git.people import parse_date
from worldline.kernels.git.pretty import Pretty
from worldline.kernels.git.revisions import ambiguous, find, merge_bases, no_such_path, topological, walk
from worldline.kernels.git.snapshot import Contents

__all__ = ["Selection", "commit_changes", "is_path", "is_revision", "read_selection", "select"]


@dataclass(slots=True)
class Selection:
    """Which commits are meant, and how they are shown."""

    include: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """Revisions as they were given."""
    paths: Pathspec | None = None
    limit: int | None = None
    skip: int = 0
    reverse: bool = False
    order: str = ""
    merges: bool | None = None
    first_parent: bool = False
    authors: list[str] = field(default_factory=list)
    grep: list[str] = field(default_factory=list)
    grep_flags: set[str] = field(default_factory=set)
    since: int | None = None
    until: int | None = None
    everything: bool = False
    graph: bool = False
    follow: bool = False
    merge_patches: str = ""
    show_parents: bool = False
    rest: list[str] = field(default_factory=list)


def is_path(git: Git, word: str) -> bool:
    """Whether a word names something in the working tree (or holds a pattern)."""
    if word.startswith(":") or re.search(r"[*?\[]", word):
        return True
    try:
        return git.files.exists(word, follow=False)
    except OSError:
        return False


def is_revision(git: Git, word: str) -> bool:
    """Whether a word is a revision or a range."""
    return _revision(git, Selection(), word, False)


def read_selection(git: Git, argv: list[str], pretty: Pretty | None, diff: DiffOptions | None, name: str) -> Selection:
    """Read revisions, paths and options.

    Raises:
        Failure: An option or a revision is not known.
    """
    found = Selection()
    words = list(argv)
    dashes = "--" in words
    paths: list[str] = []
    while words:
        word = words[0]
        if word == "--":
            paths += words[1:]
            break
        if word.startswith("-") and word != "-" and paths:
            raise Failure(f"option '{word}' must come before non-option arguments")
        if word.startswith("-") and word != "-":
            if _take(git, found, words) or (pretty is not None and _take_pretty(git, pretty, found, words)):
                continue
            if diff is not None and diff.take(git, words):
                continue
            found.rest.append(words.pop(0))
            continue
        if paths:
            paths.append(words.pop(0))
        elif not _revision(git, found, word, dashes):
            if not is_path(git, word):
                raise ambiguous(word)
            paths.append(word)
            words.pop(0)
        else:
            words.pop(0)
    for word in [] if dashes else paths:
        if not is_path(git, word):
            raise no_such_path(word)
    found.paths = git.pathspec(paths)
    return found


def _take(git: Git, found: Selection, words: list[str]) -> bool:
    word = words[0]
    key, equals, value = word.partition("=")
    number = re.fullmatch(r"-(\d+)|-n(\d+)|--max-count=(\d+)", word)
    takes = {
        "-n",
        "--max-count",
        "--skip",
        "--author",
        "--grep",
        "--since",
        "--after",
        "--until",
        "--before",
        "--committer",
    }
    if word in takes and not equals and len(words) > 1:
        words[:2] = [word + ("" if word == "-n" else "=") + words[1]]
        return _take(git, found, words)
    if word == "-n":
        raise Failure("-n requires an argument", 128, "error: ")
    if number:
        found.limit = int(next(part for part in number.groups() if part is not None))
    elif key == "--skip":
        found.skip = int(value)
    elif word == "--reverse":
        found.reverse = True
    elif word in ("--topo-order", "--date-order", "--author-date-order"):
        found.order = word
    elif word in ("--merges", "--no-merges"):
        found.merges = word == "--merges"
    elif word == "--first-parent":
        found.first_parent = True
    elif key == "--author":
        found.authors.append(value)
    elif key == "--grep":
        found.grep.append(value)
    elif word in (
        "-i",
        "--regexp-ignore-case",
        "--invert-grep",
        "--all-match",
        "-F",
        "--fixed-strings",
        "-E",
        "--extended-regexp",
    ):
        found.grep_flags.add(word)
    elif key in ("--since", "--after"):
        found.since = _moment(git, value)
    elif key in ("--until", "--before"):
        found.until = _moment(git, value)
    elif word in ("--all", "--branches", "--tags", "--remotes"):
        found.everything = True
        prefix = {"--all": "refs/", "--branches": "refs/heads/", "--tags": "refs/tags/", "--remotes": "refs/remotes/"}
        found.include += [git.repo.objects.peel(sha) for sha in git.repo.refs(prefix[word]).values()]
        if word == "--all" and git.repo.head:
            found.include.append(git.repo.head)
    elif word == "--graph":
        found.graph = True
    elif word == "--follow":
        found.follow = True
    elif word in ("-m", "-c", "--cc", "--diff-merges=first-parent", "--no-diff-merges"):
        found.merge_patches = word
    elif word == "--parents":
        found.show_parents = True
    elif word in ("--full-history", "--simplify-merges", "--boundary", "--left-right", "--cherry-pick", "--cherry-mark",
                  "--left-only", "--right-only", "-g", "--walk-reflogs", "-L", "--children", "--show-signature",
                  "--ancestry-path", "--no-walk", "--stdin", "--use-mailmap", "--source", "--bisect",
                  "--simplify-by-decoration",
                  "--merge", "--cherry", "--dense", "--sparse", "--log-size",
                  "--notes", "--no-notes"):  # fmt: skip
        git.call.unknown(f"the option {word}")
    elif word.startswith("-L"):
        git.call.unknown("the history of some lines")
    else:
        return False
    words.pop(0)
    return True


def _moment(git: Git, text: str) -> int:
    stamp = parse_date(text, git.zone)
    if stamp is not None:
        return stamp.seconds
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        stamp = parse_date(f"{text} {git.call.now.astimezone(git.zone):%H:%M:%S}", git.zone)
        if stamp is not None:
            return stamp.seconds
    ago = re.fullmatch(r"(\d+|a|an|one|last)[ .]+(second|minute|hour|day|week|month|year)s?(?:[ .]+ago)?", text)
    if ago is None:
        git.call.unknown("this form of a date")
    count = int(ago[1]) if ago[1].isdigit() else 1
    if ago[2] in ("month", "year"):
        now = git.call.now.astimezone(git.zone)
        months = now.year * 12 + now.month - 1 - count * (12 if ago[2] == "year" else 1)
        year, month = divmod(months, 12)
        return int(now.replace(year=year, month=month + 1, day=min(now.day, 28)).timestamp())
    return int((git.call.now - timedelta(**{ago[2] + "s": count})).timestamp())


def _take_pretty(git: Git, pretty: Pretty, found: Selection, words: list[str]) -> bool:
    word = words[0]
    key, equals, value = word.partition("=")
    if word == "--oneline":
        pretty.choose("oneline")
        pretty.abbreviate = True
    elif key in ("--format", "--pretty") and (equals or key == "--pretty"):
        pretty.choose(value if equals else "medium")
    elif word == "--format":
        git.call.unknown("--format without a value")
    elif word == "--abbrev-commit":
        pretty.abbreviate = True
    elif word == "--no-abbrev-commit":
        pretty.abbreviate = False
    elif key == "--abbrev" and value:
        pretty.length = int(value)
    elif key == "--date" and equals:
        pretty.date = value
    elif word == "--date" and len(words) > 1:
        pretty.date = words.pop(1)
    elif word == "--relative-date":
        pretty.date = "relative"
    elif key == "--decorate" or word == "--no-decorate":
        if word != "--no-decorate" and value not in ("", "short", "full", "auto", "no"):
            raise Failure(f"invalid --decorate option: {value}")
        value = ("no" if git.call.columns is None else "short") if value == "auto" else value
        pretty.decorate = "" if word == "--no-decorate" or value == "no" else value or "short"
    elif word == "--clear-decorations":
        pass
    elif key in ("--decorate-refs", "--decorate-refs-exclude", "--encoding", "--expand-tabs", "--no-expand-tabs"):
        git.call.unknown(f"the option {key}")
    else:
        return False
    words.pop(0)
    return True


def _revision(git: Git, found: Selection, word: str, dashes: bool) -> bool:
    """Take a word as a revision or range; False where it is none."""
    repo = git.repo
    span = re.fullmatch(r"(.*?)(\.\.\.?)(.*)", word)
    if span is not None and (span[1] or span[3]):
        ends = [find(repo, span[1] or "HEAD"), find(repo, span[3] or "HEAD")]
        if None in ends:
            return False
        one, two = (repo.objects.peel(sha) for sha in ends if sha is not None)
        found.names.append(word)
        if span[2] == "..":
            found.exclude.append(one)
            found.include.append(two)
        else:
            found.include += [one, two]
            found.exclude += merge_bases(repo, one, two)
        return True
    hidden = word.startswith("^")
    sha = _checked(git, word[1:] if hidden else word)
    if sha is None:
        if dashes:
            raise Failure(f"bad revision '{word}'")
        return False
    found.names.append(word)
    (found.exclude if hidden else found.include).append(sha)
    return True


def _checked(git: Git, word: str) -> str | None:
    """Find an object; a missing path in a tree is an error of its own."""
    try:
        return find(git.repo, word)
    except Failure as failure:
        if "{rev}" not in failure.text:
            raise
        rev, _, path = word.partition(":")
        if git.tree.exists(path):
            raise Failure(f"path '{path}' exists on disk, but not in '{rev}'") from failure
        raise Failure(f"path '{path}' does not exist in '{rev}'") from failure


def select(git: Git, found: Selection) -> list[Commit]:
    """The commits of a selection, in the order in which they are shown.

    Raises:
        Failure: There are no commits yet.
    """
    repo = git.repo
    starts = [repo.objects.peel(sha) for sha in found.include]
    if not starts and not found.names and not found.everything:
        if repo.head is None:
            raise Failure(f"your current branch '{repo.branch}' does not have any commits yet")
        starts = [repo.head]
    hidden = [repo.objects.peel(sha) for sha in found.exclude]
    for sha in (*starts, *hidden):
        if repo.objects.kind(sha) != "commit":
            git.call.unknown("history of something that is no commit")
    ordered = sorted(dict.fromkeys(starts), key=lambda sha: -repo.objects.commit(sha).time)
    commits = walk(repo, ordered, hidden, first=found.first_parent)
    if found.paths:
        commits = _simplified(git, commits, found)
    if found.order == "--author-date-order":
        git.call.unknown(found.order)
    if found.order == "--topo-order" or found.graph:
        commits = topological(commits)
    commits = [commit for commit in commits if _wanted(commit, found)]
    commits = commits[found.skip :]
    if found.limit is not None:
        commits = commits[: found.limit]
    return commits[::-1] if found.reverse else commits


def _wanted(commit: Commit, found: Selection) -> bool:
    if found.merges is not None and (len(commit.parents) > 1) != found.merges:
        return False
    if found.since is not None and commit.time < found.since:
        return False
    if found.until is not None and commit.time > found.until:
        return False
    flags = re.IGNORECASE if {"-i", "--regexp-ignore-case"} & found.grep_flags else 0
    fixed = {"-F", "--fixed-strings"} & found.grep_flags
    if found.authors and not any(
        re.search(re.escape(a) if fixed else a, commit.author.rsplit(" ", 2)[0], flags) for a in found.authors
    ):
        return False
    if found.grep:
        test = all if "--all-match" in found.grep_flags else any
        hit = test(re.search(re.escape(g) if fixed else g, commit.message, flags | re.MULTILINE) for g in found.grep)
        return hit != ("--invert-grep" in found.grep_flags)
    return True


def _limited(git: Git, tree: str | None, paths: Pathspec) -> dict[str, str]:
    return {
        path: f"{entry.mode}{entry.sha}" for path, entry in git.repo.objects.flat(tree).items() if paths.matches(path)
    }


def _simplified(git: Git, commits: list[Commit], found: Selection) -> list[Commit]:
    """Commits that change the given paths; of a merge only the side that agrees with it is followed."""
    assert found.paths is not None
    if found.follow:
        return _followed(git, commits, found)
    there = {commit.sha: commit for commit in commits}
    reached = set()
    todo = [git.repo.objects.peel(sha) for sha in found.include or [git.repo.head or ""]]
    kept = []
    while todo:
        sha = todo.pop()
        if sha in reached or sha not in there:
            continue
        reached.add(sha)
        commit = there[sha]
        own = _limited(git, commit.tree, found.paths)
        sides = [_limited(git, git.repo.objects.commit(parent).tree, found.paths) for parent in commit.parents]
        same = [parent for parent, side in zip(commit.parents, sides, strict=True) if side == own]
        if same and not found.first_parent:
            todo.append(same[0])
        else:
            todo += commit.parents
            if (not commit.parents and own) or (commit.parents and not same):
                kept.append(sha)
    return [commit for commit in commits if commit.sha in set(kept)]


def _followed(git: Git, commits: list[Commit], found: Selection) -> list[Commit]:
    """Commits that change one file, also under the names it had before."""
    assert found.paths is not None
    if len(found.paths.items) != 1:
        raise Failure("--follow requires exactly one pathspec")
    path, kept = found.paths.items[0].path, []
    contents = Contents(git)
    for commit in commits:
        if len(commit.parents) > 1:
            git.call.unknown("--follow through merges")
        changes = commit_changes(git, commit, None)
        change = next((c for c in changes if c.path == path), None)
        if change is None:
            continue
        kept.append(commit)
        if change.old is None:
            moved = next((c for c in find_renames(changes, contents.blob) if c.path == path), change)
            path = moved.old_path
    return kept


def commit_changes(git: Git, commit: Commit, paths: Pathspec | None, parent: int = 0) -> list[FileChange]:
    """What a commit changed against one of its parents."""
    objects = git.repo.objects
    old = objects.commit(commit.parents[parent]).tree if commit.parents else None
    found = compare(objects.flat(old), objects.flat(commit.tree))
    return [change for change in found if paths is None or paths.matches(change.path)]
