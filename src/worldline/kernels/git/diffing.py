"""Options of everything that shows differences, and the showing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from worldline.kernels.git.changes import FileChange, find_renames
from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.linediff import TooExpensive, line_changes, lines_of
from worldline.kernels.git.patch import PatchStyle, file_patch, quoted
from worldline.kernels.git.snapshot import Contents
from worldline.kernels.git.statistics import Counted, count, numstat, shortstat, stat, summary

__all__ = ["DiffOptions", "show_changes"]

_OUTPUTS = {
    "--stat": "stat", "--numstat": "numstat", "--shortstat": "shortstat", "--name-only": "names",
    "--name-status": "statuses", "--raw": "raw", "-p": "patch", "-u": "patch", "--patch": "patch",
    "--summary": "summary", "-s": "none", "--no-patch": "none", "--check": "check", "--compact-summary": "compact",
}  # fmt: skip
_SPACE = {
    "-w": "-w", "--ignore-all-space": "-w", "-b": "-b", "--ignore-space-change": "-b",
    "--ignore-space-at-eol": "--ignore-space-at-eol", "--ignore-cr-at-eol": "--ignore-cr-at-eol",
}  # fmt: skip
_NOTHING = {
    "--no-color", "--no-ext-diff", "--minimal", "--indent-heuristic", "--no-textconv", "--histogram", "--patience",
    "--color=never", "--color=auto", "--diff-algorithm=myers", "--no-color-moved",
}  # fmt: skip
"""Options that make no difference here (other algorithms, for the files at hand, mostly do not)."""


@dataclass(slots=True)
class DiffOptions:
    """What of the differences is shown, and how."""

    outputs: list[str] = field(default_factory=list)
    style: PatchStyle = field(default_factory=PatchStyle)
    renames: int | None = 50
    reverse: bool = False
    filter: str = ""
    stat_width: int = 80
    stat_name_width: int = 0
    null: bool = False
    quiet: bool = False
    exit_code: bool = False
    search: tuple[str, str] | None = None
    """`-S` or `-G` and its text."""
    relative: bool = False
    abbrev_raw: int = 7

    def take(self, git: Git, words: list[str]) -> bool:
        """Take the first of the words if it is an option of this kind, with its value.

        Raises:
            Unknown: It is one that is not simulated.
        """
        word = words[0]
        name, _, value = word.partition("=")
        if name in _OUTPUTS and (not value or name == "--stat"):
            self.outputs.append(_OUTPUTS[name])
            if value:
                parts = value.split(",")
                self.stat_width = int(parts[0] or 80)
                self.stat_name_width = int(parts[1]) if len(parts) > 1 else 0
                if len(parts) > 2:
                    git.call.unknown("a count of files in --stat")
        elif word in _SPACE:
            self.style.space = _SPACE[word]
        elif word in _NOTHING:
            pass
        elif not self._more(git, words):
            return False
        words.pop(0)
        return True

    def _more(self, git: Git, words: list[str]) -> bool:
        word = words[0]
        name, _, value = word.partition("=")
        unified = re.fullmatch(r"(?:-U|--unified=)(\d+)", word)
        if unified:
            self.style.context = int(unified[1])
            self.outputs.append("patch")
        elif word in ("-U", "--unified", "--inter-hunk-context", "-S", "-G", "--diff-filter") and len(words) > 1:
            words[:2] = [word + ("=" if word.startswith("--") else "") + words[1]]
            return self._more(git, words)
        elif name == "--inter-hunk-context":
            self.style.between = int(value)
        elif word in ("-M", "--find-renames", "--no-renames"):
            self.renames = None if word == "--no-renames" else 50
        elif re.fullmatch(r"(?:-M|--find-renames=)\d+%?", word):
            digits = re.sub(r"\D", "", word)
            self.renames = min(100, int(digits)) if word.endswith("%") else int(float("0." + digits) * 100)
        elif name == "--diff-filter":
            self.filter = value
        elif word == "-R":
            self.reverse = True
        elif word in ("-a", "--text"):
            self.style.text = True
        elif word == "-z":
            self.null = True
        elif word == "--full-index":
            self.style.full_index = True
        elif name == "--abbrev" or word == "--no-abbrev":
            self.style.abbrev = self.abbrev_raw = int(value) if value else 40 if word == "--no-abbrev" else 7
        elif word == "--no-prefix":
            self.style.old_prefix = self.style.new_prefix = ""
        elif name in ("--src-prefix", "--dst-prefix"):
            setattr(self.style, "old_prefix" if name == "--src-prefix" else "new_prefix", value)
        elif word in ("--quiet", "--exit-code"):
            self.exit_code, self.quiet = True, self.quiet or word == "--quiet"
        elif word == "--patch-with-stat":
            self.outputs += ["stat", "patch"]
        elif word == "--patch-with-raw":
            self.outputs += ["raw", "patch"]
        elif re.match(r"-[SG].", word):
            self.search = (word[:2], word[2:])
        elif word == "--ignore-blank-lines":
            self.style.blank_lines = True
        else:
            self._unsimulated(git, word)
            return False
        return True

    def _unsimulated(self, git: Git, word: str) -> None:
        known = (
            "--word-diff", "--color-words", "--color", "-C", "--find-copies", "-B", "--break-rewrites", "-W",
            "--function-context", "--relative", "--dirstat", "-X", "--cumulative", "--binary", "-D", "--pickaxe",
            "--stat-", "--ws-error", "-O", "--submodule", "--diff-algorithm", "--anchored", "-I", "--output",
            "--textconv", "--ext-diff", "--ignore-submodules", "--line-prefix", "--irreversible-delete", "-l",
            "--skip-to", "--rotate-to", "--ita-", "--no-rename-empty", "--rename-empty",
            "--ignore-matching-lines", "--color-moved", "--no-indent-heuristic",
        )  # fmt: skip
        if (word.startswith(known) and not re.fullmatch(r"--\w+", word.split("=")[0])) or word.split("=")[0] in known:
            git.call.unknown(f"the option {word}")


def show_changes(git: Git, changes: list[FileChange], options: DiffOptions, contents: Contents) -> tuple[bytes, int]:
    """Show differences.

    Returns:
        The text, and 1 where something was found to show (2 for problems of `--check`).
    """
    if options.reverse:
        changes = [FileChange(c.path, c.new, c.old, unmerged=c.unmerged) for c in changes]
        options.style.old_prefix, options.style.new_prefix = options.style.new_prefix, options.style.old_prefix
    if options.renames is not None and not _plain(changes):
        changes = find_renames(changes, contents.blob, options.renames)
    changes = _filtered(changes, options, contents)
    options.style.short = lambda sha, length: _short(git, sha, length)
    outputs = options.outputs or ["patch"]
    if options.quiet or "none" in outputs[-1:]:
        return b"", int(bool(changes))
    counted: list[Counted] = []
    try:
        if {"stat", "numstat", "shortstat", "compact"} & set(outputs):
            counted = [count(c, contents.blob(c.old), contents.blob(c.new), options.style) for c in changes]
            if options.style.space or options.style.blank_lines:
                counted = [
                    item for item in counted if item.added or item.deleted or item.binary or item.change.status != "M"
                ]
        text = _render(git, changes, counted, options, outputs, contents)
    except TooExpensive:
        git.call.unknown("files that differ this much")
    found = int(bool(changes))
    if "check" in outputs:
        found = 2 if text else 0
    elif outputs == ["patch"] and (options.style.space or options.style.blank_lines):
        found = int(bool(text))
    return text, found


def _plain(changes: list[FileChange]) -> bool:
    return not (any(c.old is None for c in changes) and any(c.new is None for c in changes))


def _short(git: Git, sha: str, length: int) -> str:
    objects = git.repo.objects
    return sha[:length] if length >= 40 else objects.short(sha, length)


def _filtered(changes: list[FileChange], options: DiffOptions, contents: Contents) -> list[FileChange]:
    wanted = {letter for letter in options.filter if letter.isupper()}
    barred = {letter.upper() for letter in options.filter if letter.islower()}
    changes = [c for c in changes if (not wanted or c.status in wanted) and c.status not in barred]
    if options.search is not None:
        kind, text = options.search
        changes = [c for c in changes if _searched(c, kind, text, contents)]
    return changes


def _searched(change: FileChange, kind: str, text: str, contents: Contents) -> bool:
    old, new = contents.blob(change.old), contents.blob(change.new)
    if kind == "-S":
        return old.count(text.encode()) != new.count(text.encode())
    left, right = lines_of(old), lines_of(new)
    pattern = re.compile(text.encode())
    return any(
        pattern.search(line)
        for c in line_changes(left, right)
        for line in (*left[c.old_start : c.old_end], *right[c.new_start : c.new_end])
    )


def _render(
    git: Git,
    changes: list[FileChange],
    counted: list[Counted],
    options: DiffOptions,
    outputs: list[str],
    contents: Contents,
) -> bytes:
    parts: list[bytes] = []
    end = "\0" if options.null else "\n"
    if {"names", "statuses"} <= set(outputs):
        raise Failure("options '--name-only' and '--name-status' cannot be used together")
    if "compact" in outputs:
        git.call.unknown("--compact-summary")
    if "raw" in outputs:
        parts.append("".join(_raw(git, c, options) + end for c in changes).encode("utf-8", "surrogateescape"))
    if "names" in outputs:
        parts.append("".join(_path(c.path, options) + end for c in changes).encode("utf-8", "surrogateescape"))
    if "statuses" in outputs:
        parts.append("".join(_status(c, options) + end for c in changes).encode("utf-8", "surrogateescape"))
    texts = []
    if "numstat" in outputs:
        texts.append(numstat(counted))
    if "stat" in outputs:
        texts.append(stat(counted, options.stat_width, options.stat_name_width))
    if "shortstat" in outputs:
        texts.append(shortstat(counted))
    if "summary" in outputs:
        texts.append(summary(changes))
    parts += [text.encode("utf-8", "surrogateescape") for text in texts]
    if "check" in outputs:
        parts += [_check(change, contents) for change in changes]
    if "patch" in outputs:
        if any(parts):
            parts.append(b"\n")
        parts += [file_patch(c, contents.blob(c.old), contents.blob(c.new), options.style) for c in changes]
    return b"".join(parts)


def _path(path: str, options: DiffOptions) -> str:
    return path if options.null else quoted(path)


def _status(change: FileChange, options: DiffOptions) -> str:
    gap = "\0" if options.null else "\t"
    if change.source is not None:
        return gap.join(
            [f"{change.status}{change.percent:03d}", _path(change.source, options), _path(change.path, options)]
        )
    return f"{change.status}{gap}{_path(change.path, options)}"


def _raw(git: Git, change: FileChange, options: DiffOptions) -> str:
    modes = [f"{entry.mode if entry else 0:06o}" for entry in (change.old, change.new)]
    length = options.abbrev_raw
    names = []
    for entry in (change.old, change.new):
        stored = entry is not None and (git.repo.objects.has(entry.sha) or change.old == entry)
        names.append(_short(git, entry.sha, length) if entry is not None and stored else "0" * length)
    return f":{modes[0]} {modes[1]} {names[0]} {names[1]} {_status(change, options)}"


def _check(change: FileChange, contents: Contents) -> bytes:
    """White space errors in added lines."""
    old, new = contents.blob(change.old), contents.blob(change.new)
    left, right = lines_of(old), lines_of(new)
    found = []
    added = [index for c in line_changes(left, right) for index in range(c.new_start, c.new_end)]
    name = quoted(change.path)
    for index in added:
        line = right[index].removesuffix(b"\n")
        problems = []
        if line != line.rstrip(b" \t\r\v\f"):
            problems.append("trailing whitespace")
        indent = re.match(rb"[ \t]*", line)
        if indent is not None and b" \t" in indent[0]:
            problems.append("space before tab in indent")
        if problems:
            found.append(f"{name}:{index + 1}: {', '.join(problems)}.\n".encode() + b"+" + line + b"\n")
    trailing = len(right)
    while trailing and not right[trailing - 1].strip():
        trailing -= 1
    if trailing < len(right) and trailing in added:
        found.append(f"{name}:{trailing + 1}: new blank line at EOF.\n".encode())
    return b"".join(found)
