"""Scripts at the terminal: by which program a file is run, and whether it reads what is typed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from worldline.kernels.screen.programs.base import Host, Operator, Program
from worldline.kernels.screen.programs.posix_shell import posix_shell
from worldline.kernels.screen.programs.python_programs import script_program
from worldline.kernels.screen.programs.shell_scripts import bash_script
from worldline.kernels.shell.builtins.base import Unknown

__all__ = ["file_program", "shell_program"]


def source_of(host: Host, path: str) -> str | None:
    """The text of a script, or None where it cannot be read."""
    try:
        return host.read(path).decode()
    except (OSError, Unknown, UnicodeDecodeError):
        return None


def file_program(words: Sequence[str], host: Host) -> Program | None:
    """Build the program for a script that is called by its path."""
    source = source_of(host, words[0])
    if source is None or not source.startswith("#!") or any(isinstance(word, Operator) for word in words):
        return None
    if host.run(f"test -x {shlex.quote(words[0])}", keep=False).status != 0:
        return None
    interpreter = re.sub(r"^#!\s*(?:\S*/env\s+(?:-S\s+)?)?", "", source.partition("\n")[0]).split()
    name = interpreter[0].rpartition("/")[2] if interpreter else ""
    if name in ("bash", "sh", "dash"):
        return bash_script(words[0], words[1:], source)
    if re.fullmatch(r"python3?(?:\.11)?", name) and len(interpreter) == 1:
        return script_program(["python3", *words], words[0], host)
    return None


def shell_program(words: Sequence[str], host: Host) -> Program | None:
    """Build the program for `bash FILE`; a shell without a file is not a program but a shell."""
    if any(isinstance(word, Operator) for word in words):
        return None
    rest = list(words[1:])
    if words[0].rpartition("/")[2] in ("sh", "dash") and set(rest) <= {"-i"}:
        return posix_shell(words)
    if not rest or rest[0].startswith("-"):
        return None
    source = source_of(host, rest[0])
    return None if source is None else bash_script(rest[0], rest[1:], source)
