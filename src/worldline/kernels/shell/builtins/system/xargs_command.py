"""The command `xargs`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import Report, quote, shell_quote_if_needed, strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, command, parse
from worldline.kernels.shell.builtins.shared.textio import escape, read, stdin
from worldline.kernels.shell.builtins.system.running import refusal

__all__ = ["COMMANDS"]

_MOST = 120_000
"""Characters of one command line; GNU's limit lies a little above."""

_SAME = {
    "--null": "-0",
    "--arg-file": "-a",
    "--delimiter": "-d",
    "--eof": "-E",
    "--replace": "-i",
    "--max-lines": "-l",
    "--max-args": "-n",
    "--interactive": "-p",
    "--open-tty": "-o",
    "--max-procs": "-P",
    "--no-run-if-empty": "-r",
    "--max-chars": "-s",
    "--verbose": "-t",
    "--exit": "-x",
}
_ESCAPES = {"n": "\n", "t": "\t", "0": "\0", "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "r": "\r", "v": "\v"}


@dataclass
class _Rules:
    replace: str = ""
    delimiter: str = ""
    end: str | None = None
    per_command: int = 0
    lines: int = 0
    skip_empty: bool = False
    verbose: bool = False
    source: str = ""
    chars: int = 0
    slot: str = ""
    processes: int = 1


@dataclass
class _Words:
    """Items of the input, and after which of them a line ends."""

    items: list[str] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)


def _number(option: str, text: str) -> int:
    if not re.fullmatch(r"[-+]?\d+", text):
        raise UsageError(f'invalid number "{text}" for -{option} option')
    if int(text) < (0 if option == "P" else 1):
        raise UsageError(f"value {text} for -{option} option should be >= {0 if option == 'P' else 1}")
    return int(text)


def _delimiter(call: Call, text: str) -> str:
    if len(text) == 1:
        return text
    if text[:1] == "\\" and text[1:] in _ESCAPES:
        return _ESCAPES[text[1:]]
    kind = "escape sequence" if text[:1] == "\\" else "delimiter"
    if not text or kind == "escape sequence":
        call.unknown(f"the delimiter {text}")
    raise UsageError(
        f"Invalid input delimiter specification {text}: the delimiter must be either a single character or an escape"
        " sequence starting with \\.",
        hint=False,
    )


def _read_rules(call: Call, options: list[tuple[str, str]]) -> _Rules:
    rules = _Rules()
    for name, value in options:
        if name in ("-0", "-d"):
            rules.delimiter = "\0" if name == "-0" else _delimiter(call, value)
        elif name in ("-I", "-i"):
            rules.replace, rules.lines = value or "{}", 0
            if rules.per_command > 1:
                call.unknown("-n before -I")
            rules.per_command = 0
        elif name == "-n":
            rules.per_command = _number("n", value)
            if rules.replace and rules.per_command != 1:
                call.unknown("-n after -I")
            rules.lines = 0
        elif name in ("-L", "-l"):
            rules.lines, rules.per_command = _number("L", value or "1"), 0
            if rules.replace:
                call.unknown("-L after -I")
        elif name in ("-E", "-e"):
            rules.end = value or None
        elif name in ("-r", "-t"):
            rules.skip_empty |= name == "-r"
            rules.verbose |= name == "-t"
        elif name == "-a":
            rules.source = value
        elif name == "-P":
            rules.processes = _number("P", value)
        elif name == "-s":
            rules.chars = _number("s", value)
        elif name == "--process-slot-var":
            rules.slot = value
        elif name != "-x":
            call.unknown(f"the option {name}")
    return rules


def _split(text: str, rules: _Rules) -> _Words:
    """Cut the input into items.

    Raises:
        UsageError: A quote is not closed.
    """
    if rules.delimiter:
        parts = text.split(rules.delimiter)
        if parts and not parts[-1]:
            parts.pop()
        return _Words(parts, list(range(1, len(parts) + 1)))
    words = _Words()
    for line in _logical_lines(text):
        if rules.replace:
            item = _unquote(line.lstrip(" \t"))
            found = [item] if line.strip(" \t") else []
        else:
            found = _shell_words(line)
        for item in found:
            if rules.end is not None and item == rules.end:
                return words
            words.items.append(item)
        if found and (not line.endswith((" ", "\t")) or rules.replace):
            words.breaks.append(len(words.items))
    return words


def _logical_lines(text: str) -> list[str]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    joined: list[str] = []
    for line in lines:
        if joined and _escaped_end(joined[-1]):
            joined[-1] += "\n" + line
        else:
            joined.append(line)
    return joined


def _escaped_end(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _shell_words(line: str) -> list[str]:
    words: list[str] = []
    current: str | None = None
    position = 0
    while position < len(line):
        char = line[position]
        position += 1
        if char in " \t\n\v\f\r":
            if current is not None:
                words.append(current)
            current = None
        else:
            piece, position = _piece(line, char, position)
            current = (current or "") + piece
    return words if current is None else [*words, current]


def _unquote(line: str) -> str:
    text, position = "", 0
    while position < len(line):
        piece, position = _piece(line, line[position], position + 1)
        text += piece
    return text


def _piece(line: str, char: str, position: int) -> tuple[str, int]:
    """Read a quoted stretch, an escaped character or a plain one; returns it and the position behind it."""
    if char in "'\"":
        end = line.find(char, position)
        if end < 0:
            kind = "single" if char == "'" else "double"
            text = f"unmatched {kind} quote; by default quotes are special to xargs unless you use the -0 option"
            raise UsageError(text, hint=False)
        return line[position:end], end + 1
    if char == "\\":
        return line[position : position + 1], position + 1
    return char, position


def _command_lines(words: list[str], items: _Words, rules: _Rules) -> list[list[str]]:
    if rules.replace:
        return [[word.replace(rules.replace, item) for word in words] for item in items.items]
    groups: list[list[str]] = []
    if rules.lines:
        start = 0
        ends = items.breaks[rules.lines - 1 :: rules.lines]
        for end in [*ends, len(items.items)]:
            if end > start:
                groups.append(items.items[start:end])
            start = max(start, end)
    elif rules.per_command:
        size = rules.per_command
        groups = [items.items[start : start + size] for start in range(0, len(items.items), size)]
    else:
        groups = [items.items] if items.items else []
    if not groups and not rules.skip_empty:
        groups = [[]]
    return [words + group for group in groups]


class _Runner:
    def __init__(self, call: Call, rules: _Rules) -> None:
        self.call = call
        self.rules = rules
        self.report = Report("xargs")

    def run(self, lines: list[list[str]]) -> Result:
        environment = {**self.call.env, self.rules.slot: "0"} if self.rules.slot else None
        for argv in lines:
            if sum(len(word) + 1 for word in argv) > (self.rules.chars or _MOST):
                self.call.unknown("how a long command line is cut")
            if self.rules.verbose:
                self.report.raw_err(" ".join(shell_quote_if_needed(word) for word in argv) + "\n")
            result = self.call.run(argv, stdin=None, env=environment)
            reason = refusal(result)
            if reason is not None:
                self.report.warn(f"{argv[0]}: {reason}")
                self.report.status = result.status
                break
            self.report.add(result)
            if result.status == 255:
                self.report.warn(f"{argv[0]}: exited with status 255; aborting")
                self.report.status = 124
                break
            if result.status:
                self.report.status = 123
        return self.report.result()


@command()
def _xargs(call: Call) -> Result:
    options, words = parse(
        call,
        "0a:E:e::i::I:l::L:n:oprs:txP:d:",
        "null arg-file= delimiter= eof=? replace=? max-lines=? max-args= open-tty interactive no-run-if-empty"
        " max-chars= verbose show-limits exit max-procs= process-slot-var=",
        same=_SAME,
        permute=False,
    )
    rules = _read_rules(call, options)
    try:
        data = read(call, rules.source) if rules.source else stdin(call)
    except OSError as error:
        name = shell_quote_if_needed(rules.source)
        raise UsageError(f"Cannot open input file {quote(name)}: {strerror(error)}", hint=False) from error
    items = _split(escape(data), rules)
    names = [name for name, _ in options if name in ("-n", "-I", "-i", "-L", "-l")]
    if len({name.lower() for name in names}) > 1 and ("-n" in names[:-1] or {"-L", "-l"} & set(names[:-1])):
        call.unknown("the warning about options that exclude each other")
    if rules.slot and rules.processes != 1:
        call.unknown("which slot a process gets")
    return _Runner(call, rules).run(_command_lines(words or ["echo"], items, rules))


COMMANDS: dict[str, Builtin] = {"xargs": _xargs}
