"""The order in which a directory holds its entries."""

from __future__ import annotations

from worldline.kernels.shell.builtins.base import Call

__all__ = ["creation_order", "directory_order"]


def directory_order(call: Call, path: str) -> list[str]:
    """Return the names in a directory in the order in which the system lists them.

    Raises:
        OSError: As opening the directory would.
        Unknown: The order is not known.
    """
    ordered = getattr(call.files, "order", None)
    if ordered is not None:
        names: list[str] = ordered(path)
        return names
    call.unknown(f"the order in which {path} holds its entries")


def creation_order(call: Call, path: str) -> list[str]:
    """Return the names in a directory by inode, in which GNU cp goes through it: oldest first.

    Raises:
        OSError: As opening the directory would.
        Unknown: The order is not known.
    """
    return directory_order(call, path)[::-1]
