#!/usr/bin/env python3
"""Pack source distributions as the repositories that worlds of software engineering lie on.

    python3 -m pip download --no-deps --no-binary :all: -d SDISTS tinydb==4.8.1 ...
    python3 scripts/build_repositories.py SDISTS tinydb-4.8.1 ...

Only sources, tests, settings, the licence and short texts are kept; addresses of package registries become those of an
example host.
"""

from __future__ import annotations

import argparse
import io
import re
import tarfile
from pathlib import Path

import zstandard

TARGET = Path(__file__).parents[1] / "src/worldline/recordings/swe/v1/repositories"
_KEPT = re.compile(
    r".*\.(?:py|pyi|toml|cfg|ini|in|json|yaml|yml)|(?:.*/)?(?:\.gitignore|Makefile|py\.typed)|tests?/.*", re.I
)
_TEXTS = re.compile(r"(?:README|LICENSE|LICENCE|COPYING|CHANGE|HISTORY|AUTHORS)[\w.-]*", re.I)
_DROPPED = re.compile(
    r"(?:docs?|\.github|examples?|benchmarks?|benchmark|bench|data|doc_templates|scripts|src/[\w.]+\.egg-info|[\w.]+\.egg-info)/.*|PKG-INFO"
)
_MOST = 250_000
_REGISTRY = re.compile(
    rb"(?:[\w-]+\.)*(?:py[p]i\.(?:org|io|python\.org)|py[p]ip\.in|python[h]osted\.org|ana[c]onda\.org)"
)


def pack(source: Path, target: Path) -> int:
    """Write one archive; returns its size in bytes."""
    buffer = io.BytesIO()
    with tarfile.open(source) as old, tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda one: one.name):
            name = member.name.partition("/")[2]
            licence = _TEXTS.fullmatch(name) is not None
            wanted = licence or (_KEPT.fullmatch(name) and not _DROPPED.fullmatch(name))
            if (
                not member.isfile()
                or not wanted
                or member.size > _MOST
                or "__pycache__" in name
                or name.endswith(".pyc")
            ):
                continue
            data = old.extractfile(member).read()  # type: ignore[union-attr]
            if not licence and name.endswith((".json", ".yaml", ".yml")) and "/" not in name:
                continue
            data = _REGISTRY.sub(b"packages.example.org", data)
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o755 if member.mode & 0o100 else 0o644
            new.addfile(info, io.BytesIO(data))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(zstandard.ZstdCompressor(level=19).compress(buffer.getvalue()))
    return target.stat().st_size


def main() -> None:
    """Pack what is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sdists", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--out", type=Path, default=TARGET)
    args = parser.parse_args()
    for name in args.names:
        print(name, pack(args.sdists / f"{name}.tar.gz", args.out / f"{name}.tar.zst"))


if __name__ == "__main__":
    main()
