"""What the file system of a box holds at the start: a Debian base and the files that the world declares, as one tar.

`/usr` and the package database are bound from a Debian root, everything else is laid out fresh: only a list of
harmless files is taken from the root's `/etc`, so that nothing of the host (keys, mirrors, proxies) shows.
"""

from __future__ import annotations

import io
import os
import random
import stat
import tarfile
from base64 import b64decode
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from worldline.domains.terminal.state import FileSpec, TerminalState
from worldline.errors import SandboxError

__all__ = ["CLOCK_PRELOAD", "build_layout"]

CLOCK_PRELOAD = "/run/.clock/clock.so"

_ETC_NAMES = (
    "adduser.conf alternatives bash.bashrc bindresvport.blacklist debconf.conf debian_version deluser.conf dpkg "
    "ethertypes fonts gai.conf groff host.conf init.d inputrc issue issue.net java-17-openjdk java-21-openjdk "
    "ld.so.cache ld.so.conf ld.so.conf.d libaudit.conf locale.alias localtime login.defs logrotate.conf  magic "
    "magic.mime mailcap manpath.config mime.types nanorc networks nsswitch.conf os-release pam.conf pam.d perl "
    "profile protocols python3 python3.11 python3.12 python3.13 rpc screenrc security services sgml shells skel "
    "ssl/openssl.cnf terminfo ucf.conf update-motd.d vim wgetrc xattr.conf xml "
)

_PLAIN_DIRECTORIES = (
    "boot etc etc/cron.d etc/opt etc/profile.d etc/ssl etc/ssl/certs home media mnt opt run run/lock srv sys var "
    "var/backups var/cache var/lib var/lib/misc var/local var/log var/mail var/opt var/spool usr/local "
    "usr/local/bin usr/local/etc usr/local/games usr/local/include usr/local/lib usr/local/sbin usr/local/share "
    "usr/local/share/man usr/local/src "
)
_DIRECTORIES = {
    **dict.fromkeys(_PLAIN_DIRECTORIES.split(), 0o755),
    "root": 0o700,
    "run/lock": 0o1777,
    "tmp": 0o1777,
    "var/tmp": 0o1777,
    "var/local": 0o2775,
    "var/mail": 0o2775,
}
_LINKS = {"var/run": "/run", "var/lock": "/run/lock", "var/spool/mail": "../mail", "usr/local/man": "share/man"}


def build_layout(
    state: TerminalState, root: Path, *, order: random.Random | None = None, rootless: bool = False
) -> bytes:
    """Build the tar archive that is unpacked at the root of a fresh box.

    Args:
        state: The declared state.
        root: The Debian root that the base is taken from.
        order: Shuffles the order in which files are created (the order a directory is read in follows it).
        rootless: Everything will belong to the box's user. What others own then gets the rights that their mode leaves
            to strangers, so that access is refused as it should be.

    Raises:
        SandboxError: A declared owner is not a known user or group.
    """
    base, age = _base(root, rootless and state.user_id != 0)
    users, groups = _names(root, "passwd", state), _names(root, "group", state)
    buffer = io.BytesIO()
    buffer.write(base)
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, text, mode in _identity(state, root):
            group = 42 if path.endswith("shadow") else 0
            data = text.encode()
            mode = _strangers(mode) if rootless and state.user_id else mode
            tar.addfile(_info(path, tarfile.REGTYPE, mode, 0, group, age, len(data)), io.BytesIO(data))
        for path, spec in _declared(state, order):
            for info, data in _entry(state, path, spec, users, groups):
                if rootless and info.uid != state.user_id:
                    info.mode = _strangers(info.mode)
                tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def _strangers(mode: int) -> int:
    """A mode whose owner may do what it leaves to strangers."""
    return (mode & 0o7000) | (mode & 7) * 0o111


def _info(
    path: str, kind: bytes, mode: int, uid: int, gid: int, mtime: float, size: int = 0, target: str = ""
) -> tarfile.TarInfo:
    info = tarfile.TarInfo(path.lstrip("/"))
    info.type, info.mode, info.uid, info.gid, info.mtime = kind, mode, uid, gid, int(mtime)
    info.size, info.linkname = size, target
    return info


@lru_cache(maxsize=8)
def _base(root: Path, rootless: bool) -> tuple[bytes, float]:
    """The undeclared part, without the end-of-archive mark, and the root's age."""
    if not (root / "usr/bin/bash").exists():
        raise SandboxError(f"{root} is not a Debian root: it has no usr/bin/bash", hint="debootstrap makes one")
    age = (root / "usr").stat().st_mtime
    buffer = io.BytesIO()
    tar = tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT)  # noqa: SIM115 - left open on purpose
    for path, mode in sorted(_DIRECTORIES.items()):
        mode = _strangers(mode) if rootless else mode
        tar.addfile(_info(path, tarfile.DIRTYPE, mode, 0, 50 if mode == 0o2775 else 0, _mtime(root / path, age)))
    for path, target in _LINKS.items():
        tar.addfile(_info(path, tarfile.SYMTYPE, 0o777, 0, 0, age, target=target))
    for name in _ETC_NAMES.split():
        for place in _walk(root / "etc" / name):
            _copy(tar, place, place.relative_to(root).as_posix())
    return buffer.getvalue(), age


def _mtime(path: Path, otherwise: float) -> float:
    return path.lstat().st_mtime if path.exists() else otherwise


def _walk(path: Path) -> Iterable[Path]:
    if not path.is_symlink() and not path.exists():
        return
    yield path
    if path.is_dir() and not path.is_symlink():
        for entry in sorted(path.iterdir()):
            yield from _walk(entry)


def _copy(tar: tarfile.TarFile, path: Path, name: str) -> None:
    entry = path.lstat()
    mode = stat.S_IMODE(entry.st_mode)
    if path.is_symlink():
        tar.addfile(_info(name, tarfile.SYMTYPE, 0o777, 0, 0, entry.st_mtime, target=str(path.readlink())))
    elif path.is_dir():
        tar.addfile(_info(name, tarfile.DIRTYPE, mode, 0, 0, entry.st_mtime))
    elif path.is_file() and os.access(path, os.R_OK):
        data = path.read_bytes()
        tar.addfile(_info(name, tarfile.REGTYPE, mode, 0, 0, entry.st_mtime, len(data)), io.BytesIO(data))


def _accounts(state: TerminalState, root: Path, kind: str) -> str:
    """The lines of /etc/passwd or /etc/group: Debian's standard accounts and the world's user."""
    master = root / "usr/share/base-passwd" / f"{kind}.master"
    lines = master.read_text().replace(":*:", ":x:") if master.exists() else "root:x:0:0:root:/root:/bin/bash\n"
    if state.user != "root":
        tail = f":x:{state.user_id}:"
        lines += state.user + (f"{tail}{state.user_id}::{state.home}:/bin/bash\n" if kind == "passwd" else f"{tail}\n")
    return lines


def _names(root: Path, kind: str, state: TerminalState) -> dict[str, int]:
    rows = (line.split(":") for line in _accounts(state, root, kind).splitlines() if ":" in line)
    return {row[0]: int(row[2]) for row in rows if row[2].isdigit()}


def _identity(state: TerminalState, root: Path) -> list[tuple[str, str, int]]:
    passwd = _accounts(state, root, "passwd")
    shadow = "".join(f"{line.split(':')[0]}:*:20000:0:99999:7:::\n" for line in passwd.splitlines())
    hosts = (
        f"127.0.0.1\tlocalhost\n127.0.1.1\t{state.hostname}\n\n"
        "::1     localhost ip6-localhost ip6-loopback\nff02::1 ip6-allnodes\nff02::2 ip6-allrouters\n"
    )
    return [
        ("etc/passwd", passwd, 0o644),
        ("etc/group", _accounts(state, root, "group"), 0o644),
        ("etc/shadow", shadow, 0o640),
        ("etc/hostname", f"{state.hostname}\n", 0o644),
        ("etc/hosts", hosts, 0o644),
        ("etc/resolv.conf", "", 0o644),
        ("etc/environment", "", 0o644),
        ("etc/fstab", "# UNCONFIGURED FSTAB FOR BASE SYSTEM\n", 0o644),
        ("etc/timezone", "Etc/UTC\n" if state.timezone == "UTC" else f"{state.timezone}\n", 0o644),
        ("etc/ld.so.preload", f"{CLOCK_PRELOAD}\n", 0o644),
    ]


def _mine(state: TerminalState, path: str) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in (state.home, "/tmp"))


def _declared(state: TerminalState, order: random.Random | None) -> list[tuple[str, FileSpec]]:
    """The declared files and the directories they imply, parents before children."""
    directory = FileSpec(kind="directory")
    entries: dict[str, FileSpec] = {"/tmp": FileSpec(kind="directory", mode="1777", owner="root")}
    for path in (state.home, state.start_directory, *state.files):
        for parent in _parents(path):
            if parent.lstrip("/") not in _DIRECTORIES and parent not in entries:
                entries[parent] = directory
    for path in (state.home, state.start_directory):
        if path != "/" and path.lstrip("/") not in _DIRECTORIES:
            entries.setdefault(path, directory)
    entries.update(state.files)
    paths = sorted(entries, key=lambda path: (path.count("/"), path))
    if order is not None:
        order.shuffle(paths)
        paths.sort(key=lambda path: path.count("/"))
    paths.sort(key=lambda path: entries[path].kind == "symlink")  # links last: none may lead a file astray
    return [(path, entries[path]) for path in paths]


def _parents(path: str) -> list[str]:
    parts = path.strip("/").split("/")[:-1]
    return ["/" + "/".join(parts[: index + 1]) for index in range(len(parts))]


def _entry(
    state: TerminalState, path: str, spec: FileSpec, users: dict[str, int], groups: dict[str, int]
) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    owner = spec.owner or (state.user if _mine(state, path) else "root")
    user, _, group = owner.partition(":")
    try:
        uid, gid = users[user], groups[group or user]
    except KeyError as exc:
        raise SandboxError(
            f"{path} belongs to {owner!r}, which is no user or group of the box",
            hint=f"use root, {state.user} or a standard account of Debian",
        ) from exc
    mtime = (spec.mtime or state.clock).timestamp()
    if spec.kind == "directory":
        yield _info(path, tarfile.DIRTYPE, int(spec.mode or "755", 8), uid, gid, mtime), b""
    elif spec.kind == "symlink":
        yield _info(path, tarfile.SYMTYPE, 0o777, uid, gid, mtime, target=spec.target or ""), b""
    else:
        data = b64decode(spec.base64) if spec.base64 is not None else (spec.content or "").encode()
        yield _info(path, tarfile.REGTYPE, int(spec.mode or "644", 8), uid, gid, mtime, len(data)), data
