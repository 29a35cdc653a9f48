"""The interactive player: commands of the world, and commands about it that start with a colon."""

from __future__ import annotations

import asyncio
import json
import readline
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from worldline.cli.show import explain, show_step
from worldline.errors import WorldlineError
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
Anything else is an action of the world."""


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
                except EOFError:
                    break
                except KeyboardInterrupt:
                    self._console.print()
                    continue
                if line.strip() in (":quit", ":q"):
                    break
                if line.strip():
                    runner.run(self._answer(line))
                if self.session.done:
                    self._say("the session has ended; :rewind goes back, :quit leaves")
        for session in self._worldlines[1:]:
            session.close()

    async def _answer(self, line: str) -> None:
        try:
            if line.startswith(":"):
                await self._meta(line[1:].strip())
                return
            result = await self.session.step({"command": line})
        except WorldlineError as error:
            self._console.print(str(error), style="red", markup=False)
            return
        if self._as_json:
            self._console.out(json.dumps(result.as_record(), ensure_ascii=False), highlight=False)
        else:
            show_step(self._console, result)

    async def _meta(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        command = self._commands.get(name)
        if command is None:
            self._console.print(f"there is no :{name}; :help lists what there is", style="red", markup=False)
            return
        pending = command(rest.strip())
        if asyncio.iscoroutine(pending):
            await pending

    def _why(self, _: str) -> None:
        prediction = self.session.last_prediction
        if prediction is None:
            self._say("nothing has been predicted yet")
        else:
            explain(self._console, prediction)

    def _state(self, _: str) -> None:
        self._console.print_json(json.dumps(self.session.state, ensure_ascii=False, default=str))

    async def _fork(self, _: str) -> None:
        self._worldlines.append(await self.session.fork())
        self._current = len(self._worldlines) - 1
        self._say(f"now on worldline {self._current} (session {self.session.id})")

    def _switch(self, rest: str) -> None:
        if rest.isdigit() and int(rest) < len(self._worldlines):
            self._current = int(rest)
        self._list("")

    def _list(self, _: str) -> None:
        for number, session in enumerate(self._worldlines):
            mark = "*" if number == self._current else " "
            self._say(f"{mark} {number}  session {session.id}, {len(session.turns)} turns")

    async def _rewind(self, rest: str) -> None:
        await self.session.rewind(int(rest) if rest.isdigit() else 1)
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
        return f"{where} $ " if where else "$ "

    def _say(self, text: str) -> None:
        if not self._as_json:
            self._console.print(text, style="dim", markup=False, highlight=False)
