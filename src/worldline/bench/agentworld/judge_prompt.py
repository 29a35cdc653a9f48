"""Laying out what a judge is asked: our own prompts by domain and mode, or those of a folder.

The system message says what is judged and how, by domain; the user message holds history, action, truth and candidates,
each in a container that its content cannot leave (see :mod:`.containers`), then the question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
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
    meta,
)

from worldline.bench.agentworld.containers import Container, write_containers
from worldline.bench.agentworld.extraction import observed_text
from worldline.bench.agentworld.records import EvalRow, JudgeMode
from worldline.errors import ConfigError, boundary, unknown_name
from worldline.models.base import Message
from worldline.models.context import estimate_tokens, turns_to_drop
from worldline.types import JsonDict, content_id

__all__ = ["OFFICIAL_NAME", "JudgePrompts", "JudgeRequest", "Question"]

OFFICIAL_NAME = "judge_system_prompt.txt"
"""A domain's system message in the public benchmark's folder of prompts: `DOMAIN/judge_system_prompt.txt`."""

_ENVIRONMENTS = {
    "terminal": ("a terminal", "Terminal"),
    "swe": ("a software project that is worked on through coding tools", "Coding tools"),
    "mcp": ("a set of tools behind the Model Context Protocol", "Tools"),
    "search": ("a web search with page extraction", "Web search"),
    "android": ("an Android phone, described as text", "Android"),
    "web": ("web pages in a browser, described as text", "Web browser"),
    "os": ("the desktop of a computer, described as text", "Desktop"),
}
_SYSTEM, _CONTAINERS = "judge_system.j2", "judge_containers.j2"
_TURN_TOKENS = 16
"""What a chat template adds to a message, roughly."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be judged about a row."""

    row: EvalRow
    mode: JudgeMode
    candidates: tuple[str, ...]
    """`rubric`: the prediction; otherwise answers A and B in the order they are shown. Without headings, verbatim."""
    diagnostics: Mapping[str, Any] | None = None
    """What was counted about the raw answer; shown in `rubric`."""

    @property
    def containers(self) -> list[Container]:
        """Everything that is data, history first, two entries for each earlier turn."""
        row, found = self.row, list[Container]()
        for number, (prompt, response) in enumerate(zip(row.prompts, row.responses, strict=False), 1):
            found.append(Container(f"action of turn {number}", prompt))
            found.append(Container(f"answer of turn {number}", observed_text(response)))
        found.append(Container("action", row.action))
        if self.mode != "turing":
            found.append(Container("truth", observed_text(row.truth)))
        names = ("prediction",) if self.mode == "rubric" else ("answer A", "answer B")
        return found + [Container(name, text) for name, text in zip(names, self.candidates, strict=True)]


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """A conversation to send to a judge."""

    messages: list[Message]
    dropped_turns: int
    """Oldest turns of the history that were left out."""


class JudgePrompts:
    """The prompts of all domains and modes.

    Args:
        folder: Prompts that go before ours. A file called as one of our templates (`judge_rubric.j2`,
            `judge_terminal.j2`, ...) replaces it; `judge_NAME.j2` adds the domain NAME;
            `DOMAIN/judge_system_prompt.txt`, the layout of the public benchmark, is that domain's system message as
            it stands, followed by the rules for containers.

    Raises:
        ConfigError: The folder holds no prompt.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._versions: dict[tuple[str, JudgeMode], str] = {}
        if folder is not None and not any([*folder.glob("judge_*.j2"), *folder.glob(f"*/{OFFICIAL_NAME}")]):
            expected = f"expected judge_*.j2, or DOMAIN/{OFFICIAL_NAME}"
            raise ConfigError(f"{folder} holds no judge prompt", hint=expected)

    @cached_property
    def _environment(self) -> Environment:
        return _environment(self.folder)

    def check_domain(self, domain: str) -> None:
        """Make sure that there are rules for a domain.

        Raises:
            ConfigError: There are none.
        """
        if self._official(domain) is None and f"judge_{domain}.j2" not in self._environment.list_templates():
            raise unknown_name("domain of a judge prompt", domain, _ENVIRONMENTS)

    def version(self, domain: str, mode: JudgeMode) -> str:
        """Hash of everything that the prompts of a domain and mode are made of.

        Raises:
            ConfigError: There are no rules for the domain.
        """
        known = self._versions.get((domain, mode))
        if known is None:
            known = self._versions[domain, mode] = self._version(domain, mode)
        return known

    def _version(self, domain: str, mode: JudgeMode) -> str:
        self.check_domain(domain)
        official = self._official(domain)
        names = [_mode_template(mode), _CONTAINERS]
        if official is None:
            names += [_SYSTEM, f"judge_{domain}.j2"]
        sources: dict[str, str] = {}
        while names:
            name = names.pop()
            if name not in sources:
                sources[name] = self._source(name)
                found = meta.find_referenced_templates(self._environment.parse(sources[name]))
                names += [other for other in found if other is not None]
        return content_id({"official": official, "templates": sources})

    def request(
        self,
        question: Question,
        *,
        structured: bool = False,
        room: int | None = None,
        count: Callable[[str], int] = estimate_tokens,
    ) -> JudgeRequest:
        """Lay out a question.

        Args:
            question: What is asked.
            structured: The server holds the answer to a schema, so no tags are asked for.
            room: Tokens the conversation may take; None for any number. Oldest turns go first, in jumps.
            count: How many tokens a text takes.

        Raises:
            ConfigError: There are no rules for the domain, or a template cannot be used.
        """
        row, mode = question.row, question.mode
        self.check_domain(row.domain)
        containers = question.containers
        label, written = write_containers(containers, seed=row.key)
        texts = {container.name: text for container, text in zip(containers, written, strict=True)}
        earlier = len(row.responses)
        turns = ["\n\n".join(written[2 * index : 2 * index + 2]) for index in range(earlier)]
        shown: JsonDict = {
            "label": label,
            "action": texts["action"],
            "truth": texts.get("truth", ""),
            "prediction": texts.get("prediction", ""),
            "first": texts.get("answer A", ""),
            "second": texts.get("answer B", ""),
            "diagnostics": question.diagnostics,
            "structured": structured,
        }
        system = self._system(row.domain, mode)
        dropped = 0
        if room is not None:
            bare = self._render(_mode_template(mode), {**shown, "history": [], "dropped_turns": earlier})
            fixed = count(system) + count(bare) + 2 * _TURN_TOKENS
            dropped = turns_to_drop([count(turn) + _TURN_TOKENS for turn in turns], fixed=fixed, budget=room)
        user = self._render(_mode_template(mode), {**shown, "history": turns[dropped:], "dropped_turns": dropped})
        return JudgeRequest([{"role": "system", "content": system}, {"role": "user", "content": user}], dropped)

    def _system(self, domain: str, mode: JudgeMode) -> str:
        official = self._official(domain)
        if official is not None:
            return f"{official.rstrip()}\n\n{self._render(_CONTAINERS, {'mode': mode})}"
        environment, heading = _ENVIRONMENTS.get(domain, (domain, domain))
        values = {"environment": environment, "environment_heading": heading, "mode": mode}
        return self._render(_SYSTEM, {**values, "domain_template": f"judge_{domain}.j2"})

    def _official(self, domain: str) -> str | None:
        if self.folder is None or not domain.replace("_", "").replace("-", "").isalnum():
            return None
        return _official_text(self.folder / domain / OFFICIAL_NAME)

    def _source(self, name: str) -> str:
        with boundary(ConfigError, f"the judge prompt {name}", TemplateError, UnicodeDecodeError):
            assert self._environment.loader is not None
            return self._environment.loader.get_source(self._environment, name)[0]

    def _render(self, name: str, values: JsonDict) -> str:
        with boundary(ConfigError, f"the judge prompt {name}", TemplateError, UnicodeDecodeError):
            return self._environment.get_template(name).render(values)


def _mode_template(mode: JudgeMode) -> str:
    return f"judge_{mode}.j2"


@lru_cache(maxsize=64)
def _official_text(path: Path) -> str | None:
    with boundary(ConfigError, f"reading {path}"):
        return path.read_text(encoding="utf-8") if path.is_file() else None


@lru_cache(maxsize=8)
def _environment(folder: Path | None) -> Environment:
    loader: BaseLoader = PackageLoader("worldline.bench.agentworld", "prompts")
    if folder is not None:
        loader = ChoiceLoader([FileSystemLoader(folder), loader])
    return Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
