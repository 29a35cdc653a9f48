"""The weights of an adapter: pairs of thin matrices, read from PEFT's files, joined, thinned, and written small.

An adapter adds `scale * B @ A` to the weights `W` of each of its modules, with `A` of shape (rank, in) and `B` of shape
(out, rank), and `scale = alpha / rank` (LoRA, Hu et al. 2021) or `alpha / sqrt(rank)` (rank-stabilised LoRA).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldline.errors import ConfigError, StorageError, boundary, require_extra
from worldline.models.adapters.description import CONFIG, WEIGHTS, read_config

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LoraWeights", "joined", "read_weights", "thinned", "write_weights"]

_PREFIX = "base_model.model."
_TENSOR = re.compile(rf"{re.escape(_PREFIX)}(.+)\.lora_([AB])\.weight")
_REFUSED = (
    "use_dora",
    "use_qalora",
    "use_bdlora",
    "lora_bias",
    "fan_in_fan_out",
    "modules_to_save",
    "rank_pattern",
    "alpha_pattern",
    "alora_invocation_tokens",
    "trainable_token_indices",
    "layer_replication",
    "target_parameters",
    "megatron_config",
)
"""Settings of PEFT that make something else of an adapter than one product of two matrices per module."""


@dataclass(frozen=True, slots=True)
class LoraWeights:
    """What an adapter adds to a model."""

    pairs: Mapping[str, tuple[NDArray[Any], NDArray[Any]]]
    """`A` and `B` in 32-bit floats, by the module's name in the Hugging Face model."""
    scale: float

    @property
    def rank(self) -> int:
        """The largest rank of a module."""
        return max(int(a.shape[0]) for a, _ in self.pairs.values())

    def folded(self) -> LoraWeights:
        """The same, with the scale taken into `B`."""
        return LoraWeights({name: (a, b * _float(self.scale)) for name, (a, b) in self.pairs.items()}, 1.0)


def read_weights(folder: Path) -> LoraWeights:
    """Read an adapter folder.

    Raises:
        ConfigError: It is no plain LoRA adapter.
        MissingExtraError: NumPy or safetensors is not installed.
        StorageError: The file of weights is cut off or damaged.
    """
    scale_of = _scale(read_config(folder), folder)
    path = folder / WEIGHTS
    found: dict[str, dict[str, NDArray[Any]]] = {}
    for name, tensor in _tensors(path):
        match = _TENSOR.fullmatch(name)
        if match is None:
            raise ConfigError(f"{path}: {name} is no part of a plain LoRA adapter")
        found.setdefault(match[1], {})[match[2]] = tensor
    if not found:
        raise ConfigError(f"{path} holds no weights")
    pairs = {module: _pair(module, halves, path) for module, halves in sorted(found.items())}
    ranks = {a.shape[0] for a, _ in pairs.values()}
    if len(ranks) != 1:
        raise ConfigError(f"{path}: the modules have different ranks, {sorted(ranks)}")
    return LoraWeights(pairs, scale_of(ranks.pop()))


def joined(parts: Sequence[LoraWeights]) -> LoraWeights:
    """One adapter that adds what several add one after the other, exactly: their ranks add up."""
    if len(parts) == 1:
        return parts[0]
    np = _numpy()
    scaled = [part.folded() for part in parts]
    shapes = {name: (a.shape[1], b.shape[0]) for part in scaled for name, (a, b) in part.pairs.items()}
    pairs = {}
    for name, (width, height) in sorted(shapes.items()):
        halves = [
            part.pairs.get(name) or (np.zeros((part.rank, width), "f4"), np.zeros((height, part.rank), "f4"))
            for part in scaled
        ]
        pairs[name] = (np.concatenate([a for a, _ in halves], 0), np.concatenate([b for _, b in halves], 1))
    return LoraWeights(pairs, 1.0)


def thinned(weights: LoraWeights, rank: int) -> LoraWeights:
    """The nearest adapter of a lower rank, by the singular values of each product (Eckart and Young 1936).

    Raises:
        ValueError: The rank is not lower.
    """
    if not 0 < rank < weights.rank:
        raise ValueError(f"a rank below {weights.rank} is expected, not {rank}")
    np = _numpy()
    pairs = {}
    for name, (a, b) in weights.folded().pairs.items():
        left, inner_left = np.linalg.qr(b)  # the product is never made: its factors are thin
        right, inner_right = np.linalg.qr(a.T)
        u, values, v = np.linalg.svd(inner_left @ inner_right.T)
        root = np.sqrt(values[:rank])
        pairs[name] = (
            np.ascontiguousarray(root[:, None] * (v[:rank] @ right.T), "f4"),
            np.ascontiguousarray(left @ u[:, :rank] * root, "f4"),
        )
    return LoraWeights(pairs, 1.0)


def write_weights(weights: LoraWeights, folder: Path, base: str) -> None:
    """Write an adapter folder as PEFT loads it, in bfloat16.

    Args:
        weights: The adapter; each number is rounded to the nearest of bfloat16.
        folder: Where to; made if it does not exist.
        base: What the configuration names as its base.

    Raises:
        MissingExtraError: NumPy or safetensors is not installed.
        StorageError: It cannot be written.
    """
    safetensors: Any = require_extra("safetensors", "cpu")
    kept, specs = [], {}
    for module, halves in weights.pairs.items():
        for letter, array in zip("AB", halves, strict=True):
            bits = _bfloat16(array)
            kept.append(bits)  # the library reads it by its address
            specs[f"{_PREFIX}{module}.lora_{letter}.weight"] = safetensors.TensorSpec(
                dtype="bfloat16", shape=list(array.shape), data_ptr=bits.ctypes.data, data_len=bits.nbytes
            )
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": weights.rank,
        "lora_alpha": weights.scale * weights.rank,
        "lora_dropout": 0.0,
        "target_modules": sorted({module.rpartition(".")[2] for module in weights.pairs}),
        "bias": "none",
        "inference_mode": True,
    }
    with boundary(StorageError, f"writing {folder}", OSError, safetensors.SafetensorError):
        folder.mkdir(parents=True, exist_ok=True)
        safetensors.serialize_file(specs, str(folder / WEIGHTS), {"format": "pt"})
        (folder / WEIGHTS).chmod(0o644)
        (folder / CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")


def _scale(config: Mapping[str, Any], folder: Path) -> Any:
    """Return the function from a rank to the scale, by what the configuration says."""
    if config.get("peft_type") != "LORA":
        raise ConfigError(f"{folder} is an adapter of the kind {config.get('peft_type')}", hint="only LoRA is loaded")
    special = [name for name in _REFUSED if config.get(name)]
    if config.get("bias", "none") != "none":
        special.append("bias")
    if special:
        raise ConfigError(
            f"{folder} is no plain LoRA adapter: it sets {', '.join(special)}", hint="merge it into its base with PEFT"
        )
    alpha = config.get("lora_alpha")
    if not isinstance(alpha, int | float) or isinstance(alpha, bool) or not math.isfinite(alpha):
        raise ConfigError(f"{folder / CONFIG}: lora_alpha is not a number")
    stabilised = bool(config.get("use_rslora"))
    return lambda rank: alpha / (math.sqrt(rank) if stabilised else rank)


def _pair(module: str, halves: Mapping[str, NDArray[Any]], path: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    np = _numpy()
    if set(halves) != {"A", "B"}:
        raise ConfigError(f"{path}: {module} has only one of its two matrices")
    a, b = halves["A"], halves["B"]
    if a.ndim != 2 or b.ndim != 2 or a.shape[0] != b.shape[1]:
        raise ConfigError(f"{path}: the matrices of {module} have the shapes {a.shape} and {b.shape}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ConfigError(f"{path}: {module} holds numbers that are not finite")
    return a, b


def _tensors(path: Path) -> list[tuple[str, NDArray[Any]]]:
    np, safetensors = _numpy(), require_extra("safetensors", "cpu")
    hint = "the file is cut off or damaged: fetch or make the adapter again"
    try:
        with boundary(ConfigError, f"reading {path}", OSError):
            entries = safetensors.deserialize(path.read_bytes())
    except safetensors.SafetensorError as exc:
        raise StorageError(f"{path} cannot be read: {exc}", hint=hint) from exc
    read = []
    for name, entry in entries:
        kinds = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}
        if entry["dtype"] not in kinds:
            raise ConfigError(f"{path}: {name} has the type {entry['dtype']}", hint=f"known: {', '.join(kinds)}")
        raw = np.frombuffer(entry["data"], kinds[entry["dtype"]]).reshape(entry["shape"])
        read.append((name, (raw.astype("<u4") << 16).view("<f4") if entry["dtype"] == "BF16" else raw.astype("<f4")))
    return read


def _bfloat16(array: NDArray[Any]) -> NDArray[Any]:
    """The upper halves of 32-bit floats, rounded to the nearest, ties to even; the values are finite."""
    np = _numpy()
    bits = np.ascontiguousarray(array, "<f4").view("<u4")
    rounded: NDArray[Any] = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")
    return rounded


def _float(value: float) -> Any:
    return _numpy().float32(value)


def _numpy() -> Any:
    return require_extra("numpy", "cpu")
