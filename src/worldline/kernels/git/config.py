"""Settings: the user's, the repository's and those of the command line."""

from __future__ import annotations

import io
from collections.abc import Iterable

from dulwich.config import ConfigFile

__all__ = ["Settings", "split_key"]


def split_key(key: str) -> tuple[tuple[bytes, ...], bytes]:
    """Take `section.subsection.name` apart as the library wants it."""
    section, _, rest = key.partition(".")
    sub, dot, name = rest.rpartition(".")
    head = (section.lower().encode(), sub.encode()) if dot else (section.lower().encode(),)
    return head, name.lower().encode()


class Settings:
    """Values from several files, later ones first."""

    def __init__(self, sources: Iterable[tuple[str, bytes]], extra: Iterable[tuple[str, str]] = ()) -> None:
        self.values: list[tuple[str, str, str]] = []
        """Key, value and scope (`global`, `local`, `command`), in the order read."""
        for scope, data in sources:
            self.values += [(key, value, scope) for key, value in entries(data)]
        self.values += [(_normal(key), value, "command") for key, value in extra]

    def get(self, key: str) -> str | None:
        """The last value of a key, or None."""
        key = _normal(key)
        return next((value for name, value, _ in reversed(self.values) if name == key), None)

    def all(self, key: str) -> list[str]:
        """Every value of a key."""
        key = _normal(key)
        return [value for name, value, _ in self.values if name == key]

    def flag(self, key: str, default: bool = False) -> bool:
        """A yes or no."""
        value = self.get(key)
        return default if value is None else value.lower() in ("true", "yes", "on", "1", "")

    def subsections(self, section: str) -> list[str]:
        """Names of the subsections of a section, in order."""
        found = [key.split(".", 1)[1].rpartition(".")[0] for key, _, _ in self.values if key.startswith(section + ".")]
        return list(dict.fromkeys(name for name in found if name))


def _normal(key: str) -> str:
    section, _, rest = key.partition(".")
    sub, dot, name = rest.rpartition(".")
    return f"{section.lower()}.{sub}{dot}{name.lower()}"


def entries(data: bytes) -> list[tuple[str, str]]:
    """Keys and values of a configuration file, in order."""
    found = []
    parsed = ConfigFile.from_file(io.BytesIO(data), expand_includes=False)
    for section in parsed.sections():
        head = ".".join(part.decode("utf-8", "surrogateescape") for part in section)
        for name, value in parsed.items(section):
            key = f"{head}.{name.decode()}"
            found.append((_normal(key), value.decode("utf-8", "surrogateescape")))
    return found
