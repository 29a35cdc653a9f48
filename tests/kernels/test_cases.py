"""Recorded real cases, replayed through the shell kernel: each answer must be equal to the byte."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from worldline.domains.comparing import compare
from worldline.kernels.shell import ShellKernel
from worldline.types import Action, Observation, Turn, WorldSpec, content_id

CASES = Path(__file__).parent / "cases"


def _load() -> list[Any]:
    found = []
    for path in sorted(CASES.glob("*.yaml")):
        rows = _recorded(path.with_suffix(".recorded.jsonl"))
        for case in yaml.safe_load(path.read_text("utf-8")) or []:
            row = rows.get(content_id(case))
            found.append(pytest.param(case, row, id=f"{path.stem}: {case['name']}"))
    return found


def _recorded(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    return {row["id"]: row for row in map(json.loads, path.read_text("utf-8").split("\n")[:-1])}


@pytest.mark.parametrize(("case", "row"), _load())
def test_case(case: dict[str, Any], row: dict[str, Any] | None) -> None:
    assert row is not None, "not recorded: run scripts/record_kernel_cases.py"
    if sys.version_info[:2] != (3, 11) and any("python" in command for command in case["commands"]):
        pytest.skip("the Python kernel words errors as the running interpreter does; the recorded one is 3.11")
    kernel = ShellKernel(WorldSpec(domain="terminal", initial_state=case.get("world") or {}))
    for command, turn in zip(case["commands"], row["turns"], strict=True):
        truth = Observation.model_validate(turn)
        action = Action(name="bash", arguments={"command": command})
        proposal = kernel.propose(action)
        got = proposal.observation
        assert (command, got.stdout, got.stderr, got.exit_code, got.text) == (
            command, truth.stdout, truth.stderr, truth.exit_code, truth.text
        ), proposal.why  # fmt: skip
        assert compare(got, truth).exact
        assert proposal.known, (command, proposal.why)
        kernel.absorb(Turn(action=action, observation=truth))
    kernel.close()
