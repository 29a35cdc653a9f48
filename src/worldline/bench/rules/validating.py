"""Keeping the rule checks that tell right from wrong.

A check must pass on the right answer and fail on at least one wrong one that is more than silence. Wrong answers are
damaged truths, and rollouts of engines where the reference says that they are wrong; rollouts that are right must pass.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from worldline.bench.agentworld.damage import damages
from worldline.bench.agentworld.rows import eval_row
from worldline.bench.rules.checks import verdict
from worldline.bench.rules.generating import rules_of
from worldline.bench.rules.records import AXES, Agreement, RuleCheck
from worldline.bench.rules.running import answers
from worldline.bench.runner import EngineFactory
from worldline.domains.comparing import compare
from worldline.errors import FormatError, StorageError, WorldlineError, boundary
from worldline.formats import read_trajectories, write_trajectories
from worldline.formats.agentworldbench import RowFields, rows_of
from worldline.formats.base import reason_of
from worldline.formats.jsontext import load_json
from worldline.types import Observation, Trajectory, canonical_json

__all__ = [
    "Built",
    "Wrong",
    "build_rules",
    "read_rules",
    "rule_trajectories",
    "saved_trajectories",
    "write_rules",
    "wrong_answers",
]

_WRONG_KINDS = ("wrong_value", "stale_state", "wrong_exit_code", "dropped_line", "truncation")
"""Damages after which an answer is wrong in what it says, not only in how."""
_SILENCE = "silence"
"""An empty answer; nearly every check fails it, so that alone it keeps none."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """An answer that is known to be wrong."""

    name: str
    answer: Observation


@dataclass(slots=True)
class Built:
    """A rule set, and what was left out of it."""

    rules: list[RuleCheck] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """Rules by the reason for which they were not kept."""

    def counts(self) -> dict[str, dict[str, int]]:
        """Rules by axis and generator."""
        found: dict[str, dict[str, int]] = {axis: {} for axis in AXES}
        for rule in self.rules:
            found[rule.axis][rule.kind] = found[rule.axis].get(rule.kind, 0) + 1
        return found


def build_rules(
    trajectories: Iterable[Trajectory],
    *,
    rollouts: Mapping[str, EngineFactory] | None = None,
    per_axis: int = 3,
    seed: int = 0,
) -> tuple[Built, list[Trajectory]]:
    """Make rule checks, try them, and keep those that tell right from wrong.

    Args:
        trajectories: What happened.
        rollouts: Engines by name whose predictions the checks are tried on too.
        per_axis: Most rules of an axis from one trajectory, drawn by the seed.
        seed: Of the draw and of the damages.

    Returns:
        The rules, and the trajectories that they ask about.
    """
    built, used = Built(), []
    with asyncio.Runner() as runner:
        for trajectory in trajectories:
            rules = _drawn(list(rules_of(trajectory)), per_axis, f"{seed} {trajectory.id}")
            rolled: dict[str, dict[str, Observation | WorldlineError]] = {}
            for name, factory in (rollouts or {}).items() if rules else ():
                rolled[name] = runner.run(answers(trajectory, rules, factory))
            kept = list(_validated(trajectory, rules, rolled, built, seed))
            built.rules.extend(kept)
            used.extend([trajectory] if kept else [])
    return built, used


def _drawn(rules: list[RuleCheck], most: int, seed: str) -> list[RuleCheck]:
    chosen: list[RuleCheck] = []
    for axis in AXES:
        of_axis = [rule for rule in rules if rule.axis == axis]
        chosen += random.Random(f"{seed} {axis}").sample(of_axis, min(most, len(of_axis)))
    return sorted(chosen, key=lambda rule: (rule.turn, rule.key))


def _validated(
    trajectory: Trajectory,
    rules: Sequence[RuleCheck],
    rolled: Mapping[str, Mapping[str, Observation | WorldlineError]],
    built: Built,
    seed: int,
) -> Iterator[RuleCheck]:
    for rule in rules:
        truth = rule.expected or trajectory.turns[rule.turn - 1].observation
        if not verdict(rule.check, truth).passed:
            built.left_out["does not pass on the truth"] += 1
            continue
        right, wrong = [truth], wrong_answers(trajectory, rule, seed)
        for name, found in rolled.items():
            answer = found[rule.key]
            if isinstance(answer, WorldlineError):
                continue
            if compare(answer, truth).exact:
                right.append(answer)
            else:
                wrong.append(Wrong(f"rollout {name}", answer))
        passed = [verdict(rule.check, answer).passed for answer in right]
        missed = tuple(one.name for one in wrong if verdict(rule.check, one.answer).passed)
        if not all(passed):
            built.left_out["fails a right rollout"] += 1
        elif not {one.name for one in wrong} - {_SILENCE, *missed}:
            built.left_out["tells nothing apart"] += 1
        else:
            tried = Agreement(
                right=len(right),
                right_passed=sum(passed),
                wrong=len(wrong),
                wrong_failed=len(wrong) - len(missed),
                missed=missed,
            )
            yield rule.model_copy(update={"agreement": tried})


def wrong_answers(trajectory: Trajectory, rule: RuleCheck, seed: int = 0) -> list[Wrong]:
    """Return answers to a rule's turn that are known to be wrong and differ from the right one."""
    truth = trajectory.turns[rule.turn - 1].observation
    right = rule.expected or truth
    found: list[Wrong] = []
    if rule.expected is not None:
        found.append(Wrong("answer of the unchanged world", truth))
    if rule.turn > 1:
        found.append(Wrong("previous answer", trajectory.turns[rule.turn - 2].observation))
    apart = right.exit_code is not None
    found.append(Wrong(_SILENCE, Observation.from_streams(b"", b"", 0) if apart else Observation()))
    if rule.expected is None:
        (value,) = rows_of(trajectory, {rule.turn})
        row = eval_row(RowFields.model_validate(value), trajectory.id)
        texts = {one.kind: one.text for one in damages(row, seed) if one.kind in _WRONG_KINDS}
        found += [Wrong(f"damage {kind}", _like(truth, text)) for kind, text in texts.items()]
    return [one for one in found if not compare(one.answer, right).exact]


def _like(truth: Observation, text: str) -> Observation:
    """A damaged text as an observation; the status stays, so that only the text tells."""
    if truth.stdout is None:
        return Observation(text=text)
    return Observation(text=text, stdout=text, stderr=text, exit_code=truth.exit_code)


def saved_trajectories(path: Path) -> Path:
    """Where the trajectories of a rule file are."""
    name = path.name.removesuffix(".jsonl")
    return path.with_name(f"{name}.trajectories.jsonl.zst")


def write_rules(path: Path, built: Built, trajectories: Iterable[Trajectory]) -> None:
    """Write a rule set, one rule a line, and beside it the trajectories that it asks about.

    Raises:
        StorageError: A file cannot be written.
    """
    with boundary(StorageError, f"writing {path}", OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_trajectories(saved_trajectories(path), trajectories)
        partial = path.with_name(f".{path.name}.tmp")
        lines = (canonical_json(rule.model_dump(mode="json", exclude_none=True)) + "\n" for rule in built.rules)
        partial.write_text("".join(lines), encoding="utf-8")
        partial.replace(path)


def read_rules(path: Path) -> list[RuleCheck]:
    """Read a rule set.

    Raises:
        FormatError: A line is no rule; names it.
    """
    rules: list[RuleCheck] = []
    with boundary(FormatError, f"reading {path}", OSError, UnicodeDecodeError):
        lines = path.read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                rules.append(RuleCheck.model_validate(load_json(line)))
            except (ValueError, RecursionError) as exc:
                raise FormatError(f"not a rule: {reason_of(exc)}", path=str(path), line=number) from exc
    if not rules:
        raise FormatError("holds no rules", path=str(path))
    return rules


def rule_trajectories(paths: Iterable[Path]) -> dict[str, Trajectory]:
    """Read trajectories by id."""
    return {trajectory.id: trajectory for path in paths for trajectory in read_trajectories(path)}
