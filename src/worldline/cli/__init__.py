"""The `worldline` program: one file per command group, imported when the command is used."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from worldline import __version__
from worldline.errors import WorldlineError

__all__ = ["cli", "main"]

_COMMANDS = {
    "bench": "worldline.cli.bench:bench",
    "calibrate": "worldline.cli.calibrate:calibrate",
    "data": "worldline.cli.data:data",
    "doctor": "worldline.cli.doctor:doctor",
    "export": "worldline.cli.trajectories:export_command",
    "import": "worldline.cli.importing:import_command",
    "inspect": "worldline.cli.trajectories:inspect_command",
    "memory": "worldline.cli.memory:memory",
    "models": "worldline.cli.models:models",
    "play": "worldline.cli.play:play",
    "record": "worldline.cli.record:record",
    "train": "worldline.cli.train:train",
    "world": "worldline.cli.world:world",
}


class _LazyGroup(click.Group):
    """A group whose commands are imported only when they are needed, so that the program starts fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, attribute = _COMMANDS[cmd_name].split(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="worldline")
def cli() -> None:
    """A language world model for agents: it says what the environment answers to an action."""


def main() -> None:
    """Run the program; a known error is one line on standard error and status 2, never a traceback."""
    try:
        cli(prog_name="worldline", standalone_mode=False)
    except click.exceptions.Exit as exc:
        sys.exit(exc.exit_code)
    except click.Abort:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except click.ClickException as exc:
        exc.show()
        sys.exit(exc.exit_code)
    except WorldlineError as exc:
        _show_error(exc)
        sys.exit(2)


def _show_error(error: WorldlineError) -> None:
    from worldline.cli.text import visible

    click.echo(f"error: {visible(error.message)}", err=True)
    if error.hint:
        click.echo(f"  hint: {visible(error.hint)}", err=True)
