"""Lists of refs: order, filters and `--format` strings."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable

from worldline.kernels.git.committing import split_message
from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.people import show_date, take_apart
from worldline.kernels.git.revisions import ancestors, find, upstream_of

__all__ = ["contains_filter", "expand_ref", "matching", "sort_refs"]


def matching(name: str, patterns: list[str]) -> bool:
    """Whether a short name fits one of the patterns; none means all."""
    return not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def contains_filter(git: Git, options: list[tuple[str, str]]) -> Callable[[str], bool]:
    """The test of a commit that `--contains`, `--merged`, `--points-at` and their opposites ask for."""
    tests: list[Callable[[str], bool]] = []
    for name, value in options:
        if name not in ("--contains", "--no-contains", "--merged", "--no-merged", "--points-at"):
            continue
        sha = find(git.repo, value or "HEAD")
        if sha is None:
            raise Failure(f"malformed object name {value or 'HEAD'}", 129, "error: ")
        peeled = git.repo.objects.peel(sha)
        tests.append(_test(git, name, sha, peeled))
    return lambda sha: all(test(sha) for test in tests)


def _test(git: Git, name: str, sha: str, peeled: str) -> Callable[[str], bool]:
    objects = git.repo.objects
    if name == "--points-at":
        return lambda other: sha == other or objects.peel(other) == sha
    if name in ("--contains", "--no-contains"):
        return lambda other: (peeled in ancestors(git.repo, [objects.peel(other)])) == (name == "--contains")
    reached = ancestors(git.repo, [peeled])
    return lambda other: (objects.peel(other) in reached) == (name == "--merged")


def _natural(text: str) -> list[tuple[int, int | str]]:
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.findall(r"\d+|\D+", text)]


def sort_refs(git: Git, refs: dict[str, str], keys: list[str]) -> list[tuple[str, str]]:
    """Order refs by `--sort` keys, the last one given first."""
    found = sorted(refs.items())
    for key in keys:
        down, field = key.startswith("-"), key.lstrip("-")
        if field in ("version:refname", "v:refname"):
            found.sort(key=lambda item: _natural(item[0]), reverse=down)
        elif field in ("committerdate", "creatordate", "authordate", "taggerdate"):
            found.sort(key=lambda item: int(_field(git, item[0], item[1], field + ":unix") or 0), reverse=down)
        else:
            found.sort(key=lambda item: expand_ref(git, f"%({field})", item[0], item[1]), reverse=down)
    return found


def expand_ref(git: Git, template: str, name: str, sha: str) -> str:
    """Fill a `--format` string of a list of refs."""
    if re.search(r"%\((?:align|color)", template):
        git.call.unknown("a format of refs with alignment or colours")
    template = _conditions(git, template, name, sha)
    text = re.sub(r"%([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), template)
    text = re.sub(r"%\(([^)]*)\)", lambda found: _field(git, name, sha, found[1]), text)
    return text.replace("%%", "%")


def _conditions(git: Git, template: str, name: str, sha: str) -> str:
    """Decide what stands between `%(if)`, `%(then)`, `%(else)` and `%(end)`."""
    inner = r"((?:(?!%\(if).)*?)"
    pattern = (
        r"%\(if(?::(equals|notequals)=([^)]*))?\)"
        + inner
        + r"%\(then\)"
        + inner
        + r"(?:%\(else\)"
        + inner
        + r")?%\(end\)"
    )
    while (found := re.search(pattern, template, re.DOTALL)) is not None:
        value = expand_ref(git, found[3], name, sha)
        holds = bool(value.strip())
        if found[1]:
            holds = (value == found[2]) == (found[1] == "equals")
        chosen = found[4] if holds else found[5] or ""
        template = template[: found.start()] + chosen + template[found.end() :]
    if re.search(r"%\((?:if|then|else|end)", template):
        raise (
            Failure("format: %(if) atom used without a %(then) atom")
            if "%(if" in template
            else Failure("format: %(end) atom used without corresponding atom")
        )
    return template


def _short_name(name: str) -> str:
    return re.sub(r"^refs/(?:heads|tags|remotes)/", "", name)


def _stripped(name: str, way: str) -> str:
    side, _, count = way.partition("=")
    parts, number = name.split("/"), int(count)
    if side == "lstrip" or side == "strip":
        return "/".join(parts[number:])
    return "/".join(parts[: len(parts) - number] if number >= 0 else parts[:-number])


def _field(git: Git, name: str, sha: str, field: str) -> str:
    repo = git.repo
    deref, field = field.startswith("*"), field.lstrip("*")
    key, _, way = field.partition(":")
    if deref:
        if repo.objects.kind(sha) != "tag":
            return ""
        sha = repo.objects.peel(sha)
    if key in ("refname", "upstream", "symref"):
        full = (
            name
            if key == "refname"
            else upstream_of(repo, name.removeprefix("refs/heads/")) or ""
            if key == "upstream"
            else ""
        )
        if way.startswith(("lstrip", "rstrip", "strip")):
            return _stripped(full, way)
        if way not in ("", "short"):
            git.call.unknown(f"the field {field}")
        return _short_name(full) if way == "short" else full
    if key == "objectname":
        return (
            git.repo.objects.short(sha, int(way[6:] or 7))
            if way.startswith("short=")
            else git.short(sha)
            if way
            else sha
        )
    kind, data = repo.objects.read(sha)
    if key in ("objecttype", "objectsize"):
        return kind if key == "objecttype" else str(len(data))
    if key == "HEAD":
        return "*" if repo.symbolic() == name else " "
    return _content(git, sha, kind, key, way, field)


def _content(git: Git, sha: str, kind: str, key: str, way: str, field: str) -> str:
    objects = git.repo.objects
    if kind not in ("commit", "tag"):
        return ""
    if kind == "commit":
        commit = objects.commit(sha)
        people = {"author": commit.author, "committer": commit.committer, "creator": commit.committer}
        message, more = (
            commit.message,
            {"tree": commit.tree, "parent": " ".join(commit.parents), "numparent": str(len(commit.parents))},
        )
    else:
        tag = objects.tag(sha)
        people = {"tagger": tag.tagger, "creator": tag.tagger}
        message, more = tag.message, {"object": tag.target, "type": tag.kind, "tag": tag.name}
    if key in more:
        return git.short(more[key]) if way == "short" else more[key]
    subject, body = split_message(message)
    if key in ("subject", "body", "contents"):
        inner = way if key == "contents" else key
        found = {"subject": subject, "body": body, "": message}.get(inner)
        return found if found is not None else git.call.unknown(f"the field {field}")
    for role in ("author", "committer", "tagger", "creator"):
        if key.startswith(role):
            return _person(git, people.get(role, ""), key.removeprefix(role), way, field)
    raise Failure(f"unknown field name: {field}")


def _person(git: Git, line: str, part: str, way: str, field: str) -> str:
    if not line:
        return ""
    who, email, stamp = take_apart(line)
    if part == "date":
        shown = show_date(stamp, way or "default", git.call.now, git.zone)
        return shown if shown is not None else git.call.unknown(f"the field {field}")
    return {"": line, "name": who, "email": f"<{email}>"}.get(part) or git.call.unknown(f"the field {field}")
