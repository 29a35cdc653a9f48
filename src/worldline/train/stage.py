"""Running a stage: from a recipe to a folder with the model, its curve, its checkpoints, and what became of it.

The folder holds `recipe.json`, `curve.jsonl`, `checkpoints/`, and when the stage is done `model/` (a Hugging Face
folder, with the adapter beside the weights) and `result.json`. A run that was interrupted goes on at its last
checkpoint.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worldline.data.rows import Stage, TrainingRow
from worldline.errors import ConfigError, boundary, require_extra
from worldline.models.trained import TrainedNote, read_note, write_note
from worldline.train.guarding import GREEDY, NotFiniteError, Watch, last_checkpoint, read_curve
from worldline.train.pretrained import HuggingFaceTokens, load_model, load_tokenizer, save_model, with_lora
from worldline.train.recipe import Recipe
from worldline.train.runs import MODEL, RECIPE, RESULT, StageResult, claimed, read_result
from worldline.types import JsonDict
from worldline.writing import write_json

__all__ = ["Run", "noted", "run_stage"]

_LIBRARIES = ("torch", "transformers", "accelerate")
_CHECKPOINTS, _LAST_GOOD, _MEASURED = "checkpoints", "last-good", "measured"


@dataclass(slots=True)
class Run:
    """A stage that is being run; what the stages' own trainers are built from."""

    recipe: Recipe
    stage: Stage
    out: Path
    seed: int
    tokenizer: Any
    model: Any
    rows: list[TrainingRow]
    held_out: list[TrainingRow]
    watch: Watch | None
    checkpoint: Path | None
    evaluate: Callable[[Path], JsonDict] | None = None
    rows_used: int = 0
    tokens: int = 0
    learned: int = 0
    fitting: JsonDict | None = None
    closing: ExitStack = field(default_factory=ExitStack)
    """What is freed when the run ends, well or not."""

    @property
    def token_source(self) -> HuggingFaceTokens:
        """The tokenizer, as rows are encoded with it."""
        return HuggingFaceTokens(self.tokenizer)

    @property
    def start(self) -> int:
        """Step that training goes on from."""
        return 0 if self.checkpoint is None else int(self.checkpoint.name.rpartition("-")[2])

    @property
    def answers(self) -> Callable[[Any], JsonDict] | None:
        """Measures the answers of a model as `eval_greedy_*`; None where `evaluation.generate` is not set."""
        evaluate = self.evaluate
        if evaluate is None or not self.recipe.evaluation.generate:
            return None

        def measure(model: Any) -> JsonDict:
            # written as a folder and asked as any other
            folder, training = self.out / _MEASURED, model.training
            save_model(model, self.tokenizer, folder, reasoning=self.reasons)
            found = evaluate(folder)
            model.train(training)
            return {f"{GREEDY}{name}": value for name, value in found.items() if isinstance(value, int | float)}

        return measure

    @property
    def reasons(self) -> bool:
        """Whether the model learns to reason in this stage."""
        return self.stage == "sft" and self.recipe.reasoning

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments that all trainers have in common."""
        how, torch = self.recipe.stage(self.stage), require_extra("torch", "train")
        optimiser, every = how.optimiser, self.recipe.measured_every(self.stage)
        measured = bool(self.held_out) and every is not None
        return {
            "output_dir": str(self.out / _CHECKPOINTS),
            "seed": self.seed,
            "data_seed": self.seed,
            "per_device_train_batch_size": how.batch,  # type: ignore[attr-defined]
            "gradient_accumulation_steps": how.accumulation,
            "num_train_epochs": how.epochs,
            "max_steps": how.steps or -1,
            "learning_rate": optimiser.learning_rate,
            "weight_decay": optimiser.weight_decay,
            "adam_beta1": optimiser.beta1,
            "adam_beta2": optimiser.beta2,
            "warmup_steps": optimiser.warmup,
            "lr_scheduler_type": optimiser.schedule,
            "max_grad_norm": optimiser.max_grad_norm,
            "logging_steps": how.log_every,
            "logging_nan_inf_filter": False,
            "save_strategy": "steps",
            "save_steps": how.save_every,
            "save_total_limit": 2,
            "eval_strategy": "steps" if measured else "no",
            **({"eval_steps": every, "eval_on_start": self.checkpoint is None} if measured else {}),
            "use_cpu": not torch.cuda.is_available(),
            "bf16": self.recipe.autocast,
            "gradient_checkpointing": self.recipe.recompute,
            "report_to": list(self.recipe.trackers) or "none",
            "disable_tqdm": True,
            "remove_unused_columns": False,
            "dataloader_pin_memory": torch.cuda.is_available(),
        }


def run_stage(
    recipe: Recipe,
    stage: Stage,
    out: Path,
    rows: Iterable[TrainingRow],
    trainer: Callable[[Run], Any],
    *,
    held_out: Iterable[TrainingRow] = (),
    start: Path | None = None,
    resume: bool = False,
    seed: int | None = None,
    watch: Watch | None = None,
    evaluate: Callable[[Path], JsonDict] | None = None,
) -> StageResult:
    """Run a stage, or go on with it.

    Args:
        recipe: The recipe.
        stage: Which stage.
        out: The stage's folder.
        rows: What is learned; taken only where the folder is free, or holds this run and it is not done.
        trainer: Builds the trainer.
        held_out: Rows to measure on every `evaluation.every` steps; taken likewise.
        start: Model folder to start from; default the recipe's model.
        resume: Go on where an earlier run of the same recipe stopped; one that is done is not done again.
        seed: In place of the recipe's.
        watch: Called with every record of the curve.
        evaluate: Measures a model folder; called beside the held-out loss where `evaluation.generate` is set.

    Raises:
        ConfigError: The folder holds another run, or one that should be resumed.
        MissingExtraError: A library is missing.
        ModelError: The loss or a gradient is not finite; the last good state lies in `last-good/`.
        StorageError: Something cannot be written; earlier checkpoints stay.
    """
    seed = recipe.seed if seed is None else seed
    first = os.environ.get("RANK", "0") == "0"
    record = claimed(recipe, stage, out, resume=resume, seed=seed, start=start) if first else {}
    done = read_result(out)
    if done is not None:
        return done
    for library in (*_LIBRARIES, *(["peft"] if recipe.lora else []), *(["trl", "datasets"] if stage == "rl" else [])):
        require_extra(library, "train")
    _check_trackers(recipe.trackers)
    learned, measured = list(rows), list(held_out)
    if first and not (out / RECIPE).is_file():
        write_json(out / RECIPE, record)
    torch = require_extra("torch", "train")
    if recipe.threads is not None:
        torch.set_num_threads(recipe.threads)
    _quieten()
    tokenizer = load_tokenizer(recipe, start)
    model = load_model(recipe, tokenizer, start, seed)
    if recipe.lora is not None:
        torch.manual_seed(seed)
        model = with_lora(model, recipe.lora)
    checkpoint = last_checkpoint(out / _CHECKPOINTS)
    run = Run(recipe, stage, out, seed, tokenizer, model, learned, measured, watch, checkpoint, evaluate)
    with run.closing:
        made = trainer(run)
        began = time.monotonic()
        _train(made, run)
    result = _result(run, made, time.monotonic() - began)
    if first:
        # who asks the model later fits prompts to what it was trained with
        tokenizer.model_max_length = recipe.context
        save_model(model, tokenizer, out / MODEL, reasoning=run.reasons)
        write_note(noted(run, read_note(start) if start is not None else None), out / MODEL)
        write_json(out / RESULT, result.model_dump(mode="json"))
    return result


def noted(run: Run, before: TrainedNote | None) -> TrainedNote:
    """Return what a run's model says of its training; what it had learned before this stage, it still knows."""
    domains = {row.domain for row in run.rows}.union(before.domains if before is not None else ())
    return run.recipe.note(domains, reasons=run.reasons or (before is not None and before.reasons))


def _check_trackers(names: Sequence[str]) -> None:
    integrations = require_extra("transformers.integrations", "train")
    with boundary(ConfigError, "the recipe's trackers", ValueError, RuntimeError, ImportError):
        for kind in integrations.get_reporting_integration_callbacks(list(names)):
            kind()


def _quieten() -> None:
    """The curve and `watch` tell the progress; bars of the libraries' own would stand in between."""
    require_extra("transformers", "train").utils.logging.disable_progress_bar()


def _train(trainer: Any, run: Run) -> None:
    printer = require_extra("transformers", "train").trainer_callback.PrinterCallback
    trainer.remove_callback(printer)
    try:
        trainer.train(resume_from_checkpoint=str(run.checkpoint) if run.checkpoint else None)
    except NotFiniteError as exc:
        # no weight was changed by what is not finite, so what is there now is the last good state
        folder = run.out / _LAST_GOOD
        save_model(run.model, run.tokenizer, folder)
        exc.hint = f"the last good state is {folder}; lower the learning rate"
        raise


def _result(run: Run, trainer: Any, seconds: float) -> StageResult:
    curve = read_curve(run.out)
    weights = list(run.model.parameters())
    measured: JsonDict = next((r for r in reversed(curve) if any(name.startswith("eval_") for name in r)), {})
    return StageResult(
        stage=run.stage,
        recipe=run.recipe.name,
        seed=run.seed,
        steps=int(trainer.state.global_step),
        rows=run.rows_used,
        tokens=run.tokens,
        learned=run.learned,
        fitting=run.fitting or {},
        parameters=sum(weight.numel() for weight in weights),
        trained_parameters=sum(weight.numel() for weight in weights if weight.requires_grad),
        seconds=round(seconds, 1),
        loss=next((r["loss"] for r in reversed(curve) if r.get("loss") is not None), None),
        held_out={name: value for name, value in measured.items() if name.startswith("eval_")},
    )
