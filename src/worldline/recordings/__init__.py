"""Recorded reality that ships with the package: `Worldline-Real/DOMAIN`."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from worldline.errors import ConfigError

__all__ = ["SPLITS", "path"]

SPLITS = ("train", "dev", "test")


def path(domain: str, split: str, version: int = 1) -> Path:
    """Return the file of a split.

    Args:
        domain: So far `terminal`.
        split: `train`, `dev` or `test`.
        version: Version of the data set.

    Raises:
        ConfigError: There is no such recording.
    """
    file = Path(str(files("worldline.recordings"))) / domain / f"v{version}" / f"{split}.jsonl.zst"
    if split not in SPLITS or not file.is_file():
        raise ConfigError(
            f"there are no recordings {domain}/v{version}/{split}", hint="domains: terminal; splits: train, dev, test"
        )
    return file
