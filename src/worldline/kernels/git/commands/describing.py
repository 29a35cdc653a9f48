"""`git describe`, `git shortlog`, `git blame`, `git grep` and `git count-objects`."""

from __future__ import annotations

import fnmatch
import re

from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.linediff import TooExpensive, line_changes, lines_of
from worldline.kernels.git.objects import Commit
from worldline.kernels.git.options import Options, usage
from worldline.kernels.git.patch import is_binary, quoted
from worldline.kernels.git.people import take_apart
from worldline.kernels.git.pretty import Pretty
from worldline.kernels.git.revisions import ambiguous, ancestors, find, find_commit, walk
from worldline.kernels.git.selecting import is_path, read_selection, select

__all__ = ["blame", "describe", "grep", "shortlog"]


def describe(git: Git, argv: list[str]) -> int:
    """Name a commit after the nearest tag."""
    supported = "--all --tags --long --always --abbrev --exact-match --dirty --match --contains --exclude --candidates"
    options = git.parse("describe", argv, supported)
    given = {name for name, _ in options.given}
    if given & {"--all", "--contains", "--exclude", "--candidates"} or len(options.args) > 1:
        git.call.unknown("these options of describe")
    repo = git.repo
    name = options.args[0] if options.args else "HEAD"
    sha = find(repo, name)
    if sha is None:
        raise Failure(f"Not a valid object name {name}")
    start = repo.objects.peel(sha)
    length = int(options.get("--abbrev") or 7) if "--no-abbrev" not in given else 0
    tags = _tags(git, options)
    best = _nearest(git, start, tags)
    end = _dirty(git, options)
    if best is None:
        if "--always" in options:
            git.say(repo.objects.short(start, length or 7) + end + "\n")
            return 0
        raise Failure(_no_names(git, tags, start, "--tags" in options))
    tag, count = best
    if count and "--exact-match" in options:
        raise Failure(f"no tag exactly matches '{start}'")
    if (count or "--long" in options) and length:
        tag += f"-{count}-g{repo.objects.short(start, length)}"
    git.say(tag + end + "\n")
    return 0


def _no_names(git: Git, tags: dict[str, str], start: str, all_tags: bool) -> str:
    if not git.repo.refs("refs/tags/"):
        return "No names found, cannot describe anything."
    if not all_tags and not tags:
        return f"No annotated tags can describe '{start}'.\nHowever, there were unannotated tags: try --tags."
    return f"No tags can describe '{start}'.\nTry --always, or create some tags."


def _dirty(git: Git, options: Options) -> str:
    mark = options.get("--dirty")
    if mark is None:
        return ""
    changed = git.repo.index.entries != git.repo.objects.flat(git.repo.head_tree()) or git.tree.differing()
    return (mark or "-dirty") if changed else ""


def _tags(git: Git, options: Options) -> dict[str, str]:
    """Names of the tags that count, by commit; annotated ones win, then newer ones."""
    objects = git.repo.objects
    found: dict[str, str] = {}
    ranked = []
    patterns = options.all("--match")
    for name, sha in git.repo.refs("refs/tags/").items():
        short = name.removeprefix("refs/tags/")
        annotated = objects.kind(sha) == "tag"
        if (annotated or "--tags" in options) and (
            not patterns or any(fnmatch.fnmatchcase(short, p) for p in patterns)
        ):
            time = take_apart(objects.tag(sha).tagger)[2].seconds if annotated else 0
            ranked.append((annotated, time, objects.peel(sha), short))
    for annotated, time, target, short in ranked:
        other = next((item for item in ranked if item[2] == target and item[:2] > (annotated, time)), None)
        if other is None:
            found.setdefault(target, short)
    return found


def _nearest(git: Git, start: str, tags: dict[str, str]) -> tuple[str, int] | None:
    if start in tags:
        return tags[start], 0
    reached = ancestors(git.repo, [start])
    best: tuple[int, int, str] | None = None
    for place, commit in enumerate(walk(git.repo, [start])):
        if commit.sha in tags:
            count = len(reached - ancestors(git.repo, [commit.sha]))
            if best is None or count < best[0]:
                best = (count, place, tags[commit.sha])
    return None if best is None else (best[2], best[0])


def shortlog(git: Git, argv: list[str]) -> int:
    """Sum up history by author."""
    words, numbered, summary, email = [], False, False, False
    for word in argv:
        if re.fullmatch(r"-[nse]+", word) or word in ("--numbered", "--summary", "--email"):
            numbered |= "n" in word[:3] and (word == "--numbered" or not word.startswith("--"))
            summary |= word == "--summary" or (not word.startswith("--") and "s" in word)
            email |= word == "--email" or (not word.startswith("--") and "e" in word)
        else:
            words.append(word)
    if not any(not word.startswith("-") for word in words):
        if git.call.stdin is not None:
            git.call.unknown("a log to sum up")
        if git.found is None or not any(word == "--all" for word in words):
            git.say("")
            return 0
    found = read_selection(git, words, Pretty(git), None, "shortlog")
    if found.rest:
        word = found.rest[0]
        raise Failure(f"unknown option `{word}'\n{usage('shortlog')}".removesuffix("\n"), 129, "error: ")
    groups: dict[str, list[str]] = {}
    for commit in select(git, found)[::-1]:
        name, mail, _ = take_apart(commit.author)
        groups.setdefault(f"{name} <{mail}>" if email else name, []).append(commit.subject)
    order = sorted(groups, key=lambda name: name.encode())
    if numbered:
        order.sort(key=lambda name: -len(groups[name]))
    for name in order:
        subjects = groups[name]
        if summary:
            git.say(f"{len(subjects):>6}\t{name}\n")
        else:
            git.say(f"{name} ({len(subjects)}):\n" + "".join(f"      {subject}\n" for subject in subjects) + "\n")
    return 0


def blame(git: Git, argv: list[str]) -> int:
    """Say which commit each line of a file comes from."""
    options = git.parse("blame", argv, "--porcelain --line-porcelain -s -e -L --root -l -t", quote="--")
    git.need_tree()
    if {"-l", "-t", "--root", "-e", "--line-porcelain"} & {name for name, _ in options.given}:
        git.call.unknown("these options of blame")
    args = list(options.args)
    if not args:
        raise Failure(usage("blame").removesuffix("\n"), 129, "")
    start = None
    if len(args) > 1 and options.dashes != 0:
        start = find_commit(git.repo, args[0])
        if start is None:
            raise Failure(f"bad revision '{args[0]}'")
        args = args[1:]
    path = git.pathspec([args[0]]).items[0].path
    head = start or git.repo.head
    if head is None:
        raise Failure("no such ref: HEAD")
    lines, origins = _origins(git, path, head, start is None)
    first, last = _range(git, options.get("-L"), len(lines), path)
    if "--porcelain" in options:
        if options.get("-L"):
            git.call.unknown("--porcelain of some lines")
        return _porcelain(git, lines, origins)
    return _columns(git, lines[:last], origins[:last], "-s" in options, first)


def _range(git: Git, text: str | None, count: int, path: str) -> tuple[int, int]:
    """First (counted from 0) and last line that `-L` names."""
    if text is None:
        return 0, count
    found = re.fullmatch(r"(\d+)(?:,(\+?)(\d+))?", text)
    if found is None:
        git.call.unknown("this form of -L")
    first = int(found[1]) - 1
    last = count if not found[3] else first + int(found[3]) if found[2] else int(found[3])
    if first >= count:
        raise Failure(f"file {path} has only {count} line{'s' * (count != 1)}")
    return max(first, 0), min(last, count)


Origin = tuple[Commit, int, str]


def _origins(git: Git, path: str, head: str, here: bool) -> tuple[list[bytes], list[Origin]]:
    objects = git.repo.objects
    flat = objects.flat(objects.commit(head).tree)
    if path not in flat:
        raise Failure(f"no such path '{path}' in HEAD")
    data = objects.blob(flat[path].sha)
    if here and not git.tree.exists(path):
        raise Failure(f"Cannot lstat '{path}': No such file or directory")
    if here and (git.tree.entry(path) is None or git.tree.data(path) != data):
        git.call.unknown("blame of lines that are not committed")
    lines = lines_of(data)
    found: list[Origin | None] = [None] * len(lines)
    _trace(git, path, objects.commit(head), [(n, n) for n in range(len(lines))], found)
    return lines, [origin for origin in found if origin is not None]


def _trace(git: Git, path: str, commit: Commit, sought: list[tuple[int, int]], found: list[Origin | None]) -> None:
    """Give lines (place in the file at hand, place in this commit's version) to commits."""
    objects = git.repo.objects
    while sought:
        if len(commit.parents) > 1:
            git.call.unknown("blame through merges")
        parent = objects.commit(commit.parents[0]) if commit.parents else None
        old = objects.flat(parent.tree).get(path) if parent else None
        if parent is None or old is None:
            if parent is not None and len(objects.flat(parent.tree)) >= 1 and _renamed(git, commit, parent, path):
                git.call.unknown("blame through renames")
            for place, line in sought:
                found[place] = (commit, line, path)
            return
        new = objects.flat(commit.tree)[path]
        left, right = lines_of(objects.blob(old.sha)), lines_of(objects.blob(new.sha))
        try:
            changes = line_changes(left, right)
        except TooExpensive:
            git.call.unknown("files that differ this much")
        rest = []
        for place, line in sought:
            inside = next((c for c in changes if c.new_start <= line < c.new_end), None)
            if inside is not None:
                found[place] = (commit, line, path)
            else:
                moved = sum(c.deleted - c.inserted for c in changes if c.new_end <= line)
                rest.append((place, line + moved))
        sought, commit = rest, parent


def _renamed(git: Git, commit: Commit, parent: Commit, path: str) -> bool:
    return any(name not in git.repo.objects.flat(commit.tree) for name in git.repo.objects.flat(parent.tree))


def _columns(git: Git, lines: list[bytes], origins: list[Origin], plain: bool, first: int) -> int:
    width = max((len(take_apart(commit.author)[0]) for commit, _, _ in origins[first:]), default=0)
    digits = len(str(len(lines)))
    length = 8
    for number, (line, (commit, _, _)) in enumerate(zip(lines[first:], origins[first:], strict=True), first + 1):
        name, _, stamp = take_apart(commit.author)
        short = "^" + commit.sha[: length - 1] if not commit.parents else commit.sha[:length]
        date = f"{stamp.moment:%Y-%m-%d %H:%M:%S} {stamp.zone}"
        head = f"{short} {number:>{digits}}) " if plain else f"{short} ({name:<{width}} {date} {number:>{digits}}) "
        git.say(head.encode("utf-8", "surrogateescape") + (line if line.endswith(b"\n") else line + b"\n"))
    return 0


def _porcelain(git: Git, lines: list[bytes], origins: list[Origin]) -> int:
    seen: set[str] = set()
    number = 0
    while number < len(lines):
        commit, line, path = origins[number]
        count = 1
        while number + count < len(lines) and origins[number + count][:2] == (commit, line + count):
            count += 1
        for step in range(count):
            head = f"{commit.sha} {line + step + 1} {number + step + 1}" + (f" {count}" if step == 0 else "")
            git.say(head + "\n")
            if commit.sha not in seen:
                seen.add(commit.sha)
                git.say(_details(git, commit, path))
            text = lines[number + step]
            git.say(b"\t" + (text if text.endswith(b"\n") else text + b"\n"))
        number += count
    return 0


def _details(git: Git, commit: Commit, path: str) -> str:
    text = ""
    for role, line in (("author", commit.author), ("committer", commit.committer)):
        name, mail, stamp = take_apart(line)
        text += f"{role} {name}\n{role}-mail <{mail}>\n{role}-time {stamp.seconds}\n{role}-tz {stamp.zone}\n"
    text += f"summary {commit.subject}\n"
    if not commit.parents:
        return text + f"boundary\nfilename {path}\n"
    old = git.repo.objects.flat(git.repo.objects.commit(commit.parents[0]).tree)
    return text + (f"previous {commit.parents[0]} {path}\n" if path in old else "") + f"filename {path}\n"


_GREP = (
    "--line-number --count --ignore-case --files-with-matches --files-without-match --name-only "
    "--word-regexp --invert-match "
    "--fixed-strings --extended-regexp --basic-regexp -e --quiet -h -H --cached --untracked "
    "--no-index --full-name -I --text "
    "--max-depth --recursive --column --only-matching --color --perl-regexp"
)


def grep(git: Git, argv: list[str]) -> int:
    """Search tracked files."""
    options = git.parse("grep", argv, _GREP)
    given = {name for name, _ in options.given}
    if given & {"--untracked", "--no-index", "--max-depth", "--column", "--only-matching", "--perl-regexp", "--text"}:
        git.call.unknown("these options of grep")
    if "--color" in given and options.get("--color") not in ("never", "auto"):
        git.call.unknown("colours")
    git.need_repository()
    args = list(options.args)
    patterns = options.all("-e")
    if not patterns:
        if not args:
            raise Failure("no pattern given")
        patterns = [args.pop(0)]
    pattern = _compiled(git, patterns, options)
    revs = []
    dashes = None if options.dashes is None else options.dashes - (not options.all("-e"))
    while args and (dashes is None or dashes > 0) and find(git.repo, args[0]) is not None:
        revs.append(args.pop(0))
        dashes = None if dashes is None else dashes - 1
    for word in args if dashes is None else ():
        if not is_path(git, word):
            raise ambiguous(word)
    spec = git.pathspec(args or ([git.prefix] if git.prefix else []))
    hits = 0
    for prefix, path, data in _sources(git, revs, "--cached" in options):
        if spec.matches(path):
            hits += _search(git, prefix, path, data, pattern, options)
    return 0 if hits else 1


def _sources(git: Git, revs: list[str], cached: bool) -> list[tuple[str, str, bytes]]:
    objects, found = git.repo.objects, []
    for rev in revs:
        tree = git.repo.tree_of(find(git.repo, rev) or "")
        found += [(f"{rev}:", path, objects.blob(entry.sha)) for path, entry in objects.flat(tree).items()]
    if not revs:
        for path in git.repo.index.paths():
            if cached:
                found.append(("", path, objects.blob(git.repo.index.entries[path].sha)))
            elif git.tree.entry(path) is not None:
                found.append(("", path, git.tree.data(path)))
    return found


def _compiled(git: Git, patterns: list[str], options: Options) -> re.Pattern[bytes]:
    parts = []
    for pattern in patterns:
        if "--fixed-strings" in options:
            parts.append(re.escape(pattern))
        else:
            parts.append(_python(git, pattern, extended="--extended-regexp" in options))
    text = "|".join(f"(?:{part})" for part in parts)
    if "--word-regexp" in options:
        text = rf"(?<!\w)(?:{text})(?!\w)"
    return re.compile(text.encode(), re.IGNORECASE if "--ignore-case" in options else 0)


def _python(git: Git, pattern: str, *, extended: bool) -> str:
    """A POSIX expression as Python's; only forms that mean the same in both."""
    if "[[" in pattern or "[:" in pattern or re.search(r"\\[<>`'1-9B]", pattern):
        git.call.unknown("this regular expression")
    if extended:
        return pattern
    swapped = re.sub(
        r"\\?[(){}|+?]", lambda found: found[0][1:] if found[0].startswith("\\") else "\\" + found[0], pattern
    )
    return "\\*" + swapped[1:] if swapped.startswith("*") else swapped


def _search(git: Git, prefix: str, path: str, data: bytes, pattern: re.Pattern[bytes], options: Options) -> int:
    invert = "--invert-match" in options
    lines = data.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    hits = [number for number, line in enumerate(lines, 1) if bool(pattern.search(line)) != invert]
    name = prefix + (path if "--full-name" in options else git.shown(path))
    name = quoted(name)
    if "--files-without-match" in options:
        if not hits:
            git.say(f"{name}\n")
        return int(not hits)
    if not hits or "--quiet" in options:
        return len(hits)
    show = "" if "-h" in options else f"{name}:"
    if {"--files-with-matches", "--name-only"} & {key for key, _ in options.given}:
        git.say(f"{name}\n")
    elif "--count" in options:
        git.say(f"{show}{len(hits)}\n")
    elif is_binary(data):
        git.say(f"Binary file {name} matches\n")
    else:
        numbers = "--line-number" in options or git.settings.flag("grep.linenumber")
        for number in hits:
            git.say(f"{show}{f'{number}:' if numbers else ''}".encode() + lines[number - 1] + b"\n")
    return len(hits)
