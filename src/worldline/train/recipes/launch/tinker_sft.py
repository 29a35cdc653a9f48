"""CPT or SFT with tinker-cookbook: `python tinker_sft.py [learning_rate=1e-4 ...]`, beside the exported train.jsonl.

The weights are trained at the service, whose key stands in TINKER_API_KEY. Messages marked `trainable` are learned.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import chz
from tinker_cookbook import model_info
from tinker_cookbook.renderers import TrainOnWhat
from tinker_cookbook.supervised import train
from tinker_cookbook.supervised.data import FromConversationFileBuilder
from tinker_cookbook.supervised.types import ChatDatasetBuilderCommonConfig

MODEL = os.environ.get("MODEL", "Qwen/Qwen3.5-35B-A3B")
SET = os.environ.get("SET", str(Path(__file__).parent / "train.jsonl"))


def blueprint() -> chz.Blueprint[train.Config]:
    """Say what is trained; arguments `name=value` change it."""
    renderer = model_info.get_recommended_renderer_name(MODEL)
    common = ChatDatasetBuilderCommonConfig(
        model_name_for_tokenizer=MODEL,
        renderer_name=renderer,
        max_length=32768,
        batch_size=32,
        train_on_what=TrainOnWhat.CUSTOMIZED,
    )
    return chz.Blueprint(train.Config).apply(
        {
            "log_path": os.environ.get("OUT", "out/sft"),
            "model_name": MODEL,
            "recipe_name": "worldline",
            "renderer_name": renderer,
            "dataset_builder": FromConversationFileBuilder(common_config=common, file_path=SET),
            "learning_rate": 1e-4,
            "lr_schedule": "linear",
            "num_epochs": 1,
        }
    )


if __name__ == "__main__":
    asyncio.run(train.main(blueprint().make_from_argv(sys.argv[1:])))
