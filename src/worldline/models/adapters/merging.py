"""Adding an adapter to a model in PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from worldline.errors import ConfigError
from worldline.models.adapters.weights import read_weights

__all__ = ["merge_adapter"]


def merge_adapter(model: Any, folder: Path) -> None:
    """Add what an adapter adds to a model's own weights, in place.

    Args:
        model: A model of Transformers, in floats.
        folder: The adapter's folder.

    Raises:
        ConfigError: It is no plain LoRA adapter, or does not fit the model.
        MissingExtraError: A library is missing.
        StorageError: The adapter is damaged.
    """
    import torch

    weights = read_weights(folder)
    modules = dict(model.named_modules())
    for name, (a, b) in weights.pairs.items():
        target = getattr(modules.get(name), "weight", None)
        if target is None or tuple(target.shape) != (b.shape[0], a.shape[1]):
            why = f"it has no {name}" if target is None else f"its {name} is {tuple(target.shape)}"
            raise ConfigError(f"the adapter {folder} belongs to another model: {why}")
    with torch.no_grad():
        for name, (a, b) in weights.pairs.items():
            added = torch.from_numpy(b) @ torch.from_numpy(a) * weights.scale
            target = modules[name].weight
            target.add_(added.to(target.dtype))
