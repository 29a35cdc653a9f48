"""Options and output that several commands share."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from worldline.errors import StorageError, boundary

__all__ = ["json_file_option", "json_flag", "model_option", "write_json"]

F = TypeVar("F", bound=Callable[..., Any])


def model_option(function: F) -> F:
    """Add `--model`."""
    return click.option(
        "--model", metavar="URL#NAME", help="A chat model: URL#NAME, a name from models.yaml, or scripted:FILE."
    )(function)


def json_file_option(function: F) -> F:
    """Add `--json FILE`."""
    kind = click.Path(path_type=Path, dir_okay=False)
    return click.option("--json", "json_file", type=kind, help="Write the result to FILE as JSON; `-` prints it.")(
        function
    )


def json_flag(function: F) -> F:
    """Add the flag `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")(function)


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON to a file, whole or not at all, or to standard output for `-`.

    Raises:
        StorageError: The file cannot be written.
    """
    text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    if str(path) == "-":
        sys.stdout.write(text)
        return
    with boundary(StorageError, f"writing {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + ".tmp")
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
