"""The command `tree`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta

from worldline.kernels.shell.builtins.base import Builtin, Call, FileStat, Result
from worldline.kernels.shell.builtins.files.listing_format import short_date
from worldline.kernels.shell.builtins.shared.messages import Report
from worldline.kernels.shell.builtins.shared.modes import mode_string
from worldline.kernels.shell.builtins.shared.options import UsageError
from worldline.kernels.shell.builtins.shared.order import directory_order
from worldline.kernels.shell.builtins.shared.paths import is_directory, join
from worldline.kernels.shell.builtins.shared.patterns import glob_regex
from worldline.kernels.shell.builtins.shared.times import zone_of
from worldline.kernels.shell.builtins.shared.versions import version_key

__all__ = ["COMMANDS"]

_UNICODE = ("\u2502\u00a0\u00a0 ", "\u251c\u2500\u2500 ", "\u2514\u2500\u2500 ")
_ASCII = ("|   ", "|-- ", "`-- ")
_USAGE = """usage: tree [-acdfghilnpqrstuvxACDFJQNSUX] [-L level [-R]] [-H  baseHREF]
\t[-T title] [-o filename] [-P pattern] [-I pattern] [--gitignore]
\t[--gitfile[=]file] [--matchdirs] [--metafirst] [--ignore-case]
\t[--nolinks] [--hintro[=]file] [--houtro[=]file] [--inodes] [--device]
\t[--sort[=]<name>] [--dirsfirst] [--filesfirst] [--filelimit #] [--si]
\t[--du] [--prune] [--charset[=]X] [--timefmt[=]format] [--fromfile]
\t[--fflinks] [--info] [--infofile[=]file] [--noreport] [--version]
\t[--help] [--] [directory ...]
"""
_FLAGS = "adfghilnpqrstuvxCDFJQNSU"
_WITH_VALUE = {"L": "level", "P": "pattern", "I": "ignore", "o": "output"}


@dataclass
class _Settings:
    flags: set[str] = field(default_factory=set)
    level: int | None = None
    patterns: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    output: str = ""
    sort: str = ""
    lines: tuple[str, str, str] = _UNICODE


@dataclass
class _Node:
    name: str
    path: str
    stat: FileStat
    target: str = ""
    leads: bool = False
    """A link to a directory."""
    children: list[_Node] = field(default_factory=list)
    failed: bool = False


class _TreeError(Exception):
    pass


def _read(call: Call) -> tuple[_Settings, list[str]]:
    settings, operands = _Settings(), []
    words = list(call.argv)
    while words:
        word = words.pop(0)
        if word == "--":
            operands += words
            break
        if word.startswith("--"):
            _long(call, settings, word[2:], words)
        elif word.startswith("-") and len(word) > 1:
            for letter in word[1:]:
                _short(call, settings, letter, words)
        else:
            operands.append(word)
    return settings, operands


def _short(call: Call, settings: _Settings, letter: str, words: list[str]) -> None:
    if letter == "S":
        call.unknown("lines of another character set")
    if letter in _FLAGS:
        settings.flags.add(letter)
        if letter in "tUv":
            settings.sort = letter
        return
    if letter not in _WITH_VALUE:
        if letter in "ARHSTXc":
            call.unknown(f"the option -{letter}")
        raise _TreeError(f"tree: Invalid argument -`{letter}'.\n{_USAGE}")
    if not words:
        call.unknown(f"-{letter} without an argument")
    value = words.pop(0)
    if letter == "L":
        if not value.isdigit() or int(value) < 1:
            raise _TreeError("tree: Invalid level, must be greater than 0.\n")
        settings.level = int(value)
    elif letter == "P":
        settings.patterns.append(value)
    elif letter == "I":
        settings.ignored.append(value)
    else:
        settings.output = value


def _long(call: Call, settings: _Settings, word: str, words: list[str]) -> None:
    name, sign, value = word.partition("=")
    if name in ("sort", "charset"):
        if not sign:
            value = words.pop(0) if words else ""
        if name == "charset":
            if value.lower() not in ("ascii", "utf-8"):
                call.unknown(f"the charset {value}")
            settings.lines = _ASCII if value.lower() == "ascii" else _UNICODE
        elif value in ("name", "size", "mtime", "version", "none"):
            settings.sort = {"name": "", "size": "S", "mtime": "t", "version": "v", "none": "U"}[value]
        else:
            call.unknown(f"sorting by {value}")
    elif name == "si":
        call.unknown("the option --si")
    elif name in ("dirsfirst", "filesfirst", "noreport", "prune", "si", "ignore-case", "matchdirs"):
        settings.flags.add(name)
    elif any(known.startswith(name) or name.startswith(known) for known in _KNOWN):
        call.unknown(f"the option --{name}")
    else:
        raise _TreeError(f"tree: Invalid argument `--{word}'.\n{_USAGE}")


_KNOWN = (
    "gitignore", "gitfile", "metafirst", "nolinks", "hintro", "houtro", "inodes", "device", "filelimit", "du",
    "timefmt", "fromfile", "fflinks", "info", "infofile", "version", "help", "fromtabfile",
)  # fmt: skip


class _Tree:
    def __init__(self, call: Call, settings: _Settings) -> None:
        self.call = call
        self.settings = settings
        self.report = Report("tree", 2)
        self.directories = 0
        self.files = 0
        self.zone = zone_of(call)

    # --- reading

    def grow(self, path: str, depth: int) -> list[_Node]:
        """Read what is in a directory, down to the level asked for."""
        settings = self.settings
        names = directory_order(self.call, path)
        nodes = []
        for name in names:
            if name.startswith(".") and "a" not in settings.flags:
                continue
            node = self._node(name, join(path, name))
            if self._wanted(node):
                nodes.append(node)
        nodes = self._sorted(nodes)
        if settings.level is None or depth < settings.level:
            for node in nodes:
                if node.stat.kind == "directory":
                    self._fill(node, depth)
        if "prune" in settings.flags:
            nodes = [node for node in nodes if not _is_directory(node) or node.children]
        return nodes

    def _fill(self, node: _Node, depth: int) -> None:
        try:
            node.children = self.grow(node.path, depth + 1)
        except PermissionError:
            node.failed = True

    def _node(self, name: str, path: str) -> _Node:
        stat = self.call.files.stat(path, follow=False)
        node = _Node(name, path, stat)
        if stat.kind == "symlink":
            node.target = self.call.files.readlink(path)
            node.leads = is_directory(self.call, path)
            if node.leads and "l" in self.settings.flags:
                self.call.unknown("following links")
        return node

    def _wanted(self, node: _Node) -> bool:
        settings = self.settings
        directory = _is_directory(node)
        if self._matches(node.name, settings.ignored):
            return False
        if "d" in settings.flags and not directory:
            return False
        if settings.patterns and (not directory or "matchdirs" in settings.flags):
            if directory and "matchdirs" in settings.flags:
                self.call.unknown("--matchdirs")
            return self._matches(node.name, settings.patterns) or (node.stat.kind == "directory")
        return not (settings.patterns and node.leads)

    def _matches(self, name: str, patterns: list[str]) -> bool:
        ignore_case = "ignore-case" in self.settings.flags
        for pattern in patterns:
            if "**" in pattern or "/" in pattern:
                self.call.unknown(f"the pattern {pattern}")
            if any(glob_regex(part, ignore_case=ignore_case).match(name) for part in pattern.split("|")):
                return True
        return False

    def _sorted(self, nodes: list[_Node]) -> list[_Node]:
        settings = self.settings
        if settings.sort == "U":
            return nodes
        nodes.sort(key=lambda node: node.name.encode("utf-8", "surrogateescape"))
        if settings.sort == "S":
            nodes.sort(key=lambda node: -node.stat.size)
        elif settings.sort == "t":
            if len({node.stat.mtime for node in nodes}) > 1:
                nodes.sort(key=lambda node: node.stat.mtime)
        elif settings.sort == "v":
            nodes.sort(key=lambda node: version_key(node.name.encode("utf-8", "surrogateescape")))
        if "r" in settings.flags:
            nodes.reverse()
        if "dirsfirst" in settings.flags or "filesfirst" in settings.flags:
            first = "dirsfirst" in settings.flags
            nodes.sort(key=lambda node: _is_directory(node) != first)
        return nodes

    # --- showing

    def details(self, node: _Node) -> str:
        """The part in brackets before a name."""
        flags, stat = self.settings.flags, node.stat
        parts = []
        if "p" in flags:
            parts.append(mode_string(stat))
        if "u" in flags:
            parts.append(f"{stat.owner:<8.32}")
        if "g" in flags:
            parts.append(f"{stat.group:<8.32}")
        if "h" in flags or "si" in flags:
            parts.append(_short_size(stat.size, 1000 if "si" in flags else 1024).rjust(4))
        elif "s" in flags:
            parts.append(f"{stat.size:11d}")
        if "D" in flags:
            # Unlike ls, tree takes this very moment for recent.
            parts.append(short_date(stat.mtime, self.call.now + timedelta(seconds=1), self.zone, _STYLE))
        return f"[{' '.join(parts)}]  " if parts else ""

    def label(self, node: _Node, *, top: bool = False) -> str:
        """A name with its link target and indicator."""
        flags = self.settings.flags
        name = node.path if "f" in flags or top else node.name
        if "Q" in flags:
            name = f'"{name}"'
        if node.stat.kind == "symlink" and not top:
            target = f'"{node.target}"' if "Q" in flags else node.target
            mark = ("/" if node.leads else self._behind(node)) if "F" in flags else ""
            return f"{name} -> {target}{mark}"
        mark = ""
        if "F" in flags:
            if node.stat.kind == "directory":
                mark = "" if name.endswith("/") else "/"
            elif node.stat.kind == "fifo":
                mark = "|"
            elif node.stat.mode & 0o111:
                mark = "*"
        return name + mark

    def _behind(self, node: _Node) -> str:
        try:
            return "*" if self.call.files.stat(node.path).mode & 0o111 else ""
        except OSError:
            return ""

    def show(self, nodes: list[_Node], prefix: str) -> None:
        bar, branch, end = self.settings.lines
        for index, node in enumerate(nodes):
            last = index == len(nodes) - 1
            if _is_directory(node):
                self.directories += 1
            else:
                self.files += 1
            head = "" if "i" in self.settings.flags else prefix + (end if last else branch)
            failed = "  [error opening dir]" if node.failed else ""
            self.report.out(f"{head}{self.details(node)}{self.label(node)}{failed}\n")
            if node.children:
                self.show(node.children, prefix + ("    " if last else bar))

    def operand(self, path: str) -> None:
        try:
            if not is_directory(self.call, path):
                raise NotADirectoryError
            nodes = self.grow(path, 1)
        except OSError:
            exists = self.call.files.exists(path)
            self.report.out(f"{path}  [error opening dir]\n")
            self.files += exists
            if not exists:
                self.report.status = 2
            return
        self.directories += bool(nodes)
        top = _Node(path, path, FileStat("directory", 4096, 0o755, 0, 0, "", "", self.call.now))
        if self.settings.flags & set("pughsD") or "si" in self.settings.flags:
            top = _Node(path, path, self.call.files.stat(path))
        self.report.out(f"{self.details(top)}{self.label(top, top=True)}\n")
        self.show(nodes, "")

    def summary(self) -> str:
        """The last line."""
        text = f"{self.directories} director{'y' if self.directories == 1 else 'ies'}"
        if "d" not in self.settings.flags:
            text += f", {self.files} file{'' if self.files == 1 else 's'}"
        return text

    # --- JSON

    def as_json(self, operands: list[str]) -> None:
        texts = []
        if self.settings.flags & set("pughsDfFQ"):
            self.call.unknown("details in JSON")
        for path in operands:
            if not is_directory(self.call, path):
                self.call.unknown("an error in JSON")
            self.directories += 1
            texts.append(self._json_node("directory", path, self.grow(path, 1), "  "))
        report = {"type": "report", "directories": self.directories}
        if "d" not in self.settings.flags:
            report["files"] = self.files
        tail = "" if "noreport" in self.settings.flags else f"\n,\n  {json.dumps(report, separators=(',', ':'))}"
        self.report.out("[\n" + ",\n".join(texts) + tail + "\n]\n")

    def _json_node(self, kind: str, name: str, children: list[_Node], indent: str) -> str:
        quoted = json.dumps(name, ensure_ascii=False)
        if not children:
            if kind == "directory":
                self.call.unknown("an empty directory in JSON")
            return f'{indent}{{"type":"{kind}","name":{quoted}}}'
        inner = []
        for node in children:
            self.directories += _is_directory(node)
            self.files += not _is_directory(node)
            if node.failed:
                self.call.unknown("an error in JSON")
            if node.stat.kind == "symlink":
                name_text, target = (json.dumps(text, ensure_ascii=False) for text in (node.name, node.target))
                inner.append(f'{indent}  {{"type":"link","name":{name_text},"target":{target}}}')
            else:
                inner.append(self._json_node(node.stat.kind, node.name, node.children, indent + "  "))
        return f'{indent}{{"type":"{kind}","name":{quoted},"contents":[\n' + ",\n".join(inner) + f"\n{indent}]}}"


_STYLE = ("%b %e  %Y", "%b %e %H:%M")


def _is_directory(node: _Node) -> bool:
    return node.stat.kind == "directory" or node.leads


def _short_size(size: int, base: int) -> str:
    """Return a size as tree's -h shows it: rounded down, with one decimal below ten."""
    if size < base:
        return str(size)
    unit, power = base, 0
    while size >= unit * base:
        unit *= base
        power += 1
    letter = "KMGTPEZY"[power]
    if size / unit < 10:
        return f"{size / unit:.1f}{letter}"
    return f"{size // unit}{letter}"


def _tree(call: Call) -> Result:
    try:
        settings, operands = _read(call)
    except _TreeError as error:
        return Result(stderr=str(error), status=1)
    except UsageError as error:
        return error.result("tree")
    tree = _Tree(call, settings)
    operands = operands or ["."]
    if "J" in settings.flags:
        tree.as_json(operands)
    else:
        for operand in operands:
            tree.operand(operand)
        if "noreport" not in settings.flags:
            tree.report.out(f"\n{tree.summary()}\n")
    result = tree.report.result()
    if settings.output:
        call.files.write(settings.output, result.stdout.encode("utf-8", "surrogateescape"))
        return Result("", result.stderr, result.status)
    return result


COMMANDS: dict[str, Builtin] = {"tree": _tree}
