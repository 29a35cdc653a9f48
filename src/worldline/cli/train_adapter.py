"""`worldline train adapter`: a small adapter folder out of a finished run."""

from __future__ import annotations

from pathlib import Path

import click

from worldline.cli.text import visible

__all__ = ["train_adapter"]

_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("adapter")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", required=True, type=_FOLDER, help="Folder to make.")
@click.option("--name", help="Name of the adapter; default that of --out.")
@click.option("--licence", help="Licence of the adapter; default the recipe's, or else the base's.")
@click.option("--rank", type=click.IntRange(1), help="Keep only the nearest adapter of so low a rank.")
@click.option(
    "--check", type=click.IntRange(0), default=4, show_default=True, help="Held-out prompts to compare answers on."
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 1),
    default=0.02,
    show_default=True,
    help="Share of the answers' tokens that may come out otherwise than with the merged model.",
)
def train_adapter(
    folder: Path, out: Path, name: str | None, licence: str | None, rank: int | None, check: int, tolerance: float
) -> None:
    """Make a small adapter of FOLDER, a run that trained adapters (`lora` in its recipe).

    The adapters of all its stages are joined into one of the first base, rounded to bfloat16, and compared with the
    merged model. The new folder has a card, and a note of the base, context and prompts; `--model local:BASE+DIR`
    loads it.
    """
    from worldline.models.adapters import ADAPTER_LIMIT
    from worldline.train.adapter import make_adapter

    made = make_adapter(folder, out, name=name, licence=licence, rank=rank, prompts=check, tolerance=tolerance)
    agreed = made.agreement
    said = "not checked"
    if agreed is not None:
        said = f"{agreed.same} of {agreed.tokens} tokens as the merged model on {agreed.prompts} held-out prompts"
    click.echo(f"{made.note.name}: rank {made.rank}, {made.size / 1e6:.1f} MB, on {made.note.base}; {said}")
    click.echo(f"--model local:{made.note.base}+{visible(str(made.folder))}")
    if made.size > ADAPTER_LIMIT:
        click.echo(
            f"over {ADAPTER_LIMIT / 1e6:.0f} MB: too large to ship; train with a lower rank, or give --rank", err=True
        )
