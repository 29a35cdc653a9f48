"""Continued pre-training and fine-tuning: next-token loss by the weights of the rows, on Transformers' Trainer.

Both stages are one piece of code: what differs stands in their rows (whole conversations, or one answer with
reasoning).
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from worldline.errors import ConfigError, require_extra
from worldline.train.batches import Collator, EncodedRows, selected_logits, weighted_loss
from worldline.train.guarding import callbacks, guarded
from worldline.train.recipe import StageRecipe
from worldline.train.stage import Run
from worldline.train.tokens import Encoded, Encoder

__all__ = ["tuning_trainer"]


def tuning_trainer(run: Run) -> Any:
    """Build the trainer of a CPT or SFT run.

    Raises:
        ConfigError: No row fits into the context.
    """
    transformers: Any = require_extra("transformers", "train")
    how = run.recipe.stage(run.stage)
    assert isinstance(how, StageRecipe)
    encoder = Encoder(run.token_source, run.recipe.context, reasoning=run.recipe.reasoning, windows=how.windows)
    rows = list(encoder.encode(run.rows))
    if not rows:
        raise ConfigError(
            f"no row of {run.stage} fits into {run.recipe.context} tokens", hint="raise context, or use short prompts"
        )
    run.rows_used, run.fitting = len(rows), encoder.fitting.as_record()
    run.tokens, run.learned = sum(len(row.ids) for row in rows), sum(row.learned for row in rows)
    held_out = Encoder(run.token_source, run.recipe.context, reasoning=run.recipe.reasoning)
    measured = list(islice(held_out.encode(run.held_out), run.recipe.evaluation.rows))
    return _trainer(run, transformers, rows, measured)


def _trainer(run: Run, transformers: Any, rows: list[Encoded], measured: list[Encoded]) -> Any:
    trainer_class = _weighted(guarded(transformers.Trainer, run.answers))
    if not measured:
        run.held_out = []
    arguments = transformers.TrainingArguments(**run.arguments, per_device_eval_batch_size=4)
    return trainer_class(
        model=run.model,
        args=arguments,
        data_collator=Collator(run.tokenizer.pad_token_id),
        train_dataset=EncodedRows(rows),
        eval_dataset=EncodedRows(measured) if measured else None,
        callbacks=callbacks(run.out, run.watch, run.start),
    )


def _weighted(base: Any) -> Any:
    torch: Any = require_extra("torch", "train")

    class Weighted(base):  # type: ignore[misc]
        """Counts each token by its weight, over the whole of an accumulated batch."""

        loss_is_scaled_for_ga = True

        def get_batch_samples(self, epoch_iterator: Any, num_batches: int, device: Any) -> Any:
            batches, _ = super().get_batch_samples(epoch_iterator, num_batches, device)
            total = sum((batch["weights"].sum() for batch in batches), torch.tensor(0.0)).to(device)
            if self.args.world_size > 1:
                # every process divides by the mean of their sums, because gradients are averaged over processes
                total = self.accelerator.gather(total).mean()
            return batches, total

        def compute_loss(
            self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
        ) -> Any:
            logits, targets, weights = selected_logits(model, inputs)
            loss = weighted_loss(logits, targets, weights, num_items_in_batch)
            return (loss, {"logits": logits}) if return_outputs else loss

        def prediction_step(self, model: Any, inputs: Any, prediction_loss_only: bool, ignore_keys: Any = None) -> Any:
            with torch.no_grad(), self.compute_loss_context_manager():
                loss = self.compute_loss(model, self._prepare_inputs(inputs))
            return loss.detach(), None, None

    return Weighted
