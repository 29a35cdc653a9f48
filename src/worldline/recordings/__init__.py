"""The recordings that ship with the package: Worldline-Real, by domain, version and split."""

from __future__ import annotations

from pathlib import Path

from worldline.errors import ConfigError

__all__ = ["path"]

_VERSIONS = {"terminal": "v1"}


def path(domain: str, split: str) -> Path:
    """Return the file of a recorded split.

    Args:
        domain: A recorded domain (`terminal`).
        split: `train`, `dev` or `test`.

    Raises:
        ConfigError: The domain or split is not recorded.
    """
    version = _VERSIONS.get(domain)
    if version is None:
        raise ConfigError(f"domain {domain!r} has no recordings", hint=f"recorded: {', '.join(sorted(_VERSIONS))}")
    file = Path(__file__).parent / domain / version / f"{split}.jsonl.zst"
    if not file.is_file():
        raise ConfigError(f"{domain} {version} has no split {split!r}", hint="splits: train, dev, test")
    return file
