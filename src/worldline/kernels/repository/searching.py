"""Searching the contents of files: Grep as `grep -P` finds, search_file_content as `git grep -E -i` finds."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from worldline.kernels.repository.answer import Answer, Refused, shortened
from worldline.kernels.repository.envelope import place
from worldline.kernels.repository.patterns import (
    Unclear,
    extended,
    glob_pattern,
    included,
    perl,
    perl_fault,
    quiet_compile,
)
from worldline.kernels.repository.tree import Tree

__all__ = ["grep", "search_file_content"]

_MOST_LINES = 250


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").removesuffix("\n").split("\n") if data else []


def _candidates(tree: Tree, top: str, include: str | None) -> Iterator[tuple[str, bytes]]:
    """Files that `grep -rI` looks into; nothing below a folder is reached through a link."""
    alone = tree.kind(top) != "directory"
    for path in [top] if alone else tree.below(top):
        node = tree.table.nodes.get(path)
        if not alone and (node is None or node.kind != "file"):
            continue
        if include is not None and not included(path, include, top=alone):
            continue
        try:
            data = tree.read(path)
        except PermissionError:
            raise Unclear("a file that may not be read") from None
        if b"\0" not in data:
            yield path, data


def grep(tree: Tree, top: str, pattern: str, options: Mapping[str, Any]) -> Answer:
    """Search files by a Perl regular expression.

    Args:
        tree: The files.
        top: File or directory to search.
        pattern: The expression.
        options: Arguments of the tool.

    Raises:
        Unclear: What the pattern means is not known.
    """
    if tree.kind(top) is None:
        raise Refused(f"Path does not exist: {top}")
    try:
        wanted = perl(pattern, fold=bool(options.get("-i")))
    except re.error as error:
        raise Refused(perl_fault(error)) from None
    mode, limit = options.get("output_mode", "files_with_matches"), int(options.get("head_limit") or _MOST_LINES)
    found: dict[str, tuple[list[str], list[int]]] = {}
    for path, data in _candidates(tree, top, options.get("glob")):
        lines = _lines(data)
        hits = [number for number, line in enumerate(lines) if wanted.search(line)]
        if hits:
            found[path] = lines, hits
    if mode == "content":
        told = _content(found, options)
        return Answer("\n".join(told[:limit]) if told else "No matches found", cls=mode)
    if mode == "count":
        return _counts(found, limit)
    if not found:
        return Answer("No files found", cls="files")
    files = sorted(found)
    return Answer("\n".join([f"Found {len(files)} file{'s' * (len(files) != 1)}", *files[:limit]]), cls="files")


def _counts(found: Mapping[str, tuple[list[str], list[int]]], limit: int) -> Answer:
    if not found:
        return Answer("No matches found", cls="count")
    counts = {path: len(hits) for path, (_, hits) in sorted(found.items())}
    total = sum(counts.values())
    shown = "\n".join([f"{path}:{count}" for path, count in counts.items()][:limit])
    many = "occurrence" if total == 1 else "occurrences"
    files = "file" if len(counts) == 1 else "files"
    return Answer(f"{shown}\n\nFound {total} total {many} across {len(counts)} {files}.", cls="count")


def _content(found: Mapping[str, tuple[list[str], list[int]]], options: Mapping[str, Any]) -> list[str]:
    around = int(options.get("-C") or 0)
    before, after = (int(options.get(name) or 0) or around for name in ("-B", "-A"))
    numbers, told, apart = options.get("-n", True), list[str](), False
    groups = [
        (path, lines, hits, group)
        for path, (lines, hits) in sorted(found.items())
        for group in _groups(hits, len(lines), before, after)
    ]
    apart = (before > 0 or after > 0) and len(groups) > 1
    for number, (path, lines, hits, group) in enumerate(groups):
        told += ["--"] if apart and number else []
        for at in group:
            mark = ":" if at in hits else "-"
            told.append(f"{path}{mark}" + (f"{at + 1}{mark}" if numbers else "") + lines[at])
    return told


def _groups(hits: Sequence[int], count: int, before: int, after: int) -> list[range]:
    """Stretches of lines around the hits, joined where they touch."""
    groups: list[range] = []
    for hit in hits:
        start, end = max(hit - before, 0), min(hit + after + 1, count)
        if groups and start <= groups[-1].stop:
            groups[-1] = range(groups[-1].start, max(end, groups[-1].stop))
        else:
            groups.append(range(start, end))
    return groups


def search_file_content(
    tree: Tree, listed: Sequence[str] | None, pattern: str, path: str | None, include: str | None
) -> Answer:
    """Search the working tree by an extended regular expression, letter case aside.

    Args:
        tree: The files.
        listed: Files that git knows or does not ignore, relative to the root; None where there is no repository.
        pattern: The expression.
        path: Where to look.
        include: Which files to look into.

    Raises:
        Unclear: What the pattern means is not known.
    """
    top = place(tree, path, "Path") if path else tree.root
    if tree.kind(top) is None:
        raise Refused(f"Path does not exist: {top}")
    try:
        quiet_compile(pattern)
    except re.error as error:
        raise Refused(f"Invalid regular expression pattern provided: {pattern}. Error: {error}") from None
    if listed is None:
        raise Refused("Error during search: fatal: not a git repository (or any of the parent directories): .git")
    wanted, found = extended(pattern), dict[str, list[str]]()
    for name in _chosen(listed, posixpath.relpath(top, tree.root), include):
        node = tree.table.nodes.get(f"{tree.root}/{name}")
        if node is None or node.kind != "file":
            continue
        data = tree.read(f"{tree.root}/{name}")
        if b"\0" in data[:8000]:
            continue
        lines = [f"L{number}: {line.strip()}" for number, line in enumerate(_lines(data), 1) if wanted.search(line)]
        if lines:
            found[name] = lines
    where = f'in path "{path or "."}"' + (f' (filter: "{include}")' if include else "")
    if not found:
        return Answer(f'No matches found for pattern "{pattern}" {where}.', cls="none")
    count = sum(map(len, found.values()))
    head = f'Found {count} {"match" if count == 1 else "matches"} for pattern "{pattern}" {where}:'
    parts = [head, "---"]
    for name in sorted(found):
        parts += [f"File: {name}", *found[name], "---"]
    return Answer(shortened("\n".join(parts)))


def _chosen(listed: Sequence[str], place: str, include: str | None) -> list[str]:
    """The files below a place that fit a pattern; a pattern without a slash counts in all folders."""
    prefix = "" if place == "." else f"{place}/"
    below = [name for name in listed if name.startswith(prefix) or name == place]
    if include is None:
        return below
    if "{" in include:
        return []  # git knows no alternatives
    wanted = glob_pattern(include if "/" in include else f"**/{include}")
    return [name for name in below if name.startswith(prefix) and wanted.fullmatch(name[len(prefix) :])]
