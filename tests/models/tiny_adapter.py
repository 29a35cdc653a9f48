"""A Llama of one layer as a GGUF file, and adapters for it: real files, small enough for every test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from worldline.models.adapters import AdapterNote
from worldline.models.adapters.description import CARD, NOTE, WEIGHTS
from worldline.models.adapters.weights import LoraWeights, write_weights
from worldline.models.hashing import sha256_of

__all__ = ["MODULES", "note_on", "random_weights", "tiny_adapter", "tiny_llama"]

HIDDEN, HEADS, KV_HEADS, INNER = 8, 2, 1, 12
_HEAD = HIDDEN // HEADS
MODULES = {
    "model.layers.0.self_attn.q_proj": (HIDDEN, HIDDEN),
    "model.layers.0.self_attn.k_proj": (KV_HEADS * _HEAD, HIDDEN),
    "model.layers.0.self_attn.v_proj": (KV_HEADS * _HEAD, HIDDEN),
    "model.layers.0.self_attn.o_proj": (HIDDEN, HIDDEN),
    "model.layers.0.mlp.gate_proj": (INNER, HIDDEN),
    "model.layers.0.mlp.up_proj": (INNER, HIDDEN),
    "model.layers.0.mlp.down_proj": (HIDDEN, INNER),
}
"""Shapes (out, in) by the names of the Hugging Face model."""
_TENSORS = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")


def tiny_llama(path: Path, kind: str = "llama") -> Path:
    writer = gguf.GGUFWriter(path, kind)
    writer.add_string("general.license", "apache-2.0")
    writer.add_context_length(64)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    for name, shape in zip(_TENSORS, MODULES.values(), strict=True):
        writer.add_tensor(f"blk.0.{name}.weight", np.ones(shape, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def random_weights(
    rank: int = 2, scale: float = 2.0, seed: int = 0, modules: dict[str, tuple[int, int]] | None = None
) -> LoraWeights:
    random = np.random.default_rng(seed)

    def draw(*shape: int) -> NDArray[Any]:
        return random.normal(size=shape).astype(np.float32)

    pairs = {name: (draw(rank, width), draw(out, rank)) for name, (out, width) in (modules or MODULES).items()}
    return LoraWeights(pairs, scale)


def tiny_adapter(folder: Path, weights: LoraWeights | None = None) -> Path:
    write_weights(weights or random_weights(), folder, "tiny")
    return folder


def note_on(folder: Path, base: str, base_sha256: str, **more: Any) -> AdapterNote:
    """Write the note and the card beside an adapter."""
    values = {
        "name": folder.name,
        "base": base,
        "base_sha256": base_sha256,
        "weights_sha256": sha256_of(folder / WEIGHTS),
        "domains": ("terminal",),
        "context": 48,
        "prompts": "brief",
        "licence": "apache-2.0",
        "recipe": "tiny",
        "stages": ("cpt",),
        "made_by": "a test",
    }
    note = AdapterNote.model_validate({**values, **more})
    (folder / NOTE).write_text(note.model_dump_json())
    (folder / CARD).write_text(f"---\nlicense: apache-2.0\n---\n# {folder.name}\n{note.base_sha256}\n")
    return note
