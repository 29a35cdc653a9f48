"""The command `mktemp`. The names it makes up are as random as the real ones; nothing else of its answer is."""

from __future__ import annotations

import hashlib
import posixpath
import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import quote, strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, command, parse

__all__ = ["COMMANDS"]

_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def _random(call: Call, template: str, length: int, attempt: int) -> str:
    """Make up characters: different for each moment, place and attempt, the same when a session is replayed."""
    seed = f"{call.now.isoformat()} {call.cwd} {template} {attempt}".encode()
    number = int.from_bytes(hashlib.sha256(seed).digest(), "big")
    text = ""
    for _ in range(length):
        number, digit = divmod(number, len(_ALPHABET))
        text += _ALPHABET[digit]
    return text


def _template(call: Call, given: dict[str, str], operands: list[str]) -> tuple[str, str]:
    """Return the template up to its suffix, with its directory, and the suffix."""
    template = operands[0] if operands else "tmp.XXXXXXXXXX"
    suffix = given.get("--suffix", "")
    if "--suffix" in given and not template.endswith("X"):
        raise UsageError(f"with --suffix, template {quote(template)} must end in X", hint=False)
    if "--suffix" not in given:
        match = re.match(r"^(.*X)([^X]*)$", template, re.DOTALL)
        template, suffix = (match.group(1), match.group(2)) if match else (template, "")
        if "/" in suffix:
            template, suffix = template + suffix, ""
    if not template.endswith("XXX"):
        raise UsageError(f"too few X's in template {quote(template + suffix)}", hint=False)
    if "-p" in given or "-t" in given or not operands:
        base = given.get("-p") or call.env.get("TMPDIR") or "/tmp"
        if "-t" in given:
            base = call.env.get("TMPDIR") or given.get("-p") or "/tmp"
            if "/" in template:
                raise UsageError(f"invalid template, {quote(template)}, contains directory separator", hint=False)
        if template.startswith("/"):
            text = f"invalid template, {quote(template)}; with --tmpdir, it may not be absolute"
            raise UsageError(text, hint=False)
        template = posixpath.join(base, template)
    return template, suffix


@command()
def _mktemp(call: Call) -> Result:
    options, operands = parse(
        call,
        "dp:qtuV",
        "directory suffix= tmpdir=? dry-run quiet",
        same={"--directory": "-d", "--tmpdir": "-p", "--quiet": "-q", "--dry-run": "-u"},
    )
    given = dict(options)
    if len(operands) > 1:
        raise UsageError("too many templates")
    template, suffix = _template(call, given, operands)
    stem = template.rstrip("X")
    for attempt in range(100):
        path = stem + _random(call, template, len(template) - len(stem), attempt) + suffix
        if not call.files.exists(path, follow=False):
            break
    try:
        if "-u" not in given:
            if "-d" in given:
                call.files.mkdir(path, 0o700)
            else:
                call.files.write(path, b"")
                call.files.chmod(path, 0o600)
        elif not call.files.exists(posixpath.dirname(path) or "."):
            raise FileNotFoundError(2, "No such file or directory", path)
    except OSError as error:
        what = "directory" if "-d" in given else "file"
        text = f"failed to create {what} via template {quote(template + suffix)}: {strerror(error)}"
        if "-q" in given:
            return Result(status=1)
        raise UsageError(text, hint=False) from error
    return Result(path + "\n")


COMMANDS: dict[str, Builtin] = {"mktemp": _mktemp}
