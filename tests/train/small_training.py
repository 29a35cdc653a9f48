"""A very small model and rows for it, for tests that train for real."""

import json

from train_tokens import chat

from worldline.train.guarding import read_curve
from worldline.train.recipe import parse_recipe

SCRATCH = "{scratch: {hidden: 32, layers: 2, heads: 2, kv_heads: 2, intermediate: 64}}"
ROWS = [chat((f"say {n}", f"number {n}\n" * 3), ("again", "no"), system="echo", weights=[1, 0.5]) for n in range(12)]


def small_recipe(more="", *, context=256, evaluation="{turns: 3, max_tokens: 16, rows: 4}", model=SCRATCH, **stages):
    """A recipe of a small model; `stages` by name."""
    stages = {name: {"log_every": 1, "save_every": 2, **stage} for name, stage in stages.items()}
    head = f"name: small\nmodel: {model}\ncontext: {context}\nthreads: 1\nevaluation: {evaluation}\n"
    data = "data: {real: [terminal], limit: 30, prompts: brief, pool: all}\n"
    return parse_recipe(head + data + more + json_lines(stages))


def json_lines(stages):
    return "".join(f"{name}: {json.dumps(stage)}\n" for name, stage in stages.items())


def curve(out, name):
    """A figure over the steps."""
    return {record["step"]: record[name] for record in read_curve(out) if name in record}


def weights(folder):
    """The weights of a run's model."""
    import transformers

    return transformers.AutoModelForCausalLM.from_pretrained(folder / "model").state_dict()
