"""The interactive player: commands of the world, and commands about it that start with a colon."""

from __future__ import annotations

import asyncio
import json
import re
import readline
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from worldline.cli.show import explain, show_step
from worldline.cli.text import json_text, print_text, visible
from worldline.errors import InputError, WorldlineError
from worldline.formats import write_trajectories
from worldline.sessions import EventStore, Session

__all__ = ["Player"]

HELP = """\
:why         where the last observation came from
:state       what the engine knows
:fork        start another worldline from here and go on there
:switch N    go to worldline N (:worldlines lists them)
:rewind N    undo the last N turns (default 1)
:save FILE   write the session as a trajectory
:help        this list
:quit        leave; `worldline play DOMAIN --session ID` goes on later
Anything else is an action of the world. Ctrl-C drops a line or stops a step; Ctrl-D leaves."""

_META = re.compile(r":([a-z]+)(?:\s+(.*))?\s*\Z")
"""A command about the world. The shell's own `:` is followed by a blank, a bracket or nothing."""


class Player:
    """Reads lines, steps the session, prints what the world answers.

    Args:
        session: The first worldline.
        store: Its event log.
        console: Where to print.
        as_json: Print one JSON object per turn instead of text.
    """

    def __init__(self, session: Session, store: EventStore, console: Console, *, as_json: bool = False) -> None:
        self._worldlines = [session]
        self._current = 0
        self._store = store
        self._console = console
        self._as_json = as_json
        self._commands: dict[str, Callable[[str], Any]] = {
            "why": self._why,
            "state": self._state,
            "fork": self._fork,
            "switch": self._switch,
            "worldlines": self._list,
            "rewind": self._rewind,
            "save": self._save,
            "help": lambda _: self._console.print(HELP, markup=False, highlight=False),
        }

    @property
    def session(self) -> Session:
        """The worldline that is typed into."""
        return self._worldlines[self._current]

    def run(self) -> None:
        """Read and answer lines until the end of input, `:quit`, or the end of the world."""
        readline.set_auto_history(True)
        self._say(f"session {self.session.id}; :help lists what there is beside the world's own commands")
        with asyncio.Runner() as runner:
            while True:
                try:
                    line = input(self._prompt())
                    if line.strip() in (":quit", ":q"):
                        break
                    if line.strip():
                        runner.run(self._answer(line))
                except EOFError:
                    self._say("")
                    break
                except KeyboardInterrupt:
                    self._say("")
                    continue
                except UnicodeDecodeError as error:
                    self._complain(f"the line is not UTF-8: {error}")
                    continue
                if self.session.done and line.strip() and not _META.match(line):
                    self._say("the session has ended; :rewind goes back, :quit leaves")
        for session in self._worldlines[1:]:
            session.close()

    async def _answer(self, line: str) -> None:
        meta = _META.match(line)
        try:
            if meta is not None:
                await self._meta(meta.group(1), (meta.group(2) or "").strip())
                return
            result = await self.session.step({"command": line})
        except WorldlineError as error:
            if self._as_json:
                print_text(json_text({"turn": None, "error": error.as_record()}) + "\n")
            else:
                self._complain(str(error))
            return
        if self._as_json:
            print_text(json_text(result.as_record()) + "\n")
        else:
            show_step(self._console, result)

    async def _meta(self, name: str, rest: str) -> None:
        command = self._commands.get(name)
        if command is None:
            raise InputError(f"there is no :{name}", hint=":help lists what there is")
        pending = command(rest)
        if asyncio.iscoroutine(pending):
            await pending

    def _why(self, _: str) -> None:
        prediction = self.session.last_prediction
        if prediction is None:
            self._say("nothing has been predicted yet")
        else:
            explain(self._console, prediction)

    def _state(self, _: str) -> None:
        self._console.print(
            visible(json.dumps(self.session.state, ensure_ascii=False, default=str, indent=2)), markup=False
        )

    async def _fork(self, _: str) -> None:
        self._worldlines.append(await self.session.fork())
        self._current = len(self._worldlines) - 1
        self._say(f"now on worldline {self._current} (session {self.session.id})")

    def _switch(self, rest: str) -> None:
        if not rest.isdecimal() or int(rest) >= len(self._worldlines):
            raise InputError(f"there is no worldline {rest or '(none given)'}", hint=":worldlines lists them")
        self._current = int(rest)
        self._list("")

    def _list(self, _: str) -> None:
        for number, session in enumerate(self._worldlines):
            mark = "*" if number == self._current else " "
            self._say(f"{mark} {number}  session {session.id}, {len(session.turns)} turns")

    async def _rewind(self, rest: str) -> None:
        if rest and not rest.isdecimal():
            raise InputError(f"cannot rewind {rest!r} turns", hint=":rewind N, N a number")
        await self.session.rewind(int(rest or 1))
        self._say(f"{len(self.session.turns)} turns stand")

    def _save(self, rest: str) -> None:
        path = Path(rest or f"{self.session.id}.jsonl")
        write_trajectories(path, [self.session.trajectory()])
        self._say(f"wrote {path}")

    def _prompt(self) -> str:
        if self._as_json:
            return ""
        state = self.session.state
        where = str(state.get("cwd", ""))
        return f"{visible(where)} $ " if where else "$ "

    def _say(self, text: str) -> None:
        if not self._as_json:
            self._console.print(text, style="dim", markup=False, highlight=False)

    def _complain(self, text: str) -> None:
        self._console.print(visible(text), style="red", markup=False, highlight=False, soft_wrap=True)
