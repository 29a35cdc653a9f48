"""Programs that read lines from the terminal and write others: `cat`, `sort`, `grep`, `cat > file`, pipes of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from worldline.kernels.screen.programs.base import Host, Operator, Program, Shown
from worldline.kernels.screen.programs.replay import Tape, command_line, split_pipes

__all__ = ["FILTERS", "Filter", "filter_program"]

_ONCE_NAMES = "cat tee tr grep egrep fgrep sed awk mawk gawk rev nl cut head uniq expand unexpand fold"
_END_NAMES = (
    "sort wc tac tail md5sum sha1sum sha256sum sha512sum b2sum cksum sum base64 base32 xxd od hexdump fmt column paste "
    "shuf tsort xargs split csplit numfmt pr jq"
)
_AT_ONCE = frozenset(_ONCE_NAMES.split())
"""They write the answer to a line when they have read it, as long as their output is a terminal."""
_AT_END = frozenset(_END_NAMES.split())
_UNBUFFERED = frozenset(("cat", "tee"))
"""They pass a line on at once, also into a pipe."""
_VALUED = {
    "sort": "ktoST", "head": "nc", "tail": "nc", "cut": "dfcb", "grep": "efmABCd", "egrep": "efmABCd",
    "fgrep": "efmABCd", "sed": "efl", "awk": "fvF", "mawk": "fvF", "gawk": "fvF", "nl": "bdfhilnsvw", "uniq": "fsw",
    "expand": "t", "unexpand": "t", "base64": "w", "base32": "w", "xxd": "cglos", "od": "AjNtwS", "hexdump": "efns",
    "fmt": "wgp", "column": "tsoNcREHWT", "paste": "d", "fold": "w", "split": "abClnt", "pr": "Dhlnosw", "tac": "s",
    "xargs": "aEdIiLlnPs", "jq": "", "tee": "", "cat": "", "tr": "",
}  # fmt: skip
"""Letters of options that take a value, by program."""
_OPERAND_FIRST = frozenset(("grep", "egrep", "fgrep", "sed", "awk", "mawk", "gawk", "jq"))
"""Their first operand is a program or pattern, unless an option gives it."""
_NO_FILES = frozenset(("tr", "tee", "xargs"))
"""Whatever their operands, they read their standard input."""
_COMPLAINT = re.compile(r"(?:bash|[\w-]+): |Usage: |usage: ")
"""How a text begins that says why a filter cannot even start."""
_INPUT = ("<", "<<", "<<<", "<<-", "0<")


@dataclass(frozen=True)
class Usage:
    """A command line of a filter, taken apart."""

    name: str
    options: tuple[str, ...]
    operands: tuple[str, ...]
    files: tuple[str, ...]


def read_usage(words: Sequence[str]) -> Usage:
    """Tell a filter's options, operands and input files apart."""
    name, options, operands = words[0].rpartition("/")[2], list[str](), list[str]()
    valued, rest = _VALUED.get(name, ""), list(words[1:])
    while rest:
        word = rest.pop(0)
        if isinstance(word, Operator):
            if not re.search(r"&\d$|^\d?>&-$", word) and rest:
                rest.pop(0)
        elif word == "--":
            operands += [item for item in rest if not isinstance(item, Operator)]
            break
        elif word.startswith("-") and len(word) > 1:
            options.append(word)
            if not word.startswith("--") and word[-1] in valued and not set(word[1:-1]) & set(valued) and rest:
                options.append(rest.pop(0))
        else:
            operands.append(word)
    files = operands
    given = any(re.match(r"-[a-zA-Z]*[ef]|--(?:regexp|expression|file)", option) for option in options)
    if name in _OPERAND_FIRST and not given:
        files = operands[1:]
    if name in ("awk", "mawk", "gawk"):
        files = [word for word in files if not re.match(r"[A-Za-z_]\w*=", word)]
    return Usage(name, tuple(options), tuple(operands), () if name in _NO_FILES else tuple(files))


def _reads_terminal(words: Sequence[str], usage: Usage) -> bool:
    if any(isinstance(word, Operator) and word.startswith(_INPUT) for word in words):
        return False
    if any(option in ("--help", "--version") for option in usage.options):
        return False
    if usage.name.endswith("grep") and any(
        re.match(r"-[a-zA-Z]*[rR]|--(?:dereference-)?recursive", option) for option in usage.options
    ):
        return False
    if usage.name.endswith("awk") and usage.operands and re.fullmatch(r"\s*BEGIN\s*\{[^}]*\}\s*", usage.operands[0]):
        return False
    if usage.name in ("xxd", "shuf") and (usage.files or set(usage.options) & {"-i", "-e"}):
        return False
    return not usage.files or "-" in usage.files


@dataclass
class Filter:
    """A filter, or a pipe that begins with one, whose input is the terminal."""

    name: ClassVar[str] = "filter"
    silent: ClassVar[bool] = False
    tape: Tape
    at_once: bool
    redirects: str = ""
    limit: int | None = None
    """It ends after so many lines (`head`, `grep -m`)."""
    whole: str = ""
    """The command as it is at the end of the input, where that differs (`awk` with an END block)."""
    groups: bool = False
    """It answers a group of equal lines when the group has ended (`uniq -c`)."""
    doubt: str = ""
    raw: bool = False
    readline: bool = False
    lines: list[str] = field(default_factory=list)

    def start(self, host: Host) -> Shown:
        """Begin: a wrong use, or a file that cannot be written, ends it at once."""
        run = host.run(self.whole, stdin="", keep=False)
        if run.status and _COMPLAINT.match(run.text):
            run = host.run(self.whole, stdin="", keep=True)
            return Shown(run.text, ended=True, status=run.status, unknown="" if run.known else run.why)
        if self.limit == 0:
            return self._finish(host)
        return Shown(unknown=self.doubt or ("" if run.known else run.why))

    def feed(self, text: str, host: Host) -> Shown:
        """Take a line."""
        self.lines.append(text)
        if self.limit is not None and len(self.lines) >= self.limit:
            return self._finish(host)
        if not self.at_once:
            return Shown(unknown=self.doubt)
        if self.groups:
            return self._feed_held(host)
        shown = self.tape.feed(host, text)
        return Shown(shown.text, seconds=shown.seconds, unknown=self.doubt or shown.unknown)

    def _feed_held(self, host: Host) -> Shown:
        """Show what it would write of all but the last group of equal lines, which may still go on."""
        count = 1
        while count < len(self.lines) and self.lines[-1 - count] == self.lines[-1]:
            count += 1
        run = self.tape.run(host, "".join(self.lines[:-count]))
        before, self.tape.text = self.tape.text, run.text
        if not self.tape.text.startswith(before):
            self.doubt = self.doubt or "what it writes changes with what it reads later"
        return Shown(self.tape.text[len(before) :], unknown=self.doubt or ("" if run.known else run.why))

    def end_of_input(self, host: Host) -> Shown:
        """Take C-d."""
        return self._finish(host)

    def interrupt(self, host: Host) -> Shown:
        """Take C-c: what was written to files stays."""
        if self.redirects and self.at_once:
            host.run(self.whole, stdin="".join(self.lines), keep=True)
        elif self.redirects:
            host.run(f":{self.redirects}", keep=True)
        return Shown(ended=True, status=130, unknown=self.doubt)

    def _finish(self, host: Host) -> Shown:
        shown = self.tape.text
        run = host.run(self.whole, stdin="".join(self.lines), keep=True)
        doubt = self.doubt or next(iter(self.tape.doubts), "") or ("" if run.known else run.why)
        if not self.at_once:
            return Shown(run.text, ended=True, status=run.status, seconds=run.seconds, unknown=doubt)
        if not run.text.startswith(shown):
            doubt = doubt or "what it writes changes with what it reads later"
        return Shown(run.text[len(shown) :], ended=True, status=run.status, unknown=doubt)


def filter_program(words: Sequence[str], host: Host) -> Program | None:
    """Build the program for a filter or a pipe of filters."""
    parts = split_pipes(words)
    if not all(parts):
        return None
    usages = [read_usage(part) for part in parts]
    first, last = usages[0], usages[-1]
    if not _reads_terminal(parts[0], first):
        return None
    command = command_line(words)
    redirects = _redirects(parts[-1])
    at_once = last.name in _AT_ONCE and all(usage.name in _UNBUFFERED for usage in usages[:-1])
    found = Filter(Tape(command), at_once, redirects, whole=command)
    if first.files and tuple(first.files) != ("-",):
        found.doubt = "the terminal between other files"
    if len(parts) > 1 and any(usage.name == "head" or _limit(usage) for usage in usages):
        found.doubt = "when a pipe notices that its reader is gone"
    elif len(parts) == 1:
        found.limit = _limit(first)
    if any(usage.name not in FILTERS for usage in usages):
        found.at_once = False
    _fit(found, last, words)
    return found


def _redirects(words: Sequence[str]) -> str:
    found = ""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if isinstance(word, Operator):
            found += f" {word}" if word[-1].isdigit() else f" {command_line([word, following])}"
    return found if ">" in found else ""


def _limit(usage: Usage) -> int | None:
    text = " ".join(usage.options)
    if usage.name == "head":
        if re.search(r"-[a-z]*c|--bytes", text):
            return None
        match = re.search(r"-(?:n ?)?\+?(\d+)|--lines[= ](\d+)", text)
        return int(match[1] or match[2]) if match else 10
    return None


def _fit(found: Filter, usage: Usage, words: Sequence[str]) -> None:
    """Fit in what depends on the program's own words."""
    script = next(iter(usage.operands), "")
    if usage.name == "uniq" and any(set(option) & set("cdu") for option in usage.options):
        found.groups = True
        if any(set(option) & set("ifsw") for option in usage.options):
            found.doubt = "uniq by parts of lines"
    elif usage.name == "sed" and (last := re.fullmatch(r"(?:.*;)?\s*(\d+)\s*q\s*", script)) is not None:
        found.limit = int(last[1])
    elif usage.name == "xargs":
        options = " ".join(usage.options)
        found.at_once = re.search(r"-(?:n ?1|L ?1|I ?\S+)(?: |$)", options) is not None
    elif usage.name == "sed" and re.search(r"\$[!{a-zA-Z=]|(?:^|[;{])\s*[nNqQ]", script):
        found.doubt = "a sed script that looks ahead or ends early"
    elif usage.name.endswith("awk"):
        if "getline" in script or "exit" in script or "system" in script or "printf" in script:
            found.doubt = "an awk program that leaves early, reads by itself or writes parts of lines"
        bare = _without_end(script)
        if bare is None:
            found.doubt = "an awk program too odd to take apart"
        elif bare != script and not bare.strip():
            found.at_once = False
        elif bare != script:
            found.tape.command = command_line([bare if word == script else word for word in words])
    elif usage.name.endswith("grep") and re.search(r"(?:^| )-[a-zA-Z]*[cqmlLABC]", " ".join(usage.options)):
        counts = any(re.match(r"-[a-zA-Z]*c", option) for option in usage.options)
        found.at_once = not counts and found.at_once
        found.doubt = "" if counts else "when grep knows enough"
    elif usage.name == "paste" and any(re.match(r"-\w*s|--serial", option) for option in usage.options):
        found.doubt = "paste writes parts of lines"
    elif usage.name == "head" and found.limit is None:
        found.doubt = "head by bytes"


def _without_end(script: str) -> str | None:
    """An awk program without its END blocks; None where their braces do not match."""
    match = re.search(r"(?<![\w\"])END\s*\{", script)
    if match is None:
        return script
    depth, place = 1, match.end()
    while depth and place < len(script):
        depth += {"{": 1, "}": -1}.get(script[place], 0)
        place += 1
    return None if depth else script[: match.start()] + script[place:]


FILTERS = _AT_ONCE | _AT_END
"""Names of the filters."""
