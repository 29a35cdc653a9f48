"""How commands are handed to the shell in the box, and how what that adds to its messages is taken away again.

bash runs a loop (:data:`_LOOP`) that reads a status and a command, both ended by NUL, from its standard input,
evaluates the command in the shell itself, so that variables, functions, the working directory, options, traps and
jobs persist, and reports the status on a descriptor that the command does not see. dash, which cannot read up to a
NUL, gets a line of driver text per command instead.
"""

from __future__ import annotations

import re
import shlex

import bashkit

from worldline.domains.terminal.state import ShellSpec
from worldline.errors import ActionError
from worldline.record.sandbox import STATUS_FD

__all__ = ["clean", "driver_text", "first_text", "shell_arguments"]

# The command lies in the variable in which `bash -c` keeps it; `_` makes `$?` what it was after the command before
# and is gone when the command runs. Being the condition of an `if`, it does not trip `set -e`. The outer loop goes on
# after a stray `break`.
_LOOP = (
    "while :; do while IFS= read -r -d '' BASH_EXECUTION_STRING || exit; do "
    "_() { local s=$BASH_EXECUTION_STRING; IFS= read -r -d '' BASH_EXECUTION_STRING; unset -f _; return $s; }; "
    'if _; then builtin eval "$BASH_EXECUTION_STRING" </dev/null 198>&-; '
    'else builtin eval "$BASH_EXECUTION_STRING" </dev/null 198>&-; fi; '
    'builtin printf \'%s %s\\0\' "$?" "$-" >&198; done; builtin printf \'%s %s\\0\' "$?" "$-" >&198; done'
)

_REPORT = f'command printf \'%s %s\\0\' "$?" "$-" >&{STATUS_FD["sh"]}\n'


def shell_arguments(shell: ShellSpec) -> list[str]:
    """The program that runs in the box and reads driver text."""
    if shell.program == "sh":
        return ["sh", "-s"]
    if shell.mode == "interactive" and shell.persist:
        return ["bash", "--norc", "--noprofile", "-i", "-c", _LOOP]
    return ["bash", "--norc", "--noprofile", "-c", _LOOP]


def first_text(shell: ShellSpec) -> bytes:
    """What the shell is told before the first command; it reports as a command does."""
    if shell.program == "sh":
        return _REPORT.encode()
    return b"0\0set +o history +H\0" if shell.mode == "interactive" else b"0\0:\0"


def _fresh(command: str, shell: ShellSpec) -> str:
    """A command line that runs `command` in a shell of its own, without what this shell says about its end."""
    quoted = shlex.quote(command)
    run = f"{shell.program} -c {quoted}"
    if shell.mode == "script":
        run = f"{shell.program} -s < <(printf '%s\\n' {quoted})"
    elif shell.mode == "interactive" and shell.program == "bash":
        run = f"bash --norc --noprofile -i -c {quoted}"
    return f"{{ SHLVL=0 {run} 2>&8 8>&-; }} 8>&2 2>/dev/null"


def driver_text(command: str, shell: ShellSpec, *, last_status: int, line: int) -> bytes:
    """Write what makes the shell run one command.

    Args:
        command: What the agent typed.
        shell: The world's shell.
        last_status: Status of the command before, which `$?` shows.
        line: Number of the command's first line, 1-based.

    Raises:
        ActionError: The command holds a NUL or a lone surrogate, which no shell can be given.
    """
    if "\0" in command:
        raise ActionError("a command cannot hold a NUL character")
    text = command if shell.persist else _fresh(command, shell)
    if shell.program == "bash":
        if re.search(r"\b(break|continue)\b", command) and not re.search(r"\b(for|while|until|select)\b", command):
            text = _fresh(command, shell)  # there is no loop to leave; only a shell outside of one says so
        text = f"{last_status}\0" + "\n" * (line - 1) + text + "\0"
    else:
        quoted, apart = shlex.quote(text), "</dev/null 9>&-"
        run = _after(last_status, f"eval {quoted} {apart}")
        # dash dies of a syntax error in eval, so a child looks first
        parses = f"command sh -n -c {quoted} {apart} >/dev/null 2>&1"
        text = f"if {parses}; then {run}; else command sh -c {quoted} {apart}; fi; {_REPORT}"
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise ActionError("a command must be valid Unicode text") from exc


def _after(status: int, run: str) -> str:
    """Run with `$?` showing `status`, untouched by `set -e`."""
    return f"if (exit {status}); then :; else {run}; fi" if status else run


_TRACED_DRIVER = re.compile(
    rb"^\+ (_|return \d+|exit \d+|unset -f _|local s=\d+|IFS=|:|read -r -d '' BASH_EXECUTION_STRING"
    rb"|builtin (eval|printf) .*)\n",
    re.MULTILINE,
)
_EVAL_ERROR = re.compile(rb"^bash: eval: line (\d+): ", re.MULTILINE)
_IN_FUNCTION = re.compile(rb"^environment: line (\d+): ", re.MULTILINE)
_DASH_EVAL = re.compile(rb"^sh: (\d+): eval: ", re.MULTILINE)


def clean(message: bytes, command: str, shell: ShellSpec, *, traced: bool) -> bytes:
    """Take what the driver added out of the shell's messages.

    Args:
        message: Standard error, or the merged streams.
        command: The command that ran.
        shell: The world's shell.
        traced: `set -x` may have been on.
    """
    if not shell.persist or not message:
        return message
    uses_eval = re.search(r"\beval\b", command) is not None
    if shell.program == "sh":
        return message if uses_eval else _DASH_EVAL.sub(rb"sh: \1: ", message)
    if traced:
        message = _TRACED_DRIVER.sub(b"", message)
        message = re.sub(rb"^\+\+", b"+", message, flags=re.MULTILINE)
    if b"bash: eval: line" in message and (not uses_eval or not _parses(command)):
        shown = {"command": rb"bash: -c: line \1: ", "script": rb"bash: line \1: ", "interactive": rb"bash: "}
        message = _EVAL_ERROR.sub(shown[shell.mode], message)
    if shell.mode == "script":
        message = _IN_FUNCTION.sub(rb"main: line \1: ", message)
    return message


def _parses(command: str) -> bool:
    """Whether the text is a program of the shell language; nothing is run."""
    try:
        bashkit.Bash().analyze(command)
    except (RuntimeError, ValueError, bashkit.BashError):
        return False
    return True
