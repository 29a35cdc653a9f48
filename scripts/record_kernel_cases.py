"""Record what real bash answers to the cases in tests/kernels/cases/*.yaml, beside them as AREA.recorded.jsonl.

Usage: record_kernel_cases.py [AREA ...]   only cases that are new or changed are run again; --all runs every one.

A case is `{name, world, commands}`: `world` is the `initial_state` of a terminal world, `commands` are run one
after the other in one session. Each line of the recording holds the case's name, its content hash and the
observations, one per command.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import yaml

from worldline.record.shell import RealShell
from worldline.types import WorldSpec, content_id

CASES = Path(__file__).resolve().parent.parent / "tests" / "kernels" / "cases"


def record(case: dict[str, Any]) -> dict[str, Any]:
    """Run one case in a fresh sandbox."""
    world = WorldSpec(domain="terminal", initial_state=case.get("world") or {})
    with RealShell(world) as shell:
        observations = [shell.run(command) for command in case["commands"]]
    turns = [observation.model_dump(mode="json", exclude_defaults=True) for observation in observations]
    return {"name": case["name"], "id": content_id(case), "turns": turns}


def record_area(area: str, *, everything: bool) -> tuple[int, int]:
    """Bring the recording of one area up to date; returns how many cases there are and how many were run."""
    cases = yaml.safe_load((CASES / f"{area}.yaml").read_text("utf-8")) or []
    target = CASES / f"{area}.recorded.jsonl"
    known = {}
    if target.exists() and not everything:
        known = {row["id"]: row for row in map(json.loads, target.read_text("utf-8").split("\n")[:-1])}
    rows = [known.get(content_id(case)) or record(case) for case in cases]
    target.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return len(cases), sum(row["id"] not in known for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("areas", nargs="*")
    parser.add_argument("--all", action="store_true", help="run every case again")
    options = parser.parse_args()
    for area in options.areas or sorted(path.stem for path in CASES.glob("*.yaml")):
        count, fresh = record_area(area, everything=options.all)
        print(f"{area}: {count} cases, {fresh} recorded now")


if __name__ == "__main__":
    main()
