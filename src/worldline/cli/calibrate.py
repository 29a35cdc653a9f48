"""`worldline calibrate`: measure how far each kind of answer can be trusted."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

from worldline.cli.model_trust import measure_model
from worldline.cli.options import chosen_model, model_option, write_json
from worldline.errors import ConfigError, require_extra
from worldline.types import Trajectory, content_id

__all__ = ["calibrate"]


@click.command()
@click.option("--domain", default="terminal", show_default=True, help="Domain to calibrate.")
@click.option("--data", type=click.Path(exists=True, path_type=Path), help="Trajectories instead of our dev split.")
@click.option(
    "--memory", "memory_data", type=click.Path(exists=True, path_type=Path), help="Instead of our train split."
)
@click.option("--out", type=click.Path(path_type=Path), help="Calibration file; default: the package's own.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many trajectories.")
@click.option("--turns", type=click.IntRange(min=1), help="With --model: so many turns, drawn at random (seed 0).")
@click.option("--max-tokens", type=click.IntRange(min=1), help="With --model: its longest answer.")
@click.option(
    "--notes-share",
    type=click.FloatRange(0, 1),
    default=0.02,
    show_default=True,
    help="With --model: see `bench real`.",
)
@model_option
def calibrate(
    domain: str,
    data: Path | None,
    memory_data: Path | None,
    out: Path | None,
    limit: int | None,
    turns: int | None,
    max_tokens: int | None,
    notes_share: float,
    model: str | None,
    models: Path | None,
    model_cache: Path | None,
    prompts: Path | None,
) -> None:
    """Replay the dev splits of all dialects and count how often kernel and memory are exactly right, by kind of action.

    The lower confidence bounds become the confidence of their answers. What memory compares to tell whether a
    recorded answer applies (footprints of the train split) is computed on the way, and stored beside the package's
    own calibration unless --out or --memory is given.

    With --model, only that model is measured, on turns where the guess of kernel and memory is mute: there the grounded
    engine then asks it, and keeps other guesses unless the model was right more often than guesses are.
    """
    require_extra("scipy", "bench")
    asked = chosen_model(model, models, model_cache)
    if asked is not None:
        measure_model(
            domain,
            asked,
            data=data,
            out=out,
            turns=turns,
            max_tokens=max_tokens,
            notes_share=notes_share,
            prompts=prompts,
        )
        return
    import worldline
    from worldline.bench.calibration import calibrate as measure
    from worldline.bench.near import leave_one_family_out
    from worldline.formats import read_trajectories
    from worldline.kernels import build_kernel
    from worldline.memory import Memory
    from worldline.memory.index import follow
    from worldline.memory.shipped import footings_text
    from worldline.recordings import paths as recording_paths

    console = Console(stderr=True)
    package = Path(worldline.__file__).parent

    def read(given: Path | None, split: str) -> list[Trajectory]:
        return [t for path in ([given] if given else recording_paths(domain, split)) for t in read_trajectories(path)]

    train, dev = read(memory_data, "train"), read(data, "dev")[:limit]
    if not (train and dev):
        raise ConfigError(f"there are no recordings of the domain {domain!r}", hint="give --data and --memory")
    footprints = {
        t.id: follow(t, build_kernel)
        for t in track(train, "footprints", console=console, transient=True, disable=not console.is_terminal)
    }
    if memory_data is None and out is None:
        (package / "memory" / "footprints" / f"{domain}.json").write_text(footings_text(footprints), encoding="utf-8")
    memory = Memory.from_trajectories(train, known_footprints=footprints)
    turns = sum(len(t.turns) for t in dev)
    facts = {
        "split": str(data or "dev"),
        "hash": content_id([t.id for t in dev]),
        "trajectories": len(dev),
        "turns": turns,
        "version": worldline.__version__,
    }
    done = track(dev, "dev split", console=console, transient=True, disable=not console.is_terminal)
    # Near matches are measured on the train split too, each family against the others: dev alone has too few.
    near = leave_one_family_out(train, footprints)
    result = measure(domain, list(done), memory, facts, near=near, recorded=train)
    path = out or package / "engines" / "calibrations" / f"{domain}.json"
    write_json(path, result.model_dump(mode="json"))
    table = Table(title=f"{domain}: {turns} turns of {facts['split']}", title_justify="left")
    for column in ("kind", "answers", "exact", "lower bound"):
        table.add_column(column, justify="left" if column == "kind" else "right")
    for kind, classes in result.trust.items():
        whole = classes["*"]
        table.add_row(kind, str(whole.n), f"{100 * whole.exact / whole.n:.1f}%", f"{whole.lower:.3f}")
    Console().print(table)
    click.echo(f"wrote {path}")
