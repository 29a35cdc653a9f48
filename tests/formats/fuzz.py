"""Damaged input for every format: golden files mutated, and what has to come of it.

`python tests/formats/fuzz.py FORMAT... --count 100000` prints what came of each format's inputs and exits with 1 where
one ended otherwise than it may. Input N of a format is the same in every run, so `--start N` resumes, and
`--show N` writes input N to standard output.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from fuzz_mutations import mutate

from worldline.errors import WorldlineError
from worldline.formats import (
    FolderFormat,
    InputFile,
    InputFolder,
    Limits,
    SkippedRecord,
    get_format,
    writable_format,
)
from worldline.formats.catalog import claim, recognise
from worldline.formats.secrets import SecretMasker
from worldline.types import Source, Trajectory

HERE = Path(__file__).parent
LIMITS = Limits(line=1 << 20, document=4 << 20, expanded=4 << 20, ratio=20, members=200)
SECONDS = 5
"""An input that takes longer counts as a hang."""
_OLDER = {"atif": "atif", "openai": "openai", "steps": "mixed", "tau_bench": "tau", "worldline": "own"}

_OWN = writable_format("worldline")
_HELD: set[str] = set()
"""Lines of trajectories that are known to hold."""

Files = dict[str, bytes]
"""A seed: the files of a folder by relative path; a file of its own has the path ""."""


class Hang(BaseException):
    """An input took too long; no handler of the code under test may catch it."""


@functools.cache
def seeds(name: str) -> list[Files]:
    """Return a format's golden files, and the golden folders that it claims."""
    data = HERE / "data" / name
    entries = sorted(data.iterdir()) if data.is_dir() else []
    if name in _OLDER:
        files = (HERE / "golden").iterdir()
        entries += sorted(p for p in files if p.name.startswith(_OLDER[name]) and ".expected." not in p.name)
    found: list[Files] = []
    for entry in entries:
        if entry.is_dir():
            found.extend(_claimed(entry))
        elif entry.name != "README.md":
            found.append({"": entry.read_bytes()})
    return found


def _claimed(folder: Path) -> Iterator[Files]:
    if claim(InputFolder(folder)) is not None:
        yield {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
        return
    for entry in sorted(folder.iterdir()):
        if entry.is_dir():
            yield from _claimed(entry)
        else:
            yield {"": entry.read_bytes()}


def made(name: str, number: int) -> Files:
    """Make input `number` of a format: always the same."""
    rng = random.Random(f"{name} {number}")
    known = seeds(name)
    seed = dict(known[number % len(known)])
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        path = rng.choice(sorted(seed))
        fate = rng.random() if path else 1.0
        if fate < 0.05:
            del seed[path]
        elif fate < 0.08:
            seed[f"{path}{rng.choice(('', '.bak', '/x.json'))}2"] = seed[path]
        else:
            other = rng.choice(known)
            seed[path] = mutate(seed[path], other[rng.choice(sorted(other))], rng)
        if not seed:
            break
    return seed


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise :class:`Hang` in the block after some seconds."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def check(name: str, files: Files, place: Path, *, masked: bool = True) -> str:
    """Read an input in a format and say what came of it.

    Args:
        name: The format.
        files: The input.
        place: A folder to write in.
        masked: Whether to mask secrets, too: it takes as long as all the rest.

    Returns:
        `read` (trajectories only), `partly` (some records left out), `nothing` or `refused` (a typed error).

    Raises:
        Exception: It ended in anything but a result, notices and a typed error, or what came does not hold.
        Hang: It took too long.
    """
    layout = get_format(name)
    good, bad, file = 0, 0, None
    try:
        if "" in files:
            (place / "input").write_bytes(files[""])
            file = InputFile(place / "input", LIMITS)
            items = layout.read(file, Source.OBSERVED)
        else:
            folder = InputFolder(_written(files, place / "folder"), LIMITS)
            claim(folder)
            assert isinstance(layout, FolderFormat)
            items = layout.read_folder(folder, Source.OBSERVED)
        for item in items:
            if isinstance(item, SkippedRecord):
                assert item.reason.strip()
                bad += 1
            else:
                _holds(item, place, masked=masked)
                good += 1
    except WorldlineError as error:
        assert error.message.strip()
        bad += 1
        if not good:
            return "refused"
    if file is not None:
        try:
            recognise(file)
        except WorldlineError as error:
            assert error.message.strip()
    return ("partly" if bad else "read") if good else "nothing"


def _written(files: Files, root: Path) -> Path:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for path, data in files.items():
        target = root / path
        if any(parent.is_file() for parent in target.parents):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_dir():
            target.write_bytes(data)
    return root


def _holds(trajectory: Trajectory, place: Path, *, masked: bool) -> None:
    """Check that a trajectory comes through our own format unchanged, and can be masked."""
    try:
        line = _OWN.line(trajectory)
    except WorldlineError as error:
        raise AssertionError("cannot be written in the worldline format") from error
    if line in _HELD:  # most of a damaged file is as it was
        return
    (place / "own").write_text(line, "utf-8")
    (again,) = _OWN.read(InputFile(place / "own"), Source.OBSERVED)
    assert again == trajectory, "does not come back equal from the worldline format"
    if masked:
        _OWN.line(SecretMasker().mask(trajectory))
    if len(_HELD) < 1_000:
        _HELD.add(line)


def run(name: str, numbers: range, report: Callable[[int, BaseException], None]) -> Counter[str]:
    """Check some inputs of a format; failures are reported and counted, and the run goes on."""
    outcomes: Counter[str] = Counter()
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as temporary:
        for number in numbers:
            files = made(name, number)
            try:
                with deadline(SECONDS):
                    outcomes[check(name, files, Path(temporary), masked=number % 10 == 0)] += 1
            except (Exception, Hang) as error:  # noqa: BLE001  # whatever it is, it is what is looked for
                outcomes["FAILED"] += 1
                report(number, error)
    return outcomes


def _printed(name: str) -> Callable[[int, BaseException], None]:
    seen: Counter[str] = Counter()

    def report(number: int, error: BaseException) -> None:
        where = traceback.extract_tb(error.__traceback__)[-1]
        key = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}"
        seen[key] += 1
        if seen[key] <= 3:
            print(f"{name} {number}: {key}: {str(error)[:200]}", flush=True)

    return report


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="+")
    parser.add_argument("--count", type=int, default=100_000, help="how many inputs of each format")
    parser.add_argument("--start", type=int, default=0, help="number of the first input")
    parser.add_argument("--show", type=int, help="write this input instead (a folder as JSON)")
    parser.add_argument("--json", type=Path, help="append the counts to this file, a line for each format")
    options = parser.parse_args(arguments)
    failed = False
    for name in options.formats:
        if options.show is not None:
            files = made(name, options.show)
            text = {path: data.decode("utf-8", "backslashreplace") for path, data in files.items()}
            sys.stdout.buffer.write(files[""] if "" in files else json.dumps(text, indent=1).encode())
            continue
        began = time.monotonic()
        outcomes = run(name, range(options.start, options.start + options.count), _printed(name))
        record: dict[str, Any] = {"format": name, "start": options.start, "count": options.count, **outcomes}
        record["seconds"] = round(time.monotonic() - began, 1)
        print(json.dumps(record), flush=True)
        if options.json is not None:
            with options.json.open("a", encoding="utf-8") as handle:
                handle.write(json.dumps(record) + "\n")
        failed |= bool(outcomes["FAILED"])
    return failed


if __name__ == "__main__":
    sys.exit(main())
