"""How a step looks to a person."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from worldline.cli.text import visible
from worldline.sessions import StepResult
from worldline.types import Prediction

__all__ = ["explain", "show_observation", "show_step", "summary_line"]

_COLOURS = {"computed": "green", "recalled": "cyan", "generated": "yellow", "injected": "magenta", "mixed": "blue"}
_STYLED_CHARACTERS = 100_000
"""Longer output is printed plain: styling it would take seconds."""


def show_step(console: Console, result: StepResult, *, prompt: str | None = None) -> None:
    """Print the action (where a prompt is given), the observation and where it came from."""
    if prompt is not None:
        console.print(Text(prompt, style="bold") + Text(visible(result.action.render())))
    show_observation(console, result.prediction)
    console.print(summary_line(result), highlight=False)
    if "model_error" in result.prediction.extra:
        _print_model_error(console, result.prediction)


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

    def say(text: str, style: str = "") -> None:
        console.print(Text(visible(text), style=style), soft_wrap=True)

    say(f"origin      {prediction.origin}" + (" (a guess: the engine abstained)" if prediction.abstained else ""))
    say(f"confidence  {prediction.confidence:.3f}")
    if prediction.extra.get("evidence"):
        say(f"evidence    {prediction.extra['evidence']}")
    if prediction.extra.get("classes"):
        say(f"classes     {', '.join(prediction.extra['classes'])}")
    for span in prediction.spans:
        piece = prediction.observation.text[span.start : span.end]
        shown = repr(piece if len(piece) <= 60 else piece[:57] + "...")
        say(f"  {span.start}..{span.end} {span.origin} {span.confidence:.2f} {shown}")
    if prediction.reasoning:
        say("reasoning", "bold")
        say(prediction.reasoning)
    if "model_error" in prediction.extra:
        _print_model_error(console, prediction)


def _print_model_error(console: Console, prediction: Prediction) -> None:
    error = prediction.extra["model_error"]
    hint = f" ({error['hint']})" if error.get("hint") else ""
    console.print(Text(visible(f"  no answer from the model: {error['message']}{hint}"), style="red"), soft_wrap=True)


def _print_stream(console: Console, text: str, style: str) -> None:
    if not text:
        return
    shown = visible(text)
    end = "" if shown.endswith("\n") else "\n"
    if console.is_terminal and len(shown) <= _STYLED_CHARACTERS:
        console.print(Text(shown, style=style), end=end, soft_wrap=True)
    else:
        console.file.write(shown + end)
