"""Users and groups of a world: the names and numbers that chown, id, find -user and others know."""

from __future__ import annotations

from worldline.kernels.shell.builtins.base import Call

__all__ = ["SYSTEM_GROUPS", "SYSTEM_USERS", "account", "known_group", "known_user", "own_ids"]

SYSTEM_USERS = {
    "daemon": 1, "bin": 2, "sys": 3, "sync": 4, "games": 5, "man": 6, "lp": 7, "mail": 8, "news": 9, "uucp": 10,
    "proxy": 13, "www-data": 33, "backup": 34, "list": 38, "irc": 39, "_apt": 42, "nobody": 65534,
}  # fmt: skip
"""Users of every Debian system (base-passwd)."""
SYSTEM_GROUPS = {
    "daemon": 1, "bin": 2, "sys": 3, "adm": 4, "tty": 5, "disk": 6, "lp": 7, "mail": 8, "news": 9, "uucp": 10,
    "man": 12, "proxy": 13, "kmem": 15, "dialout": 20, "fax": 21, "voice": 22, "cdrom": 24, "floppy": 25, "tape": 26,
    "sudo": 27, "audio": 29, "dip": 30, "www-data": 33, "backup": 34, "operator": 37, "list": 38, "irc": 39,
    "src": 40, "shadow": 42, "utmp": 43, "video": 44, "sasl": 45, "plugdev": 46, "staff": 50, "games": 60,
    "users": 100, "nogroup": 65534,
}  # fmt: skip
"""Groups of every Debian system (base-passwd)."""
_PRIMARY = {"sync": "nogroup", "_apt": "nogroup", "nobody": "nogroup"}


def known_user(call: Call, name: str) -> int | None:
    """Return the id behind a user name or number; None where there is no such user."""
    if name.isdigit():
        return int(name)
    return {**SYSTEM_USERS, "root": 0, call.world.user: call.world.user_id}.get(name)


def known_group(call: Call, name: str) -> int | None:
    """Return the id behind a group name or number; None where there is no such group."""
    if name.isdigit():
        return int(name)
    return {**SYSTEM_GROUPS, "root": 0, call.world.user: call.world.user_id}.get(name)


def account(call: Call, name: str) -> tuple[str, int, str, int] | None:
    """Return user name, user id, group name and group id of an account; None where there is none."""
    names = {**SYSTEM_USERS, "root": 0, call.world.user: call.world.user_id}
    if name not in names:
        found = [known for known, number in names.items() if name.isdigit() and number == int(name)]
        if not found:
            return None
        name = found[0]
    group = _PRIMARY.get(name, name)
    number = {**SYSTEM_GROUPS, "root": 0, call.world.user: call.world.user_id}[group]
    return name, names[name], group, number


def own_ids(call: Call) -> tuple[str, int]:
    """Return the name and the number of the user who runs the call."""
    return call.world.user, call.world.user_id
