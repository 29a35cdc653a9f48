"""How trajectories look to a person: a table of counts, and one trajectory turn by turn."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.table import Table
from rich.text import Text

from worldline.formats.statistics import Statistics, turn_origins
from worldline.types import JsonDict, Observation, Source, Trajectory, Turn, VolatileSpan, WorldSpec, canonical_json

__all__ = ["print_statistics", "print_trajectory", "print_world"]

_LIMIT = 4_000
"""Characters of one text that are shown."""


def print_statistics(console: Console, statistics: Statistics) -> None:
    """Print what a set holds."""
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column()
    turns = statistics.turns

    def row(name: str, value: str) -> None:
        table.add_row(name, Text(value))

    row("trajectories", f"{statistics.trajectories:,}")
    row("turns", f"{turns:,} (longest trajectory {statistics.longest:,})")
    row("domains", _counts(statistics.domains))
    row("source", _counts(statistics.sources))
    row("origins", f"{_counts(statistics.origins)} (turns)")
    row("errors", f"{statistics.errors:,} turns{_share(statistics.errors, turns)}")
    if statistics.determined or statistics.undetermined:
        told = statistics.determined + statistics.undetermined
        row("determined", f"{statistics.determined:,} turns{_share(statistics.determined, told)} of {told:,} told")
    if statistics.volatile:
        row("volatile", f"{statistics.volatile:,} turns{_share(statistics.volatile, turns)}")
    row("tokens", f"about {statistics.tokens:,} (estimate: characters / 4)")
    row("families", f"{len(statistics.families):,}: {_counts(statistics.families, 8)}")
    row("tools", _counts(statistics.tools, 8))
    console.print(table)


def print_trajectory(console: Console, trajectory: Trajectory, *, turns: int | None = None) -> None:
    """Print a trajectory: its world, then each action and what was answered.

    Args:
        console: Where to print.
        trajectory: What to print.
        turns: At most so many turns.
    """
    head = Text("trajectory ", style="bold").append(trajectory.id)
    head.append(f"  {trajectory.source.value}, {len(trajectory.turns)} turns", style="dim")
    if trajectory.family:
        head.append(f", family {_visible(trajectory.family)}", style="dim")
    console.print(head)
    if trajectory.origin:
        console.print(Text(f"from {_visible(canonical_json(trajectory.origin))}", style="dim"), soft_wrap=True)
    print_world(console, trajectory.world)
    simulated = trajectory.source is Source.SIMULATED
    origins = turn_origins(trajectory)
    for number, turn in enumerate(trajectory.turns[:turns], start=1):
        console.print()
        _print_turn(console, number, turn, origins[number - 1] if simulated else None)
    left = len(trajectory.turns) - (turns or len(trajectory.turns))
    if left > 0:
        console.print(Text(f"\n{left} more turns; --turns shows more", style="dim"))


def print_world(console: Console, world: WorldSpec) -> None:
    """Print what a world declares, files by name only."""
    title = Text("world ", style="bold").append(_visible(" ".join(filter(None, (world.domain, world.name)))), style="")
    console.print(title)
    if world.task:
        console.print(Text(f"  task     {_visible(_shortened(world.task, 600))}"), soft_wrap=True)
    if world.tools:
        console.print(Text(f"  tools    {_visible(', '.join(tool.name for tool in world.tools))}"))
    for key, value in world.initial_state.items():
        if key == "files" and isinstance(value, dict):
            console.print(Text(f"  files    {len(value)}"))
            for path in list(value)[:12]:
                console.print(Text(f"           {_visible(path)}"))
            if len(value) > 12:
                console.print(Text(f"           and {len(value) - 12} more", style="dim"))
        else:
            text = value if isinstance(value, str) else canonical_json(value)
            console.print(Text(f"  {key:<8} {_visible(_shortened(text, 200))}"), soft_wrap=True)
    for name in ("hidden_state", "control", "verifier", "demonstrations"):
        if getattr(world, name):
            console.print(Text(f"  {name}: yes", style="dim"))


def _print_turn(console: Console, number: int, turn: Turn, origin: str | None) -> None:
    if turn.thought:
        console.print(Text(_visible(_shortened(turn.thought, 600)), style="italic dim"), soft_wrap=True)
    action = Text(f"[{number}] ", style="dim").append("$ " if turn.action.command is not None else "> ", style="bold")
    console.print(action.append(_visible(turn.action.render()), style="bold"), soft_wrap=True)
    observation = turn.observation
    if observation.stdout is None:
        _print_text(console, observation, "text", observation.text, "")
    else:
        _print_text(console, observation, "stdout", observation.stdout, "")
        _print_text(console, observation, "stderr", observation.stderr or "", "red")
    console.print(Text("    " + "  ".join(_notes(turn, origin)), style="dim"))


def _notes(turn: Turn, origin: str | None) -> list[str]:
    observation = turn.observation
    notes: list[str] = []
    if observation.exit_code is not None:
        notes.append(f"exit {observation.exit_code}")
    elif observation.is_error is not None:
        notes.append("error" if observation.is_error else "ok")
    if observation.merged:
        notes.append("streams merged")
    if origin is not None:
        notes.append(f"origin {origin}")
    if turn.determined is not None:
        notes.append("determined" if turn.determined else "not determined")
    if observation.volatile:
        notes.append(f"{len(observation.volatile)} volatile (underlined)")
    if observation.raw:
        notes.append(f"not UTF-8: {', '.join(observation.raw)}")
    if observation.truncated:
        notes.append("cut off")
    if turn.reward is not None:
        notes.append(f"reward {turn.reward:g}")
    if turn.done:
        notes.append("done")
    if not observation.text:
        notes.append("(no output)")
    return notes


def _print_text(console: Console, observation: Observation, field: str, text: str, style: str) -> None:
    if not text:
        return
    spans = [span for span in observation.volatile if span.field == field]
    shown = _marked(_shortened(text, _LIMIT), spans, style)
    if not text.endswith("\n") and observation.stdout is not None and len(text) <= _LIMIT:
        shown.append("\u00b6 no newline", style="dim")
    console.print(shown, end="" if shown.plain.endswith("\n") else "\n", soft_wrap=True)


def _marked(text: str, spans: list[VolatileSpan], style: str) -> Text:
    shown = Text(style=style)
    position = 0
    for span in sorted(spans, key=lambda item: item.start):
        start, end = max(position, span.start), max(position, span.end)
        shown.append(_visible(text[position:start]))
        shown.append(_visible(text[start:end]), style="underline")
        position = end
    return shown.append(_visible(text[position:]))


def _visible(text: str) -> str:
    """Make control characters visible: recorded output must not drive the terminal it is shown on."""
    return "".join(char if char in "\n\t" or char.isprintable() else f"\\x{ord(char):02x}" for char in text)


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}\u2026 ({len(text) - limit:,} characters more)"


def _counts(counts: Counter[str] | JsonDict, limit: int = 6) -> str:
    ordered = Counter(counts).most_common()
    shown = ", ".join(f"{_visible(str(name))} {count:,}" for name, count in ordered[:limit])
    return shown + (f", and {len(ordered) - limit} more" if len(ordered) > limit else "") or "-"


def _share(part: int, whole: int) -> str:
    return f" ({part / whole:.0%})" if whole else ""
