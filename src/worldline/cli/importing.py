"""`worldline import`: files, archives and whole folders of trajectories become one Worldline JSONL file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import click
from rich.console import Console

from worldline.cli.intake import (
    OUT,
    PATH,
    input_record,
    progress,
    quiet_pipe,
    report_input,
    report_skips,
    require_some,
    target_of,
    write_to,
)
from worldline.cli.options import json_flag
from worldline.cli.transcript import print_statistics
from worldline.formats import Importer, ResumableWriter, Unit
from worldline.formats.statistics import Statistics
from worldline.types import JsonDict, Source, Trajectory

__all__ = ["import_command"]


@click.command("import")
@click.argument("paths", metavar="PATH...", type=PATH, nargs=-1, required=True)
@click.option("--format", "format_name", metavar="NAME", help="Format of the input; told from its content otherwise.")
@click.option("--out", type=OUT, help="File to write, `.zst` compresses, `-` prints. Default: NAME.worldline.jsonl.")
@click.option("--dry-run", is_flag=True, help="Read everything and say what it holds, but write nothing.")
@click.option(
    "--skip-bad/--strict",
    default=None,
    help="Leave out records that are wrong and count them, or stop at the first. Default: stop for a single file, "
    "leave out for folders, archives and several files.",
)
@click.option("--simulated", is_flag=True, help="The trajectories come from a simulation, not from reality.")
@click.option("--keep-secrets", is_flag=True, help="Do not mask what looks like a key, token or password.")
@json_flag
def import_command(
    paths: tuple[Path, ...],
    format_name: str | None,
    out: Path | None,
    dry_run: bool,
    skip_bad: bool | None,
    simulated: bool,
    keep_secrets: bool,
    as_json: bool,
) -> None:
    """Turn trajectories of any known format into Worldline JSONL.

    Each PATH is a file (plain, .gz, .bz2, .xz or .zst), an archive (.zip, .tar, .tar.gz, ...) or a folder. Folders are
    walked: every file and every folder that is a trajectory as a whole is recognised by its content, and the report
    says as what and why. What is not recognised is left out and named.

    Secrets are masked: each becomes <secret:1a2b>, the same everywhere in a trajectory. The output is there whole or
    not at all; an import that was stopped goes on where it was when the same command is given again.
    """
    source = Source.SIMULATED if simulated else Source.OBSERVED
    read = Importer(list(paths), format=format_name, source=source, mask=not keep_secrets)
    target = None if dry_run else target_of(out, paths[0], ".worldline.jsonl")
    units = read.units(without=_written(target))
    single = len(paths) == 1 and not paths[0].is_dir() and not read.is_archive(paths[0])
    read.strict = single if skip_bad is None else not skip_bad
    statistics = Statistics()
    with quiet_pipe(), progress("reading", len(units)) as bar:
        resumed = _run(read, units, target, statistics, lambda: bar.advance(bar.task_ids[0]))
        require_some(read, paths)
    if as_json:
        record = {
            "out": None if target is None else str(target),
            "written": 0 if dry_run else statistics.trajectories,
            "resumed": resumed,
            **input_record(read),
            "secrets": _secrets(read),
            "statistics": statistics.as_record(),
        }
        click.echo(json.dumps(record, ensure_ascii=False, indent=2), err=str(target) == "-")
        return
    console = Console(stderr=str(target) == "-")
    _report(console, read, statistics)
    if resumed:
        console.print(f"{resumed:,} of {len(units):,} files were read by an earlier run", highlight=False)
    done = "dry run: nothing was written" if target is None else _wrote(statistics.trajectories, target)
    console.print(done, markup=False, highlight=False, soft_wrap=True)


def _written(target: Path | None) -> tuple[Path, ...]:
    """Return the files an import writes, which are not to be read where they lie in the folder."""
    if target is None or str(target) == "-":
        return ()
    path = target.resolve()
    return (path, *ResumableWriter.beside(path))


def _run(
    read: Importer, units: list[Unit], target: Path | None, statistics: Statistics, advance: Callable[[], None]
) -> int:
    """Read all units and write what they hold; return how many an earlier run had read."""
    if target is not None and str(target) != "-" and (target.is_file() or not target.exists()):
        return read.write(units, target, advance=advance, watch=statistics.add)

    def trajectories() -> Iterator[Trajectory]:
        for unit in units:
            yield from statistics.watch(read.read(unit))
            advance()

    if target is None:
        for _ in trajectories():
            pass
    else:
        write_to(target, trajectories(), "worldline")
    return 0


def _wrote(count: int, target: Path) -> str:
    return f"wrote {count:,} trajectories to {target}"


def _secrets(read: Importer) -> JsonDict:
    kinds: Counter[str] = Counter()
    for entry in read.entries:
        kinds.update(entry.secrets)
    return {"kinds": dict(kinds), "trajectories": sum(entry.masked for entry in read.entries)}


def _report(console: Console, read: Importer, statistics: Statistics) -> None:
    report_input(console, read)
    report_skips(console, read)
    secrets = _secrets(read)
    if secrets["trajectories"]:
        counts: Counter[str] = Counter(secrets["kinds"])
        kinds = ", ".join(f"{kind} {count}" for kind, count in counts.most_common())
        console.print(f"masked secrets in {secrets['trajectories']:,} trajectories: {kinds}", highlight=False)
    print_statistics(console, statistics)
