"""Following a turn whose answer the kernel did not foresee: what can be read off it, and what becomes unknown."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from bashkit import AnalyzedCommand

from worldline.domains.terminal.state import TerminalState
from worldline.kernels.shell.builtins import commands
from worldline.kernels.shell.core import CORE
from worldline.kernels.shell.paths import expand_path
from worldline.kernels.shell.script import KEYWORDS, SHELL_BUILTINS, Script
from worldline.kernels.shell.table import Node, Table, parents
from worldline.types import Observation, TextField, encode

__all__ = [
    "LARGEST_FILE",
    "Reading",
    "assigned",
    "enter",
    "read_off",
    "taint_repository",
    "taint_unknown",
    "taint_written",
]

LARGEST_FILE = 8_000_000
"""Bytes of a file that the shell library can hold; the content of larger ones counts as not known."""

_PURE_WORDS = (
    "echo printf true false pwd cd test [ grep egrep fgrep awk mawk sed find seq which type command whoami id "
    "hostname uname date env printenv expr export unset set read wait jobs kill sleep ls cat head tail wc"
)
_PURE = frozenset(_PURE_WORDS.split())
"""Commands that change no files by themselves (`sed -i` and `find -delete` apart)."""

_TREE_CHANGING = re.compile(
    r"\bgit\b[^;&|\n]*\b(?:checkout|switch|restore|reset|merge|rebase|stash|pull|cherry-pick|revert|rm|mv|clean|apply|am)\b"
)
_PATH = re.compile(r"(?:/|(?:/[^/\x00-\x1f\x7f]+)+)\n?")
_REMOVING = frozenset(("zip", "gzip", "bzip2", "xz", "zstd", "mv", "rm", "make", "git", "unlink", "gunzip"))
_LONG = re.compile(
    r"^([-dlpcbs])([-rwxsStT]{9})[.+@]?\s+(\d+)\s+(\S+)\s+(\S+)\s+(\d+)\s+(\w{3}\s+\d+\s+[\d:]+|[\d-]+\s+[\d:]+)\s(.*)$"
)
_LONGEST_NAME = 255
"""Bytes of a file's name, as Linux's file systems have it."""
_KINDS = {"-": "file", "d": "directory", "l": "symlink", "p": "fifo"}


@dataclass(slots=True)
class Reading:
    """What a turn says about the state."""

    table: Table
    cwd: str


def assigned(script: Script) -> set[str]:
    """Variables that a script sets."""
    found = set(re.findall(r"(?:^|[;&|({\s])([A-Za-z_]\w*)\+?=", script.text))
    passing = {
        name
        for command in script.analysis.commands
        if command.name is not None and command.name not in SHELL_BUILTINS and command.name not in script.functions
        for name in (*command.assignments, *(word.partition("=")[0] for word in command.args if word and "=" in word))
    }
    found -= passing  # `TZ=UTC date`, `dd if=x`: of that command only
    for command in script.analysis.commands:
        if command.is_assignment_only or command.name is None or command.name in SHELL_BUILTINS:
            found.update(command.assignments)
        if command.name in ("read", "mapfile", "readarray", "getopts", "unset", "local", "declare", "export"):
            found.update(word.partition("=")[0] for word in command.args if word and re.match(r"[A-Za-z_]", word))
    found.update(re.findall(r"\bfor\s+([A-Za-z_]\w*)", script.text))
    return found


def taint_written(table: Table, before: Table, written: tuple[str, ...]) -> None:
    """Doubt what a trial wrote, since its answer was not the real one."""
    for path in written:
        if path not in table.nodes:
            if path in before.nodes:
                table.nodes[path] = before.nodes[path]
                table.tainted[path] = "existence"
        elif path not in before.nodes:
            table.tainted[path] = "existence"
        elif table.nodes[path].kind == "file":
            table.tainted[path] = "content"


def taint_unknown(
    script: Script, table: Table, state: TerminalState, cwd: str, moment: datetime, *, ours: bool
) -> None:
    """Doubt what commands may have written: the paths they name and the working directory.

    Args:
        script: The command.
        table: Changed in place.
        state: The declared world.
        cwd: Working directory before the command.
        moment: Virtual time.
        ours: Also what our own commands may have written, since they did not do what the real ones did.
    """
    for command in _suspects(script, ours=ours):
        for word in command.args:
            if not word or word.startswith("-") or re.search(r"[\s*?\[{}|;<>]", word):
                continue
            path = expand_path(word.partition("=")[2] or word, cwd, state.home)
            node = table.nodes.get(path)
            if node is not None and node.kind == "file":
                table.tainted[path] = "existence" if command.name in _REMOVING else "content"
            elif node is not None and node.kind == "directory":
                table.open.add(path)
            elif "/" in word or "." in word:
                parent = table.nodes.get(posixpath.dirname(path))
                if parent is not None and parent.kind == "directory":
                    table.open.add(posixpath.dirname(path))
        if table.nodes.get(cwd) is not None:
            table.open.add(cwd)
    for redirect in script.analysis.redirects:
        if redirect.is_write and redirect.path is not None and not redirect.path.startswith("/dev/"):
            path = expand_path(redirect.path, cwd, state.home)
            if posixpath.dirname(path) in table.nodes:
                node = table.nodes.get(path) or Node("file", 0o644, state.user_id, state.user_id, moment, b"")
                table.nodes[path] = node
                table.tainted[path] = "content"


def taint_repository(script: Script, table: Table, cwd: str) -> None:
    """Doubt a git repository once a git command went otherwise than computed, or could not be computed."""
    if "git" not in script.programs or _only_reads_git(script):
        return
    top = next((place for place in (cwd, *reversed(parents(cwd))) if posixpath.join(place, ".git") in table.nodes), cwd)
    inside = posixpath.join(top, ".git")
    table.open.add(inside)
    tree = _TREE_CHANGING.search(script.text) is not None
    for path in table.children(top):
        node = table.nodes[path]
        if node.kind == "file" and (tree or path.startswith(inside + "/")):
            table.tainted[path] = "content"
        elif node.kind == "directory" and path.startswith(inside + "/"):
            table.open.add(path)


_GIT_READING = (
    "annotate blame cat-file check-ignore count-objects describe diff diff-tree for-each-ref fsck grep help log "
    "ls-files ls-tree merge-base name-rev rev-list rev-parse shortlog show show-ref status var version whatchanged"
)
_GIT_READS = frozenset(_GIT_READING.split())
_GIT_READS_WORDS = (("stash", "list"), ("stash", "show"), ("bisect", "log"), ("worktree", "list"), ("reflog", "show"))


def _only_reads_git(script: Script) -> bool:
    """Whether no git command of a script changes its repository, whatever it answers."""
    for command in script.analysis.commands:
        if command.name != "git":
            continue
        words = [word or "" for word in command.args if not (word or "").startswith("-")]
        bare = words == ["branch"] or words == ["tag"] or words == ["reflog"] or words == ["remote"]
        if not words or not (words[0] in _GIT_READS or tuple(words[:2]) in _GIT_READS_WORDS or bare):
            return False
    return not script.analysis.is_opaque


def _suspects(script: Script, *, ours: bool) -> Iterator[AnalyzedCommand]:
    known = SHELL_BUILTINS | KEYWORDS | _PURE
    if not ours:
        known = known | commands().keys() | CORE.keys()
    for command in script.analysis.commands:
        if command.name is not None and command.name not in known and command.name not in script.functions:
            yield command


def read_off(script: Script, reading: Reading, state: TerminalState, seen: Observation, moment: datetime) -> None:
    """Apply what a single simple command shows: `cat F`, `ls D`, `cd D`, `pwd`.

    Args:
        script: The command.
        reading: Changed in place.
        state: The declared world.
        seen: What was observed.
        moment: Virtual time.
    """
    plain = [command for command in script.analysis.commands if not command.is_assignment_only]
    if (
        len(plain) != 1
        or script.features & {"pipe", "loop", "if", "substitution", "heredoc"}
        or script.analysis.redirects
    ):
        return
    command = plain[0]
    if command.name is None or any(word is None for word in command.args):
        return
    words = [word for word in command.args if word is not None]
    operands = [word for word in words if not word.startswith("-") or word == "-"]
    options = [word for word in words if word.startswith("-") and word != "-"]
    failed = bool(seen.exit_code) if seen.exit_code is not None else bool(seen.is_error)
    stdout = seen.text if seen.stdout is None else seen.stdout
    if command.name == "pwd" and not failed and _PATH.fullmatch(stdout):
        reading.cwd = stdout.rstrip("\n")
    elif command.name == "cd" and not failed and len(operands) <= 1 and operands != ["-"]:
        enter(reading, state, expand_path(operands[0] if operands else "~", reading.cwd, state.home), moment)
    elif command.name == "cat" and not options and len(operands) == 1:
        _printed(reading, state, expand_path(operands[0], reading.cwd, state.home), seen, failed, moment)
    elif command.name == "ls" and not failed and len(operands) <= 1:
        place = expand_path(operands[0] if operands else ".", reading.cwd, state.home)
        _listed(reading, state, place, options, stdout, moment)


def enter(reading: Reading, state: TerminalState, path: str, moment: datetime) -> None:
    """A directory that could be entered is there, with all above it."""
    place = ""
    for part in path.strip("/").split("/"):
        place = f"{place}/{part}"
        node = reading.table.nodes.get(place)
        if node is None or (place in reading.table.tainted and node.kind != "directory"):
            reading.table.nodes[place] = Node("directory", 0o755, *_ids(state, place), moment)
            reading.table.open.add(place)
        reading.table.tainted.pop(place, None)
    reading.cwd = path


def _ids(state: TerminalState, path: str) -> tuple[int, int]:
    uid = state.user_id if path.startswith((state.home, "/tmp")) else 0
    return uid, uid


def _printed(
    reading: Reading, state: TerminalState, path: str, seen: Observation, failed: bool, moment: datetime
) -> None:
    """A file that was printed, or that is not there."""
    table = reading.table
    if failed:
        if "No such file" in seen.text:
            table.drop(path)
            table.absent.add(path)
        return
    if seen.truncated:
        return
    field: TextField = "text" if seen.stdout is None else "stdout"
    content = encode(seen.text if seen.stdout is None else seen.stdout, (seen.raw or {}).get(field))
    node = table.nodes.get(path)
    if node is None or node.kind == "directory":
        if posixpath.dirname(path) not in table.nodes:
            return
        node = Node("file", 0o644, *_ids(state, path), moment)
    if node.kind != "file":
        return
    table.nodes[path] = replace(node, content=content if len(content) <= LARGEST_FILE else b"")
    table.tainted.pop(path, None)
    table.absent.discard(path)
    if len(content) > LARGEST_FILE:
        table.tainted[path] = "content"


def _listed(
    reading: Reading, state: TerminalState, path: str, options: list[str], stdout: str, moment: datetime
) -> None:
    """A directory whose names were listed: it is closed from now on."""
    table = reading.table
    letters = "".join(option[1:] for option in options if not option.startswith("--"))
    if any(option.startswith("--") for option in options) or set(letters) - set("1aAlhtrS"):
        return
    node = table.nodes.get(path)
    lines = stdout.split("\n")[:-1]
    if node is not None and node.kind == "file":
        return
    found = dict(_entries(lines, "l" in letters))
    if not all(map(_possible, found)):
        return  # something else was printed
    if not found and lines and not lines[0].startswith("total"):
        return
    if node is None:
        if posixpath.dirname(path) not in table.nodes:
            return
        table.nodes[path] = Node("directory", 0o755, *_ids(state, path), moment)
    prefix = path.rstrip("/") + "/"
    hidden = bool(set(letters) & set("aA"))
    for name in [name for name in table.nodes if posixpath.dirname(name) == path and name != path]:
        short = name[len(prefix) :]
        if short not in found and (hidden or not short.startswith(".")):
            table.drop(name)
    for short, kind in found.items():
        name = prefix + short
        table.absent.discard(name)
        if table.tainted.get(name) == "existence":
            del table.tainted[name]
        if name not in table.nodes:
            _add(table, state, name, kind, moment)
    table.open.discard(path)


def _entries(lines: list[str], long: bool) -> Iterator[tuple[str, str]]:
    for line in lines:
        if not long:
            yield line.strip("'"), "unknown"
            continue
        match = _LONG.match(line)
        if match is None:
            continue
        name = match[8].partition(" -> ")[0] if match[1] == "l" else match[8]
        yield name.strip("'"), _KINDS.get(match[1], "file")


def _possible(name: str) -> bool:
    """Whether a file can have this name; control characters would have been quoted for a terminal."""
    return name.isprintable() and name != "" and "/" not in name and len(encode(name, None)) <= _LONGEST_NAME


def _add(table: Table, state: TerminalState, path: str, kind: str, moment: datetime) -> None:
    """A name that was seen, of which nothing else is known."""
    if posixpath.basename(path) in (".", ".."):
        return
    if kind == "directory":
        table.nodes[path] = Node("directory", 0o755, *_ids(state, path), moment)
        table.open.add(path)
        return
    table.nodes[path] = Node("file", 0o644, *_ids(state, path), moment, b"")
    table.tainted[path] = "content"
