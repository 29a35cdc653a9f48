"""Options of `worldline data build sft` that name a teacher, and what they build."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from worldline.errors import ConfigError

if TYPE_CHECKING:
    from worldline.data.teaching import Teaching
    from worldline.models.watching import WatchedModel

__all__ = ["teaching_of", "teaching_options"]

F = TypeVar("F", bound=Callable[..., Any])

_ABOUT_A_TEACHER = (
    *("judge", "rollouts", "threshold", "mix", "target", "vary_prompts", "teacher_prompts", "concurrency", "models"),
    "model_cache",
)
_WINDOW = 2
"""Turns under way for each call that may be in flight."""


def teaching_options(function: F) -> F:
    """Add the options that :func:`teaching_of` reads."""
    file = click.Path(path_type=Path, dir_okay=False)
    folder = click.Path(exists=True, file_okay=False, path_type=Path)
    share = click.FloatRange(0, 1)
    options = (
        click.option("--teacher", metavar="URL#NAME", help="SFT: model that writes reasoning, in place of kernels."),
        click.option("--judge", metavar="URL#NAME", help="Model that grades its answers; default the executed rubric."),
        click.option("--rollouts", type=click.IntRange(1, 64), default=3, show_default=True, help="Answers to a turn."),
        click.option(
            "--threshold",
            type=click.FloatRange(0, 5),
            default=4.0,
            show_default=True,
            help="Least mean of the five dimensions, 1 to 5.",
        ),
        click.option(
            "--mix",
            type=share,
            default=0.0,
            show_default=True,
            help="Share of the trajectories whose turns a kernel teaches instead, where it can.",
        ),
        click.option(
            "--target",
            type=click.Choice(["truth", "rollout"]),
            default="truth",
            show_default=True,
            help="Whether a row answers with the true observation or the teacher's.",
        ),
        click.option("--vary-prompts", is_flag=True, help="Rows have the prompt that was drawn, too."),
        click.option("--teacher-prompts", type=folder, help="Folder of templates instead of our pool."),
        click.option("--concurrency", type=click.IntRange(1), default=8, show_default=True, help="Calls in flight."),
        click.option("--models", type=file, help="Models file instead of the usual ones."),
        click.option("--model-cache", type=file, help="File of answers, asked only once; default OUT.answers.sqlite."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def teaching_of(
    stage: str,
    out: Path,
    seed: int,
    *,
    teacher: str | None,
    judge: str | None,
    rollouts: int,
    threshold: float,
    mix: float,
    target: str,
    vary_prompts: bool,
    teacher_prompts: Path | None,
    concurrency: int,
    models: Path | None,
    model_cache: Path | None,
) -> Teaching | None:
    """Build the teaching that the options ask for; None where they name no teacher.

    Raises:
        ConfigError: They do not go together, or there is no such model.
        StorageError: The file of answers cannot be opened.
    """
    if teacher is None:
        given = [f"--{name.replace('_', '-')}" for name in _ABOUT_A_TEACHER if _was_given(name)]
        if given:
            raise ConfigError(f"there is no teacher for {', '.join(given)}", hint="name one with --teacher")
        return None
    if stage != "sft":
        raise ConfigError(f"a teacher has nothing to write in {stage}", hint="--teacher goes with sft")
    from worldline.data.teaching import Teaching, TeachingOptions
    from worldline.models.config import resolve_model
    from worldline.models.watching import WatchedModel
    from worldline.train.rewards.grading import JudgeGrader, RubricGrader

    cache = model_cache or out.with_name(f"{out.name}.answers.sqlite")

    def resolved(spec: str) -> WatchedModel:
        return WatchedModel(resolve_model(spec, models=models, cache=cache, overrides={"concurrency": concurrency}))

    how = TeachingOptions.model_validate(
        {
            "rollouts": rollouts,
            "threshold": threshold,
            "mix": mix,
            "target": target,
            "vary_prompts": vary_prompts,
            "prompts": teacher_prompts,
            "window": _WINDOW * concurrency,
        }
    )
    asked = resolved(teacher)
    if judge is None:
        return Teaching(asked, RubricGrader(), how)
    judging = resolved(judge)
    return Teaching(asked, JudgeGrader(judging, concurrency=concurrency, seed=seed), how, (judging,))


def _was_given(name: str) -> bool:
    """Whether an option stands on the command line, be it with its default."""
    context = click.get_current_context(silent=True)
    return context is not None and context.get_parameter_source(name) is ParameterSource.COMMANDLINE
