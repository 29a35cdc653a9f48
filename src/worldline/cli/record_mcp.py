"""`worldline record mcp`: record real MCP servers, those of a world or any that a user names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from worldline.cli.options import json_flag
from worldline.cli.record_tools import explored
from worldline.cli.recording import finish, progress
from worldline.errors import ConfigError

if TYPE_CHECKING:
    from worldline.record.plan import ToolPlan
    from worldline.types import WorldSpec

__all__ = ["record_mcp"]

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path, resolve_path=True)
_PLACE = click.Path(exists=True, path_type=Path, resolve_path=True)


@click.command("mcp")
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="File; `.zst` compresses.")
@click.option("--server", metavar="CMD", help="Command line of a server that speaks MCP over stdio.")
@click.option("--cwd", type=_FOLDER, help="Directory --server starts in; its files are copied into each sandbox.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="Environment of --server.")
@click.option(
    "--mount", type=_PLACE, multiple=True, help="Shown in the sandbox, read-only: what --server needs to run."
)
@click.option("--world", type=_FILE, help="World file; default without --server: the worlds of the shipped recordings.")
@click.option("--script", type=_FILE, help="Calls to make instead of exploring: a call (JSON) a line.")
@click.option("--sessions", type=click.IntRange(1), default=1, show_default=True, help="Of --server or --world.")
@click.option("--turns", type=click.IntRange(1), default=12, show_default=True, help="Most turns of a session.")
@click.option("--server-home", type=_FOLDER, help="Where scripts/install_mcp_servers.py put the known servers.")
@click.option("--timeout", type=click.FloatRange(0.1), default=30.0, show_default=True, help="Seconds a call has.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of what is explored.")
@click.option("--limit", type=click.IntRange(1), help="Record only the first sessions.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes side by side.")
@click.option("--fresh", is_flag=True, help="Record anew what is there; otherwise a run goes on where one stopped.")
@click.option("--model", metavar="URL#NAME", help="A model that decides what is called, as in `worldline play`.")
@json_flag
def record_mcp(
    out: Path,
    jobs: int,
    fresh: bool,
    limit: int | None,
    server_home: Path | None,
    mount: tuple[Path, ...],
    timeout: float,
    as_json: bool,
    **options: Any,
) -> None:
    """Record real MCP servers over stdio, in a sandbox without network.

    Each session is explored once, by the tools' schemas, a script or a model, and replayed twice, to tell what is left
    to chance.
    """
    from worldline.record.recording import RecordingSettings
    from worldline.record.store import record_plans

    how = RecordingSettings(agent=options["model"])
    with _settings(server_home, mount, timeout):
        plans = list(islice(_plans(options), limit))
        _need_servers(plans)
        with progress(len(plans)) as advance:
            recorded = record_plans(plans, out, how, jobs=jobs, fresh=fresh, on_progress=advance)
    finish(recorded, out, as_json=as_json)


@contextmanager
def _settings(home: Path | None, mounts: tuple[Path, ...], timeout: float) -> Iterator[None]:
    """Hand the settings to the recording processes, which read them from the environment."""
    from worldline.record.mcp.settings import HOME_VARIABLE, MOUNTS_VARIABLE, TIMEOUT_VARIABLE

    changed = {TIMEOUT_VARIABLE: str(timeout)}
    if home is not None:
        changed[HOME_VARIABLE] = str(home)
    shown = [*filter(None, os.environ.get(MOUNTS_VARIABLE, "").split(":")), *map(str, mounts)]
    changed[MOUNTS_VARIABLE] = ":".join(shown)
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _plans(options: dict[str, Any]) -> list[ToolPlan]:
    from worldline.record.environment import planned

    if options["server"] is not None and options["world"] is not None:
        raise ConfigError("--server and --world exclude each other")
    if options["model"] is not None and options["script"] is not None:
        raise ConfigError("--model and --script exclude each other")
    if options["server"] is None:
        for name in ("cwd", "env"):
            if options[name]:
                raise ConfigError(f"--{name} goes with --server")
    if options["server"] is None and options["world"] is None:
        for name in ("script", "model"):
            if options[name]:
                raise ConfigError(f"--{name} goes with --server or --world")
        return list(planned("mcp", options["seed"]))
    world = _named(options) if options["server"] is not None else _loaded(options["world"])
    family = world.name or options["world"].stem
    return explored(world, family, options["sessions"], options["turns"], options["seed"], options["script"])


def _need_servers(plans: list[ToolPlan]) -> None:
    """Fail before anything is recorded where a known server is not installed."""
    from worldline.record.mcp.settings import PACKAGES, ServerSettings

    settings = ServerSettings.from_environment()
    kinds = {server["kind"] for plan in plans for server in plan.world.initial_state.get("servers", {}).values()}
    for kind in sorted(kinds & PACKAGES.keys()):
        settings.version(kind)


def _named(options: dict[str, Any]) -> WorldSpec:
    """The world of the server that --server names; what it needs to run is shown in the sandbox from here on."""
    from worldline.record.mcp.named import named_command, named_world
    from worldline.record.mcp.settings import MOUNTS_VARIABLE, ServerSettings

    command, needed = named_command(options["server"], Path.cwd())
    shown = [*filter(None, os.environ[MOUNTS_VARIABLE].split(":")), *map(str, needed)]
    os.environ[MOUNTS_VARIABLE] = ":".join(dict.fromkeys(shown))
    env = dict(_pair(text) for text in options["env"])
    return named_world(command, ServerSettings.from_environment(), cwd=options["cwd"], env=env)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ConfigError(f"--env {text!r} is not NAME=VALUE")
    return name, value


def _loaded(path: Path) -> WorldSpec:
    from worldline.domains.mcp.state import McpState
    from worldline.domains.mcp.tools import world_tools
    from worldline.worlds import World

    world = World.load(path).spec
    if world.domain != "mcp":
        raise ConfigError(f"{path} is a world of the domain {world.domain}", hint=f"worldline record {world.domain}")
    if world.tools:
        return world
    return world.model_copy(update={"tools": world_tools(McpState.model_validate(world.initial_state))})
