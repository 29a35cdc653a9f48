"""The packages that ship as repositories to work on."""

from __future__ import annotations

import io
import tarfile
from base64 import b64encode
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import zstandard

from worldline.domains.terminal.state import FileSpec
from worldline.errors import ConfigError

__all__ = ["package_files", "packages"]

_MOST_BYTES = 32 << 20
"""Unpacked size of a package, which is far less."""


def _folder() -> Path:
    return Path(str(files("worldline.recordings"))) / "swe/v1/repositories"


def packages() -> list[str]:
    """Names of the packages that ship, `NAME-VERSION`."""
    return sorted(path.name.removesuffix(".tar.zst") for path in _folder().glob("*.tar.zst"))


@lru_cache(maxsize=16)
def package_files(name: str) -> dict[str, FileSpec]:
    """The files of a package, by path relative to its root. Not to be changed.

    Raises:
        ConfigError: There is no such package.
    """
    path = _folder() / f"{name}.tar.zst"
    if name not in packages():
        raise ConfigError(f"no repository {name} ships", hint=f"one of {', '.join(packages()) or 'none'}")
    data = zstandard.ZstdDecompressor().decompress(path.read_bytes(), max_output_size=_MOST_BYTES)
    found: dict[str, FileSpec] = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar:
            file = tar.extractfile(member)
            if file is not None:
                found[member.name] = _spec(file.read(), "755" if member.mode & 0o100 else None)
    return found


def _spec(data: bytes, mode: str | None) -> FileSpec:
    try:
        return FileSpec(content=data.decode("utf-8"), mode=mode)
    except UnicodeDecodeError:
        return FileSpec(base64=b64encode(data).decode("ascii"), mode=mode)
