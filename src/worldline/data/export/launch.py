"""The recipes that start a training on many GPUs, beside the rows that were exported for it."""

from __future__ import annotations

import shutil
from importlib.resources import as_file, files
from pathlib import Path

from worldline.data.rows import Stage
from worldline.errors import StorageError, boundary

__all__ = ["LAUNCHED", "write_launch"]

_SIZE = "qwen3.5-35b-a3b"
_TUNING: tuple[Stage, ...] = ("cpt", "sft")
LAUNCHED: dict[str, tuple[tuple[tuple[Stage, ...], tuple[str, ...]], ...]] = {
    "llama-factory": ((_TUNING, (f"{_SIZE}-llama-factory.yaml", "deepspeed-zero3.json")),),
    "ms-swift": ((_TUNING, (f"{_SIZE}-ms-swift.sh",)),),
    "tinker": ((_TUNING, ("tinker_sft.py",)),),
    "trl": ((_TUNING, (f"{_SIZE}-trl-sft.sh", "accelerate-fsdp.yaml")),),
    "verl": ((_TUNING, (f"{_SIZE}-verl-sft.sh",)), (("rl",), (f"{_SIZE}-verl-gspo.sh", "verl_reward.py"))),
}
"""By trainer: for which stages which files; the first is the one that starts it."""

_SET = "${SET:-$PROMPTS/..}"
_STAGE = "${STAGE:-cpt}"


def write_launch(trainer: str, stage: Stage, out: Path, rows: Path) -> str | None:
    """Copy the launch recipe of a trainer and a stage into a folder of exported rows, filled with what it starts on.

    Args:
        trainer: One that rows were exported for.
        stage: Of the rows.
        out: The folder they were exported to. The recipe finds them beside itself, wherever the folder is moved.
        rows: The set's folder or file of rows, which the reward of RL reads.

    Returns:
        The command that starts the training in that folder; None where there is no recipe.

    Raises:
        StorageError: The folder cannot be written.
    """
    names = next((names for stages, names in LAUNCHED.get(trainer, ()) if stage in stages), ())
    if not names:
        return None
    # by its path: what trains lies above this layer, and only its files are wanted
    with as_file(files("worldline") / "train" / "recipes" / "launch") as folder:
        for name in names:
            with boundary(StorageError, f"writing {out / name}", OSError):
                text = (folder / name).read_text(encoding="utf-8").replace(_STAGE, f"${{STAGE:-{stage}}}")
                if rows.resolve() != out.resolve().parent:
                    text = text.replace(_SET, f"${{SET:-{_quoted(rows)}}}")
                (out / name).write_text(text, encoding="utf-8")
                shutil.copymode(folder / name, out / name)
    return _command(names[0])


def _quoted(path: Path) -> str:
    """A path inside `${NAME:-...}` of a shell."""
    return "".join(f"\\{char}" if char in "\\\"'$`} \t\n&;|<>()" else char for char in str(path.resolve()))


def _command(name: str) -> str:
    if name.endswith(".yaml"):
        return f"FORCE_TORCHRUN=1 llamafactory-cli train {name}"
    return f"python {name}" if name.endswith(".py") else f"sh {name}"
