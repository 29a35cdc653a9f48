"""Every format: damaged input ends in trajectories that hold, in notices, or in a typed error, and soon.

The core suite takes some inputs of each format, `full` takes 100,000; `python tests/formats/fuzz.py` runs any of them.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from fuzz import LIMITS, Hang, check, deadline, made, run, seeds

from worldline.errors import FormatError
from worldline.formats import InputFile, format_names, get_format
from worldline.types import Source

FORMATS = format_names()
SECONDS = 3.0
"""CPU time the core suite gives each format, besides the number of inputs."""
COUNT = 1_500
CHUNK = 100


def failures(name: str, numbers: range) -> tuple[int, list[str]]:
    found: list[str] = []
    outcomes = run(name, numbers, lambda number, error: found.append(f"{name} {number}: {error!r}"))
    return outcomes.total(), found


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_input(name: str) -> None:
    began, checked = time.process_time(), 0
    for start in range(0, COUNT, CHUNK):
        count, found = failures(name, range(start, start + CHUNK))
        assert not found, "\n".join(found[:5])
        checked += count
        if time.process_time() - began > SECONDS:
            break
    assert checked >= CHUNK


@pytest.mark.full
@pytest.mark.parametrize("name", FORMATS)
def test_a_hundred_thousand_damaged_inputs(name: str) -> None:
    count, found = failures(name, range(100_000))
    assert not found, f"{len(found)} of {count}: " + "\n".join(found[:5])


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_golden_files(name: str) -> None:
    """And what is not damaged is read."""
    assert len(seeds(name)) >= 2


def test_inputs_are_reproducible() -> None:
    assert [made("openai", number) for number in range(50)] == [made("openai", number) for number in range(50)]


def test_the_harness_notices_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that raises something else, yields what does not hold, or hangs, is a failure."""
    layout = get_format("openai")
    (good,) = layout.read(InputFile(Path(__file__).parent / "golden" / "openai-bare.json"), Source.OBSERVED)

    def wrong(_: object, file: InputFile, source: object) -> object:
        raise KeyError("x")

    def odd(_: object, file: InputFile, source: object) -> object:
        yield good.model_copy(update={"extra": {"a": float("nan")}})  # type: ignore[union-attr]

    def endless(_: object, file: InputFile, source: object) -> object:
        while True:
            pass

    monkeypatch.setattr(type(layout), "read", wrong)
    with pytest.raises(KeyError):
        check("openai", {"": b"{}"}, tmp_path)
    monkeypatch.setattr(type(layout), "read", odd)
    with pytest.raises(AssertionError, match="cannot be written"):
        check("openai", {"": b"{}"}, tmp_path)
    monkeypatch.setattr(type(layout), "read", endless)
    with pytest.raises(Hang), deadline(0.2):
        check("openai", {"": b"{}"}, tmp_path)
    monkeypatch.undo()
    with pytest.raises(FormatError):
        list(layout.read(InputFile(tmp_path / "missing", LIMITS), None))  # type: ignore[arg-type]
