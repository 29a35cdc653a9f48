"""Runs command lines by `sh -c` (dash) or another shell for programs that do so: make's recipes, `parallel`.

A nested shell of the library words its messages as bash does; here they become dash's, and what dash would do
differently is not known.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from worldline.domains.terminal.state import ShellSpec
from worldline.kernels.shell.builtins.base import Call, Result

__all__ = ["run_line"]

_VOLATILE = re.compile(r"\$\$|\$!|\$\{?(?:RANDOM|PPID|LINENO|BASHPID|SECONDS)\b")
_COLON_ONLY = re.compile(r"^\s*(?::|true)\s*$")
_CONTINUED = re.compile(r"\\\n[ \t]*")


def run_line(
    call: Call,
    text: str,
    *,
    shell: str = "/bin/sh",
    flags: Sequence[str] = ("-c",),
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
) -> Result:
    """Run a command line in a shell.

    Args:
        call: The invocation of the program that runs it.
        text: The line.
        shell: As it is called; its messages start with this name.
        flags: Before the line, `-c` among them.
        cwd: Where it runs, where that is not the call's directory.
        env: Its environment.
        stdin: What it reads.

    Raises:
        Unknown: What the shell does with it is not known.
    """
    if _COLON_ONLY.match(text):
        return Result()
    if _VOLATILE.search(text):
        call.unknown("process numbers and the like differ from run to run")
    name = shell.rpartition("/")[2]
    if name not in ("sh", "dash", "bash"):
        call.unknown(f"the shell {shell}")
    dash = name != "bash"
    # Imported late: the parser of the shell's scripts belongs to the kernel, which imports the commands.
    from worldline.kernels.shell.dash import dash_doubts, dash_status
    from worldline.kernels.shell.messages import reword, syntax_message
    from worldline.kernels.shell.script import SyntaxFault, read_script

    plain = _CONTINUED.sub(" ", text)
    # The library parses in a thread of its own, since this one runs one of its commands.
    script = _parsing().submit(read_script, plain).result()
    spec = ShellSpec(program="sh") if dash else ShellSpec()
    if isinstance(script, SyntaxFault):
        worded = syntax_message(script, plain, spec, 0)
        if worded is None:
            call.unknown("how the shell words a syntax error")
        return Result(stderr=_named(worded[0], shell), status=worded[1])
    if dash:
        for doubt in dash_doubts(script, ""):
            call.unknown(doubt)
    line = plain if cwd is None or cwd == call.cwd else f"cd {shlex.quote(cwd)}; {plain}"
    result = call.run(["bash" if not dash else "sh", *flags, line], env=env, stdin=stdin)
    stderr = reword(result.stderr, line, spec, 0, script, {})
    if "\n" not in line:
        stderr = re.sub(r"^((?:ba)?sh: (?:line )?)\d+: ", r"\g<1>1: ", stderr, flags=re.MULTILINE)
    status = dash_status(script, stderr, result.status) if dash else result.status
    if dash:
        for doubt in dash_doubts(script, stderr):
            call.unknown(doubt, Result(result.stdout, _named(stderr, shell), status))
    return Result(result.stdout, _named(stderr, shell), status)


@cache
def _parsing() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="worldline-parsing")


def _named(stderr: str, shell: str) -> str:
    """Let the shell call itself as it was called."""
    own = posixpath.basename(shell)
    return re.sub(rf"^{own}: (?=-c: line |line |\d+: )", f"{shell}: ", stderr, flags=re.MULTILINE)
