"""Looking into files before they leave this machine: what looks like a secret, and whether rows are simulated."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import zstandard

from worldline.errors import StorageError, boundary, require_extra
from worldline.formats.secrets import find_secrets

__all__ = ["Suspect", "holds_simulated", "suspects"]

_NO_TEXT = (".safetensors", ".gguf", ".bin", ".png", ".jpg", ".pt", ".pth")
_VOCABULARY = {"tokenizer.json", "vocab.json", "merges.txt", "vocab.txt"}
"""Words of a tokenizer: they stand beside each other by chance."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """What looks like a secret."""

    line: int
    """From 1; in a Parquet file the row."""
    kind: str
    mark: str
    """Digits of its hash, by which it can be named without being told."""


def suspects(path: Path) -> Iterator[Suspect]:
    """Yield what looks like a secret in a file, by the patterns that mask imported trajectories.

    Raises:
        MissingExtraError: It is a Parquet file, and pyarrow is not installed.
        StorageError: It cannot be read.
    """
    if path.suffix in _NO_TEXT or path.name in _VOCABULARY:
        return
    for number, line in enumerate(_lines(path), 1):
        for kind, value, _, _ in find_secrets(line):
            yield Suspect(number, kind, hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:12])


def holds_simulated(path: Path) -> bool:
    """Whether a file of rows or trajectories, or the report of a set, says that some are simulated.

    Raises:
        StorageError: It cannot be read.
    """
    name = path.name.removesuffix(".zst").removesuffix(".gz")
    if name == "report.json":
        text = "".join(_lines(path))
        return bool(_parsed(text).get("sources", {}).get("simulated"))
    if not name.endswith(".jsonl"):
        return False
    return any('"simulated"' in line and _parsed(line).get("source") == "simulated" for line in _lines(path))


def _parsed(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _lines(path: Path) -> Iterator[str]:
    with boundary(StorageError, f"reading {path}", OSError, zstandard.ZstdError, EOFError), ExitStack() as stack:
        if path.suffix == ".parquet":
            yield from _parquet(path)
            return
        stream: IO[bytes] = stack.enter_context(path.open("rb"))
        if path.suffix == ".zst":
            packed = stack.enter_context(zstandard.ZstdDecompressor().stream_reader(stream))
            stream = cast(IO[bytes], stack.enter_context(io.BufferedReader(packed, 1 << 20)))
        elif path.suffix == ".gz":
            stream = cast(IO[bytes], stack.enter_context(gzip.GzipFile(fileobj=stream)))
        for line in stream:
            yield line.decode("utf-8", "replace")


def _parquet(path: Path) -> Iterator[str]:
    require_extra("pyarrow", "train")
    import pyarrow.parquet as pq

    for batch in pq.ParquetFile(path).iter_batches(100):
        for row in batch.to_pylist():
            yield json.dumps(row, ensure_ascii=False, default=str)
