"""The order in which a directory holds its entries."""

from __future__ import annotations

from worldline.kernels.shell.builtins.base import Call

__all__ = ["creation_order", "directory_order"]


def directory_order(call: Call, path: str) -> list[str]:
    """Return the names in a directory in the order in which the system lists them.

    Raises:
        OSError: As opening the directory would.
        Unknown: There are several names, and the order of the file system is not known.
    """
    ordered = getattr(call.files, "order", None)
    if ordered is not None:
        names: list[str] = ordered(path)
        return names
    names = call.files.list(path)
    if len(names) > 1:
        call.unknown(f"the order in which {path} holds its entries")
    return names


def creation_order(call: Call, path: str) -> list[str]:
    """Return the names in a directory by inode, in which GNU cp goes through it: oldest first.

    Raises:
        OSError: As opening the directory would.
        Unknown: There are several names, and the order of the file system is not known.
    """
    return directory_order(call, path)[::-1]
