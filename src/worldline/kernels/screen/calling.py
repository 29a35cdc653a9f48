"""Functions of the shell that are gone through command by command: their arguments, local variables, `return`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from worldline.domains.terminal.commands import List, Simple
from worldline.domains.terminal.syntax import Fault, Incomplete, parse
from worldline.kernels.screen.host import Executor
from worldline.kernels.screen.tasks import Frame, Task

if TYPE_CHECKING:
    from worldline.kernels.screen.running import Runner

__all__ = ["body_of", "call", "leave_function", "localised", "returned"]

_LOCAL = re.compile(r"(^|[\n;&|({]\s*|\b(?:then|do|else)\s+)local\s+(?P<words>[^;&|\n)}]*)", re.MULTILINE)
_NAME = re.compile(r"(?<![\w$'\"={-])([A-Za-z_]\w*)(?==|\s|$)")


def body_of(executor: Executor, name: str) -> List | None:
    """The commands of a function; None where there is none, or it cannot be gone through."""
    if name not in executor.shell.settled.functions:
        return None
    text = executor.execute(f"declare -f {name}", keep=False).text
    _, _, body = text.partition("()")
    body = body.strip()
    if not body.startswith("{") or not body.endswith("}") or "<<" in body:
        return None
    try:
        return parse(body[1:-1].strip())
    except (Fault, Incomplete):
        return None


def call(runner: Runner, task: Task, body: List, arguments: Sequence[str]) -> None:
    """Begin a function: its arguments take the place of the shell's."""
    outer = runner.execute('[ $# -eq 0 ] || printf "%q " "$@"', keep=False).text
    runner.execute(f"set -- {shlex.join(arguments)}")
    task.frames.append(Frame("function", body, values=(f"set -- {outer}",)))


def localised(runner: Runner, task: Task, text: str) -> str:
    """Turn `local` into an assignment that the end of the function takes back."""
    frame = _function(task)
    if frame is None or "local" not in text:
        return text

    def kept(found: re.Match[str]) -> str:
        words = found["words"]
        for name in _NAME.findall(words):
            shown = runner.execute(f"declare -p {name} 2>/dev/null", keep=False).text.strip()
            if not any(f" {name};" in value for value in frame.values[1:]):
                frame.values = (*frame.values, f"unset {name}; {shown}")
        plain = re.fullmatch(r"\s*(?:[A-Za-z_]\w*\s*)+", words)
        return found[1] + (f"unset {words}" if plain else f"declare {words}")

    return _LOCAL.sub(kept, text)


def returned(runner: Runner, task: Task, node: Simple, words: list[str]) -> None:
    """`return` of a function that is gone through."""
    if _function(task) is None:
        runner.whole(task, node.text)
        return
    if words and not re.fullmatch(r"-?\d+", words[0]):
        runner.unclear(task, node)
        return
    status = int(words[0]) & 255 if words else task.status
    while task.frames[-1].kind != "function":
        task.frames.pop()
    runner.status(task, status)


def leave_function(runner: Runner, task: Task, frame: Frame) -> None:
    """End a function: its local variables and arguments are gone."""
    status = task.status
    runner.execute("; ".join(reversed(frame.values)))
    runner.status(task, status)


def _function(task: Task) -> Frame | None:
    """The function that a task is in, as long as no subshell or script lies between."""
    for frame in reversed(task.frames):
        if frame.kind == "function":
            return frame
        if frame.kind == "script":
            return None
    return None
