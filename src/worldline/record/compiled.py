"""The recorder's own C programs, compiled on first use."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from importlib.resources import files
from pathlib import Path

import platformdirs

from worldline.errors import SandboxError, boundary

__all__ = ["compiled"]


@cache
def compiled(name: str, *flags: str) -> Path:
    """Return a compiled source file of this package, building it on first use (a tenth of a second).

    Args:
        name: The source's name, `NAME.c`.
        flags: What the compiler is told beside `-O2`.

    Raises:
        SandboxError: There is no C compiler, or it fails.
    """
    source = files("worldline.record").joinpath(name).read_bytes()
    told = hashlib.sha256(" ".join(flags).encode() + source).hexdigest()[:16]
    target = Path(platformdirs.user_cache_dir("worldline")) / f"{Path(name).stem}-{os.uname().machine}-{told}"
    if target.exists():
        return target
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise SandboxError(f"no C compiler for {name}", hint="apt-get install gcc libc6-dev")
    with boundary(SandboxError, f"building {name}"), tempfile.TemporaryDirectory() as folder:
        target.parent.mkdir(parents=True, exist_ok=True)
        (Path(folder) / name).write_bytes(source)
        command = [compiler, "-O2", *flags, "-o", "built", name]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            hint = "apt-get install gcc libc6-dev"
            raise SandboxError(f"building {name} failed: {done.stderr[-300:]}", hint=hint)
        staged = target.with_name(f"{target.name}.{os.getpid()}")  # renamed into place: no reader meets half a file
        shutil.copyfile(Path(folder) / "built", staged)
        staged.replace(target)
    return target
