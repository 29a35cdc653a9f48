"""Whether a command's answer rests on something the kernel does not know.

Our own commands trace what they touch. For the rest, what a script touches is read off its text (literal words,
redirections, patterns) and off the names in its error output.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping

from worldline.domains.terminal.state import TerminalState
from worldline.kernels.shell.builtins import commands
from worldline.kernels.shell.core import CORE
from worldline.kernels.shell.disk import BROUGHT, is_virtual
from worldline.kernels.shell.paths import expand_path
from worldline.kernels.shell.programs import presence
from worldline.kernels.shell.quirks import quirks
from worldline.kernels.shell.rewriting import PRINTF_TIME, native_commands
from worldline.kernels.shell.script import KEYWORDS, SHELL_BUILTINS, Script, read_script
from worldline.kernels.shell.step import Step
from worldline.kernels.shell.table import Table, parents

__all__ = ["doubts", "suspects", "unsimulated"]

_HARMLESS = frozenset(
    [
        "echo",
        "printf",
        "true",
        "false",
        ":",
        "export",
        "declare",
        "local",
        "typeset",
        "readonly",
        "unset",
        "set",
        "shift",
        "return",
        "exit",
        "break",
        "continue",
        "read",
        "let",
        "alias",
        "unalias",
        "trap",
        "wait",
        "jobs",
        "kill",
        "shopt",
        "getopts",
        "eval",
        "command",
        "builtin",
        "type",
        "hash",
        "times",
        "umask",
        "ulimit",
        "seq",
        "expr",
        "basename",
        "dirname",
        "mapfile",
        "readarray",
        "bash",
        "sh",
        "env",
        "test",
        "[",
        "dirs",
        "popd",
        "caller",
        "history",
        "help",
        "enable",
    ]
)
"""Commands of the shell library that touch no files by themselves (redirections are looked at apart)."""

_VOLATILE = re.compile(
    r"\$(?:\{?(?:RANDOM|SRANDOM|BASHPID|PPID|EPOCHREALTIME|BASH_COMMAND|BASH_VERSINFO|COLUMNS|LINES|_)\b|"
    r"[$!](?![\w{])|\{[$!]\})"
)
_LAST_WORD = re.compile(r"\A[^;&|\n$]*[^;&|\n$\s](?:;|&&)[^$]*\$_\b")
"""`$_` behind another command of the same line, whose last word it is."""
_OWN_WORDS = re.compile(
    r"limit[^\n]*exceeded|output truncated|exceeds (?:VFS )?limit|limit \(\d+\) reached|may be truncated|"
    r"resource limit|budget|not supported|not available in|network access not configured|sandbox|bashkit|"
    r"not implemented|unsupported",
    re.IGNORECASE,
)
"""What the shell library says where it does not do what the real program does."""
_EXCEPTION = re.compile(r"^[\w.]*(?:Error|Exception|Warning|UnsupportedOperation): .*$", re.MULTILINE)
"""What Python says of an exception, in much the same words (`unsupported operand type(s)`)."""

_SAFE_DEVICES = ("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd")
_WORD = re.compile(r"(?<![\w.}$\"'/*=:@-])(?:~|\$HOME|\$\{HOME\})?/(?:[\w.@%+,\[\]?*-]+/?)*")
_MESSAGE_PATH = re.compile(
    r"^[^\n]*?: (?:cannot [\w ]+ )?[‘'\"]?([^\n'’\"]+?)[’'\"]?: No such file or directory$",
    re.MULTILINE,
)
_DECLARING = re.compile(
    r"\bdeclare -p(?=\s*(?:$|[;&|>)]))"
    r"|\bdeclare -p [^;&|\n]*\b(?:BASH\w*|DIRSTACK|FUNCNAME|PIPESTATUS|GROUPS)\b"
    r"|(?:^|[;&|]\s*)(?:set|declare|typeset|compgen -v)\s*(?:$|[;&|>])",
    re.MULTILINE,
)


def doubts(
    script: Script, step: Step, table: Table, cwd: str, stderr: str, stdout: str, functions: Collection[str]
) -> Iterator[str]:
    """Yield what the answer rests on that is not known.

    Args:
        script: The command.
        step: The finished run.
        table: Files before the run.
        cwd: Working directory before the run.
        stderr: What it wrote, already in the shell's words.
        stdout: What it wrote.
        functions: Names of the functions that are defined.
    """
    state = step.state
    yield from step.unknown
    yield from step.trace.doubts
    for found in _OWN_WORDS.finditer(_EXCEPTION.sub("", stderr)):
        yield f"the shell library said {found[0]!r}"
    shown = re.sub(r"'[^']*'|\b(?:wait|kill(?: -\S+)*) \"?\$[!$]\"?", "", script.text)
    if state.screen is not None:
        shown = re.sub(r"\$\{?(?:COLUMNS|LINES)\b", "", shown)
    if _LAST_WORD.search(shown):
        shown = re.sub(r"\$_\b", "", shown)
    volatile = _VOLATILE.search(shown)
    if volatile is not None:
        yield f"{volatile[0]} differs from run to run"
    if len(re.findall(r"%\([^)]*\)T", script.text)) != len(PRINTF_TIME.findall(script.text)):
        yield "printf %(...)T is not simulated"
    if "pipe" in script.features and re.search(r"(?:^|[;&|(]\s*)(?:source|\.)\s[^;&\n]*\|", script.text):
        yield "a sourced script in a pipe is not simulated"
    if "help" in script.programs and "no help topics match" not in stderr:
        yield "help texts are not simulated"
    if script.names("compgen") or script.names("complete"):
        yield "completion is not simulated"
    if re.search(r"(?:^|[;&|({]\s*)times?(?=\s|$)", re.sub(r"'[^']*'|\"[^\"]*\"", "", script.text), re.MULTILINE):
        yield "times differ from run to run"
    if re.search(r"/dev/(?:tcp|udp)/", script.text):
        yield "the network is not simulated"
    if _DECLARING.search(script.text):
        yield "a listing of all variables"
    for redirect in script.analysis.redirects:
        if not redirect.is_write and redirect.path and f": {redirect.path}: Is a directory" in stderr:
            yield f"{redirect.path} is a directory"
    yield from _programs(script, state, stderr, functions)
    for path in sorted(_touched(script, state, cwd)):
        reason = _doubt(path, table)
        if reason is not None:
            yield reason
    yield from quirks(script, step, table, cwd, stderr, stdout)
    for match in _MESSAGE_PATH.finditer(stderr):
        reason = _doubt(expand_path(match[1], cwd, state.home), table, missing=True)
        if reason is not None:
            yield reason


_READING_WORDS = (
    "cd pushd popd dirs pwd grep egrep fgrep awk mawk gawk tr fold yes nproc whoami id uname hostname printenv find "
    "which strings column hexdump xxd od file jq bc exec less more getconf tree du df arch factor numfmt tsort comm "
    "zcat envsubst date sleep logout test [ rev true "
)
_READS_ONLY = (_HARMLESS | frozenset(_READING_WORDS.split())) - {"bash", "sh", "eval", "mapfile", "readarray"}
"""Commands of the shell library that write no files by themselves."""


def suspects(
    script: Script, functions: Mapping[str, frozenset[str]], table: Table, cwd: str, home: str
) -> frozenset[str] | None:
    """Paths that the shell library may write by itself when a script runs; None where that cannot be told.

    Args:
        script: The command.
        functions: Functions defined before.
        table: Files before.
        cwd: Working directory before.
        home: The user's home.
    """
    analysis = script.analysis
    ours = commands().keys() | CORE.keys() | _READS_ONLY
    names = {
        command.name for command in analysis.commands if command.name is not None or not command.is_assignment_only
    }
    if analysis.is_opaque or None in names or names & functions.keys() or script.programs - ours - script.functions:
        return None
    if {"find", "awk", "mawk", "gawk"} & names and re.search(r"-delete|-fprint|-exec|>", script.text):
        return None
    moves = bool({"cd", "pushd", "popd"} & names)
    found = set()
    for redirect in analysis.redirects:
        if not redirect.is_write:
            continue
        if redirect.path is None or (moves and not redirect.path.startswith("/")):
            return None
        if not redirect.path.startswith("/dev/"):
            found.add(expand_path(redirect.path, cwd, home))
    for path in found:
        nodes = [table.nodes.get(place) for place in (*parents(path), path)]
        if any(node is not None and node.kind == "symlink" for node in nodes):
            return None
    return frozenset(found)


_RUNNERS = frozenset(("env", "find", "ionice", "nice", "nohup", "setsid", "stdbuf", "timeout", "xargs"))


def unsimulated(state: TerminalState, text: str) -> frozenset[str]:
    """Names of programs in a script that the machine has and nothing here simulates."""
    script = read_script(text)
    if not isinstance(script, Script):
        return frozenset()
    done = commands().keys() | CORE.keys() | SHELL_BUILTINS | KEYWORDS | native_commands()
    return frozenset(name for name in script.programs - done if "/" not in name and presence(state, name) == "present")


def _perhaps_there(name: str, state: TerminalState) -> Iterator[str]:
    """Why it is not known that a program is missing."""
    if "/" not in name and presence(state, name) != "absent":
        yield f"{name} may be installed, and is not simulated"


_UNSTARTED = re.compile(r"(?:^make(?:\[\d+\])?: |command ‘)([^\s:’]+)’?: No such file or directory$", re.MULTILINE)
"""How `make`, `timeout` and the like tell that a program is missing."""


def _programs(script: Script, state: TerminalState, stderr: str, functions: Collection[str]) -> Iterator[str]:
    known = commands().keys() | CORE.keys() | SHELL_BUILTINS | KEYWORDS
    for match in re.finditer(r"(\S+): (?:command )?not found$", stderr, re.MULTILINE):
        yield from _perhaps_there(match[1], state)
    if "Error 127" in stderr or "failed to run command" in stderr:
        for match in _UNSTARTED.finditer(stderr):
            yield from _perhaps_there(match[1], state)
    # What our own runners are given to run, they look for themselves.
    direct = {command.name for command in script.analysis.commands}
    given = {word for command in script.analysis.commands if command.name in _RUNNERS for word in command.args}
    for name in sorted(script.programs - known - (given - direct)):
        if "/" not in name and name not in functions and presence(state, name) == "unknown":
            yield f"it is not known whether {name} is installed"


_NO_GLOB = re.compile(r"""\$\{\w+(?:\[[^\]]*\])?[#%/][^}]*\}|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
"""Text in which `*`, `?` and `[` are no globs: patterns of expansions, and what is quoted."""


def _touched(script: Script, state: TerminalState, cwd: str) -> set[str]:
    """Paths the shell library touches unseen: redirections, and words of commands that are not ours."""
    found = set()
    for redirect in script.analysis.redirects:
        if redirect.path is not None and not redirect.is_write:
            found.add(expand_path(redirect.path, cwd, state.home))
    ours = commands().keys() | CORE.keys() | _HARMLESS
    native = [command for command in script.analysis.commands if command.name is not None and command.name not in ours]
    for command in native:
        if command.name in script.functions:
            continue
        for word in command.args:
            if word is None or word.startswith("-"):
                continue
            if word.startswith(("/", "~/", "./", "../")) or command.name in ("cd", "pushd", ".", "source"):
                found.add(expand_path(word, cwd, state.home))
    for match in re.finditer(r"\[\[.*?\]\]", script.text, re.DOTALL):
        for word in _WORD.findall(match[0]):
            found.add(expand_path(word, cwd, state.home))
    for match in re.finditer(r"\$\(<\s*([\w./~-]+)\)", script.text):
        found.add(expand_path(match[1], cwd, state.home))
    for word in _WORD.findall(_NO_GLOB.sub("", script.text)):
        if re.search(r"[*?\[]", word):
            found.add(expand_path(re.split(r"[*?\[]", word)[0] or "/", cwd, state.home).rstrip("/") + "/*")
    if "glob" in script.features:
        found.add(posixpath.join(cwd, "*"))
    return found


def _doubt(path: str, table: Table, *, missing: bool = False) -> str | None:
    """Why it is not known what is at a path, or None."""
    if path.startswith(_SAFE_DEVICES):
        return None
    if is_virtual(path) and path not in table.nodes:
        return f"{path} is made up by the system"
    if path in BROUGHT and path not in table.nodes:
        return f"{path} is not declared"
    parts = [part for part in path.split("/") if part]
    place = "/"
    for index, part in enumerate(parts):
        step = posixpath.join(place, part)
        if step in table.tainted and not missing:
            return f"{step} is not known since something unknown wrote to it"
        if table.tainted.get(step) == "existence":
            return f"it is not known whether {step} is there"
        node = table.nodes.get(step)
        if node is None and step in table.absent:
            return None
        if node is None:
            return f"it is not known what is in {place}" if place in table.open else None
        if node.kind == "symlink":
            target = posixpath.normpath(posixpath.join(place, node.target, *parts[index + 1 :]))
            return _doubt(target, table, missing=missing) if target != path else None
        place = step
    return None
