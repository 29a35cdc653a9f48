"""Situations in which the shell library is known to answer otherwise than bash does: none of them counts as known."""

from __future__ import annotations

import re
from collections.abc import Iterator

from worldline.kernels.shell.dash import nested_dash_doubts
from worldline.kernels.shell.paths import expand_path
from worldline.kernels.shell.script import Script
from worldline.kernels.shell.step import Step
from worldline.kernels.shell.table import Table

__all__ = ["quirks"]

_IN_TEXT = (
    (re.compile(r"\b(?:pushd|popd)\s+(?:-n\b|[-+]\d)"), "turning the directory stack"),
    (re.compile(r"\bread\s+(?:-[rs]\s+)*-(?:[^ersadinNptu\s-]|i)"), "read with options that the library lacks"),
    (re.compile(r"\$\{\w+\[\}"), "a bad substitution"),
    (re.compile(r"\$\{\w+//?[^}/]*/[^}]*(?<!\\)&"), "& in a replacement"),
    (re.compile(r"\[\[\s[^\]]*-o\s+[a-z]"), "options in conditions"),
    (re.compile(r"\bexport\s+-f|\bdeclare\s+-(?:fx|xf)"), "functions in the environment"),
    (re.compile(r"^\s*(?:-|%\d)"), "a command that looks like an option"),
    (re.compile(r"\bDIRSTACK\b"), "the directory stack as an array"),
    (re.compile(r"@[KkPa]\}"), "${...@...}"),
    (re.compile(r"\bset\s+(?:-\w*n\b|-o\s+noexec)"), "set -n"),
    (re.compile(r"\bbash\s+(?:-\w+\s+)*-s\s+\S"), "bash -s with arguments"),
    (
        re.compile(r"\benv\s+(?:-i|-|--ignore-environment)\s.*\b(?:ba)?sh\b.*(?:PATH|env|SHLVL)"),
        "a shell without environment",
    ),
    (re.compile(r"(?<![<&>-])>\|?\s*[\w./~-]+\s+>\|?\s*[\w./~-]"), "two redirections of one output"),
    (re.compile(r">>?\s*/dev/(?:stderr|stdout|full|tty|fd/)"), "writing to a device"),
    (re.compile(r"<\s*/dev/(?:tty|full)"), "reading from a device"),
    (re.compile(r"\bcat\b[^|;&\n]*?\s([\w./~-]+)[^|;&\n]*>>\s*\1(?=\s|$|[;&|])"), "a file that is appended to itself"),
    (re.compile(r"^\s*(?:!\s*)+$"), "a negation of nothing"),
    (re.compile(r"\b(?:ba)?sh\s.*\bSHLVL\b", re.DOTALL), "how deep the shell is"),
    (
        re.compile(r"\bbash\s+(?:-\w+\s+)*(?:-\w*i\w*|-l|--\w+)(?=\s)"),
        "bash with long options",
    ),
)
"""What the text of a command shows."""

_SAID = (
    (re.compile(r": return: too many arguments|loop count out of range|: (?:break|continue): \S+: numeric"),
     "an error that ends the whole command"),
    (
        re.compile(r"\$[^\n]*: (?:division by 0|syntax error)|: syntax error: operand expected$", re.MULTILINE),
        "the expression that an error shows",
    ),
    (re.compile(r"^Usage:\tbash", re.MULTILINE), "the usage of bash"),
    (re.compile(r"unexpected end of input|unterminated command substitution"), "the wording of a syntax error"),
    (re.compile(r"RuntimeError: io error|: file too large:"), "a limit of the library's files"),
)  # fmt: skip
"""What a message shows."""


_SPREAD = re.compile(r"\$\([^)]*\n|\"[^\"]*\n[^\"]*\"\s*\|")
"""A substitution or a piped text that goes over several lines."""


def quirks(script: Script, step: Step, table: Table, cwd: str, stderr: str, stdout: str) -> Iterator[str]:
    """Yield why an answer of the library is not to be trusted.

    Args:
        script: The command.
        step: The finished run.
        table: Files before it ran.
        cwd: Working directory before it ran.
        stderr: What it wrote, already in the shell's words.
        stdout: What it wrote.
    """
    home = step.state.home
    bare = re.sub(r"'[^']*'", "''", script.text)
    for pattern, what in _IN_TEXT:
        if pattern.search(bare):
            yield f"{what}: the shell library does it otherwise"
    if "only meaningful in a `for'" in stderr and re.search(r"\b(?:break|continue)\b[^\n]*[;&|\n]", bare):
        yield "what follows a break outside of loops"
    said = stderr + stdout if re.search(r"2>|&>|\|&", script.text) else stderr
    for pattern, what in _SAID:
        if pattern.search(said):
            yield f"{what}: the shell library does it otherwise"
    nested = script.names("bash") and re.search(r"\bbash\s+(?:-\w+\s+)*-\w*c", script.text)
    if nested and (": unbound variable" in stderr or re.search(r"\$\{\w+:?\?", script.text)):
        yield "the status of a nested shell that found a variable unset"
    shell = step.state.shell
    if re.search(r"^bash: line ", said, re.MULTILINE) and _SPREAD.search(script.text):
        yield "the line of a command that stands behind several lines"
    if shell.mode == "interactive" and "history" in script.programs:
        yield "the history of an interactive shell"
    if shell.program == "sh" and re.search(r"(?:sh: \d+|bash: line \d+): \S+: (?:command )?not found", stdout):
        yield "dash words what is caught of it differently"
    if (
        nested
        and (shell.mode != "command" or shell.program == "sh")
        and len(script.analysis.commands) > 1
        and re.search(r"^bash: ", stderr, re.M)
    ):
        yield "which of two shells wrote a message"
    yield from _run_by_path(script, step, cwd)
    yield from _sourced(script, table, cwd, home, stderr)
    yield from _merged(script, step, stderr, stdout)
    yield from _large(script, table, cwd, home)
    yield from _cut_short(bare, stdout)
    yield from nested_dash_doubts(script, table, cwd, home, stderr)


_MANY_TO_HEAD = re.compile(
    r"(?:\bxargs\b[^|]*?\s-(?:n|I|L|i|-max-args|-replace|-max-lines)[^|]*|\bfind\b[^|]*?-exec\b[^|]*?\\;[^|]*)"
    r"\|\s*head(?:\s+-n\s*(\d+)|\s+-(\d+))?\s*(?:2>&1)?\s*$"
)
"""Many commands one after the other, whose output `head` leaves after some lines."""


def _cut_short(text: str, stdout: str) -> Iterator[str]:
    """Commands that may be ended by a signal, which xargs and find report, or be done before `head` has gone."""
    match = _MANY_TO_HEAD.search(text)
    if match is not None and stdout.count("\n") == int(match.group(1) or match.group(2) or 10):
        yield "which of the commands was still running when head had read enough"


def _run_by_path(script: Script, step: Step, cwd: str) -> Iterator[str]:
    """Scripts that are run by their first line, as they are after the run: the command may have made them."""
    for command in script.analysis.commands:
        if command.name is None or "/" not in command.name:
            continue
        node = step.table.nodes.get(expand_path(command.name, cwd, step.state.home))
        content = node.content or b"" if node is not None else b""
        if b"LINENO" in content and content.startswith(b"#!"):
            yield "the lines of a script that is run by its first line"
        first = content.partition(b"\n")[0].decode("utf-8", "replace").split()
        if content.startswith(b"#!") and not re.search(r"/(?:env\s+)?(?:ba|da)?sh$|python3?$", " ".join(first)):
            yield f"{command.name} is run by {' '.join(first)[2:]}"


def _sourced(script: Script, table: Table, cwd: str, home: str, stderr: str) -> Iterator[str]:
    for command in script.analysis.commands:
        if command.name not in ("source", ".") or not command.args or command.args[0] is None:
            continue
        word = command.args[0]
        node = table.nodes.get(expand_path(word, cwd, home))
        if node is not None and node.kind == "directory":
            yield f"{word} is a directory"
        if re.search(rf"^{re.escape(word)}: line (?:[2-9]|\d\d+): .*(?:syntax error|unexpected EOF)", stderr, re.M):
            yield "what of a sourced file ran before its syntax error"


_NESTED = re.compile(r"(?<![\w-])(?:ba)?sh\s|(?:^|[;&|(]\s*)\.{0,2}/", re.MULTILINE)


def _merged(script: Script, step: Step, stderr: str, stdout: str) -> Iterator[str]:
    """Messages among the output, which the library does not write in the order of a real machine."""
    merged = step.state.shell.merged
    joined = merged or "2>&1" in script.text or "&>" in script.text
    if joined and ": printf: " in (stdout if not merged else stderr):
        yield "the order in which printf wrote to both streams"
    said = "".join(step.errors)
    told = step.shows is not None and (step.ordered or len(stdout) <= len(said) or not step.shows("grep"))
    if merged and any(error.startswith("grep: ") for error in step.errors) and stdout and not told:
        yield "the order in which grep wrote to both streams"
    complained = bool(step.errors) or re.search(r"^\S+: line \d+: ", stderr, re.MULTILINE) is not None
    if merged and complained and _NESTED.search(script.text):
        yield "the order in which a nested shell wrote to both streams"
    if merged and complained and "pipe" in script.features and "statements" in script.features:
        yield "the order in which a pipe wrote to both streams"


def _large(script: Script, table: Table, cwd: str, home: str) -> Iterator[str]:
    """Files over the limit of the library, that a command of the library or a redirection reads."""
    for path, node in table.nodes.items():
        if node.vast:
            for redirect in script.analysis.redirects:
                if redirect.path is None or expand_path(redirect.path, cwd, home) == path:
                    yield f"{path} is too large for the shell library"
            if re.search(r"\$\(\s*<", script.text):
                yield f"{path} is too large for the shell library"
