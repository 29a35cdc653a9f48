"""Running the git of the kernels on a host's files, and what GitPython says where it fails."""

from __future__ import annotations

import re
from collections.abc import Mapping
from zlib import error as ZlibError

from worldline.domains.terminal.state import TerminalState
from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.main import run
from worldline.kernels.shell.builtins.base import Call, Result, Unknown
from worldline.kernels.tools.servers.host import Host
from worldline.kernels.tools.servers.python_server import ToolFailed

__all__ = ["call_of", "command", "context", "run_git"]

_WORLD = TerminalState()
_OPENING = re.compile(r"^warning: could not open directory .*\n", re.M)
"""What is not said where the directory of a path is not there."""
_DAMAGE = (LookupError, TypeError, AttributeError, ZlibError)


def call_of(host: Host, directory: str, *words: str, env: Mapping[str, str] | None = None) -> Call:
    """One invocation of git in a directory."""
    host.tree.cwd = directory
    variables = {"HOME": host.home, "TZ": "UTC", "USER": "user", **host.env, **(env or {})}
    return Call("git", list(words), None, variables, directory, host.tree, _WORLD, host.clock)


def context(host: Host, directory: str) -> Git:
    """Git in a directory, for looking into its repository."""
    return Git(call_of(host, directory))


def run_git(host: Host, directory: str, *words: str, env: Mapping[str, str] | None = None) -> Result:
    """Run git.

    Raises:
        Unknown: What it would do is not known.
    """
    try:
        return run(call_of(host, directory, *words, env=env))
    except Failure as failure:
        return Result(stderr=failure.text, status=failure.status)
    except _DAMAGE as error:
        raise Unknown(f"a repository that cannot be read ({type(error).__name__}: {error})") from error
    finally:
        host.tree.cwd = "/"


def command(host: Host, directory: str, *words: str) -> str:
    """Run git as GitPython does: its output without the last newline.

    Raises:
        ToolFailed: It fails; the message names the command and what it said.
        Unknown: What it would do is not known.
    """
    result = run_git(host, directory, *words)
    out, err = result.stdout.removesuffix("\n"), _OPENING.sub("", result.stderr).removesuffix("\n")
    if result.status:
        text = f"Cmd('git') failed due to: exit code({result.status})\n  cmdline: git {' '.join(words)}"
        text += f"\n  stdout: '{out}'" if out else ""
        raise ToolFailed(text + (f"\n  stderr: '{err}'" if err else ""))
    return out
