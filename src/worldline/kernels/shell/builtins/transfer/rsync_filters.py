"""Filter rules of rsync: `--exclude`, `--include`, `--filter`, `--cvs-exclude`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from worldline.kernels.shell.builtins.base import Call
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.textio import escape

__all__ = ["FilterError", "Rule", "cvs_rules", "excluded", "parse_filter", "read_rules"]

_CVS = """RCS SCCS CVS CVS.adm RCSLOG cvslog.* tags TAGS .make.state .nse_depinfo *~ #* .#* ,* _$* *$ *.old *.bak *.BAK
    *.orig *.rej .del-* *.a *.olb *.o *.obj *.so *.exe *.Z *.elc *.ln core .svn/ .git/ .hg/ .bzr/""".split()  # noqa: SIM905
_WORDS = {"exclude": "-", "include": "+", "hide": "H", "show": "S", "protect": "P", "risk": "R"}


class FilterError(Exception):
    """A rule is wrong; `str()` is all that rsync writes."""


@dataclass(frozen=True)
class Rule:
    """One rule; the first that matches a name decides.

    Attributes:
        pattern: As given, without a trailing slash.
        include: Whether a match keeps the name.
        directory: Whether only directories match.
        sender: Whether it hides names from the transfer.
        receiver: Whether it protects names from deletion.
    """

    pattern: str
    include: bool
    directory: bool = False
    sender: bool = True
    receiver: bool = True

    @classmethod
    def simple(cls, text: str, *, include: bool) -> Rule:
        """Build the rule of `--exclude` or `--include`; `+ ` and `- ` in front say which it is."""
        if text.startswith(("+ ", "- ")):
            include, text = text[0] == "+", text[2:]
        return cls.make(text, include=include)

    @classmethod
    def make(cls, text: str, *, include: bool, sender: bool = True, receiver: bool = True) -> Rule:
        """Build a rule from a pattern."""
        return cls(text.rstrip("/") or "/", include, text.endswith("/"), sender, receiver)

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        pattern = self.pattern
        anchored = pattern.startswith("/")
        pattern = pattern.lstrip("/") if anchored else pattern
        whole = "/" in pattern or "**" in pattern
        tail = ""
        if pattern.endswith("/***"):
            pattern, tail = pattern[:-4], "(?:/.*)?"
        front = "" if anchored else "(?:.*/)?" if whole or tail else ""
        return re.compile(front + _translate(pattern) + tail, re.DOTALL)

    @cached_property
    def _by_path(self) -> bool:
        return "/" in self.pattern or "**" in self.pattern

    def matches(self, path: str, *, directory: bool) -> bool:
        """Whether a name matches.

        Args:
            path: Relative to the root of the transfer.
            directory: Whether it is one.
        """
        if self.directory and not directory:
            return False
        subject = path if self._by_path else path.rpartition("/")[2]
        return self._regex.fullmatch(subject) is not None


def _translate(pattern: str) -> str:
    out: list[str] = []
    index = 0
    wild = bool(set(pattern) & set("*?["))
    while index < len(pattern):
        letter = pattern[index]
        if pattern.startswith("**", index):
            out.append(".*")
            index += 2
            continue
        bracket = re.match(r"\[([!^]?)(\]?[^\]]*)\]", pattern[index:]) if letter == "[" else None
        if bracket is not None:
            negation = "^" if bracket[1] else ""
            out.append(f"[{negation}{bracket[2]}]".replace("\\", "\\\\"))
            index += len(bracket[0])
            continue
        if letter == "\\" and wild and index + 1 < len(pattern):
            index += 1
            out.append(re.escape(pattern[index]))
        else:
            out.append({"*": "[^/]*", "?": "[^/]"}.get(letter, re.escape(letter)))
        index += 1
    return "".join(out)


def excluded(rules: list[Rule], path: str, *, directory: bool, receiver: bool = False) -> bool:
    """Whether a name is left out (or, on the receiver's side, protected from deletion)."""
    for rule in rules:
        if (rule.receiver if receiver else rule.sender) and rule.matches(path, directory=directory):
            return not rule.include
    return False


def read_rules(call: Call, name: str, *, include: bool) -> list[Rule]:
    """Read patterns from a file, one a line; `;` and `#` start comments.

    Raises:
        FilterError: The file cannot be read.
    """
    try:
        text = call.stdin or "" if name == "-" else escape(call.files.read(name))
    except OSError as error:
        kind = "include" if include else "exclude"
        raise FilterError(
            f"rsync: [client] failed to open {kind} file {name}: {strerror(error)} ({error.errno})\n"
            "rsync error: error in file IO (code 11) at exclude.c(1719) [client=3.5.0]\n"
        ) from error
    lines = [line for line in text.split("\n") if line and not line.startswith((";", "#"))]
    if "!" in lines:
        call.unknown("a rule that clears the list")
    return [Rule.simple(line, include=include) for line in lines]


def parse_filter(call: Call, text: str) -> list[Rule]:
    """Read one rule of `--filter`."""
    match = re.match(r"(exclude|include|hide|show|protect|risk)[ ,_=]?\s*(.*)$|([-+HSPR])[ _](.*)$", text.strip())
    if match is None:
        if re.match(r"merge|dir-merge|[.:!]|clear", text):
            call.unknown("a rule that reads further files")
        raise FilterError(
            f"Unknown filter rule: `{text}'\n"
            "rsync error: syntax or usage error (code 1) at exclude.c(1192) [client=3.5.0]\n"
        )
    kind = _WORDS[match[1]] if match[1] else match[3]
    pattern = match[2] if match[1] else match[4]
    return [Rule.make(pattern, include=kind in "+SR", sender=kind in "-+HS", receiver=kind in "-+PR")]


def cvs_rules(call: Call) -> list[Rule]:
    """The rules of `--cvs-exclude`."""
    if call.files.exists(f"{call.env.get('HOME', '/')}/.cvsignore"):
        call.unknown("names listed in .cvsignore")
    words = [*_CVS, *call.env.get("CVSIGNORE", "").split()]
    return [Rule.make(word, include=False) for word in words]
