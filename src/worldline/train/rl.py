"""Reinforcement learning by GSPO: TRL's trainer for groups of answers, importance sampled as whole sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from worldline.data.rows import TrainingRow
from worldline.errors import ConfigError, require_extra
from worldline.train.guarding import callbacks, guarded
from worldline.train.measuring import measuring
from worldline.train.recipe import RlRecipe
from worldline.train.rewards.mixing import columns, reward_function
from worldline.train.stage import Run
from worldline.train.tokens import Encoder

__all__ = ["Reward", "rl_trainer"]

Reward = Callable[..., list[float]]
"""A reward as TRL calls it: `(prompts, completions, **columns)`; the column `row` names each completion's row."""


def rl_trainer(run: Run, reward: Reward | None = None) -> Any:
    """Build the trainer of an RL run.

    Args:
        run: The run.
        reward: In place of the recipe's own, which needs no judge.

    Raises:
        ConfigError: No prompt fits into the context.
        MissingExtraError: TRL or datasets is not installed.
    """
    trl = require_extra("trl", "train")
    datasets = require_extra("datasets", "train")
    how = run.recipe.stage("rl")
    assert isinstance(how, RlRecipe)
    encoder = Encoder(run.token_source, run.recipe.context - how.answer)
    rows = _fitted(run.rows, encoder)
    if not rows:
        raise ConfigError(
            f"no prompt fits into {run.recipe.context - how.answer} tokens",
            hint="raise context, lower rl.answer, or use short prompts",
        )
    run.rows_used, run.fitting = len(rows), encoder.fitting.as_record()
    run.tokens = sum(len(encoder.prompt(row.messages)) for row in rows)
    measured = _fitted(run.held_out, Encoder(run.token_source, run.recipe.context - how.answer))
    if not measured:
        run.held_out = []
    config = trl.GRPOConfig(**run.arguments, **_settings(how))
    rewarded = reward
    if rewarded is None:
        own = rewarded = reward_function([*run.rows, *run.held_out], how.reward)
        run.closing.callback(own.close)
    return guarded(measuring(_resumable(trl.GRPOTrainer), rewarded, run.out), run.answers)(
        model=run.model,
        reward_funcs=[rewarded],
        args=config,
        train_dataset=datasets.Dataset.from_list([_columns(row) for row in rows]),
        eval_dataset=datasets.Dataset.from_list([_columns(row) for row in measured]) if measured else None,
        processing_class=run.tokenizer,
        callbacks=callbacks(run.out, run.watch, run.start),
    )


def _resumable(base: Any) -> Any:
    """Return a subclass of TRL's trainer whose order of prompts in an epoch follows from seed and epoch alone.

    TRL draws the order of an epoch where that of the epoch before left its generator: a run that goes on in a later
    epoch would begin with the order of the first one again.
    """

    class Resumable(base):  # type: ignore[misc]
        """The trainer with that order."""

        def _get_train_sampler(self, *args: Any, **kwargs: Any) -> Any:
            sampler = super()._get_train_sampler(*args, **kwargs)
            sampler.set_epoch = lambda epoch: sampler.generator.manual_seed(self.args.seed + epoch)
            return sampler

    return Resumable


def _settings(how: RlRecipe) -> dict[str, Any]:
    """What makes TRL's trainer GSPO: ratios, clipping and the loss are those of sequences."""
    return {
        "importance_sampling_level": "sequence",
        "loss_type": "grpo",
        "num_generations": how.group,
        "per_device_eval_batch_size": how.group,
        "epsilon": how.epsilon,
        "epsilon_high": how.epsilon_high,
        "beta": how.beta,
        "temperature": how.temperature,
        "max_completion_length": how.answer,
    }


def _fitted(rows: Sequence[TrainingRow], encoder: Encoder) -> list[TrainingRow]:
    """Fit prompts into the context; a row keeps its id, by which the reward knows it."""
    found = []
    for row in rows:
        encoder.fitting.rows += 1
        messages = encoder.fitted_prompt(row.messages)
        if messages is None:
            encoder.fitting.too_long.append(row.id)
        else:
            extra = {**row.extra, "row": row.id}
            found.append(row.model_copy(update={"messages": messages, "extra": extra}))
    return found


def _columns(row: TrainingRow) -> dict[str, Any]:
    return {**columns(row), "row": row.extra["row"]}
