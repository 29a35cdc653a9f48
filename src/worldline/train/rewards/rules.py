"""The rule part of the reward: 25 where every executable demand on an answer holds, otherwise 0.

Demands are the row's rule checks (see :mod:`worldline.bench.rules`) and *legality*: what the action's own schema and an
executed state leave possible. As with rule checks, a demand that the truth itself does not meet is not made: kernels
are wrong at times, and reality counts.

================  ==================================================================================================
unknown tool      a call of a tool that is not declared may not succeed
wrong arguments   a call that its tool's schema refuses may not succeed
outcome           where the kernel is sure: error or none as it says (a file that is not there is not read)
status            where the truth has a status, the answer has one; where the kernel is sure, the same
form              JSON where the truth is JSON; a screen no larger than the screen
following         k recorded actions behind the turn (`steps`), in the state that the policy's answer imagines: where a
                  kernel that absorbed the truth foretold the recorded answer, one that absorbed the policy's answer
                  must do so as well
================  ==================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from worldline.bench.rules.checks import read_check, verdict
from worldline.domains.comparing import is_error
from worldline.domains.tools.collections import MessageSpec
from worldline.errors import FormatError, WorldlineError
from worldline.kernels.tools.collections.checking import refusal
from worldline.train.rewards.answer import Answer
from worldline.train.rewards.moment import Grounds, Moment
from worldline.train.rewards.rubric import HIGHEST, form_faults
from worldline.types import Observation, ToolSpec

__all__ = ["Rules", "broken", "rule_part"]


@dataclass(frozen=True, slots=True)
class Rules:
    """What came of the rules of one moment."""

    passed: bool | None
    """None: there is no rule to go by."""
    why: tuple[str, ...] = ()
    """What is broken."""

    @property
    def reward(self) -> float | None:
        """0 or 25; None where there is no rule."""
        return None if self.passed is None else HIGHEST * self.passed


def rule_part(
    moment: Moment, answer: Answer, grounds: Grounds | None = None, *, legality: bool = True, steps: int = 2
) -> Rules:
    """Hold an answer against the row's checks and what is legal.

    Args:
        moment: The turn.
        answer: What was answered; one that cannot be read breaks every rule.
        grounds: The executed state, where there is one.
        legality: Whether to demand legality beside the row's own checks.
        steps: Recorded actions behind the turn that must stay consistent with the answer.

    Raises:
        FormatError: A check of the row cannot be read.
    """
    if not moment.checks and not (legality and (grounds is not None or _has_form(moment))):
        return Rules(None)
    if answer.observation is None:
        return Rules(False, (answer.failure or "no answer",))
    found = list(_failed_checks(moment, answer.observation))
    if legality and not moment.domain.compare(answer.observation, moment.truth).exact:
        excused = set(broken(moment, moment.truth, grounds, steps=0))
        found += [fault for fault in broken(moment, answer.observation, grounds, steps=steps) if fault not in excused]
    return Rules(not found, tuple(found))


def _has_form(moment: Moment) -> bool:
    return moment.truth.exit_code is not None or bool(moment.action.name)


def _failed_checks(moment: Moment, observation: Observation) -> Iterator[str]:
    for value in moment.checks:
        # a whole rule of a rule set, or its check alone
        try:
            check = read_check(value.get("check", value))
        except (ValidationError, ValueError) as exc:
            raise FormatError(f"row {moment.id} holds a check that cannot be read: {exc}") from exc
        outcome = verdict(check, observation, status_shown=not moment.truth.merged)
        if not outcome.passed:
            yield f"check: {outcome.why}"


def broken(moment: Moment, observation: Observation, grounds: Grounds | None, *, steps: int = 2) -> list[str]:
    """Name the demands of legality that an answer breaks, the truth's own exceptions not taken out."""
    found = list(_against_schema(moment, observation))
    found += form_faults(moment.world, observation, moment.truth)
    if grounds is None:
        return found
    proposal = grounds.proposal
    if proposal.known:
        if is_error(observation) != is_error(proposal.observation):
            found.append("outcome")
        if proposal.observation.exit_code is not None and observation.exit_code != proposal.observation.exit_code:
            found.append("status")
    if steps and moment.following and not _stays_consistent(moment, observation, grounds, steps):
        found.append("following")
    return found


def _against_schema(moment: Moment, observation: Observation) -> Iterator[str]:
    tools: Sequence[ToolSpec] = moment.world.tools or getattr(moment.domain, "default_tools", ())
    if not tools or not moment.action.name or is_error(observation):
        return
    tool = next((tool for tool in tools if tool.name == moment.action.name), None)
    if tool is None:
        yield "unknown tool"
    elif refusal(tool, moment.action.arguments, MessageSpec()) is not None:
        yield "wrong arguments"


def _stays_consistent(moment: Moment, observation: Observation, grounds: Grounds, steps: int) -> bool:
    wanted = grounds.truth.followed[:steps]
    if not any(wanted):
        return True
    try:
        followed = grounds.after(moment, observation, len(grounds.truth.followed)).followed[:steps]
    except WorldlineError:
        return False
    return all(is_so for is_so, must_be in zip(followed, wanted, strict=True) if must_be)
