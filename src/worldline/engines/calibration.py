"""Measured trust: how often each kind of answer was exactly right on the dev split of real recordings.

`worldline calibrate` counts, per class, how many answers were given and how many were exact, and stores a lower
confidence bound; engines only read. A compound action takes its weakest class. A class that was never measured
takes the bound of an unseen class of its program (`NAME ?`), or of an unseen program (`?`).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from worldline.errors import ConfigError
from worldline.types import Frozen, JsonDict

__all__ = ["UNSEEN", "Calibration", "Kind", "Trust", "load_calibration", "shipped_calibration"]

Kind = Literal["kernel", "guess", "state", "stateless", "action", "near", "generated", "prints"]
"""`kernel`: known answers of the kernel; `guess`: its unknown ones; `state`, `stateless`, `action`: recalls by
how they matched; `near`: answers to other actions, re-grounded; `generated`: a model's answers. `prints` counts how
many recorded answers of the train split say anything at all."""

UNSEEN = "?"
"""In a class name: one that was never measured."""

_UNMEASURED: dict[Kind, float] = {
    "kernel": 0.6,
    "guess": 0.1,
    "state": 0.8,
    "stateless": 0.6,
    "action": 0.2,
    "near": 0.2,
    "generated": 0.2,
    "prints": 0.0,
}


class Trust(Frozen):
    """Counts of one class and the lower confidence bound of its exact rate."""

    n: Annotated[int, Field(ge=0)]
    exact: Annotated[int, Field(ge=0)]
    lower: Annotated[float, Field(ge=0, le=1)]


class Calibration(Frozen):
    """Trust by kind and class. Class `*` holds a kind as a whole."""

    schema_version: Literal[1] = 1
    domain: str
    data: JsonDict = Field(default_factory=dict)
    """What it was measured on: split, hash, counts, versions."""
    trust: dict[Kind, dict[str, Trust]] = Field(default_factory=dict)

    def measured(self, kind: Kind) -> bool:
        """Whether answers of a kind were measured at all."""
        return kind in self.trust

    def confidence(self, kind: Kind, classes: Iterable[str] = ()) -> float:
        """Return the lower bound of the weakest class, or of the kind as a whole where there are no classes."""
        table = self.trust.get(kind, {})
        bounds = [self._bound(table, kind, name) for name in classes]
        return min(bounds) if bounds else self._bound(table, kind, "*")

    def prints(self, classes: Iterable[str]) -> float:
        """Return how sure it is that an action says anything: the bound of its class that does so most often."""
        table = self.trust.get("prints", {})
        return max((self._bound(table, "prints", name) for name in classes), default=0.0)

    @staticmethod
    def _bound(table: dict[str, Trust], kind: Kind, name: str) -> float:
        for key in (name, f"{name.split(' ', 1)[0]} {UNSEEN}", UNSEEN, "*"):
            if key in table:
                return table[key].lower
        return _UNMEASURED[kind]


def load_calibration(text: str, source: str) -> Calibration:
    """Read a calibration file.

    Raises:
        ConfigError: It is not one.
    """
    try:
        return Calibration.model_validate_json(text)
    except ValidationError as exc:
        raise ConfigError(
            f"{source}: not a calibration file: {exc}", hint="make one with `worldline calibrate`"
        ) from exc


@cache
def shipped_calibration(domain: str) -> Calibration:
    """Return the calibration that ships with the package; an empty one where the domain has none.

    What was measured of models stands in a file of its own, since measuring them takes hours.
    """
    base, models = (_shipped(name) for name in (f"{domain}.json", f"{domain}.models.json"))
    base = base or Calibration(domain=domain)
    return base if models is None else base.model_copy(update={"trust": {**base.trust, **models.trust}})


def _shipped(name: str) -> Calibration | None:
    file = resources.files("worldline.engines").joinpath("calibrations", name)
    return load_calibration(file.read_text(encoding="utf-8"), name) if file.is_file() else None
