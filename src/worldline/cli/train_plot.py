"""`worldline train plot`: curves of runs, and the rows of an ablation, as a picture or as points."""

from __future__ import annotations

from pathlib import Path

import click

from worldline.cli.options import json_flag
from worldline.cli.text import json_text, print_text, visible
from worldline.errors import ConfigError, require_extra

__all__ = ["plot"]


@click.command("plot")
@click.argument("folders", nargs=-1, required=True, metavar="FOLDER...", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="Picture to write: its suffix is .svg, .png or .pdf."
)
@json_flag
def plot(folders: tuple[Path, ...], out: Path | None, as_json: bool) -> None:
    """Draw the curve of a run, or the rows of an ablation.

    CPT and SFT: loss, and loss on held-out rows. RL: reward on held-out prompts with its five dimensions, and shares
    of answers. Several folders are runs of one stage, drawn as their mean, from the lowest to the highest. The folder
    of `train all` gives its table; curves lie in the folders beneath it.
    """
    from worldline.train.ablation import ABLATION, read_ablation
    from worldline.train.curves import read_curves

    if out is None and not as_json:
        raise ConfigError("nothing to do", hint="give --out FILE.svg for a picture, --json for the points")
    if out is not None:
        require_extra("matplotlib", "bench")
    if any((folder / ABLATION).is_file() for folder in folders):
        if len(folders) > 1:
            raise ConfigError("an ablation is drawn alone", hint="its folder holds all of its seeds")
        recipe, rows = read_ablation(folders[0])
        record = {"ablation": recipe, "rows": [row.model_dump(mode="json") for row in rows]}
        if out is not None:
            from worldline.train.plot import plot_ablation

            plot_ablation(recipe, rows, out)
    else:
        curves = read_curves(folders)
        record = curves.model_dump(mode="json")
        if out is not None:
            from worldline.train.plot import plot_curves

            plot_curves(curves, out)
    if as_json:
        print_text(json_text(record, indent=2) + "\n")
    elif out is not None:
        click.echo(f"{visible(str(out))} is drawn")
