"""A shell inside a running step: how a command of ours (`find -exec`, `env`, `timeout`) runs one of the library's.

The library's shell cannot be entered again while one of its commands runs, so a second shell, with the same files
mounted at its root and the same commands registered, runs in a thread of its own. It takes about four milliseconds.
"""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Mapping, Sequence

from bashkit import Bash, BashError, BuiltinContext, BuiltinResult, FileSystem

from worldline.kernels.processor import charge
from worldline.kernels.shell.builtins.base import Result, Unknown
from worldline.kernels.shell.limits import Limits, Ran, run_limited

__all__ = ["run_nested"]

_INPUT = "__worldline_input"
_LIMITS = Limits()
_ALWAYS_SET = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "HOSTNAME")
"""Variables that the library may set by itself."""


def run_nested(
    argv: Sequence[str],
    *,
    vfs: FileSystem,
    cwd: str,
    env: Mapping[str, str],
    stdin: str | None,
    callbacks: Mapping[str, Callable[[BuiltinContext], BuiltinResult]],
) -> Result:
    """Run a command in a shell of its own on the files of the running one.

    Args:
        argv: Name and arguments; nothing is expanded.
        vfs: The files of the running shell.
        cwd: Where it runs.
        env: Its environment.
        stdin: What it reads; None: nothing.
        callbacks: Our commands.

    Raises:
        Unknown: The shell gave up.
    """
    found: list[Ran | BashError] = []

    def work() -> None:
        commands = {**callbacks, _INPUT: lambda context: BuiltinResult(stdin or "", "", 0)}
        shell = Bash(
            username=env.get("USER", "user"), env=dict(env), timeout_seconds=_LIMITS.wall, custom_builtins=commands
        )
        shell.mount("/", FileSystem.from_capsule(vfs.to_capsule()))
        source = f"{_INPUT} | " if stdin is not None else ""
        absent = " ".join(["OLDPWD", *(name for name in _ALWAYS_SET if name not in env)])
        sink = "" if stdin is not None else " </dev/null"
        try:
            script = f"cd {shlex.quote(cwd)}; unset {absent}; {source}{shlex.join(argv)}{sink}"
            found.append(run_limited(shell, script, _LIMITS))
        except BashError as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if not found or isinstance(found[0], BashError):
        raise Unknown(f"running {argv[0]} from another command")
    charge(found[0].used)
    if found[0].error:
        raise Unknown(f"running {argv[0]} from another command")
    result = found[0].result
    return Result(result.stdout, result.stderr, result.exit_code)
