"""Backups that cp, mv, ln and install make of what they replace: `file~`, `file.~1~`."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from worldline.kernels.shell.builtins.base import Call
from worldline.kernels.shell.builtins.shared.options import UsageError, quote

__all__ = ["Backup", "read_backup"]

_KINDS = {
    "none": "none",
    "off": "none",
    "simple": "simple",
    "never": "simple",
    "existing": "existing",
    "nil": "existing",
    "numbered": "numbered",
    "t": "numbered",
}


@dataclass(frozen=True)
class Backup:
    """How a file is kept before it is replaced."""

    kind: str
    suffix: str

    def name(self, call: Call, path: str) -> str:
        """Return the name that the file at `path` gets."""
        directory, base = posixpath.split(path)
        pattern = re.compile(re.escape(base) + r"\.~(\d+)~$")
        numbers = [int(found.group(1)) for name in call.files.list(directory or ".") if (found := pattern.match(name))]
        if self.kind == "numbered" or (self.kind == "existing" and numbers):
            return f"{path}.~{max(numbers, default=0) + 1}~"
        return path + self.suffix

    def move(self, call: Call, path: str) -> str:
        """Move the file away and return its new name."""
        name = self.name(call, path)
        call.files.rename(path, name)
        return name


def read_backup(call: Call, options: list[tuple[str, str]]) -> Backup | None:
    """Read `-b`, `--backup[=CONTROL]` and `-S SUFFIX`; None where no backup is asked for."""
    kind = None
    suffix = call.env.get("SIMPLE_BACKUP_SUFFIX") or "~"
    for name, value in options:
        if name in ("-b", "--backup"):
            kind = value or call.env.get("VERSION_CONTROL") or "existing"
        elif name == "-S":
            suffix, kind = value, kind or "existing"
    if kind is None:
        return None
    known = _KINDS.get(kind)
    if known is None:
        source = "backup type" if any(name == "--backup" and value for name, value in options) else "$VERSION_CONTROL"
        raise UsageError(
            f"invalid argument {quote(kind)} for {quote(source)}\nValid arguments are:\n  - ‘none’, ‘off’"
            "\n  - ‘simple’, ‘never’\n  - ‘existing’, ‘nil’\n  - ‘numbered’, ‘t’"
        )
    return Backup(known, suffix) if known != "none" else None
