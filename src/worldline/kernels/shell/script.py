"""Reading a command before it runs: what it names, which classes of action it holds, what hides from view."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

from bashkit import AnalyzedCommand, Bash, BashError, ScriptAnalysis

__all__ = ["KEYWORDS", "SHELL_BUILTINS", "Script", "SyntaxFault", "parser", "read_script"]

SHELL_BUILTINS = frozenset(
    [
        ".",
        ":",
        "[",
        "alias",
        "bg",
        "bind",
        "break",
        "builtin",
        "caller",
        "cd",
        "command",
        "compgen",
        "complete",
        "compopt",
        "continue",
        "declare",
        "dirs",
        "disown",
        "echo",
        "enable",
        "eval",
        "exec",
        "exit",
        "export",
        "false",
        "fc",
        "fg",
        "getopts",
        "hash",
        "help",
        "history",
        "jobs",
        "kill",
        "let",
        "local",
        "logout",
        "mapfile",
        "popd",
        "printf",
        "pushd",
        "pwd",
        "read",
        "readarray",
        "readonly",
        "return",
        "set",
        "shift",
        "shopt",
        "source",
        "suspend",
        "test",
        "times",
        "trap",
        "true",
        "type",
        "typeset",
        "ulimit",
        "umask",
        "unalias",
        "unset",
        "wait",
    ]
)
"""Commands that bash has built in."""

KEYWORDS = frozenset(
    [
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "case",
        "esac",
        "for",
        "select",
        "while",
        "until",
        "do",
        "done",
        "in",
        "function",
        "time",
        "{",
        "}",
        "!",
        "[[",
        "]]",
    ]
)

_FEATURES = (
    ("statements", re.compile(r";(?!;)|&&|\|\||\n\s*\S|(?<![&>|])&(?![&>])|(?:^|\s)[({]\s")),
    ("pipe", re.compile(r"(?<![|>])\|(?!\|)")),
    ("loop", re.compile(r"(?:^|[;&|({\s])(?:for|while|until|select)\s")),
    ("if", re.compile(r"(?:^|[;&|({\s])(?:if|case)\s")),
    ("heredoc", re.compile(r"<<(?!<)")),
    ("herestring", re.compile(r"<<<")),
    ("subshell", re.compile(r"(?:^|[;&|\s])\((?!\()")),
    ("substitution", re.compile(r"\$\((?!\()|`")),
    ("process-substitution", re.compile(r"[<>]\(")),
    ("arithmetic", re.compile(r"\(\(")),
    ("condition", re.compile(r"\[\[ ")),
    ("background", re.compile(r"(?<![&>|])&(?![&>])")),
    ("array", re.compile(r"\w\+?=\(|\$\{!?\w+\[")),
    ("parameter", re.compile(r"\$\{\w+[^}\w\[]|\$\{[#!]")),
    ("function", re.compile(r"\w[ \t]*\(\)")),
    ("brace", re.compile(r"\{[^\s{}$]*(?:,|\.\.)[^\s{}]*\}")),
    ("glob", re.compile(r"(?<![\\$?{\[])[*?](?![)}])")),
)
"""Shell features that carry a risk of their own, by a pattern over the text without its quoted parts."""

_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.")
_DOUBLE_KEPT = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\$`])*\"|\\.")
"""Quoted parts in which nothing is substituted."""
_RUNNERS = {
    "xargs": 0, "env": 0, "nice": 0, "nohup": 0, "timeout": 0, "time": 0, "command": 0, "exec": 0, "sudo": 0,
    "setsid": 0, "stdbuf": 0, "watch": 0, "parallel": 0, "chronic": 0, "ifne": 0, "ionice": 0, "builtin": 0,
}  # fmt: skip
"""Commands that run the command named in their arguments."""


@dataclass(frozen=True, slots=True)
class SyntaxFault:
    """Why a script does not parse."""

    line: int
    message: str
    """In the shell library's words, without the place."""
    column: int = 0
    """Where on the line, from 1; 0 where that is not known."""


@dataclass(frozen=True, slots=True)
class Script:
    """A command that parses, and what can be told about it without running it."""

    text: str
    analysis: ScriptAnalysis
    classes: tuple[str, ...]
    features: frozenset[str]
    programs: frozenset[str]
    """Literal names of the programs it runs, also through `xargs`, `env`, `find -exec` and `bash -c`."""

    def merging(self, *, merged: bool) -> frozenset[str]:
        """Names of the commands whose error stream goes where their output goes.

        Args:
            merged: Whether both streams of the whole script arrive as one.
        """
        if not merged and "2>&1" not in self.text and "&>" not in self.text:
            return frozenset()
        found: dict[str, bool] = {}
        pieces = re.split(r"(\|\||&&|\||;|\n)", _QUOTED.sub("q", self.text))
        for piece, separator in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
            word = re.match(r"\s*(?:\w+=\S*\s+)*([\w./\[-]+)", piece)
            if word is not None:
                both = "2>&1" in piece or "&>" in piece
                both = both or (
                    merged and separator != "|" and ">" not in piece and "substitution" not in self.features
                )
                found[word[1]] = found.get(word[1], True) and both
        return frozenset(name for name, both in found.items() if both)

    def shows(self, name: str) -> bool:
        """Whether what a command writes reaches the shell's own output: it is in no pipe, substitution or file."""
        shown, elsewhere = _outputs(self.text)
        return name not in elsewhere if name in shown or name in elsewhere else not elsewhere

    def emptied(self) -> dict[str, frozenset[str]]:
        """Words of the files that the shell empties for each command, since its pipe's output goes there."""
        if ">" not in self.text or self.features & {"loop", "if", "subshell", "function", "substitution"}:
            return {}
        found: dict[str, frozenset[str]] = {}
        for statement in re.split(r"&&|\|\||;|\n", _QUOTED.sub("q", self.text)):
            names = re.findall(r"(?:^|\|)\s*(?:\w+=\S*\s+)*([\w.-]+)", statement)
            targets = frozenset(re.findall(r"(?<![>&])>\|?\s*([\w./~-]+)", statement))
            for name in names:
                found[name] = found[name] & targets if name in found else targets
        return {name: targets for name, targets in found.items() if targets}

    @property
    def functions(self) -> frozenset[str]:
        """Functions it defines."""
        return frozenset(self.analysis.functions)

    def names(self, name: str) -> bool:
        """Whether the text holds a word."""
        return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", self.text) is not None


_SEPARATOR = re.compile(r"(\|\||&&|\||;|\n|\$\(|`|\(|\)|(?<![>&])&(?![>&]))")
_TO_FILE = re.compile(r"(?<![2&])1?>(?!&2|\()|&>")


@lru_cache(maxsize=512)
def _outputs(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Names of the commands whose output the shell shows, and of those whose output goes elsewhere."""
    shown: set[str] = set()
    elsewhere: set[str] = set()
    pieces = _SEPARATOR.split(_DOUBLE_KEPT.sub("q", text))
    inside: list[bool] = []
    for piece, separator in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        found = re.match(r"\s*(?:(?:do|then|else|if|while|until|!|time|\{)\s+)*(?:\w+=\S*\s+)*([\w./\[-]+)", piece)
        if found is not None:
            hidden = any(inside) or separator == "|" or _TO_FILE.search(piece) is not None
            (elsewhere if hidden else shown).add(found[1])
        if separator in ("(", "$("):
            inside.append(separator == "$(")
        elif separator == ")" and inside:
            inside.pop()
        elif separator == "`":
            if inside and inside[-1]:
                inside.pop()
            else:
                inside.append(True)
    return frozenset(shown), frozenset(elsewhere)


@cache
def parser() -> Bash:
    """A shell of the library for parsing only."""
    return Bash()


@lru_cache(maxsize=512)
def read_script(text: str) -> Script | SyntaxFault:
    """Parse a command; nothing runs."""
    try:
        analysis = parser().analyze(text)
    except BashError as error:
        return _fault(str(error), text)
    bare = _QUOTED.sub("q", text)
    fault = _overlooked(bare)
    if fault is not None:
        return fault
    features = frozenset(name for name, pattern in _FEATURES if pattern.search(bare))
    if "herestring" in features and not re.search(r"(?<!<)<<(?!<)", bare):
        features -= {"heredoc"}
    nested = [read_script(inner) for inner in _inner(analysis)]
    commands = [*analysis.commands, *(c for part in nested if isinstance(part, Script) for c in part.analysis.commands)]
    programs = frozenset(name for command in commands for name in _programs(command))
    classes = {_class(command) for command in commands if command.name is not None}
    classes |= {f"({feature})" for feature in features - {"statements"}}
    return Script(text, analysis, tuple(sorted(classes)), features, programs)


def _fault(message: str, text: str) -> SyntaxFault:
    match = re.match(r"(?:.*?: )?parse error(?: at line (\d+), column (\d+))?: (.*)", message, re.DOTALL)
    if match is None:
        return SyntaxFault(1, message)
    return SyntaxFault(int(match[1] or 1), match[3], int(match[2] or 0))


def _overlooked(bare: str) -> SyntaxFault | None:
    """Faults that the parser of the library lets pass; `bare` is the text without its quoted parts."""
    tail = re.sub(r"(?:^|\s)#[^\n]*$", "", bare.rstrip()).rstrip()
    if tail.endswith(("&&", "|")):
        return SyntaxFault(1, "syntax error: unexpected end of file")
    if "$((" in bare and "\n" not in bare and "#" not in bare and bare.count("(") > bare.count(")"):
        return SyntaxFault(1, "unexpected EOF while looking for matching `)'")
    if bare.count("${") > bare.count("}"):
        line = bare[: bare.rindex("${")].count("\n") + 1
        return SyntaxFault(line, "unexpected EOF while looking for matching `}'")
    return None


def _inner(analysis: ScriptAnalysis) -> Iterator[str]:
    """Literal scripts inside a script: `bash -c '...'`, `eval '...'`."""
    for command in analysis.commands:
        words = command.args
        if command.name in ("bash", "sh") and len(words) > 1 and words[0] and words[0].endswith("c") and words[1]:
            yield words[1]
        elif command.name == "eval" and words and all(word is not None for word in words):
            yield " ".join(word for word in words if word is not None)


def _class(command: AnalyzedCommand) -> str:
    """Name and options of a simple command: `ls -la` and `ls -al` are one class."""
    name = (command.name or "").rpartition("/")[2] or str(command.name)
    if name in ("[", "test"):
        return "test"
    letters: set[str] = set()
    words: set[str] = set()
    for word in command.args:
        if word == "--":
            break
        if word is None or len(word) < 2 or not word.startswith("-"):
            continue
        if word.startswith("--"):
            words.add(word.partition("=")[0])
        elif name in ("find", "openssl", "java") or re.fullmatch(r"-[A-Za-z][\w.]{6,}", word):
            words.add(word)
        else:
            letters.update(re.findall(r"[A-Za-z]", re.split(r"[^A-Za-z]", word[1:])[0]))
    parts = [name]
    if letters:
        parts.append("-" + "".join(sorted(letters)))
    return " ".join([*parts, *sorted(words)])


def _programs(command: AnalyzedCommand) -> Iterator[str]:
    """Names of the programs that one simple command runs."""
    if command.name is None:
        return
    name = command.name
    yield name
    words = [word for word in command.args if word is not None]
    if name in _RUNNERS:
        for word in words:
            if not word.startswith("-") and "=" not in word and not re.match(r"[\d.{]", word):
                yield from _known_runner(word, words)
                return
    elif name == "find":
        for option, word in pairwise(words):
            if option in ("-exec", "-execdir", "-ok", "-okdir"):
                yield word


def _known_runner(word: str, words: list[str]) -> Iterator[str]:
    yield word
    if word in _RUNNERS:
        rest = words[words.index(word) + 1 :]
        inner = next((item for item in rest if not item.startswith("-") and not re.match(r"[\d.{]", item)), None)
        if inner is not None:
            yield inner
