"""Hashes of weights: by these a base model is known again, whatever it is called and wherever it lies."""

from __future__ import annotations

import hashlib
from pathlib import Path

__all__ = ["sha256_of", "sha256_of_folder"]


def sha256_of(path: Path) -> str:
    """Hash a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_of_folder(folder: Path) -> str:
    """Hash the weights of a Hugging Face folder: of one file its hash, of several the hash of names and hashes."""
    files = sorted([*folder.glob("*.safetensors"), *folder.glob("pytorch_model*.bin")])
    if len(files) == 1:
        return sha256_of(files[0])
    listing = "".join(f"{sha256_of(file)}  {file.name}\n" for file in files)
    return hashlib.sha256(listing.encode()).hexdigest()
