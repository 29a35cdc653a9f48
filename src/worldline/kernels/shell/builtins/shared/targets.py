"""How cp, mv and install read their operands: sources and where each of them goes."""

from __future__ import annotations

from worldline.kernels.shell.builtins.base import Call
from worldline.kernels.shell.builtins.shared.messages import shell_quote, strerror
from worldline.kernels.shell.builtins.shared.options import UsageError
from worldline.kernels.shell.builtins.shared.paths import is_directory, join, last_part, strip_slashes

__all__ = ["pair_up"]


def pair_up(
    call: Call, options: list[tuple[str, str]], operands: list[str], *, parents: bool = False
) -> list[tuple[str, str]]:
    """Return each source with its target.

    Args:
        call: The invocation.
        options: Parsed; `-t DIRECTORY` and `-T` count.
        operands: As given.
        parents: Whether targets keep the whole path of their source (`cp --parents`).

    Raises:
        UsageError: Too few or too many operands, or the target is no directory where one is needed.
    """
    given = dict(options)
    directory = given.get("-t")
    if "-T" in given and directory is not None:
        raise UsageError("cannot combine --target-directory (-t) and --no-target-directory (-T)", hint=False)
    if not operands:
        raise UsageError("missing file operand")
    if directory is None and len(operands) == 1:
        raise UsageError(f"missing destination file operand after {shell_quote(operands[0])}")
    sources, target = (operands, directory) if directory is not None else (operands[:-1], operands[-1])
    if "-T" in given:
        if len(operands) > 2:
            raise UsageError(f"extra operand {shell_quote(operands[2])}")
        return [(sources[0], target)]
    if directory is not None:
        reason = _no_directory(call, directory)
        if reason:
            raise UsageError(f"target directory {shell_quote(directory)}: {reason}", hint=False)
    else:
        if len(sources) == 1 and not call.files.exists(sources[0], follow=False):
            # that the source is missing is told before what is wrong with the target
            reason = "" if is_directory(call, target) else "Not a directory"
        else:
            reason = _no_directory(call, target)
        if reason and len(sources) > 1:
            raise UsageError(f"target {shell_quote(target)}: {reason}", hint=False)
        if reason and parents:
            raise UsageError("with --parents, the destination must be a directory")
        if reason:
            return [(sources[0], target)]
    return [(source, join(target, strip_slashes(source) if parents else last_part(source))) for source in sources]


def _no_directory(call: Call, path: str) -> str:
    """Say why a path is no directory; empty where it is one."""
    if is_directory(call, path):
        return ""
    try:
        call.files.stat(path)
    except FileNotFoundError as error:
        return strerror(error)
    except OSError as error:
        raise UsageError(f"cannot stat {shell_quote(path)}: {strerror(error)}", hint=False) from error
    return "Not a directory"
