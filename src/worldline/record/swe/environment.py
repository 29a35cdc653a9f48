"""The real environment: a repository in the box, tools that work on it, real bash, git, grep and pytest."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import time
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from worldline.domains.swe import SweState
from worldline.domains.swe.tools import PLAIN_COMMAND, family_tools
from worldline.domains.terminal.state import DEFAULT_CLOCK, FileSpec, TerminalState
from worldline.errors import SandboxError, SessionError
from worldline.kernels.repository.starting import machine_of, setup_command
from worldline.record.boxed import BoxedProgram
from worldline.record.entered import Entered
from worldline.record.sandbox import Limits, Surroundings
from worldline.types import Action, Observation, WorldSpec

__all__ = ["SweEnvironment"]

_PYTHON = "/usr/bin/python3"
_TOOLS = "/opt/tools"
_PROGRAM = f"import sys; sys.path.insert(0, '{_TOOLS}'); from worldline.record.swe.box.executor import main; main()"
_TESTING = "/opt/testing"
_TESTING_MODULES = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments")
_VERSIONS = """
echo "bash ${BASH_VERSION%%(*}"
echo "git $(git --version | cut -d' ' -f3)"
echo "python3 $(python3 --version | cut -d' ' -f2)"
echo "grep $(grep --version | head -n 1 | cut -d' ' -f4)"
echo "pytest $(python3 -m pytest --version | cut -d' ' -f2)"
"""
_RAN: dict[str, type] = {"text": str, "status": int}
"""What is told of a command."""
_LIMITS = Limits(wall=150.0, output=64 << 10, cpu=120)


class SweEnvironment(Entered):
    """A world of software engineering, for real. Use it as a context manager, in one thread.

    pytest comes from the Python that runs the recorder. Its clock stands still, as everything in the box does, so that
    it reports `in 0.00s`.

    Args:
        world: A world of the domain.
        surroundings: What the world does not declare.

    Raises:
        ConfigError: The world's package does not ship.
    """

    def __init__(self, world: WorldSpec, surroundings: Surroundings) -> None:
        self.state = state = SweState.model_validate(world.initial_state)
        self.ended = False
        tools = world.tools or family_tools(state.family)
        later = surroundings.days_later if state.clock == DEFAULT_CLOCK and "clock" not in world.initial_state else 0
        machine = _with_tools(machine_of(state, state.clock + timedelta(days=later)), surroundings)
        self._schemas = {tool.name: tool.parameters for tool in tools}
        command = [_PYTHON, "-I", "-B", "-c", _PROGRAM, state.cwd, state.family, json.dumps(self._schemas)]
        self._box = BoxedProgram(
            machine,
            command,
            surroundings=surroundings,
            limits=_LIMITS,
            folders={f"{_TOOLS}/worldline/record/swe/box": Path(__file__).parent / "box", **_testing_folders()},
        )

    def start(self) -> None:
        """Build the box and make the repository.

        Raises:
            SandboxError: The box cannot be built, or git is missing.
        """
        self._box.start()
        setup = setup_command(self.state)
        if setup:
            done = self._box.ask({"setup": setup}, _RAN).data
            if not done or done["status"]:
                self.close()
                raise SandboxError(f"the repository cannot be made: {(done or {}).get('text', '')[-300:]}")

    def step(self, action: Action) -> Observation:
        """Call a tool.

        Raises:
            SessionError: The environment has ended.
        """
        if self.ended:
            raise SessionError("the environment has ended", hint="start another session")
        begin = time.monotonic()
        plain = action.name == PLAIN_COMMAND and PLAIN_COMMAND not in self._schemas and action.command is not None
        asked = {"plain": action.command} if plain else {"name": action.name, "arguments": action.arguments}
        reply = self._box.ask(asked, _RAN if plain else {"text": str, "error": bool})
        if reply.data is None:
            self.ended = True
            return Observation.from_text(f"The tools ended: {reply.killed}", is_error=True)
        self._box.advance_clock(time.monotonic() - begin)
        if plain:
            status = int(reply.data["status"])
            return Observation(text=reply.data["text"], exit_code=status, is_error=status != 0)
        return Observation.from_text(reply.data["text"], is_error=reply.data["error"])

    def versions(self) -> dict[str, str]:
        """Versions of the programs that answer."""
        return dict(_versions())

    def ask_versions(self) -> dict[str, str]:
        """Ask the programs of the box for their versions."""
        done: dict[str, Any] = self._box.ask({"setup": _VERSIONS}, _RAN).data or {}
        return dict(line.split(" ", 1) for line in str(done.get("text", "")).splitlines() if " " in line)

    def close(self) -> None:
        """End the box."""
        self.ended = True
        self._box.close()


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    with SweEnvironment(WorldSpec(domain="swe", initial_state={"commit": None}), Surroundings()) as environment:
        return environment.ask_versions()


def _with_tools(machine: TerminalState, around: Surroundings) -> TerminalState:
    """The machine with Python's test runner and the tools' own folder."""
    (entry,) = importlib.metadata.entry_points(group="console_scripts", name="pytest")
    script = f"#!/usr/bin/python3\nimport sys\n\nfrom {entry.module} import {entry.attr}\n\nsys.exit({entry.attr}())\n"
    path = f"/usr/local/lib/{_python_name(around.root or Path('/'))}/dist-packages/testing.pth"
    files = {
        path: FileSpec(content=f"{_TESTING}\nimport time; time.perf_counter = time.time\n"),
        "/usr/local/bin/pytest": FileSpec(content=script, mode="755"),
        "/usr/local/bin/python": FileSpec(kind="symlink", target=_PYTHON),
        "/run/tools": FileSpec(kind="directory", owner=machine.user, mode="700"),
    }
    return machine.model_copy(update={"files": {**machine.files, **files}})


def _python_name(root: Path) -> str:
    link = root / "usr/bin/python3"
    if not link.is_symlink():
        raise SandboxError(f"{root} has no Debian Python", hint="apt-get install python3")
    return link.readlink().name


@lru_cache(maxsize=1)
def _testing_folders() -> dict[str, Path]:
    """Where the test runner's modules lie, by where the box shows them."""
    found = {}
    for name in _TESTING_MODULES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            place = Path(spec.origin)
            package = place.name == "__init__.py"
            found[f"{_TESTING}/{name}" + ("" if package else ".py")] = place.parent if package else place
            with suppress(importlib.metadata.PackageNotFoundError):
                about = Path(str(importlib.metadata.distribution(name).locate_file("")))
                for folder in about.glob(f"{name}-*.dist-info"):
                    found[f"{_TESTING}/{folder.name}"] = folder
    if f"{_TESTING}/pytest" not in found:
        raise SandboxError("pytest is not installed", hint="pip install 'worldline[dev]'")
    return found
