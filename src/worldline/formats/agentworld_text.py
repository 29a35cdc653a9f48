"""The texts of AgentWorldBench rows: a user turn taken apart without losing a character, and put together.

A user turn is `### Turn k`, in GUI domains also `**Task Instruction:**` and `**Current State:**`, then `**Action:**`
with a fenced block. An assistant turn is `**Environment Observation:**`, a newline, the text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from worldline.domains.terminal.keystrokes import KEYSTROKES_TOOL, keystroke_action
from worldline.errors import ActionError
from worldline.formats.jsontext import JsonTextError, load_json, raw_of, scrub, verbatim
from worldline.formats.skeleton import merged_text, result_text
from worldline.types import Action, JsonDict, Observation

__all__ = [
    "HEADING",
    "INSTRUCTION",
    "PromptParts",
    "action_body",
    "default_parts",
    "differing",
    "observation_of",
    "parse_action",
    "response_text",
    "split_prompt",
]

HEADING = "**Environment Observation:**\n"
"""What an assistant turn begins with; its newline belongs to it."""

INSTRUCTION = """

Study the state, the history and the action above, and work out what the environment answers. Think it through step by \
step: be exact, consider edge cases, stay consistent with everything established in earlier turns, and keep to the \
format of earlier observations. Then write the observation, and nothing after it, inside \
<predicted_observation></predicted_observation> tags."""
"""The instruction that follows the evaluated prompt in rows of our own making."""

_TURN = re.compile(r"### Turn \d+[^\n]*\n")
_TASK = "**Task Instruction:**"
_STATE = "**Current State:**"
_PHONE = "**Current Phone State:**"
_ACTION = "**Action:**"
_AFTER_TASK = re.compile(r"^\*\*(?:Current State|Current Phone State|Action):\*\*", re.MULTILINE)
_ACTIONS = re.compile(r"^\*\*Action:\*\*[ \t]*\n?", re.MULTILINE)
_CLOSING = re.compile(r"^(`{3,})\s*\Z", re.MULTILINE)
_FENCE = re.compile(r"(`{3,})([^\n`]*)\n")


@dataclass(frozen=True, slots=True)
class PromptParts:
    """A user turn in pieces; joined in this order they are the whole text."""

    before: str
    state: str | None
    between: str
    body: str
    after: str
    task: str = ""
    """The task instruction, which stands in `before`."""

    @property
    def text(self) -> str:
        """The whole user turn."""
        return f"{self.before}{self.state or ''}{self.between}{self.body}{self.after}"


def split_prompt(text: str) -> PromptParts:
    """Take a user turn apart; what does not have the usual layout is all body."""
    head = _TURN.match(text)
    position = head.end() if head else 0
    task, position = _task(text, position)
    start = _after_line(text, position, _STATE)
    if start is None and text.startswith(_PHONE, position):
        start = position
    if start is None:
        found = _ACTIONS.match(text, position)
        begin, end, close = _block(text, found.end() if found else position)
        return PromptParts(text[:begin], None, "", text[begin:end], text[end:close], task)
    heading = _last_action(text, start)
    if heading is None:
        return PromptParts(text[:start], text[start:], "", "", "", task)
    begin, end, close = _block(text, heading.end())
    state = text[start : heading.start()]
    gap = 2 if state.endswith("\n\n") else 1 if state.endswith("\n") else 0
    state = state[: len(state) - gap]
    return PromptParts(text[:start], state, text[start + len(state) : begin], text[begin:end], text[end:close], task)


def _task(text: str, position: int) -> tuple[str, int]:
    """Return the task instruction and where the part after it begins."""
    start = _after_line(text, position, _TASK)
    if start is None:
        return "", position
    end = _AFTER_TASK.search(text, start)
    if end is None:
        return "", position
    return text[start : end.start()].strip("\n"), end.start()


def _after_line(text: str, position: int, heading: str) -> int | None:
    """Return where the text under a heading begins, or None if another stands here."""
    if not text.startswith(heading, position):
        return None
    position += len(heading)
    while text[position : position + 1] in (" ", "\t"):
        position += 1
    return position + 1 if text[position : position + 1] == "\n" else position


def _last_action(text: str, start: int) -> re.Match[str] | None:
    """Return the heading of the action behind a state, which may itself show such headings.

    The last one whose block opens with the fence that closes the text counts, otherwise the last one.
    """
    found = list(_ACTIONS.finditer(text, start))
    closing = _CLOSING.search(text, max(start, text.rstrip().rfind("\n")))
    for heading in reversed(found) if closing else ():
        fence = _FENCE.match(text, heading.end())
        if fence and closing and fence.group(1) == closing.group(1):
            return heading
    return found[-1] if found else None


def _block(text: str, position: int) -> tuple[int, int, int]:
    """Return where the action's body begins and ends, and where the text ends."""
    fence = _FENCE.match(text, position)
    if fence is None:
        return position, max(position, len(text.rstrip("\n"))), len(text)
    closing = re.compile(rf"^{fence.group(1)}[ \t]*$", re.MULTILINE)
    ends = [found.start() for found in closing.finditer(text, fence.end())]
    if not ends:
        return fence.end(), len(text), len(text)
    return fence.end(), max(fence.end(), ends[-1] - 1), len(text)  # the last one: the body may show fences itself


def parse_action(domain: str, body: str) -> Action:
    """Read the body of an action block: keystrokes, a call, or (what is neither) text."""
    try:
        value = load_json(body)
    except JsonTextError:
        return Action(text=body)
    if domain == "terminal" and isinstance(value, list):
        try:
            return keystroke_action(value)
        except ActionError:
            return Action(text=body)
    if not isinstance(value, dict):
        return Action(text=body)
    if isinstance(value.get("name"), str) and "arguments" in value:
        return _call(str(value["name"]), value["arguments"], body)
    for key in ("action_type", "action"):
        if isinstance(value.get(key), str):
            rest = {name: item for name, item in value.items() if name != key}
            return Action(name=str(value[key]), arguments=rest, text=body)
    return Action(text=body)


def _call(name: str, arguments: Any, body: str) -> Action:
    if isinstance(arguments, str):
        try:
            arguments = load_json(arguments)
        except JsonTextError:
            return Action(name=name, text=body)
    if arguments is None:
        arguments = {}
    return Action(name=name, arguments=arguments) if isinstance(arguments, dict) else Action(name=name, text=body)


def action_body(domain: str, action: Action) -> tuple[str, str]:
    """Return the language and the body of an action's block."""
    entries = action.arguments.get(KEYSTROKES_TOOL)
    if action.name == KEYSTROKES_TOOL and isinstance(entries, list) and action.text is None:
        return "json", _pretty(entries)
    if action.text is not None:
        return ("json" if action.name or action.arguments else "text"), action.text
    arguments: Any = action.arguments
    if domain == "swe":
        arguments = json.dumps(arguments, ensure_ascii=False, allow_nan=False)
    return "json", _pretty({"name": action.name, "arguments": arguments})


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)


def default_parts(number: int, action: tuple[str, str], state: str | None, task: str) -> PromptParts:
    """Lay out a user turn as usual.

    Args:
        number: Its place, from 1.
        action: Language and body of the action's block.
        state: What is shown before the action, where anything is.
        task: The task instruction; empty for none.
    """
    language, body = action
    longest = max((len(run) for run in re.findall(r"^`{3,}", body, re.MULTILINE)), default=2)
    fence = "`" * max(3, longest + 1)
    before = f"### Turn {number}\n" + (f"{_TASK}\n{task}\n\n" if task else "")
    opening = f"{_ACTION}\n{fence}{language}\n"
    closing = f"\n{fence}"
    if state is None:
        return PromptParts(before + opening, None, "", body, closing, task)
    heading = "" if state.startswith(_PHONE) else f"{_STATE}\n"
    return PromptParts(before + heading, state, f"\n\n{opening}", body, closing, task)


def observation_of(response: str) -> tuple[Observation, str]:
    """Return the observation of an assistant turn and the heading that stood before it."""
    exact = verbatim(response, raw_of(response))
    heading = HEADING if exact.startswith(HEADING) else HEADING[:-1] if exact == HEADING[:-1] else ""
    return merged_text(scrub(exact[len(heading) :])), heading


def response_text(observation: Observation, heading: str = HEADING) -> str:
    """Lay out an assistant turn."""
    return heading + result_text(observation)


def differing(parts: PromptParts, usual: PromptParts) -> JsonDict:
    """Return the pieces of a user turn that are not laid out as usual."""
    names = ("before", "between", "body", "after")
    return {name: getattr(parts, name) for name in names if getattr(parts, name) != getattr(usual, name)}
