"""The card of a trained model, as Markdown, written from what was measured and from nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from worldline.train.recipe import Recipe
from worldline.train.runs import StageResult
from worldline.types import JsonDict

__all__ = ["model_card"]

_STAGES = {
    "cpt": "continued pre-training on recorded transitions",
    "sft": "fine-tuning on next-state answers",
    "rl": "reinforcement learning (GSPO)",
}


def model_card(recipe: Recipe, stages: Sequence[StageResult], measured: Sequence[JsonDict] = ()) -> str:
    """Write a model's card.

    Args:
        recipe: How it was trained.
        stages: What each stage did, first to last.
        measured: Figures on held-out turns, each with a `name` (see :func:`worldline.train.evaluation.figures`).

    Raises:
        ValueError: There is no stage.
    """
    if not stages:
        raise ValueError("a card needs at least one stage")
    last = stages[-1]
    start = recipe.model.start or "random weights"
    parts = [
        _head(recipe),
        f"# {recipe.name}: a world model of {recipe.evaluation.domain}",
        f"It predicts what an environment answers to an action. Started from {start}; "
        f"{last.parameters:,} parameters, made by {last.made_by}.",
        _stage_table(stages),
        _measured_table(recipe, measured),
        _limits(recipe, stages),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(recipe: Recipe) -> str:
    # the hub writes SPDX identifiers in lower case
    licence = [f"license: {recipe.licence.lower()}"] if recipe.licence else []
    return "\n".join(["---", *licence, "library_name: transformers", "tags: [world-model, worldline]", "---"])


def _stage_table(stages: Sequence[StageResult]) -> str:
    lines = [
        "## Training",
        "",
        "| Stage | Steps | Rows | Tokens | Learned | Trained weights | Loss | Held-out | Seed | Minutes |",
    ]
    lines.append("|---|---|---|---|---|---|---|---|---|---|")
    for one in stages:
        held_out = one.held_out.get("eval_reward", one.held_out.get("eval_loss"))
        figures = [
            _STAGES[one.stage],
            f"{one.steps:,}",
            f"{one.rows:,}",
            f"{one.tokens:,}",
            f"{one.learned:,}" if one.learned else "by reward",
            f"{one.trained_parameters:,}",
            _number(one.loss, 4),
            _number(held_out, 4),
            str(one.seed),
            f"{one.seconds / 60:.1f}",
        ]
        lines.append(f"| {' | '.join(figures)} |")
    return "\n".join(lines)


def _measured_table(recipe: Recipe, measured: Sequence[JsonDict]) -> str:
    if not measured:
        return "## Measured\n\nNo answers were measured."
    how = recipe.evaluation
    lines = [
        "## Measured",
        "",
        f"Teacher-forced on held-out turns of {how.domain} ({how.split}), greedy, at most {how.max_tokens} tokens.",
        "",
        "| Model | Turns | Exact | 95% interval | Error agreement | ROUGE-L | Failures |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in measured:
        interval = one.get("exact_ci")
        between = f"{interval[0]:.3f} to {interval[1]:.3f}" if interval else "-"
        shares = [_number(one.get(name), 3) for name in ("exact", "error_agreement", "rouge_l")]
        figures = [one["name"], f"{one['n']:,}", shares[0], between, *shares[1:], str(one["failures"])]
        lines.append(f"| {' | '.join(figures)} |")
    return "\n".join(lines)


def _limits(recipe: Recipe, stages: Sequence[StageResult]) -> str:
    """Say what was left out of training, and what the model was trained to be asked with."""
    lines = []
    for one in stages:
        left_out = len(one.fitting.get("too_long", ()))
        if left_out or one.fitting.get("truncated"):
            lines.append(
                f"- {one.stage}: {one.fitting.get('truncated', 0):,} rows lost {one.fitting.get('dropped_turns', 0):,} "
                f"early turns to the context of {recipe.context:,} tokens, {left_out:,} did not fit at all."
            )
    asked = f"prompts `{recipe.data.prompts}`" if recipe.data.prompts else "the domain's own prompts"
    lines.append(f"- Ask it with {asked} and at most {recipe.context:,} tokens: it was trained on nothing else.")
    return "\n".join(["## Limits", "", *lines])


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
