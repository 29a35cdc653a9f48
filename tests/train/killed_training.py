"""A training that a test kills: `python killed_training.py full|lora|rl OUT [START]`, the same command to go on."""

import sys
from functools import partial
from pathlib import Path

from small_training import ROWS, SCRATCH, small_recipe
from train_tokens import chat

from worldline.train.pretrained import load_model, load_tokenizer, save_model
from worldline.train.rl import rl_trainer
from worldline.train.stage import run_stage
from worldline.train.tuning import tuning_trainer

STEPS = 16
_LEARN = {"steps": STEPS, "save_every": 3, "optimiser": {"learning_rate": 0.02, "warmup": 0}}
_PROMPTS = [chat((f"say {n}", None), stage="rl") for n in range(6)]


def main(mode: str, out: Path, start: Path) -> None:
    """Train, or go on; `start` is made where it is not there yet."""
    model = SCRATCH
    if mode == "lora":
        how = small_recipe()
        if not (start / "config.json").is_file():
            tokenizer = load_tokenizer(how)
            save_model(load_model(how, tokenizer), tokenizer, start)
        model = f"{{start: {start}}}\nlora: {{rank: 4, dropout: 0.1}}"
    evaluation = "{turns: 3, max_tokens: 16, rows: 2, every: 4}"
    if mode == "rl":
        how = small_recipe(model=model, evaluation=evaluation, rl={**_LEARN, "group": 4, "answer": 8})
        trainer = partial(rl_trainer, reward=letters)
        run_stage(how, "rl", out, _PROMPTS, trainer, held_out=_PROMPTS[:2], resume=True)
    else:
        how = small_recipe(model=model, evaluation=evaluation, cpt={**_LEARN, "batch": 2, "accumulation": 2})
        run_stage(how, "cpt", out, ROWS, tuning_trainer, held_out=ROWS[:2], resume=True)


def letters(prompts, completions, **_):
    """A reward that random answers differ in."""
    texts = [told[-1]["content"] for told in completions]
    return [sum(char.isascii() and char.isalpha() for char in text) / 8 for text in texts]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
