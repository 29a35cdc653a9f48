"""`worldline record code|database|search|swe`: record real environments whose agents call tools."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from worldline.cli.options import json_flag
from worldline.cli.recording import finish, progress
from worldline.errors import ConfigError, FormatError, InputError, boundary

if TYPE_CHECKING:
    from worldline.record.plan import ToolPlan
    from worldline.types import WorldSpec

__all__ = ["explored", "record_tools"]

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def record_tools(domain: str, summary: str) -> click.Command:
    """Return the command that records a domain.

    Args:
        domain: One of those with an environment.
        summary: First line of its help.
    """

    @click.command(
        domain, help=f"{summary}\n\nEach session is explored once and replayed twice, to tell what is left to chance."
    )
    @click.option(
        "--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="File; `.zst` compresses."
    )
    @click.option("--world", type=_FILE, help="World file to explore; default: the worlds of the shipped recordings.")
    @click.option("--sessions", type=click.IntRange(1), default=1, show_default=True, help="Sessions of --world.")
    @click.option("--turns", type=click.IntRange(1), default=12, show_default=True, help="Most turns of a session.")
    @click.option("--script", type=_FILE, help="Actions to take in --world instead of exploring: a call (JSON) a line.")
    @click.option("--model", metavar="URL#NAME", help="Let this model act instead of the scripted explorer.")
    @click.option("--seed", type=int, default=0, show_default=True, help="Seed of what is explored.")
    @click.option("--limit", type=click.IntRange(1), help="Record only the first sessions.")
    @click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes side by side.")
    @click.option("--fresh", is_flag=True, help="Record anew what is there; otherwise a run goes on where one stopped.")
    @json_flag
    def command(
        out: Path,
        world: Path | None,
        sessions: int,
        turns: int,
        script: Path | None,
        model: str | None,
        seed: int,
        limit: int | None,
        jobs: int,
        fresh: bool,
        as_json: bool,
    ) -> None:
        from worldline.record.environment import planned
        from worldline.record.recording import RecordingSettings
        from worldline.record.store import record_plans

        if script is not None and world is None:
            raise ConfigError("--script goes with --world")
        if script is not None and model is not None:
            raise ConfigError("--model and --script exclude each other")
        chosen = planned(domain, seed) if world is None else _explored(domain, world, sessions, turns, seed, script)
        plans = list(islice(chosen, limit))
        with progress(len(plans)) as advance:
            recorded = record_plans(
                plans, out, RecordingSettings(agent=model), jobs=jobs, fresh=fresh, on_progress=advance
            )
        finish(recorded, out, as_json=as_json)

    return command


def _explored(domain: str, path: Path, sessions: int, turns: int, seed: int, script: Path | None) -> list[ToolPlan]:
    from worldline.worlds import World

    world = World.load(path).spec
    if world.domain != domain:
        raise ConfigError(f"{path} is a world of the domain {world.domain}", hint=f"worldline record {world.domain}")
    return explored(world, world.name or path.stem, sessions, turns, seed, script)


def explored(
    world: WorldSpec, family: str, sessions: int, turns: int, seed: int, script: Path | None
) -> list[ToolPlan]:
    """Return plans of a world: sessions to explore, or the one that a script tells.

    Raises:
        FormatError: The script holds what is no action of the world.
    """
    from worldline.domains import get_domain
    from worldline.record.plan import ToolPlan

    if script is None:
        return [ToolPlan(family=family, world=world, seed=seed + n, turns=turns) for n in range(sessions)]
    actions = []
    grammar = get_domain(world.domain)
    with boundary(FormatError, f"reading {script}"):
        lines = script.read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            actions.append(grammar.parse_action(json.loads(line) if line.lstrip().startswith("{") else line))
        except (InputError, ValueError) as exc:
            raise FormatError(f"not an action: {exc}", path=str(script), line=number) from exc
    return [ToolPlan(family=family, world=world, actions=tuple(actions))]
