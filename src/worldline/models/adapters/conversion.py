"""Making of an adapter what llama.cpp loads: a GGUF file of its own, converted once and kept in the model folder.

The layout is that of llama.cpp's adapters: `general.type` is `adapter`, `adapter.type` is `lora`, and each tensor of
the base that is adapted has two tensors `NAME.lora_a` and `NAME.lora_b`. Rows that the base's own conversion brought
into another order (queries and keys of Llama, for its rotary positions) are brought into it here as well.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldline.errors import ConfigError, StorageError, boundary, require_extra
from worldline.models.adapters.description import StoredAdapter
from worldline.models.adapters.weights import LoraWeights, read_weights
from worldline.models.gguf import read_head
from worldline.types import content_id

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["gguf_adapter", "rotary_order"]

_VERSION = 1
"""Raised whenever a conversion comes out otherwise than before."""
_ROTARY = {"llama": True, "qwen2": False, "qwen3": False}
"""Architectures that are converted, and whether their queries and keys are in another order than Hugging Face's."""


def gguf_adapter(adapter: StoredAdapter, base: Path, folder: Path) -> Path:
    """Return the GGUF file of an adapter, made if it is not there yet.

    Args:
        adapter: The adapter.
        base: GGUF file of its base.
        folder: The model folder; what is made is kept in `adapters/` of it.

    Raises:
        ConfigError: The adapter does not fit the base, or bases of that kind cannot be adapted here.
        MissingExtraError: A library is missing.
        StorageError: The adapter is damaged, or nothing can be written.
    """
    head = read_head(base)
    kind = str(head.get("general.architecture"))
    if kind not in _ROTARY:
        raise ConfigError(
            f"adapters of {kind} models are not converted for llama.cpp",
            hint=f"known: {', '.join(_ROTARY)}; a Hugging Face folder of the base is run by Transformers, with any",
        )
    heads: list[Any] = [head.get(f"{kind}.attention.{name}") for name in ("head_count", "head_count_kv")]
    if _ROTARY[kind] and not heads[0]:
        raise ConfigError(f"{base} does not say how many heads the model has")
    key = content_id([_VERSION, adapter.sha256, kind, heads, base.stat().st_size, base.stat().st_mtime_ns])
    path = folder / "adapters" / f"{adapter.name}-{key}.gguf"
    if not path.is_file():
        weights = read_weights(adapter.path).folded()
        tensors = _tensors(weights, base, kind, adapter.name)
        if _ROTARY[kind]:
            _reorder(tensors, int(heads[0]), int(heads[1] or heads[0]))
        _write(tensors, path, kind, adapter.name)
    return path


def rotary_order(matrix: NDArray[Any], heads: int) -> NDArray[Any]:
    """Bring rows from Hugging Face's order of rotary positions (halves) into llama.cpp's (pairs), head by head.

    Args:
        matrix: Shape (heads * size, any).
        heads: How many heads the rows belong to.
    """
    rows, columns = matrix.shape
    return matrix.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def _tensors(weights: LoraWeights, base: Path, kind: str, name: str) -> dict[str, tuple[NDArray[Any], NDArray[Any]]]:
    """The pairs by the base's own names of its tensors, whose shapes they must fit."""
    gguf: Any = require_extra("gguf", "cpu")
    with boundary(ConfigError, f"reading {base}", OSError, ValueError, IndexError, KeyError):
        shapes = {tensor.name: tuple(int(size) for size in tensor.shape) for tensor in gguf.GGUFReader(base).tensors}
    arch = next(key for key, value in gguf.MODEL_ARCH_NAMES.items() if value == kind)
    names = gguf.get_tensor_name_map(arch, sum(tensor.endswith(".attn_q.weight") for tensor in shapes))
    found = {}
    for module, (a, b) in weights.pairs.items():
        tensor = names.get_name(f"{module}.weight", try_suffixes=(".weight",))
        if tensor not in shapes:
            raise _misfit(name, base, f"it has no {module}")
        if shapes[tensor] != (a.shape[1], b.shape[0]):
            theirs, ours = " x ".join(map(str, reversed(shapes[tensor]))), f"{b.shape[0]} x {a.shape[1]}"
            raise _misfit(name, base, f"its {module} is {theirs}, the adapter's {ours}")
        found[tensor] = (a, b)
    return found


def _misfit(name: str, base: Path, why: str) -> ConfigError:
    return ConfigError(f"the adapter {name} belongs to another model than {base}: {why}")


def _reorder(tensors: dict[str, tuple[NDArray[Any], NDArray[Any]]], heads: int, kv_heads: int) -> None:
    for tensor, (a, b) in tensors.items():
        for part, count in ((".attn_q.weight", heads), (".attn_k.weight", kv_heads)):
            if tensor.endswith(part):
                tensors[tensor] = (a, rotary_order(b, count))


def _write(tensors: dict[str, tuple[NDArray[Any], NDArray[Any]]], path: Path, kind: str, name: str) -> None:
    gguf: Any = require_extra("gguf", "cpu")
    np: Any = require_extra("numpy", "cpu")
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    with boundary(StorageError, f"writing {path}", OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        writer = gguf.GGUFWriter(partial, kind)
        writer.add_type("adapter")
        writer.add_name(name)
        writer.add_string("adapter.type", "lora")
        writer.add_float32("adapter.lora.alpha", 0.0)  # the scale is in B; llama.cpp takes 0 as no scaling
        for tensor, halves in sorted(tensors.items()):
            for letter, matrix in zip("ab", halves, strict=True):
                writer.add_tensor(f"{tensor}.lora_{letter}", np.ascontiguousarray(matrix, "<f4"))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        partial.replace(path)
