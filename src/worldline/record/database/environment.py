"""A real SQLite or DuckDB in a sandbox."""

from __future__ import annotations

import importlib.util
import json
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import Any

from worldline.domains.database.state import DatabaseState
from worldline.domains.terminal.state import FileSpec, TerminalState
from worldline.errors import MissingExtraError, SandboxError, SessionError
from worldline.record.boxed import BoxedProgram
from worldline.record.database.undeclared import undeclared_tables
from worldline.record.entered import Entered
from worldline.record.sandbox import Limits, Surroundings, declared_state
from worldline.types import Action, Observation, WorldSpec

__all__ = ["DatabaseEnvironment"]

_LIMITS = Limits(memory=3 << 30, total_memory=900 << 20, processes=64)
_GRACE = 10.0
"""Seconds that a call may take beyond the tool's own limit before the whole box is given up."""


class DatabaseEnvironment(Entered):
    """Satisfies :class:`worldline.record.environment.Environment`.

    Args:
        world: A world of the domain `database`.
        surroundings: Gives the clock where the world declares none, and the tables that an open world does not declare.

    Raises:
        MissingExtraError: The world's engine is DuckDB, which is not installed.
    """

    def __init__(self, world: WorldSpec, surroundings: Surroundings) -> None:
        self.state = DatabaseState.model_validate(world.initial_state)
        self.ended = False
        tool = files("worldline.domains.database").joinpath("tool.py").read_text(encoding="utf-8")
        runner = files("worldline.record.database").joinpath("runner.py").read_text(encoding="utf-8")
        placed = {
            "/run/tool/tool.py": tool,
            "/run/tool/runner.py": runner,
            "/run/tool/config.json": self._config(world, surroundings),
        }
        box: dict[str, Any] = {"files": {path: FileSpec(content=text) for path, text in placed.items()}}
        if self.state.clock is None:
            box["clock"] = declared_state(WorldSpec(domain="terminal"), surroundings).clock
        else:
            box["clock"] = self.state.clock
        self._program = BoxedProgram(
            TerminalState.model_validate(box),
            ["/usr/bin/python3", "-I", "-B", "/run/tool/runner.py"],
            surroundings=surroundings,
            limits=_LIMITS,
            folders=_engine_folder() if self.state.engine == "duckdb" else {},
        )
        self._version = ""

    def _config(self, world: WorldSpec, surroundings: Surroundings) -> str:
        state = self.state
        tables = [*state.declared(), *undeclared_tables(world, state, surroundings)]
        kept = {"engine", "output", "max_rows", "timeout", "read_only", "script"}
        return json.dumps({**state.model_dump(mode="json", include=kept), "tables": tables}, ensure_ascii=False)

    def start(self) -> None:
        """Build the box and set the database up.

        Raises:
            SandboxError: There can be no box, or the declared tables cannot be created.
        """
        self._program.start()
        greeting = self._program.greeting
        assert isinstance(greeting, dict)
        self._version = str(greeting["version"])
        if self.state.version is not None and self._version != self.state.version:
            self.close()
            raise SandboxError(f"the world declares {self.state.engine} {self.state.version}, here is {self._version}")

    def step(self, action: Action) -> Observation:
        """Make a call."""
        if self.ended:
            raise SessionError("the database has ended", hint="start another session")
        call = {"name": action.name, "arguments": action.arguments}
        reply = self._program.ask(call, {"text": str, "is_error": bool}, self.state.timeout + _GRACE)
        if reply.data is None:
            self.ended = True
            return Observation.from_text("Error: the connection to the database was lost", is_error=True)
        return Observation.from_text(reply.data["text"], is_error=reply.data["is_error"])

    def versions(self) -> dict[str, str]:
        """Version of the engine, and of the Python that drives it."""
        if self._program.greeting is not None:
            return _named(self.state.engine, self._program.greeting)
        world = WorldSpec(domain="database", initial_state={"engine": self.state.engine})
        with DatabaseEnvironment(world, Surroundings()) as fresh:
            return _named(self.state.engine, fresh._program.greeting)

    def close(self) -> None:
        """End the box."""
        self.ended = True
        self._program.close()


def _named(engine: str, greeting: dict[str, str] | None) -> dict[str, str]:
    assert greeting is not None
    return {engine: greeting["version"], "python3": greeting["python"]}


def _engine_folder() -> dict[str, Path]:
    """The files of the installed DuckDB, as the box shall see them."""
    found = [importlib.util.find_spec(name) for name in ("duckdb", "_duckdb")]
    origins = [Path(spec.origin) for spec in found if spec is not None and spec.origin is not None]
    if len(origins) < 2:
        raise MissingExtraError("this needs duckdb, which is not installed", hint="pip install 'worldline[database]'")
    package, library = origins[0].parent, origins[1]
    facts = package.parent / f"duckdb-{metadata.version('duckdb')}.dist-info"
    return {f"/mnt/engine/{folder.name}": folder for folder in (package, library, facts)}
