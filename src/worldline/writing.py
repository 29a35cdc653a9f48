"""Small files, written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from worldline.errors import StorageError, boundary

__all__ = ["write_json", "write_text"]


def write_text(path: Path, text: str) -> None:
    """Write a text; the folder is made where it is missing, and what stood there stays until all is written.

    Raises:
        StorageError: It cannot be written.
    """
    with boundary(StorageError, f"writing {path}", OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(path)


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, likewise.

    Raises:
        StorageError: It cannot be written.
    """
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")
