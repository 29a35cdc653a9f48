"""Adapters (LoRA): small weights that are added to a base model, as they ship, are found, and are put on the base.

`shipped/NAME/` holds those that come with the package. `description` finds an adapter and says what it is, `weights`
reads and writes it, `conversion` makes what llama.cpp loads of it, `merging` adds it to a model in PyTorch.
"""

from worldline.models.adapters.description import (
    ADAPTER_LIMIT,
    AdapterNote,
    StoredAdapter,
    describe_adapter,
    find_adapter,
    is_adapter,
    shipped_adapters,
)

__all__ = [
    "ADAPTER_LIMIT",
    "AdapterNote",
    "StoredAdapter",
    "describe_adapter",
    "find_adapter",
    "is_adapter",
    "shipped_adapters",
]
