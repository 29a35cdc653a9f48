"""Guards around a trainer of Transformers or TRL: its curve on disk, its checkpoints whole, its numbers finite."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from worldline.errors import ModelError, StorageError, boundary, require_extra
from worldline.types import JsonDict
from worldline.writing import write_text

__all__ = [
    "COMPLETE",
    "CURVE",
    "GREEDY",
    "NotFiniteError",
    "Watch",
    "callbacks",
    "guarded",
    "last_checkpoint",
    "read_curve",
]

Watch = Callable[[JsonDict], None]
"""Called with every record of the curve while training runs."""

CURVE = "curve.jsonl"
GREEDY = "eval_greedy_"
"""Begins the names of figures of answers to held-out turns, asked greedily as `worldline bench real` asks. RL's other
`eval_*` are of answers that are drawn."""
COMPLETE = "complete"
"""A file that is written last into a checkpoint, or the like: without it, the writing was interrupted."""


class NotFiniteError(ModelError):
    """A loss or a gradient is no finite number: training cannot go on from here."""


def guarded(base: Any, answers: Callable[[Any], Mapping[str, float]] | None = None) -> Any:
    """Return a subclass of a trainer class whose checkpoints are there whole or not at all, and whose loss is finite.

    A checkpoint that cannot be written is taken away again; the one before it stays. Every measurement draws the same
    random numbers, and leaves those of training as they were: how often one measures changes nothing that is learned,
    and what two measurements differ by is less a matter of luck.

    Args:
        base: The trainer class.
        answers: Measures the answers of a model; every measurement's record holds its figures as well.
    """
    torch: Any = require_extra("torch", "train")
    foreign = (OSError, RuntimeError, require_extra("safetensors", "train").SafetensorError)

    class Guarded(base):  # type: ignore[misc]
        """The trainer with its guards."""

        _unanswered = False

        def _save_checkpoint(self, model: Any, trial: Any) -> None:
            folder = Path(self._get_output_dir(trial=trial)) / f"checkpoint-{self.state.global_step}"
            try:
                with boundary(StorageError, f"writing the checkpoint {folder}", *foreign):
                    super()._save_checkpoint(model, trial)
                    (folder / COMPLETE).write_text(f"{self.state.global_step}\n", encoding="utf-8")
            except StorageError as exc:
                shutil.rmtree(folder, ignore_errors=True)
                exc.hint = exc.hint or "free some space and run the same command with --resume"
                raise

        def training_step(self, *args: Any, **kwargs: Any) -> Any:
            loss = super().training_step(*args, **kwargs)
            if not bool(torch.isfinite(loss)):
                raise NotFiniteError(f"the loss of step {self.state.global_step + 1} is {float(loss)}")
            return loss

        def evaluate(self, *args: Any, **kwargs: Any) -> Any:
            devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
            with torch.random.fork_rng(devices):
                torch.manual_seed(self.args.seed + self.args.process_index)
                self._unanswered = answers is not None and self.is_world_process_zero()
                return super().evaluate(*args, **kwargs)

        def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
            if self._unanswered and answers is not None:
                self._unanswered = False
                logs.update(answers(self.model))
            super().log(logs, *args, **kwargs)

    return Guarded


def callbacks(out: Path, watch: Watch | None, start: int = 0) -> list[Any]:
    """Return what writes the curve and stops where a gradient is not finite, before any weight is changed by it.

    Args:
        out: Folder of the curve.
        watch: Called with every record.
        start: Step that training goes on from; later records of an interrupted run are dropped.
    """
    torch: Any = require_extra("torch", "train")
    transformers: Any = require_extra("transformers", "train")
    path = out / CURVE
    # who starts anew measures step 0 anew
    kept = [record for record in read_curve(out) if record["step"] <= start] if start else []
    write_text(path, "".join(f"{json.dumps(record)}\n" for record in kept))

    class Curve(transformers.TrainerCallback):  # type: ignore[misc]
        """Writes what is logged."""

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if not state.is_world_process_zero:
                return
            values = {name: _plain(value) for name, value in (logs or {}).items() if name != "total_flos"}
            record = {"step": int(state.global_step), "of": int(state.max_steps), **values}
            with boundary(StorageError, f"writing {path}", OSError), path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
            if watch is not None:
                watch(record)

    class Finite(transformers.TrainerCallback):  # type: ignore[misc]
        """Looks at gradients before they are used."""

        def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
            for name, weight in model.named_parameters():
                if weight.grad is not None and not bool(torch.isfinite(weight.grad).all()):
                    raise NotFiniteError(f"the gradient of {name} in step {state.global_step + 1} is not finite")

    return [Curve(), Finite()]


def read_curve(out: Path) -> list[JsonDict]:
    """Read the curve of a run; empty where there is none. A last line that was cut off is left out."""
    path = out / CURVE
    if not path.is_file():
        return []
    records = []
    with boundary(StorageError, f"reading {path}", OSError):
        lines = path.read_text(encoding="utf-8").splitlines()
    for line in lines:
        try:
            records.append(json.loads(line))
        except ValueError:
            break
    return records


def last_checkpoint(folder: Path) -> Path | None:
    """Return the latest whole checkpoint in a folder."""
    whole = [path.parent for path in folder.glob(f"checkpoint-*/{COMPLETE}")]
    return max(whole, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    return value if isinstance(value, int | str | bool) or value is None else str(value)
