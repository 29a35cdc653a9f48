"""`worldline world`: make tool worlds without code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from worldline.cli.intake import PATH, input_record, progress, quiet_pipe, report_input, report_skips, require_some
from worldline.cli.options import json_flag
from worldline.cli.text import json_text, print_text
from worldline.errors import ConfigError, StorageError, boundary

if TYPE_CHECKING:
    from worldline.types import JsonDict, WorldSpec

__all__ = ["world"]

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OUT = click.Path(dir_okay=False, path_type=Path)


@click.group()
def world() -> None:
    """Make a world that can be played at once, from tool definitions or from traces."""


@world.command("new")
@click.option("--from-tools", "tools_file", required=True, type=_FILE, help="Tool definitions (JSON): MCP, OpenAI, ...")
@click.option("--out", required=True, type=_OUT, help="World file to write; `-`: standard output.")
@click.option("--name", default="", help="Name of the world; default: that of the file.")
@click.option("--task", default="", help="What the agent is to do.")
@click.option("--domain", default="mcp", show_default=True, help="Domain of the world.")
@json_flag
def new(tools_file: Path, out: Path, name: str, task: str, domain: str, as_json: bool) -> None:
    """Make a world from tool definitions alone: what names and arguments suggest that the tools do.

    Stores start empty. Read the file, put records into it, and correct what was guessed wrongly.
    """
    from worldline.worlds.learning import new_world, read_tools

    made = new_world(read_tools(tools_file), name=name or tools_file.stem, task=task, domain=domain)
    _write(made, out)
    _report(made, out, {}, as_json=as_json)


@world.command("learn")
@click.argument("paths", metavar="TRAJECTORIES...", type=PATH, nargs=-1, required=True)
@click.option("--out", required=True, type=_OUT, help="World file to write; `-`: standard output.")
@click.option("--tools", "tools_file", type=_FILE, help="Tool definitions (JSON), where the trajectories have none.")
@click.option("--name", default="", help="Name of the world.")
@click.option("--task", default="", help="What the agent is to do.")
@click.option("--domain", help="Domain of the trajectories that count; default: that of the most.")
@click.option(
    "--demonstrations", type=click.IntRange(min=0), default=2, show_default=True, help="Trajectories a model is shown."
)
@click.option("--format", "format_name", metavar="NAME", help="Format of the input; told from it otherwise.")
@click.option("--skip-bad", is_flag=True, help="Leave out records that are wrong, and count them.")
@click.option("--keep-secrets", is_flag=True, help="Do not mask what looks like a key, token or password.")
@json_flag
def learn(
    paths: tuple[Path, ...],
    out: Path,
    tools_file: Path | None,
    name: str,
    task: str,
    domain: str | None,
    demonstrations: int,
    format_name: str | None,
    skip_bad: bool,
    keep_secrets: bool,
    as_json: bool,
) -> None:
    """Learn a world from observed trajectories of any known format: records, rules, errors.

    Rules are readable and are kept only where they reproduce the traces; each says how often it did.
    """
    from worldline.formats import Importer
    from worldline.types import Source
    from worldline.worlds.learning import learn_world, read_tools

    read = Importer(list(paths), format=format_name, mask=not keep_secrets, strict=not skip_bad)
    with quiet_pipe(), progress("reading") as bar:
        found = []
        for trajectory in read.read_all():
            found.append(trajectory)
            bar.advance(bar.task_ids[0])
    require_some(read, paths)
    observed = [t for t in found if t.source is Source.OBSERVED and t.turns]
    domains = [t.world.domain for t in observed if t.world.domain != "terminal"]
    chosen = domain or max(set(domains), key=domains.count, default="mcp")
    observed = [t for t in observed if t.world.domain == chosen]
    if not observed:
        raise ConfigError(f"no observed trajectories of domain {chosen}", hint="see `worldline inspect FILE`")
    tools = read_tools(tools_file) if tools_file is not None else ()
    with progress("learning"):
        made = learn_world(observed, tools=tools, name=name, task=task, domain=chosen, demonstrations=demonstrations)
    _write(made, out)
    if not as_json and str(out) != "-":
        console = Console()
        report_input(console, read)
        report_skips(console, read)
    _report(made, out, {**input_record(read), "used": len(observed)}, as_json=as_json)


def _write(made: WorldSpec, out: Path) -> None:
    from worldline.worlds import dump_world

    text = dump_world(made)
    if str(out) == "-":
        print_text(text)
        return
    with boundary(StorageError, f"writing {out}"):
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = out.with_name(out.name + ".tmp")
        partial.write_text(text, encoding="utf-8")
        partial.replace(out)


def _report(made: WorldSpec, out: Path, extra: JsonDict, *, as_json: bool) -> None:
    """Say what the world holds."""
    spec = made.initial_state.get("collections", {})
    rules: JsonDict = spec.get("tools", {})
    stores: JsonDict = spec.get("stores", {})
    records = {name: len(s.get("records", ())) + len(s.get("keyed", ())) for name, s in stores.items()}
    told = sorted(name for name, rule in rules.items() if rule.get("operation") or rule.get("cases"))
    untold = sorted({tool.name for tool in made.tools} - set(told))
    facts = {
        "out": str(out),
        "tools": len(made.tools),
        "stores": records,
        "with_rules": told,
        "without_rules": untold,
        "recorded_answers": len(spec.get("reads", ())),
    }
    if as_json:
        target = json_text({**extra, **facts}, indent=2) + "\n"
        print_text(target) if str(out) != "-" else click.echo(target, err=True)
        return
    held = ", ".join(f"{name} {count}" for name, count in records.items()) or "none"
    lines = [
        f"{out}: {len(made.tools)} tools, {len(told)} of them with rules; {facts['recorded_answers']} recorded answers",
        f"stores: {held}",
    ]
    if untold:
        lines.append(f"without rules: {', '.join(untold)}")
    click.echo("\n".join(lines), err=str(out) == "-")
