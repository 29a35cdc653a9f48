"""Verifiers: whether a task's end state is reached, told from kernel state and the last observation."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from worldline.control.rules import compiles
from worldline.domains import get_domain
from worldline.kernels.base import Kernel
from worldline.types import Frozen, Observation

__all__ = ["Check", "Verdict", "VerifierSpec", "verify"]

Pattern = Annotated[str, AfterValidator(compiles)]


class Check(Frozen):
    """One condition on the answer to a probing action, or on the last observation where there is none."""

    action: dict[str, Any] | None = None
    """A probe that is run on the kernel and undone: what the domain takes for an action (`{"command": "cat out.txt"}`,
    `{"name": "read_file", "arguments": {"path": "out.txt"}}`)."""
    exit_code: int | None = None
    error: bool | None = None
    """Whether it is an error."""
    equals: str | None = None
    """The whole text."""
    contains: str | None = None
    matches: Pattern | None = None
    """Regular expression searched in the text."""

    @model_validator(mode="after")
    def _some_condition(self) -> Check:
        conditions = (self.exit_code, self.error, self.equals, self.contains, self.matches)
        if all(condition is None for condition in conditions):
            raise ValueError("a check needs exit_code, error, equals, contains or matches")
        return self

    def holds(self, observation: Observation) -> bool:
        """Whether `observation` satisfies every given condition."""
        text = observation.text
        return (
            (self.exit_code is None or observation.exit_code == self.exit_code)
            and (self.error is None or bool(observation.is_error) == self.error)
            and (self.equals is None or text == self.equals)
            and (self.contains is None or self.contains in text)
            and (self.matches is None or re.search(self.matches, text) is not None)
        )


class VerifierSpec(Frozen):
    """The `verifier` part of a world file: the reward is paid when all checks hold."""

    checks: Annotated[tuple[Check, ...], Field(min_length=1)]
    reward: float = 1.0
    ends: bool = True
    """Whether the session is done once the checks hold."""


class Verdict(Frozen):
    """What a verifier says after a turn."""

    reward: float
    done: bool
    known: bool = True
    """False: a probe's answer was only a guess."""


def verify(spec: VerifierSpec, kernel: Kernel | None, last: Observation) -> Verdict:
    """Evaluate a verifier after a turn.

    Args:
        spec: The checks.
        kernel: State to probe; without one, probing checks do not hold and the verdict is not known.
        last: The turn's observation.
    """
    known = True
    for check in spec.checks:
        observation: Observation | None = last
        if check.action is not None:
            observation, sure = _probe(kernel, check.action)
            known = known and sure
        if observation is None or not check.holds(observation):
            return Verdict(reward=0.0, done=False, known=known)
    return Verdict(reward=spec.reward, done=spec.ends, known=known)


def _probe(kernel: Kernel | None, action: dict[str, Any]) -> tuple[Observation | None, bool]:
    if kernel is None:
        return None, False
    proposal = kernel.propose(get_domain(kernel.domain).parse_action(action))
    kernel.reject()
    return proposal.observation, proposal.known
