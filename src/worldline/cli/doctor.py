"""`worldline doctor`: what is installed, what works, what to install."""

from __future__ import annotations

import json
import platform
import shutil
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from worldline import __version__
from worldline.cli.options import json_flag
from worldline.cli.text import visible
from worldline.errors import ConfigError, SandboxError, WorldlineError

if TYPE_CHECKING:
    from worldline.record.mcp.settings import ServerSettings

__all__ = ["doctor"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. `needed`: without it the embedded default does not work."""

    name: str
    works: bool
    detail: str
    advice: str = ""
    needed: bool = False


@click.command()
@json_flag
def doctor(as_json: bool) -> None:
    """Say what is installed, what works and what to install. Status 1 if something needed does not work."""
    findings = [*_platform(), *_computing(), *_recording(), *_servers(), *_data(), *_adapters(), *_extras()]
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        _print(findings)
    if any(f.needed and not f.works for f in findings):
        sys.exit(1)


def _platform() -> list[Finding]:
    python = platform.python_version()
    return [
        Finding("worldline", True, __version__, needed=True),
        Finding("python", sys.version_info >= (3, 11), python, "install Python 3.11 or newer", needed=True),
        Finding("sqlite", sqlite3.sqlite_version_info >= (3, 35), sqlite3.sqlite_version, needed=True),
    ]


def _computing() -> list[Finding]:
    return [
        _try("shell kernel", _kernel_runs, "pip install --force-reinstall worldline", needed=True),
        _try("python kernel", _python_runs, "it needs Linux; without it python3 commands are only guessed"),
    ]


_PROGRAMS = {
    "bwrap": "bubblewrap",
    "setpriv": "util-linux",
    "cc": "gcc libc6-dev",
    "tmux": "tmux",
}
"""What recording needs, and the package it is in; tmux only for sessions that ask for it."""


def _recording() -> list[Finding]:
    found = [
        Finding(name, shutil.which(name) is not None, shutil.which(name) or "not found", f"apt-get install {package}")
        for name, package in _PROGRAMS.items()
    ]
    return [
        *found,
        _try("sandbox", _sandbox_runs, "see docs/recording.md"),
        _try("recorded screen", _screen_records, "see docs/recording.md"),
    ]


def _servers() -> list[Finding]:
    """The known MCP servers, which `worldline record mcp` and the closed loop of `mcp` run."""
    from worldline.record.mcp.settings import PACKAGES, ServerSettings

    try:
        settings = ServerSettings.from_environment()
    except ConfigError as error:
        return [Finding("mcp servers", False, error.message, "correct or unset that variable")]
    return [
        _try(f"mcp server: {kind}", partial(_server_installed, settings, kind), "see docs/mcp.md") for kind in PACKAGES
    ]


def _server_installed(settings: ServerSettings, kind: str) -> str:
    found, program = settings.version(kind), settings.program(kind)
    if not program.exists():
        package = "nodejs npm" if program.name == "node" else "python3-venv"
        raise SandboxError(
            f"{found}, but {program} is missing",
            hint=f"apt-get install {package}, then python3 scripts/install_mcp_servers.py",
        )
    return f"{found} in {settings.home}"


def _data() -> list[Finding]:
    return [
        _try("recordings", _recordings_read, "pip install --force-reinstall worldline", needed=True),
        _try("calibration", _calibration_reads, "worldline calibrate"),
    ]


def _adapters() -> list[Finding]:
    """The adapters that ship: whether each one's base is on this machine."""
    from worldline.models.adapters import shipped_adapters

    advice = "pip install --force-reinstall worldline"
    return [_try(f"adapter: {name}", partial(_adapter_loads, name), advice) for name in shipped_adapters()]


def _adapter_loads(name: str) -> str:
    from worldline.models.store import find_model

    return f"--model local:{find_model(name).name}"


def _extras() -> list[Finding]:
    """One finding per optional dependency, from the package's own metadata."""
    findings = []
    for line in requires("worldline") or ():
        requirement, _, marker = line.partition(";")
        if "extra ==" not in marker or requirement.startswith("worldline"):
            continue
        extra = marker.split("extra ==")[1].strip().strip("'\"")
        if extra in ("all", "dev"):
            continue
        name = requirement.split(">")[0].split("=")[0].split("<")[0].split("[")[0].strip()
        try:
            findings.append(Finding(f"{extra}: {name}", True, version(name)))
        except PackageNotFoundError:
            findings.append(Finding(f"{extra}: {name}", False, "not installed", f"pip install 'worldline[{extra}]'"))
    return findings


def _kernel_runs() -> str:
    from worldline.kernels import build_kernel
    from worldline.types import Action, WorldSpec

    kernel = build_kernel(WorldSpec(domain="terminal"))
    text = kernel.propose(Action(name="bash", arguments={"command": "echo works | rev | rev"})).observation.text
    kernel.close()
    return f"bashkit {version('bashkit')}: {text.strip()}"


def _python_runs() -> str:
    from worldline.kernels import build_kernel
    from worldline.types import Action, WorldSpec

    kernel = build_kernel(WorldSpec(domain="terminal", initial_state={"packages": ["python3"]}))
    proposal = kernel.propose(Action(name="bash", arguments={"command": "python3 -c 'print(6*7)'"}))
    kernel.close()
    if proposal.observation.text != "42\n":
        raise WorldlineError(f"python3 -c 'print(6*7)' gave {proposal.observation.text!r}: {proposal.why}")
    return "sealed worker: 42"


def _sandbox_runs() -> str:
    from worldline.record.shell import RealShell
    from worldline.types import WorldSpec

    with RealShell(WorldSpec(domain="terminal")) as shell:
        return shell.run("echo bash $BASH_VERSION").text.strip()


def _screen_records() -> str:
    """Type into a real terminal, as the keystroke recorder does; needs pexpect."""
    from worldline.domains.terminal.keystrokes import keystroke_action
    from worldline.record.terminal import RealTerminal
    from worldline.types import WorldSpec

    with RealTerminal(WorldSpec(domain="terminal", initial_state={"screen": {}})) as terminal:
        screen = terminal.act(keystroke_action([{"keystrokes": "echo $((6 * 7))\n", "duration": 0.1}])).text
    if "\n42\n" not in screen:
        raise WorldlineError(f"a terminal in the sandbox showed {screen!r}")
    return "pty: 42"


def _recordings_read() -> str:
    from worldline.formats import read_trajectories
    from worldline.recordings import path

    first = next(iter(read_trajectories(path("terminal", "train"))))
    return f"terminal: first trajectory has {len(first.turns)} turns"


def _calibration_reads() -> str:
    from worldline.engines.calibration import shipped_calibration

    calibration = shipped_calibration("terminal")
    if not calibration.trust:
        raise WorldlineError("terminal: not calibrated")
    return f"terminal: {calibration.data.get('turns')} turns, {len(calibration.trust.get('kernel', {}))} classes"


def _try(name: str, check: Callable[[], str], advice: str, *, needed: bool = False) -> Finding:
    try:
        return Finding(name, True, check(), needed=needed)
    except WorldlineError as error:
        return Finding(name, False, error.message, error.hint or advice, needed)
    except (ImportError, OSError, StopIteration) as error:
        return Finding(name, False, f"{type(error).__name__}: {error}", advice, needed)


def _print(findings: list[Finding]) -> None:
    table = Table(show_header=False, box=None)
    for finding in findings:
        mark = "[green]works[/]" if finding.works else ("[red]broken[/]" if finding.needed else "[yellow]missing[/]")
        advice = "" if finding.works else finding.advice
        table.add_row(mark, *(escape(visible(text)) for text in (finding.name, finding.detail, advice)))
    console = Console()
    (console if console.is_terminal else Console(width=1000)).print(table, highlight=False)
