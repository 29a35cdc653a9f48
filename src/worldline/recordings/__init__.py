"""Recorded reality that ships with the package: `Worldline-Real/DOMAIN`."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from worldline.errors import ConfigError

__all__ = ["DIALECTS", "SPLITS", "path", "paths"]

SPLITS = ("train", "dev", "test")
DIALECTS = ("commands", "keystrokes")
"""Kinds of actions that a terminal is used by. Each has recordings of its own."""


def path(domain: str, split: str, version: int = 1, *, dialect: str | None = None) -> Path:
    """Return the file of a split.

    Args:
        domain: One that was recorded.
        split: `train`, `dev` or `test`.
        version: Version of the data set.
        dialect: One of :data:`DIALECTS`; None is `commands`.

    Raises:
        ConfigError: There is no such recording.
    """
    inner = domain if dialect in (None, DIALECTS[0]) else f"{domain}/{dialect}"
    file = Path(str(files("worldline.recordings"))) / inner / f"v{version}" / f"{split}.jsonl.zst"
    known = dialect is None or dialect in DIALECTS
    if not known or split not in SPLITS or not file.is_file():
        raise ConfigError(
            f"there are no recordings {inner}/v{version}/{split}",
            hint=f"domains: {', '.join(_recorded())}; dialects: commands, keystrokes; splits: train, dev, test",
        )
    return file


def paths(domain: str, split: str) -> list[Path]:
    """Return the files of a split in all dialects of a domain; none where nothing is recorded."""
    found: list[Path] = []
    for dialect in DIALECTS:
        try:
            found.append(path(domain, split, dialect=dialect))
        except ConfigError:
            continue
    return found


def _recorded() -> list[str]:
    return sorted(entry.name for entry in files("worldline.recordings").iterdir() if (entry / "v1").is_dir())
