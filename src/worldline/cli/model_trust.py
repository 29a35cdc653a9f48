"""What `worldline calibrate --model` does: measure how far a model can be trusted where nothing else is sure."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from worldline.cli.options import write_json
from worldline.models.base import ChatModel, Sampling

__all__ = ["measure_model"]


def measure_model(
    domain: str,
    model: ChatModel,
    *,
    data: Path | None,
    out: Path | None,
    turns: int | None,
    max_tokens: int | None,
    notes_share: float,
    prompts: Path | None,
) -> None:
    """Ask the model on turns of the dev split, and write down how often it was exact.

    Trust in other models that the file holds already stays in it.

    Raises:
        WorldlineError: The recordings cannot be read, the model gave no usable answer, or the file cannot be written.
    """
    import worldline
    from worldline.bench.model_trust import asked_turns, model_trust
    from worldline.engines import EngineOptions
    from worldline.engines.calibration import load_calibration
    from worldline.formats import read_trajectories
    from worldline.memory.shipped import shipped_memory
    from worldline.recordings import path as recording_path
    from worldline.types import content_id

    trajectories = list(read_trajectories(data or recording_path(domain, "dev")))
    memory = shipped_memory(domain)
    places = asyncio.run(asked_turns(trajectories, memory, turns, seed=0))
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(f"asking {model.name}", total=len(places))
        measured = asyncio.run(
            model_trust(
                domain,
                trajectories,
                memory,
                model,
                places,
                data={
                    "split": str(data or "dev"),
                    "hash": content_id([t.id for t in trajectories]),
                    "prompts": str(prompts) if prompts is not None else None,
                    "max_tokens": max_tokens,
                },
                sampling=Sampling(seed=0, max_tokens=max_tokens),
                prompts=prompts,
                options=EngineOptions(notes_share=notes_share),
                on_turn=lambda done, total: progress.update(task, completed=done),
            )
        )
    path = out or Path(worldline.__file__).parent / "engines" / "calibrations" / f"{domain}.models.json"
    if path.is_file():
        known = load_calibration(path.read_text(encoding="utf-8"), str(path))
        generated = {**known.trust.get("generated", {}), **measured.trust["generated"]}
        measured = known.model_copy(update={"trust": {**known.trust, "generated": generated}, "data": measured.data})
    write_json(path, measured.model_dump(mode="json"))
    trust = measured.trust["generated"][model.name]
    click.echo(f"{model.name}: {trust.exact} of {trust.n} turns exact, lower bound {trust.lower:.3f}; wrote {path}")
