"""Laying out the chat that a world model is asked with for a terminal.

The system message is the world, earlier turns are real chat turns, and only the last user message holds what changes
within a turn (notes and the instruction), so that each prompt begins with the one before it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from worldline.domains.answers import CLOSE_TAG, MARKER, OPEN_TAG
from worldline.domains.templating import (
    fenced,
    message,
    plain_text,
    render,
    shortened,
    template_environment,
    tool_view,
)
from worldline.domains.terminal import rendering
from worldline.domains.terminal.grammar import DEFAULT_TOOL
from worldline.domains.terminal.keystrokes import KEYSTROKES_TOOL
from worldline.domains.terminal.state import FileSpec, TerminalState
from worldline.types import Action, JsonDict, Observation, Turn, WorldSpec

__all__ = ["FILES_CAP", "FILE_CAP", "NOTE_HEADINGS", "messages"]

FILE_CAP = 8000
"""Characters of a declared file that the system message shows."""
FILES_CAP = 80_000
"""Characters of all declared files together, in the order of their paths."""
NOTE_HEADINGS = {
    "state": "Known state of the machine",
    "guess": "What a simulation of the machine answers, which may be wrong",
    "evidence": "What a real machine answered to similar actions",
}
"""Headings of the notes an engine may give; any other key becomes its own heading."""

_DEFAULT_TOOLS = (
    {
        "name": DEFAULT_TOOL,
        "description": "Run a command in the machine's shell and get its output.",
        "parameters": [
            {"name": "command", "type": "string", "required": True, "description": "The command line or script."}
        ],
    },
)


def messages(
    world: WorldSpec,
    history: Sequence[Turn],
    action: Action,
    *,
    notes: Mapping[str, str] | None = None,
    first_turn: int = 1,
    prompts: Path | None = None,
) -> list[dict[str, str]]:
    """Lay out the chat for one prediction.

    Args:
        world: Becomes the system message.
        history: Earlier turns, each one user and one assistant message that never change.
        action: The action to answer; the last user message, followed by the notes and the instruction.
        notes: What an engine knows about this turn, by key (see :data:`NOTE_HEADINGS`); empty ones are left out.
        first_turn: Number of the first turn of `history`, where earlier ones were dropped for want of context.
        prompts: Folder whose templates replace the built-in ones of the same name.

    Raises:
        ConfigError: The folder holds no template, or one that cannot be used.
    """
    environment = template_environment(("worldline.domains.terminal", "worldline.domains"), prompts)
    state = TerminalState.model_validate(world.initial_state)
    chat = [message("system", render(environment, "system.j2", _context(world, state)))]
    for number, turn in enumerate(history, first_turn):
        chat.append(message("user", _turn_text(number, turn.action, state)))
        observed = shortened(_observation_text(turn.observation, state))
        chat.append(message("assistant", f"{MARKER}\n{observed}"))
    shown = [
        {"heading": NOTE_HEADINGS.get(key, key.replace("_", " ").capitalize()), "text": text}
        for key, text in (notes or {}).items()
        if text
    ]
    last = _turn_text(first_turn + len(history), action, state)
    has_screen = state.screen is not None
    tags: JsonDict = {"open_tag": OPEN_TAG, "close_tag": CLOSE_TAG, "screen": has_screen}
    notes_text = render(environment, "notes.j2", {"notes": shown, **tags})
    suffix = render(environment, "suffix.j2", tags)
    chat.append(message("user", f"{last}\n\n{notes_text}{suffix}"))
    return chat


def _turn_text(number: int, action: Action, state: TerminalState) -> str:
    shown = f"**Current State:**\n{_prompt_line(state)}\n\n" if number == 1 and state.screen is not None else ""
    return f"### Turn {number}\n{shown}**Action:**\n{_action_text(action)}"


def _prompt_line(state: TerminalState) -> str:
    """The line on which the first keystrokes appear: PS1 with the escapes that stand for facts of the world."""
    assert state.screen is not None
    where = state.start_directory
    if where == state.home or where.startswith(f"{state.home}/"):
        where = f"~{where.removeprefix(state.home)}"
    facts = {
        "u": state.user,
        "h": state.hostname.split(".")[0],
        "H": state.hostname,
        "w": where,
        "W": where if where in ("~", "/") else where.rpartition("/")[2],
        "$": "#" if state.user_id == 0 else "$",
        "\\": "\\",
    }
    return re.sub(r"\\([uhHwW$\\])", lambda found: facts[found[1]], state.screen.prompt).rstrip()


def _observation_text(observation: Observation, state: TerminalState) -> str:
    if state.screen is not None:
        return rendering.render_screen(observation.text)
    return rendering.render_observation(observation)


def _action_text(action: Action) -> str:
    if action.text is not None:
        return fenced(action.text)
    if action.name == KEYSTROKES_TOOL and set(action.arguments) == {KEYSTROKES_TOOL}:
        return fenced(json.dumps(action.arguments[KEYSTROKES_TOOL], ensure_ascii=False), "json")
    plain = action.name in ("", DEFAULT_TOOL) and set(action.arguments) == {"command"}
    value = action.arguments if plain else {"name": action.name, "arguments": action.arguments}
    return fenced(json.dumps(value, ensure_ascii=False), "json")


def _context(world: WorldSpec, state: TerminalState) -> JsonDict:
    screen = state.screen
    usual = () if screen is not None else _DEFAULT_TOOLS
    return {
        "task": world.task.strip(),
        "tools": [tool_view(tool) for tool in world.tools] or list(usual),
        "screen": screen.model_dump() if screen is not None else None,
        "machine": _machine(state),
        "files": _files(state),
        "hidden_state": plain_text(world.hidden_state),
        "demonstrations": [
            {"note": demonstration.note, "turns": [_shown(turn, state) for turn in demonstration.turns]}
            for demonstration in world.demonstrations
        ],
        "instruction": str(world.control.get("instruction") or "").strip(),
        "merged": state.shell.merged,
        "marker": MARKER,
        "stderr": rendering.STDERR,
        "no_newline": rendering.NO_NEWLINE,
    }


_SHELL_MODES = {
    "command": "each command is run as `{0} -c COMMAND`, so its own messages begin `{0}: line 1:`",
    "script": "commands arrive on the standard input of one `{0}`, so line numbers in its messages run on",
    "interactive": "commands are typed at an interactive `{0}`, so its messages have no line number",
}


def _machine(state: TerminalState) -> str:
    mode = _SHELL_MODES[state.shell.mode].format(state.shell.program)
    if (screen := state.screen) is not None:
        size = f"{screen.columns} columns and {screen.lines} rows"
        mode = f"an interactive `bash` on a terminal of {size} ({screen.term})"
    lines = [
        f"user: {state.user} (uid {state.user_id}), home {state.home}",
        f"hostname: {state.hostname}",
        f"working directory: {state.start_directory}",
        f"locale: {state.locale}, time zone: {state.timezone}, clock: {state.clock.isoformat()}",
        f"shell: {mode}",
    ]
    if not state.shell.persist and screen is None:
        lines.append("each command gets a fresh shell: directory and variables do not carry over, files do")
    if state.packages is not None:
        lines.append(f"Debian packages beside the essential ones: {', '.join(state.packages) or 'none'}")
    lines += [f"environment: {name}={value}" for name, value in sorted(state.env.items())]
    if not state.files:
        lines.append(f"{state.home} and /tmp are empty")
    return "\n".join(lines)


def _files(state: TerminalState) -> list[JsonDict]:
    shown, left = [], FILES_CAP
    for path, spec in sorted(state.files.items()):
        shown.append(_file(path, spec, min(left, FILE_CAP)))
        left -= len(shown[-1]["content"] or "")
    return shown


def _file(path: str, spec: FileSpec, cap: int) -> JsonDict:
    facts = [spec.kind if spec.kind != "symlink" else f"symlink to {spec.target}"]
    facts += [f"{name} {value}" for name, value in (("mode", spec.mode), ("owner", spec.owner)) if value]
    if spec.mtime is not None:
        facts.append(f"modified {spec.mtime.isoformat()}")
    if spec.base64 is not None:
        facts.append(f"binary, {len(spec.base64) * 3 // 4 - spec.base64.count('=')} bytes")
    if spec.kind == "directory" and spec.complete:
        facts.append("holds nothing but what is listed here")
    content = spec.content if spec.kind == "file" else None
    if content == "":
        facts.append("empty")
        content = None
    if content is not None and len(content) > cap:
        facts.append(f"{len(content)} characters, the first {cap} shown")
        content = content[:cap] or None
    return {"heading": f"{json.dumps(path, ensure_ascii=False)}: {', '.join(facts)}", "content": content}


def _shown(turn: Turn, state: TerminalState) -> dict[str, str]:
    return {"action": _action_text(turn.action), "observation": _observation_text(turn.observation, state)}
