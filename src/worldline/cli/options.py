"""Options and output that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from worldline.cli.text import json_text, print_text
from worldline.writing import write_text

if TYPE_CHECKING:
    from worldline.memory import Memory
    from worldline.models import ChatModel

__all__ = [
    "chosen_memory",
    "chosen_model",
    "json_file_option",
    "json_flag",
    "memory_option",
    "model_option",
    "write_json",
]

F = TypeVar("F", bound=Callable[..., Any])


def model_option(function: F) -> F:
    """Add `--model`, `--models`, `--model-cache`, which `chosen_model` reads, and `--prompts`."""
    file = click.Path(path_type=Path, dir_okay=False)
    options = (
        click.option(
            "--model",
            metavar="URL#NAME",
            help="URL#NAME, a name from models.yaml, local[:NAME or PATH][+ADAPTER], or scripted:FILE.",
        ),
        click.option("--models", type=file, help="Models file instead of the usual ones."),
        click.option("--model-cache", type=file, help="Keep answers in FILE and never ask the same twice."),
        click.option(
            "--prompts",
            type=click.Path(path_type=Path, file_okay=False),
            help="Folder whose system.j2, notes.j2 or suffix.j2 replace the built-in prompts, or `brief`, or `full`; "
            "default what the model was trained with, else `full`.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def chosen_model(model: str | None, models: Path | None, cache: Path | None) -> ChatModel | None:
    """Build the model that the options of :func:`model_option` name; None where there is none.

    Raises:
        ConfigError: There is no such model.
        MissingExtraError: It is one on this machine, and no library that can run it is installed.
    """
    from worldline.models.config import resolve_model
    from worldline.models.local import LocalModel, require_library

    if not model:
        return None
    chosen = resolve_model(model, models=models, cache=cache)
    asked = getattr(chosen, "inner", chosen)
    if isinstance(asked, LocalModel):
        require_library(asked.stored)
    return chosen


def memory_option(function: F) -> F:
    """Add `--memory DIR`; `chosen_memory` reads it."""
    kind = click.Path(path_type=Path, file_okay=False)
    text = "Recorded transitions: a directory of `worldline memory build` instead of those that ship."
    return click.option("--memory", "memory_folder", metavar="DIR", type=kind, help=text)(function)


def chosen_memory(folder: Path | None, domain: str) -> Memory:
    """Open the memory that :func:`memory_option` names; the shipped one of the domain where there is none.

    Raises:
        StorageError: The directory is no memory, damaged, or of another version.
    """
    from worldline.memory import Memory
    from worldline.memory.shipped import shipped_memory

    return Memory.open(folder) if folder is not None else shipped_memory(domain)


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
    text = json_text(value, indent=2) + "\n"
    if str(path) == "-":
        print_text(text)
        return
    write_text(path, text)
