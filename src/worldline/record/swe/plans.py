"""What is recorded of software engineering: kinds of task on real packages, in both tool families."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from importlib.resources import files

from worldline.domains.swe.tools import family_tools
from worldline.domains.terminal.state import DEFAULT_CLOCK
from worldline.record.plan import ToolPlan
from worldline.types import JsonDict, WorldSpec, content_id

__all__ = ["PACKAGES", "plans", "release_tasks", "task_world"]

PACKAGES = (
    "boltons-24.1.0",
    "cachetools-5.5.2",
    "deepmerge-2.0",
    "inflection-0.5.1",
    "jmespath-1.0.1",
    "mistune-3.1.1",
    "parse-1.20.2",
    "pluggy-1.5.0",
    "schema-0.7.8",
    "sqlparse-0.5.2",
    "tabulate-0.9.0",
    "tinydb-4.8.2",
    "toolz-0.12.1",
    "voluptuous-0.15.2",
    "xmltodict-0.15.0",
)
"""Packages of the tasks that have no solution to find."""

_KINDS = {
    "survey": "Find out how the package is built and write down what you find.",
    "change": "Add helpers with tests, tidy up what is near, and leave the working tree in order.",
    "history": "Work on branches: commit, compare, merge and take back.",
}
_PER_KIND = {"survey": 11, "change": 13, "history": 11}
_PLACES = [
    "projects",
    "src",
    "work",
    "code",
    "repos",
    "review",
    "dev",
    "checkouts",
    "clones",
    "tasks",
    "tickets",
    "lab",
    "forge",
    "bench",
    "desk",
    "studio",
    "shop",
    "yard",
    "attic",
    "cellar",
    "garden",
    "harbour",
    "island",
    "jungle",
    "kitchen",
    "ledge",
    "meadow",
    "nook",
    "orchard",
    "pantry",
    "quarry",
    "ridge",
    "shed",
    "tower",
    "upland",
    "valley",
    "wharf",
    "annex",
    "barn",
    "cabin",
    "den",
    "estate",
    "farm",
    "glade",
    "hall",
    "inlet",
    "jetty",
    "knoll",
    "lodge",
    "mill",
    "nest",
    "oasis",
    "pier",
    "quay",
    "roost",
    "stable",
    "terrace",
    "vault",
    "ward",
    "zone",
]
"""Every family's repository lies in a folder of its own."""


@cache
def release_tasks() -> tuple[JsonDict, ...]:
    """Tasks of which the next release is the solution; `scripts/find_release_tasks.py` found them."""
    text = (files("worldline.record.swe") / "resources/tasks.json").read_text(encoding="utf-8")
    return tuple(json.loads(text))


def plans(seed: int) -> Iterator[ToolPlan]:
    """Yield the sessions to record."""
    places = iter(_PLACES)
    for task in release_tasks():
        place = next(places)
        for session in range(3):
            dice = random.Random(content_id([seed, task["new"], session]))
            family = "editor" if (session + len(task["new"])) % 2 else "envelope"
            yield _plan(f"fix/{task['new']}", task_world(task, place, family, dice), 16, dice)
    for number, (kind, words) in enumerate(_KINDS.items()):
        for offset in range(_PER_KIND[kind]):
            package = PACKAGES[(offset * 2 + number * 5) % len(PACKAGES)]
            place = next(places)
            for session in range(2):
                dice = random.Random(content_id([seed, kind, package, session]))
                world = _world(kind, words, package, place, "editor" if (session + offset) % 2 else "envelope", dice)
                yield _plan(f"{kind}/{package}", world, dice.randint(10, 15), dice)


def _plan(family: str, world: WorldSpec, turns: int, dice: random.Random) -> ToolPlan:
    return ToolPlan(family=family, world=world, seed=dice.randrange(1 << 30), turns=turns)


def _state(package: str, place: str, family: str, dice: random.Random) -> JsonDict:
    root = f"/home/user/{place}/{package.rpartition('-')[0]}"
    state: JsonDict = {
        "family": family,
        "cwd": root,
        "repository": package,
        "commit": f"Import {package}",
        "env": {"PYTHONPATH": f"{root}/src:{root}"},
    }
    if dice.random() < 0.6:
        state["clock"] = (DEFAULT_CLOCK + timedelta(minutes=dice.randrange(500_000))).isoformat()
    return state


def task_world(task: JsonDict, place: str, family: str, dice: random.Random) -> WorldSpec:
    """The world of a release task: the old sources, the new tests, and a verifier that runs those that fail."""
    failing = " ".join(task["failing"])
    command = f"python -m pytest -q {failing}"
    return WorldSpec(
        domain="swe",
        name=f"fix-{task['new']}",
        task=f"These tests fail: {failing}. Change the package so that they pass, and commit.",
        tools=family_tools(family),
        initial_state={**_state(task["old"], place, family, dice), "taken": dict.fromkeys(task["tests"], task["new"])},
        verifier={"checks": [{"action": {"command": command}, "exit_code": 0}], "ends": False},
        extra={"kind": "fix", "new": task["new"], "sources": task["sources"], "failing": task["failing"]},
    )


def _world(kind: str, words: str, package: str, place: str, family: str, dice: random.Random) -> WorldSpec:
    return WorldSpec(
        domain="swe",
        name=f"{kind}-{package}",
        task=words,
        tools=family_tools(family),
        initial_state=_state(package, place, family, dice),
        extra={"kind": kind},
    )
