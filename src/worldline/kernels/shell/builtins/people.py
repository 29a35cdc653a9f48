"""Users and groups of a world: the names and numbers that chown, id, find -user and others know."""

from __future__ import annotations

from worldline.kernels.shell.builtins.base import Call

__all__ = ["known_group", "known_user", "own_ids"]

_SYSTEM = {
    "daemon": 1, "bin": 2, "sys": 3, "sync": 4, "games": 5, "man": 6, "lp": 7, "mail": 8, "news": 9, "uucp": 10,
    "proxy": 13, "www-data": 33, "backup": 34, "list": 38, "irc": 39, "_apt": 42,
}  # fmt: skip
_SYSTEM_GROUPS = (
    "daemon bin sys adm tty disk lp mail news uucp man proxy kmem dialout fax voice cdrom floppy tape sudo audio dip"
    " www-data backup operator list irc src shadow utmp video sasl plugdev staff games users nogroup"
)


def known_user(call: Call, name: str) -> int | None:
    """Return the id behind a user name or number; None where there is no such user.

    Raises:
        Unknown: It is a system user that a Debian system has, but a world need not.
    """
    if name.isdigit():
        return int(name)
    found = {"root": 0, call.world.user: call.world.user_id}.get(name)
    if found is None and (name in _SYSTEM or name == "nobody"):
        call.unknown(f"whether there is a user {name}")
    return found


def known_group(call: Call, name: str) -> int | None:
    """Return the id behind a group name or number; None where there is no such group.

    Raises:
        Unknown: It is a system group that a Debian system has, but a world need not.
    """
    if name.isdigit():
        return int(name)
    found = {"root": 0, call.world.user: call.world.user_id}.get(name)
    if found is None and name in _SYSTEM_GROUPS.split():
        call.unknown(f"whether there is a group {name}")
    return found


def own_ids(call: Call) -> tuple[str, int]:
    """Return the name and the number of the user who runs the call."""
    return call.world.user, call.world.user_id
