"""`worldline bench prompt`: how much of each prompt the next one begins with again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from worldline.cli.options import json_file_option, write_json

__all__ = ["bench_prompt"]

_ENGINES = ("model", "model+memory", "grounded")


@click.command("prompt")
@click.option("--domain", default="terminal", show_default=True, help="Domain to measure.")
@click.option(
    "--split", type=click.Choice(["train", "dev", "test"]), default="dev", show_default=True, help="Recorded split."
)
@click.option("--data", type=click.Path(exists=True, path_type=Path), help="Trajectories of any known format instead.")
@click.option("--turns", type=click.IntRange(min=2), default=30, show_default=True, help="Length of a session.")
@click.option("--sessions", type=click.IntRange(min=1), default=10, show_default=True, help="At most so many.")
@json_file_option
def bench_prompt(domain: str, split: str, data: Path | None, turns: int, sessions: int, json_file: Path | None) -> None:
    """Measure the stable prefix of prompts over sessions of --turns turns.

    Recorded sessions that are shorter are lengthened by the turns of the next ones. No model is asked.
    """
    from worldline.bench.prompts import chained, prompt_reuse
    from worldline.bench.suite import load_suite
    from worldline.memory.shipped import shipped_memory

    suite = load_suite(domain, split, data=data)
    chosen = list(chained(suite.trajectories, turns))[:sessions]
    memory = shipped_memory(domain)
    rows = [asyncio.run(prompt_reuse(chosen, engine, memory)) for engine in _ENGINES]
    if json_file is not None:
        write_json(json_file, [{**row.model_dump(mode="json"), "share": row.share} for row in rows])
    if str(json_file) == "-":
        return
    for row in rows:
        size = row.total / row.prompts if row.prompts else 0
        click.echo(
            f"{row.engine}: {100 * row.share:.1f}% of the bytes of a prompt ({size:.0f} on average) begin the next one "
            f"({row.sessions} sessions of {turns} turns)"
        )
