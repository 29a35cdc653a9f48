#!/usr/bin/env python3
"""Find tasks of which reality knows the solution: tests of a release that fail on the sources of the one before it.

    python3 scripts/find_release_tasks.py

Tries all shipped packages, consecutive versions, in the recorder's box, and writes what it found where the recorder
looks for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

from worldline.kernels.repository.archives import package_files, packages
from worldline.record.sandbox import Surroundings
from worldline.record.swe.environment import SweEnvironment
from worldline.types import Action, JsonDict, WorldSpec

TARGET = Path(__file__).parents[1] / "src/worldline/record/swe/resources/tasks.json"
_MOST_CHANGES = 30


def _order(name: str) -> tuple[str, list[int]]:
    base, _, version = name.rpartition("-")
    return base, [int(number) for number in re.findall(r"\d+", version)]


def _is_test(path: str) -> bool:
    return "test" in path.rpartition(".")[0]


def _outcome(state: JsonDict) -> set[str] | None:
    """Tests that fail; None where none ran."""
    root = "/home/user/project"
    full = {**state, "cwd": root, "commit": None, "env": {"PYTHONPATH": f"{root}/src:{root}"}}
    command = "python -m pytest -q --tb=no -rfE -p no:warnings 2>&1 | grep -v '^\\.'"
    with SweEnvironment(WorldSpec(domain="swe", initial_state=full), Surroundings()) as environment:
        text = environment.step(Action(name="Bash", arguments={"command": command})).text
    if re.search(r"\d+ passed", text) is None:
        return None
    return set(re.findall(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE))


def _changes(old: Mapping[str, object], new: Mapping[str, object], path: str) -> int:
    before, after = (str(getattr(files[path], "content", "")).splitlines() for files in (old, new))
    return sum(tag != "equal" for tag, *_ in SequenceMatcher(None, before, after, autojunk=False).get_opcodes())


def _task(first: str, second: str) -> JsonDict | None:
    old, new = package_files(first), package_files(second)
    tests = [path for path in new if _is_test(path) and path.endswith(".py") and old.get(path) != new[path]]
    sources = [
        path for path in new if path.endswith(".py") and not _is_test(path) and path in old and old[path] != new[path]
    ]
    fresh = [path for path in new if path.endswith(".py") and not _is_test(path) and path not in old]
    if not tests or not sources or fresh or sum(_changes(old, new, path) for path in sources) > _MOST_CHANGES:
        return None
    failing = _outcome({"repository": first, "taken": dict.fromkeys(tests, second)})
    still = _outcome({"repository": second})
    if failing is None or still is None or not failing - still:
        return None
    ids = sorted(one for one in failing - still if "[" not in one)
    if not ids:
        return None
    return {"old": first, "new": second, "tests": tests, "sources": sources, "failing": ids[:4]}


def main() -> None:
    """Try every pair."""
    names = sorted(packages(), key=_order)
    pairs = [(a, b) for a, b in pairwise(names) if _order(a)[0] == _order(b)[0]]
    found = [task for a, b in pairs if (task := _task(a, b)) is not None]
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for task in found:
        print(task["old"], task["new"], len(task["failing"]))


if __name__ == "__main__":
    main()
