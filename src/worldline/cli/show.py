"""How a step looks to a person."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from worldline.sessions import StepResult
from worldline.types import Prediction

__all__ = ["explain", "show_step", "summary_line"]

_COLOURS = {"computed": "green", "recalled": "cyan", "generated": "yellow", "injected": "magenta", "mixed": "blue"}


def show_step(console: Console, result: StepResult, *, prompt: str | None = None) -> None:
    """Print the action (where a prompt is given), the observation and where it came from."""
    if prompt is not None:
        console.print(Text(prompt, style="bold") + Text(result.action.render()))
    show_observation(console, result.prediction)
    console.print(summary_line(result), highlight=False)


def show_observation(console: Console, prediction: Prediction) -> None:
    """Print the streams, standard error in red; control characters made visible."""
    observation = prediction.observation
    if observation.stdout is None:
        _print_stream(console, observation.text, "")
        return
    _print_stream(console, observation.stdout, "")
    _print_stream(console, observation.stderr or "", "red")


def summary_line(result: StepResult) -> Text:
    """One dim line: origin, confidence, exit code, time."""
    prediction = result.prediction
    line = Text("  ", style="dim")
    origin = str(prediction.origin) + (" guess" if prediction.abstained else "")
    line.append(origin, style=_COLOURS.get(str(prediction.origin), ""))
    line.append(f"  confidence {prediction.confidence:.2f}")
    if prediction.observation.exit_code:
        line.append(f"  exit {prediction.observation.exit_code}")
    if result.reward is not None:
        line.append(f"  reward {result.reward:g}")
    if result.done:
        line.append("  done")
    line.append(f"  {result.elapsed_ms:.1f} ms")
    return line


def explain(console: Console, prediction: Prediction) -> None:
    """Print where each piece of an observation came from: `:why`."""
    evidence = prediction.extra.get("evidence", "")
    console.print(
        f"origin      {prediction.origin}" + (" (a guess: the engine abstained)" if prediction.abstained else "")
    )
    console.print(f"confidence  {prediction.confidence:.3f}", highlight=False)
    if evidence:
        console.print(f"evidence    {evidence}", markup=False, highlight=False)
    if prediction.extra.get("classes"):
        console.print(f"classes     {', '.join(prediction.extra['classes'])}", markup=False, highlight=False)
    for span in prediction.spans:
        piece = prediction.observation.text[span.start : span.end]
        shown = repr(piece if len(piece) <= 60 else piece[:57] + "...")
        console.print(
            f"  {span.start}..{span.end} {span.origin} {span.confidence:.2f} {shown}", markup=False, highlight=False
        )
    if prediction.reasoning:
        console.print("reasoning", style="bold")
        console.print(prediction.reasoning, markup=False, highlight=False)
    if "model_error" in prediction.extra:
        console.print(f"model error {prediction.extra['model_error']['message']}", markup=False, style="red")


def _print_stream(console: Console, text: str, style: str) -> None:
    if not text:
        return
    visible = "".join(c if c in "\n\t" or c.isprintable() else f"\\x{ord(c):02x}" for c in text)
    console.print(Text(visible, style=style), end="" if visible.endswith("\n") else "\n", soft_wrap=True)
