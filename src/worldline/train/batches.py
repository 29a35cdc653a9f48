"""Encoded rows as batches, and the loss that counts each token by its weight."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from worldline.errors import require_extra
from worldline.train.tokens import Encoded

__all__ = ["Collator", "EncodedRows", "selected_logits", "weighted_loss"]


class EncodedRows:
    """Encoded rows as a data set with length and index."""

    def __init__(self, rows: Sequence[Encoded]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        row = self._rows[index]
        return {"input_ids": row.ids, "weights": row.weights}


class Collator:
    """Pads rows on the right to the longest one.

    Args:
        pad: Id of the padding token.
    """

    def __init__(self, pad: int) -> None:
        self._pad = pad

    def __call__(self, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Make tensors (rows, tokens): `input_ids`, `attention_mask`, `weights`, and `labels` (-100 where not learned).

        The first token's weight is nothing: there is nothing to predict it from.
        """
        torch: Any = require_extra("torch", "train")
        longest = max(len(row["input_ids"]) for row in rows)
        ids = torch.full((len(rows), longest), self._pad, dtype=torch.long)
        mask = torch.zeros((len(rows), longest), dtype=torch.long)
        weights = torch.zeros((len(rows), longest), dtype=torch.float32)
        for number, row in enumerate(rows):
            length = len(row["input_ids"])
            ids[number, :length] = torch.tensor(row["input_ids"], dtype=torch.long)
            mask[number, :length] = 1
            weights[number, :length] = torch.tensor(row["weights"], dtype=torch.float32)
        weights[:, 0] = 0.0
        labels = torch.where(weights > 0, ids, torch.full_like(ids, -100))
        return {"input_ids": ids, "attention_mask": mask, "weights": weights, "labels": labels}


def selected_logits(model: Any, inputs: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Compute logits only where some row learns something: most is context, and vocabularies are large.

    Args:
        model: A causal language model.
        inputs: Of :class:`Collator`.

    Returns:
        Logits (rows, places, vocabulary), what stands there (rows, places), and its weights (rows, places).
    """
    weights = inputs["weights"]
    places = (weights[:, 1:] > 0).any(dim=0).nonzero()[:, 0]
    asked = {"input_ids": inputs["input_ids"], "attention_mask": inputs["attention_mask"]}
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    if "logits_to_keep" in inspect.signature(inner.forward).parameters:
        logits = model(**asked, use_cache=False, logits_to_keep=places).logits
    else:
        logits = model(**asked, use_cache=False).logits[:, places]
    return logits, inputs["input_ids"][:, places + 1], weights[:, places + 1]


def weighted_loss(logits: Any, targets: Any, weights: Any, total: Any = None) -> Any:
    """Compute the mean of the tokens' negative log-likelihoods by their weights.

    Args:
        logits: (rows, places, vocabulary).
        targets: (rows, places), ids.
        weights: (rows, places).
        total: What to divide by in place of the sum of the weights: that of a whole accumulated batch.
    """
    torch: Any = require_extra("torch", "train")
    flat = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), reduction="none")
    return (flat * weights.flatten()).sum() / (weights.sum() if total is None else total)
