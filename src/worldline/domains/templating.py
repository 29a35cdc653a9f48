"""Prompt templates: where they come from, and how text, tools and observations are put into them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import (
    BaseLoader,
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    PackageLoader,
    StrictUndefined,
    TemplateError,
)

from worldline.errors import ConfigError, boundary
from worldline.types import JsonDict, ToolSpec

__all__ = [
    "OBSERVATION_CAP",
    "TEMPLATES",
    "fenced",
    "message",
    "plain_text",
    "render",
    "shortened",
    "template_environment",
    "tool_view",
]

TEMPLATES = ("system.j2", "notes.j2", "suffix.j2")
"""The templates that a folder of prompts may replace."""

OBSERVATION_CAP = 30_000
"""Characters of an earlier observation that the history shows, two thirds from its start, the rest from its end."""


def fenced(text: str, language: str = "") -> str:
    """Put `text` into a code fence that is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}"


@lru_cache(maxsize=16)
def template_environment(packages: tuple[str, ...], prompts: Path | None) -> Environment:
    """Return the templates of some packages, the earlier ones first, behind those of a user's folder.

    Args:
        packages: Packages that have a folder `prompts`.
        prompts: Folder whose templates replace the packages' own.

    Raises:
        ConfigError: The folder holds none of :data:`TEMPLATES`.
    """
    loaders: list[BaseLoader] = [PackageLoader(package, "prompts") for package in packages]
    if prompts is not None:
        if not any((prompts / name).is_file() for name in TEMPLATES):
            raise ConfigError(f"{prompts} holds no prompt template", hint=f"expected {', '.join(TEMPLATES)}")
        loaders.insert(0, FileSystemLoader(prompts))
    environment = Environment(
        loader=ChoiceLoader(loaders), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    environment.filters["quoted"] = fenced
    return environment


def render(environment: Environment, name: str, values: JsonDict) -> str:
    """Fill in a template.

    Raises:
        ConfigError: The template is wrong.
    """
    with boundary(ConfigError, f"the prompt template {name}", TemplateError, UnicodeDecodeError):
        return environment.get_template(name).render(values)


def message(role: str, content: str) -> dict[str, str]:
    """Return a chat message."""
    return {"role": role, "content": content}


def shortened(text: str) -> str:
    """Leave out the middle of a text beyond :data:`OBSERVATION_CAP` characters."""
    if len(text) <= OBSERVATION_CAP:
        return text
    head, tail = text[: OBSERVATION_CAP * 2 // 3], text[-(OBSERVATION_CAP // 3) :]
    return f"{head}\n[{len(text) - len(head) - len(tail)} characters not shown]\n{tail}"


def tool_view(tool: ToolSpec) -> JsonDict:
    """What a template shows of a tool: its name, description and parameters."""
    schema = tool.parameters
    required = schema.get("required") or []
    properties = schema.get("properties") or {}
    parameters = [
        {
            "name": name,
            "type": str(value.get("type", "any")),
            "required": name in required,
            "description": str(value.get("description", "")),
        }
        for name, value in properties.items()
        if isinstance(value, Mapping)
    ]
    return {"name": tool.name, "description": tool.description, "parameters": parameters}


def plain_text(value: Any) -> str:
    """Return a hidden state or the like as text; nothing for None."""
    if value is None or isinstance(value, str):
        return (value or "").strip()
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)
