"""`worldline models push` and `worldline data push`: publish a folder on the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from worldline.cli.options import json_flag
from worldline.cli.text import json_text, print_text, visible

if TYPE_CHECKING:
    from worldline.data.publishing import Publication

__all__ = ["push_data", "push_models"]


def _options(function: Any) -> Any:
    folder = click.Path(exists=True, file_okay=False, path_type=Path)
    parts = (
        click.argument("folder", type=folder),
        click.argument("repository", metavar="REPO_ID"),
        click.option("--dry-run", is_flag=True, help="Say what would be published; ask nothing of the network."),
        click.option("--private", is_flag=True, help="Make the repository private, where it is made."),
        click.option("--revision", help="Branch to publish on; it is made where there is none."),
        click.option("--licence", help="Licence to name in a card that names none, such as apache-2.0."),
        click.option("--not-secret", multiple=True, metavar="MARK", help="Mark of a text that is no secret; repeat."),
        json_flag,
    )
    for part in reversed(parts):
        function = part(function)
    return function


@click.command("push")
@_options
def push_models(**options: Any) -> None:
    """Publish a model or an adapter: FOLDER of weights, or of a training run, as REPO_ID (OWNER/NAME).

    A token is taken from HF_TOKEN or the login of `hf auth login`. Checkpoints, optimiser states and files that hold
    credentials stay here; a folder without a card, or whose card names no licence, is refused.
    """
    _push("model", **options)


@click.command("push")
@_options
def push_data(**options: Any) -> None:
    """Publish a training set, or a folder of trajectories, as REPO_ID (OWNER/NAME).

    A token is taken from HF_TOKEN or the login of `hf auth login`. A folder without a card, whose card names no
    licence or hides that rows are simulated, or with anything that looks like a secret, is refused.
    """
    _push("dataset", **options)


def _push(
    kind: Literal["model", "dataset"],
    *,
    folder: Path,
    repository: str,
    dry_run: bool,
    private: bool,
    revision: str | None,
    licence: str | None,
    not_secret: tuple[str, ...],
    as_json: bool,
) -> None:
    from worldline.data.publishing import plan_publication, publish

    plan = plan_publication(
        folder,
        repository,
        kind,
        private=private,
        revision=revision,
        licence=licence,
        not_secret=frozenset(not_secret),
    )
    if not as_json:
        _print(plan)
    commit = None if dry_run else publish(plan)
    if as_json:
        print_text(json_text({**plan.as_record(), "dry_run": dry_run, "commit": commit}, indent=2) + "\n")
    else:
        click.echo("dry run: nothing was sent" if commit is None else f"published: {visible(commit)}")


def _print(plan: Publication) -> None:
    where = f"{plan.repository}, branch {plan.revision or 'main'}" + (", private" if plan.private else "")
    lines = [f"{plan.kind} {where}, licence {plan.licence}", f"from {plan.folder}"]
    lines += [f"  {file.size:>14,}  {file.path}" for file in plan.files]
    lines.append(f"  {plan.size:>14,}  bytes in {len(plan.files)} files")
    lines += [f"  stays here: {one.path} ({one.reason}, {one.size:,} bytes)" for one in plan.left_out]
    lines += ["card:", *(f"  {line}" for line in plan.card.splitlines())]
    click.echo("\n".join(visible(line) for line in lines))
