"""`worldline record`: record real environments."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click

from worldline.cli.options import json_flag
from worldline.cli.record_mcp import record_mcp
from worldline.cli.record_tools import record_tools
from worldline.cli.recording import finish, progress
from worldline.errors import ConfigError, FormatError, InputError, boundary
from worldline.recordings import DIALECTS, SPLITS
from worldline.types import WorldSpec

__all__ = ["record"]

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


_TOOL_DOMAINS = {
    "code": "Record real Python that runs cell by cell in a sandbox.",
    "database": "Record real SQLite and DuckDB in a sandbox.",
    "search": "Record a real search engine over an offline corpus.",
    "swe": "Record tools at work on real repositories, with their tests, in a sandbox.",
}


@click.group()
def record() -> None:
    """Record sessions of a real environment."""


for _domain, _summary in _TOOL_DOMAINS.items():
    record.add_command(record_tools(_domain, _summary))
record.add_command(record_mcp)


@record.command()
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="File; `.zst` compresses.")
@click.option("--generate", type=click.IntRange(1), metavar="N", help="Compose N sessions (the default: 400).")
@click.option("--dialect", type=click.Choice(DIALECTS), default="commands", show_default=True, help="Of --generate.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the composed sessions.")
@click.option(
    "--split", type=click.Choice(SPLITS), help="Of --generate: families of this split alone, so as to train on more."
)
@click.option("--plans", type=_FILE, help="Sessions to record, one plan (JSON) a line.")
@click.option("--script", type=_FILE, help="One session: a command or an action (JSON) a line.")
@click.option("--world", type=_FILE, help="World file of the script; default: an empty home.")
@click.option("--root", type=_FOLDER, help="Debian root to record; default: this machine's programs.")
@click.option("--variant-root", type=_FOLDER, help="Another Debian root, to tell what a session determines.")
@click.option("--limit", type=click.IntRange(1), help="Record only the first sessions.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes side by side.")
@click.option(
    "--timeout", type=click.FloatRange(min=0.1), default=10.0, show_default=True, help="Seconds a command has."
)
@click.option("--fresh", is_flag=True, help="Record anew what is there; otherwise a run goes on where one stopped.")
@json_flag
def terminal(out: Path, as_json: bool, limit: int | None, jobs: int, fresh: bool, **options: Any) -> None:
    """Record real bash in a sandbox without network, each session twice, and once elsewhere with --variant-root.

    A session is commands, or, in a world with a screen, keystrokes that are answered by the screen.
    """
    from worldline.record.recording import RecordingSettings
    from worldline.record.shell import Limits
    from worldline.record.store import record_plans

    plans = list(islice(_plans(options), limit))
    settings = RecordingSettings(options["root"], options["variant_root"], Limits(wall=options["timeout"]))
    with progress(len(plans)) as advance:
        summary = record_plans(plans, out, settings, jobs=jobs, fresh=fresh, on_progress=advance)
    finish(summary, out, as_json=as_json)


def _plans(options: dict[str, Any]) -> Iterator[Any]:
    chosen = [name for name in ("generate", "plans", "script") if options[name] is not None]
    if len(chosen) > 1:
        raise ConfigError(f"--{chosen[0]} and --{chosen[1]} exclude each other")
    if options["world"] is not None and chosen != ["script"]:
        raise ConfigError("--world goes with --script")
    if options["split"] is not None and chosen not in ([], ["generate"]):
        raise ConfigError(f"--split does not go with --{chosen[0]}")
    if chosen == ["plans"]:
        return _plan_file(options["plans"])
    if chosen == ["script"]:
        return _script(options["script"], options["world"])
    compose = _typed_plans if options["dialect"] == "keystrokes" else _command_plans
    return compose(options["generate"], options["seed"], options["split"])


def _typed_plans(count: int | None, seed: int, split: Any) -> Iterator[Any]:
    from worldline.record.keystroke_plans import generate, split_of

    def plans(asked: int | None) -> Iterator[Any]:
        made = generate(seed) if asked is None else generate(seed, asked)
        return (plan for plan in made if split in (None, split_of(plan.family)))

    return plans(None) if count is None else _composed(plans, count)


def _command_plans(count: int | None, seed: int, split: Any) -> Iterator[Any]:
    from worldline.record.plans import generate, recorded_lines

    taken = recorded_lines() if split else {}
    return _composed(lambda asked: generate(asked, seed, only=split, taken=taken), count or 400)


def _composed(generate: Callable[[int], Iterable[Any]], count: int) -> Iterator[Any]:
    """Exactly so many sessions: a composer rounds, and gives one of each family at least."""
    asked = count
    while len(plans := list(generate(asked))) < count:
        asked += count - len(plans)
    # Evenly taken, since plans come family by family.
    return (plans[number * len(plans) // count] for number in range(count))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with boundary(FormatError, f"reading {path}"):
        text = path.read_bytes().decode("utf-8")
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line


def _plan_file(path: Path) -> Iterator[Any]:
    from pydantic import ValidationError

    from worldline.record.plan import KeystrokePlan, SessionPlan

    for number, line in _lines(path):
        try:
            yield (KeystrokePlan if _holds_turns(line) else SessionPlan).model_validate_json(line)
        except ValidationError as exc:
            first = exc.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the line"
            raise FormatError(f"not a session plan: {where}: {first['msg']}", path=str(path), line=number) from exc


def _holds_turns(line: str) -> bool:
    """Whether a plan is one of keystrokes; a line that is no plan at all is none."""
    try:
        value = json.loads(line)
    except json.JSONDecodeError:
        return False
    return isinstance(value, dict) and "turns" in value


def _script(path: Path, world_file: Path | None) -> Iterator[Any]:
    from worldline.domains.terminal import TERMINAL
    from worldline.record.plan import PlannedCommand, SessionPlan
    from worldline.worlds import World

    world = WorldSpec(domain="terminal") if world_file is None else World.load(world_file).spec
    if world.domain != "terminal":
        raise ConfigError(f"a world of the domain {world.domain!r} is no terminal")
    if world.initial_state.get("screen") is not None:
        yield _typed_script(path, world)
        return
    commands = []
    for number, line in _lines(path):
        try:
            value: Any = json.loads(line) if line.lstrip().startswith(("{", '"')) else line
        except json.JSONDecodeError:
            value = line  # a command may well begin with a brace
        try:
            commands.append(PlannedCommand(command=TERMINAL.parse_action(value).command or ""))
        except InputError as exc:
            raise FormatError(exc.message, path=str(path), line=number) from exc
    yield SessionPlan(family=world.name or path.stem, world=world, commands=tuple(commands))


def _typed_script(path: Path, world: WorldSpec) -> Any:
    """A script of a keystroke world: a list of entries (JSON) a line, or a line that is typed with Enter."""
    from worldline.domains.terminal.keystrokes import KEYSTROKES_TOOL, keystroke_action
    from worldline.record.plan import KeystrokePlan, PlannedKeys

    turns = []
    for number, line in _lines(path):
        try:
            value: Any = json.loads(line) if line.lstrip().startswith(("[", "{")) else f"{line}\n"
        except json.JSONDecodeError:
            value = f"{line}\n"
        try:
            entries = keystroke_action(value).arguments[KEYSTROKES_TOOL]
        except InputError as exc:
            raise FormatError(exc.message, path=str(path), line=number) from exc
        turns.append(PlannedKeys(keys=tuple(entries)))
    return KeystrokePlan(family=world.name or path.stem, world=world, turns=tuple(turns))
