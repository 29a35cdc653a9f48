"""The brief prompt, for small models: short instructions, a few turns as examples of the form, only the files named.

Recorded transitions stand in it as turns before the session's own, since a small model follows a form that it sees more
than one that it is told. Nothing in it is laid out for reuse: the prompt is short enough to be computed anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from worldline.domains.answers import CLOSE_TAG, OPEN_TAG, tagged
from worldline.domains.templating import message, render, template_environment
from worldline.domains.terminal.rendering import STDERR, render_observation
from worldline.domains.terminal.state import TerminalState
from worldline.types import Action, JsonDict, Observation, Turn, WorldSpec

__all__ = ["FOLDER", "messages"]

FOLDER = Path(__file__).parent / "prompts" / "brief"
"""The templates of the brief prompt."""

_COMMAND, _OBSERVATION, _PATHS = 400, 400, 600
"""Characters shown of an earlier command, of its answer, and of the list of files."""
_FILE, _FILES, _GUESS = 700, 1500, 800
"""Characters shown of one file that the command names, of all of them, and of the guess."""


def messages(
    world: WorldSpec, turns: Sequence[Turn], action: Action, *, notes: Mapping[str, str], prompts: Path
) -> list[dict[str, str]]:
    """Lay out the chat.

    Where nothing tells the present state, the system message says how the session began: the directory, and the names
    of the declared files.

    Args:
        world: A world of shell commands.
        turns: Examples, then the last turns of the session.
        action: The action to answer.
        notes: `state`, the kernel's state as JSON, and `guess`, what it would answer; as far as there are any.
        prompts: Folder of the templates.

    Raises:
        ConfigError: A template cannot be used.
    """
    environment = template_environment(("worldline.domains.terminal", "worldline.domains"), prompts)
    state = TerminalState.model_validate(world.initial_state)
    known = json.loads(notes["state"]) if notes.get("state") else {}
    about: JsonDict = {"merged": state.shell.merged, "stderr": STDERR, "start": not known}
    if not known:
        about |= {"directory": state.start_directory, "paths": _declared(state)}
    chat = [message("system", render(environment, "system.j2", about))]
    for turn in turns:
        chat.append(message("user", f"$ {_command(turn.action)[:_COMMAND]}"))
        chat.append(message("assistant", tagged(_shown(turn.observation))))
    present = {entry["path"]: entry.get("size") for entry in known.get("files", ())}
    command = _command(action)
    values: JsonDict = {
        "open_tag": OPEN_TAG,
        "close_tag": CLOSE_TAG,
        "known": bool(known),
        "directory": known.get("cwd", state.start_directory),
        "paths": _listed(state, present),
        "files": _files(state, present, command),
        "guess": _cut(notes.get("guess", ""), _GUESS),
        "command": command,
    }
    chat.append(message("user", render(environment, "suffix.j2", values)))
    return chat


def _declared(state: TerminalState) -> str:
    """Names of the declared files, from the start directory where they lie below it; directories end in a slash."""
    below = f"{state.start_directory.rstrip('/')}/"
    named = ((path.removeprefix(below), spec.kind) for path, spec in sorted(state.files.items()))
    home = state.home.rstrip("/")
    shown = (
        f"{name}/" if kind == "directory" else name
        for name, kind in named
        if name not in (home, state.start_directory) and (not name.startswith("/") or name.startswith(f"{home}/"))
    )
    return " ".join(shown)[:_PATHS]


def _listed(state: TerminalState, paths: Iterable[str]) -> str:
    return " ".join(path for path in paths if path.startswith(f"{state.home}/"))[:_PATHS]


def _command(action: Action) -> str:
    return action.command or action.render()


def _shown(observation: Observation) -> str:
    if observation.merged:
        text = observation.text[:_OBSERVATION]
        return text if not text or text.endswith("\n") else f"{text}\n"
    text = render_observation(observation)
    if len(text) <= _OBSERVATION:
        return text
    status = f"[exit code: {observation.exit_code}]\n" if observation.exit_code is not None else ""
    return f"{text[:_OBSERVATION]}\n...\n{status}"


def _files(state: TerminalState, present: Mapping[str, int | None], command: str) -> list[JsonDict]:
    """Declared files that the command names and that still have the declared size."""
    words = [word for word in re.split(r"[\s'\"|;&<>()=]+", command) if word]
    shown: list[JsonDict] = []
    left = _FILES
    for path, spec in sorted(state.files.items()):
        content = spec.content if spec.kind == "file" else None
        if not content or left <= 0 or not any(_names(word, path.rpartition("/")[2]) for word in words):
            continue
        if present and present.get(path) != len(content.encode()):
            continue  # no longer what was declared
        room = min(_FILE, left)
        left -= min(room, len(content))
        shown.append({"path": path, "content": _cut(content, room)})
    return shown


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\n...\n"


def _names(word: str, name: str) -> bool:
    return name in word or ("*" in word and fnmatchcase(name, word))
