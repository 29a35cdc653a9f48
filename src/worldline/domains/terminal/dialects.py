"""The two dialects of a terminal, commands with their output and keystrokes with screens, turned into each other.

They correspond where keys type whole command lines at a prompt, and where what a command printed stands whole on the
screen. What does not correspond (control keys, waits, programs that take the terminal, output that scrolled away or
that a terminal shows otherwise) is kept apart, never guessed.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from worldline.domains.terminal.commands import List, Simple
from worldline.domains.terminal.keystrokes import DEFAULT_DURATION, KEYSTROKES_TOOL, keystroke_action, typed
from worldline.domains.terminal.ps1 import Surrounds, decode, prompt_pattern, width
from worldline.domains.terminal.state import ScreenSpec, TerminalState
from worldline.domains.terminal.syntax import Fault, Incomplete, parse
from worldline.types import Action, JsonDict, Observation, Trajectory, Turn

__all__ = [
    "Conversion",
    "command_lines",
    "to_command",
    "to_keystrokes",
    "trajectory_to_commands",
    "trajectory_to_keystrokes",
]

_COMMAND_TOOL = "bash"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_MOVES = frozenset(("cd", "pushd", "popd"))
_OTHERWISE_WORDS = (
    "ls dir git column ps tput clear reset stty tty less more man vi vim nano top watch history jobs fg bg read "
    "python3 sqlite3 bc bash sh sleep wait exit"
)
_SHOWN_OTHERWISE = frozenset(_OTHERWISE_WORDS.split())
"""Commands that answer a terminal otherwise than a pipe, or that take the terminal."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """A trajectory in the other dialect, and what did not correspond."""

    trajectory: Trajectory
    apart: tuple[Turn, ...]
    """Turns of the original that have no counterpart, in order."""

    @property
    def converted(self) -> int:
        """Number of turns of the new trajectory."""
        return len(self.trajectory.turns)


def to_keystrokes(action: Action, *, duration: float = DEFAULT_DURATION) -> Action:
    """Type a command: its text and Enter. An action of the keystroke dialect is returned as it is.

    Args:
        action: A command.
        duration: Seconds to wait after it.

    Raises:
        ActionError: The command cannot be typed, or the duration is not possible.
        ValueError: It is neither a command nor keystrokes.
    """
    if typed(action) is not None:
        return action
    if action.command is None:
        raise ValueError("neither a command nor keystrokes")
    return keystroke_action([{KEYSTROKES_TOOL: f"{action.command}\n", "duration": duration}], action.call_id)


def command_lines(action: Action) -> tuple[str, ...] | None:
    """The complete commands that keystrokes type at a prompt, one after the other; None where they do anything else.

    A command of several lines (a loop, a here-document) is one entry.
    """
    keys = typed(action)
    if keys is None:
        return None
    text = "".join(entry.keys for entry in keys).replace("\r", "\n")
    if not text.strip() or not text.endswith("\n") or _CONTROL.search(text):
        return None
    found: list[str] = []
    pending: list[str] = []
    for line in text[:-1].split("\n"):
        pending.append(line)
        try:
            parse("\n".join(pending))
        except Incomplete:
            continue
        except Fault:
            pass
        if pending != [""]:
            found.append("\n".join(pending))
        pending = []
    return None if pending or not found else tuple(found)


def to_command(action: Action) -> Action | None:
    """The command action that does what keystrokes at a prompt do; None where there is none.

    Several commands become one of several lines. An action that is a command already is returned as it is.
    """
    if typed(action) is None:
        return action if action.command is not None else None
    lines = command_lines(action)
    if lines is None:
        return None
    return Action(name=_COMMAND_TOOL, arguments={"command": "\n".join(lines)}, call_id=action.call_id)


def trajectory_to_commands(trajectory: Trajectory) -> Conversion:
    """Turn a session at a screen into commands and what they printed.

    The output of a command is what stands between the row it was typed in and the next prompt. A turn whose output is
    not whole on the screen, ends within a line, or fills rows to their end (so that nobody can tell a long line from
    two) is kept apart. Blanks at the ends of lines are lost on a screen.
    """
    state = TerminalState.model_validate(trajectory.world.initial_state)
    screen = state.screen or ScreenSpec()
    turns: list[Turn] = []
    apart: list[Turn] = []
    for turn in trajectory.turns:
        lines = command_lines(turn.action)
        outputs = _cut(turn.observation.text, lines, state, screen) if lines is not None else None
        if lines is None or outputs is None:
            apart.append(turn)
            continue
        for line, output in zip(lines, outputs, strict=True):
            action = Action(name=_COMMAND_TOOL, arguments={"command": line}, call_id=turn.action.call_id)
            turns.append(turn.model_copy(update={"action": action, "observation": Observation.from_text(output)}))
    initial: JsonDict = {key: value for key, value in trajectory.world.initial_state.items() if key != "screen"}
    initial["shell"] = {"mode": "interactive", "merged": True}
    world = trajectory.world.model_copy(update={"initial_state": initial})
    return Conversion(trajectory.model_copy(update={"world": world, "turns": tuple(turns)}), tuple(apart))


def _cut(text: str, lines: tuple[str, ...], state: TerminalState, screen: ScreenSpec) -> list[str] | None:
    """What each command printed, read off a screen; None where it is not all there."""
    around = Surrounds(state.user, state.hostname, state.home, state.start_directory, state.clock, not state.user_id)
    pattern = prompt_pattern(screen.prompt, around)
    rows = text.split("\n")
    last = pattern.match(rows[-1] + " ")
    if last is None or rows[-1][last.end() :].strip():
        return None
    outputs: list[str] = []
    end = len(rows) - 1
    for line in reversed(lines):
        found = _typed_rows(rows[:end], line, pattern, screen)
        if found is None:
            return None
        start, after = found
        printed = rows[after:end]
        if any(width(row) >= screen.columns or pattern.match(row) for row in printed):
            return None
        outputs.insert(0, "".join(f"{row}\n" for row in printed))
        end = start
    return outputs


def _typed_rows(rows: list[str], command: str, pattern: re.Pattern[str], screen: ScreenSpec) -> tuple[int, int] | None:
    """Where a command was typed: its first row, and the row after it."""
    first, *rest = command.split("\n")
    for start in range(len(rows) - 1, -1, -1):
        match = pattern.match(rows[start] + " ")
        if match is None:
            continue
        place = start
        for number, line in enumerate((first, *rest)):
            shown = (rows[start][: match.end()].ljust(match.end()) if number == 0 else "> ") + line
            for piece in _wrapped(shown, screen.columns):
                if place >= len(rows) or rows[place] != piece.rstrip():
                    break
                place += 1
            else:
                continue
            break
        else:
            return start, place
        return None
    return None


def _wrapped(text: str, columns: int) -> list[str]:
    """A text parted into the rows of a screen; one that ends at the edge is followed by an empty row."""
    rows, row, used = [], "", 0
    for letter in text:
        wide = width(letter)
        if used + wide > columns:
            rows.append(row)
            row, used = "", 0
        row, used = row + letter, used + wide
    rows.append(row)
    return [*rows, ""] if used == columns else rows


# --- from commands to keystrokes


@dataclass(slots=True)
class _Paper:
    """A screen that is written to by rows."""

    screen: ScreenSpec
    rows: list[str] = field(default_factory=list)
    unknown: int = 0
    """Rows still to come until nothing that is not known is left."""

    def write(self, rows: list[str]) -> None:
        self.rows = (self.rows + rows)[-self.screen.lines :]
        self.unknown = max(0, self.unknown - len(rows))

    def text(self) -> str:
        return "\n".join(row.rstrip() for row in self.rows).rstrip("\n")


def trajectory_to_keystrokes(
    trajectory: Trajectory, *, screen: ScreenSpec | None = None, duration: float = DEFAULT_DURATION
) -> Conversion:
    """Turn commands and their output into a session at a screen.

    A turn corresponds where its command answers a terminal as it answers a pipe, both streams arrived as one (or one of
    them is empty), the output holds no control characters and ends with a newline, and the directory in the prompt is
    known. After a turn that does not, screens are not known until it has scrolled away; those turns are kept apart too.

    Args:
        trajectory: Of a world without a screen.
        screen: The screen it gets.
        duration: Seconds waited after each command.
    """
    spec = screen or ScreenSpec()
    state = TerminalState.model_validate(trajectory.world.initial_state)
    paper, cwd = _Paper(spec), state.start_directory
    known = True
    turns: list[Turn] = []
    apart: list[Turn] = []
    for turn in trajectory.turns:
        command = turn.action.command
        moved = _moved(command or "", cwd, state.home, turn.observation) if known else None
        rows = _printed(turn.observation, spec.columns) if moved is not None else None
        if command is None or moved is None or rows is None or _answers_otherwise(command):
            known = known and moved is not None
            cwd = moved or cwd
            paper.unknown = spec.lines
            apart.append(turn)
            continue
        around = Surrounds(state.user, state.hostname, state.home, cwd, state.clock, not state.user_id)
        paper.rows = paper.rows[:-1]
        paper.write(_typing(command, decode(spec.prompt, around), spec.columns) + rows)
        cwd = moved
        paper.write([decode(spec.prompt, Surrounds(**{**_fields(around), "cwd": cwd}))])
        if paper.unknown:
            apart.append(turn)
            continue
        action = to_keystrokes(turn.action, duration=duration)
        turns.append(turn.model_copy(update={"action": action, "observation": Observation.from_text(paper.text())}))
    initial = {**trajectory.world.initial_state, "screen": spec.model_dump(mode="json")}
    world = trajectory.world.model_copy(update={"initial_state": initial})
    return Conversion(trajectory.model_copy(update={"world": world, "turns": tuple(turns)}), tuple(apart))


def _fields(around: Surrounds) -> JsonDict:
    return {name: getattr(around, name) for name in Surrounds.__slots__}


def _typing(command: str, prompt: str, columns: int) -> list[str]:
    lines = command.split("\n")
    shown = [prompt + lines[0], *(f"> {line}" for line in lines[1:])]
    return [row for line in shown for row in _wrapped(line, columns)]


def _printed(seen: Observation, columns: int) -> list[str] | None:
    """The rows that an output takes on the screen; None where that is not known."""
    if (seen.stdout and seen.stderr) or seen.truncated or seen.raw:
        return None
    text = seen.text
    if _CONTROL.search(text) or "\r" in text or (text and not text.endswith("\n")):
        return None
    rows: list[str] = []
    for line in text.split("\n")[:-1]:
        wrapped = _wrapped(line.expandtabs(8), columns)
        rows += wrapped[:-1] if len(wrapped) > 1 and not wrapped[-1] else wrapped
    return rows


def _simple_commands(tree: List) -> Iterator[Simple | None]:
    for item in tree.items:
        for _, node in item.parts:
            yield node if isinstance(node, Simple) and not item.background else None


def _answers_otherwise(command: str) -> bool:
    """Whether a terminal may be shown something else than a pipe."""
    return any(re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w-])", command) for name in _SHOWN_OTHERWISE)


def _moved(command: str, cwd: str, home: str, seen: Observation) -> str | None:
    """The directory after a command; None where it is not known."""
    try:
        nodes = list(_simple_commands(parse(command)))
    except (Incomplete, Fault):
        return None
    words = set(re.findall(r"[\w-]+", command))
    if not words & _MOVES:
        return cwd
    failed = seen.is_error or bool(seen.exit_code) or "No such file" in seen.text
    if len(nodes) != 1 or nodes[0] is None or nodes[0].words[0] != "cd" or failed or seen.text:
        return None
    operands = nodes[0].words[1:]
    if len(operands) > 1 or (operands and re.search(r"[$`*?'\"\\-]|^-", operands[0])):
        return None
    target = operands[0] if operands else "~"
    if target == "~" or target.startswith("~/"):
        target = home + target[1:]
    return posixpath.normpath(posixpath.join(cwd, target))
