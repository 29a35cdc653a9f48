"""`worldline play`: type into a simulated world, or run a list of actions through it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import platformdirs
from rich.console import Console

from worldline.cli.options import chosen_memory, chosen_model, json_flag, memory_option, model_option
from worldline.cli.text import json_text, print_text, visible
from worldline.errors import ActionError, InputError, SessionError, StorageError, WorldlineError
from worldline.models.base import Sampling
from worldline.sessions import EventStore, Session
from worldline.types import Action, WorldSpec

if TYPE_CHECKING:
    from worldline.engines import RealEnvironment

__all__ = ["play"]


@click.command()
@click.argument("domain", metavar="DOMAIN|FILE")
@click.option(
    "--world", "world_file", type=click.Path(exists=True, path_type=Path), help="World file; default: an empty world."
)
@click.option("--engine", default="grounded", show_default=True, help="grounded, kernel, recall or model.")
@click.option("--actions", type=click.File("rb"), help="Actions, one JSON value a line (`-`: standard input).")
@click.option("--session", "session_id", help="Name of the session; one that exists goes on where it was.")
@click.option("--append", is_flag=True, help="All --actions are new, also where the session has turns already.")
@click.option("--store", type=click.Path(path_type=Path), help="Event log; default: in the user's state folder.")
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="What an answer of kernel or memory must reach to count.",
)
@click.option(
    "--on-abstain",
    type=click.Choice(["guess", "error", "real"]),
    default="guess",
    show_default=True,
    help="Where no source is sure: give the best guess, refuse the step, or ask the real environment in the sandbox.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of control rules and sampling.")
@memory_option
@model_option
@json_flag
def play(
    domain: str,
    world_file: Path | None,
    engine: str,
    actions: Any,
    session_id: str | None,
    append: bool,
    store: Path | None,
    min_confidence: float,
    on_abstain: str,
    seed: int,
    memory_folder: Path | None,
    model: str | None,
    models: Path | None,
    model_cache: Path | None,
    prompts: Path | None,
    as_json: bool,
) -> None:
    """Run a simulated world of a domain, or the one in a world file: type actions, or give --actions FILE.

    With --json there is one JSON object per turn; a line that is not an action, or has no answer, gives an object
    with `line` and `error`, and the run goes on. Actions that the session's log holds already are passed over, so
    that a run that was killed goes on by running the same command again.
    """
    if domain.endswith((".yaml", ".yml")):
        domain, world_file = _domain_of(Path(domain)), Path(domain)
    log = EventStore(store or Path(platformdirs.user_state_dir("worldline")) / "sessions.db")
    chat = chosen_model(model, models, model_cache)
    sampling = Sampling(seed=seed) if chat is not None else None
    settings = {
        "memory": chosen_memory(memory_folder, domain) if memory_folder is not None else "shipped",
        "model": chat,
        "sampling": sampling,
        "min_confidence": min_confidence,
        "on_abstain": on_abstain,
        "seed": seed,
        "prompts": prompts,
    }
    session = _open(domain, world_file, engine, session_id, log, settings)
    try:
        if actions is not None:
            asyncio.run(_run_actions(session, actions, as_json, append=append))
        else:
            from worldline.cli.console import Player

            Player(session, log, Console(), as_json=as_json).run()
    finally:
        session.close()
        log.close()


def _domain_of(world_file: Path) -> str:
    from worldline.worlds import World

    return World.load(world_file).spec.domain


def _open(
    domain: str,
    world_file: Path | None,
    engine: str,
    session_id: str | None,
    log: EventStore,
    settings: dict[str, Any],
) -> Session:
    from worldline.worlds import World

    if session_id is not None and session_id in log.ids():
        record = log.get(session_id)
        if world_file is not None and World.load(world_file).spec != record.world:
            raise SessionError(f"session {session_id} was started from another world", hint="choose another name")
        real = _reality(record.world, str(record.options.get("on_abstain")))
        kept = {key: settings[key] for key in ("memory", "model", "sampling")}
        return World.resume(session_id, log, real=real, **kept)
    world = World.load(world_file) if world_file else World(WorldSpec(domain=domain))
    if world.spec.domain != domain:
        raise InputError(f"{world_file}: a world of domain {world.spec.domain}, not {domain}")
    real = _reality(world.spec, settings["on_abstain"])
    return world.session(engine, store=log, session_id=session_id, real=real, **settings)


def _reality(world: WorldSpec, on_abstain: str) -> RealEnvironment | None:
    """The sandbox behind `--on-abstain real`."""
    if on_abstain != "real":
        return None
    from worldline.worlds.reality import SandboxReality

    return SandboxReality(world)


async def _run_actions(session: Session, lines: Any, as_json: bool, *, append: bool) -> None:
    console = Console()
    logged = [] if append else [turn.action for turn in session.turns]
    for number, value, error in _new_lines(session, _parse_lines(lines), logged):
        await _run_line(session, number, value, error, console, as_json)


Line = tuple[int, Any, WorldlineError | None]


def _new_lines(session: Session, lines: Iterator[Line], logged: Sequence[Action]) -> Iterator[Line]:
    """Pass over the lines that were run before: up to the last action of the log.

    A line between two logged ones is no turn because it had no answer then; what came after it has happened.
    """
    found = 0
    while found < len(logged):
        line = next(lines, None)
        if line is None:
            raise SessionError(
                f"session {session.id} has {len(logged)} turns, and these are not the actions they came from",
                hint="--append adds them to it, another --session starts anew",
            )
        try:
            found += line[2] is None and session.check(line[1]) == logged[found]
        except ActionError:
            continue
    yield from lines


async def _run_line(
    session: Session, number: int, value: Any, error: WorldlineError | None, console: Console, as_json: bool
) -> None:
    from worldline.cli.show import show_step

    try:
        if error is not None:
            raise error
        result = await session.step(value)
    except WorldlineError as exc:
        if as_json:
            _emit({"turn": None, "line": number, "error": exc.as_record()})
        else:
            console.print(f"line {number}: {visible(str(exc))}", style="red", markup=False, soft_wrap=True)
        if isinstance(exc, StorageError):
            raise  # nothing that follows could be kept either
        return
    if as_json:
        _emit(result.as_record())
    else:
        show_step(console, result, prompt="$ ")


def _parse_lines(lines: Any) -> Iterator[Line]:
    """Yield `(line number, action, error)`; blank lines are skipped."""
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        try:
            value = json.loads(raw.decode("utf-8-sig" if number == 1 else "utf-8"))
        except (ValueError, RecursionError) as exc:
            yield number, None, ActionError(f"not a line of JSON: {exc}", hint='expected {"command": "..."}')
            continue
        yield number, value, None


def _emit(record: dict[str, Any]) -> None:
    print_text(json_text(record) + "\n")
