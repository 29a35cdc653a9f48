"""The command `which` (debianutils)."""

from __future__ import annotations

import posixpath

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.programs import presence, program_path

__all__ = ["COMMANDS"]

_SYSTEM = {"/usr/bin": "/usr/bin", "/bin": "/usr/bin", "/usr/sbin": "/usr/sbin", "/sbin": "/usr/sbin",
           "/usr/games": "/usr/games"}  # fmt: skip
_EMPTY = ("/usr/local/bin", "/usr/local/sbin", "/usr/local/games")


def _executable(call: Call, path: str) -> bool:
    try:
        stat = call.files.stat(path)
    except OSError:
        return False
    allowed = getattr(call.files, "allowed", None)
    return stat.kind == "file" and (bool(allowed(path, 1)) if allowed else bool(stat.mode & 0o111))


def _find(call: Call, name: str, *, every: bool) -> list[str]:
    if "/" in name:
        return [name] if _executable(call, name) else []
    found = []
    for folder in call.env.get("PATH", "").split(":"):
        if folder in _SYSTEM:
            there = presence(call.world, name)
            if there == "unknown":
                call.unknown(f"whether {name} is installed")
            path = program_path(call.world, name)
            if path is not None and posixpath.dirname(path) == _SYSTEM[folder]:
                found.append(f"{folder}/{name}")
        elif folder not in _EMPTY and _executable(call, posixpath.join(folder or ".", name)):
            found.append(posixpath.join(folder or ".", name))
        if found and not every:
            break
    return found


def _which(call: Call) -> Result:
    words, every = list(call.argv), False
    while words and words[0].startswith("-") and len(words[0]) > 1:
        option = words.pop(0)
        if option == "--":
            break
        if set(option[1:]) - {"a"}:
            letter = next(char for char in option[1:] if char != "a")
            return Result("Usage: /usr/bin/which [-a] args\n", f"Illegal option -{letter}\n", 2)
        every |= "a" in option
    out, status = "", 0 if words else 1
    for name in words:
        found = _find(call, name, every=every)
        out += "".join(f"{path}\n" for path in found)
        if not found:
            status = 1
    return Result(out, "", status)


COMMANDS: dict[str, Builtin] = {"which": _which}
