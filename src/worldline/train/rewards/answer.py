r"""Reading a completion strictly: what a reward may look at, and nothing else.

Reasoning is taken off first. Of the rest only the last tagged block is the observation; tags count at the beginning of
a line only, where an observation's own lines are shielded (see :mod:`worldline.domains.answers`). What else is written
never reaches a rubric or a judge: praise around the block is told by a flag and earns nothing.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from worldline.data.transitions import read_back
from worldline.domains.answers import CLOSE_TAG, OPEN_TAG
from worldline.domains.base import Domain
from worldline.models.reasoning import split_reasoning
from worldline.types import Observation, WorldSpec

__all__ = ["Answer", "Failure", "Flag", "read_answer"]

Failure = Literal["no completion", "reasoning not closed", "no block", "block not closed"]
"""Why there is no answer to score."""
Flag = Literal["several blocks", "text before the block", "text after the block", "closing tag inside a line", "empty"]
"""What is odd about an answer that can be scored."""

_OPEN_LINE = re.compile(rf"^[ \t]*{re.escape(OPEN_TAG)}", re.MULTILINE)
_CLOSE_LINE = re.compile(rf"^[ \t]*{re.escape(CLOSE_TAG)}", re.MULTILINE)
_STATE = re.compile(r"^<state_change>\n(.*?)^</state_change>[ \t]*$", re.MULTILINE | re.DOTALL)
_REWARD = re.compile(r"^<reward>([^<\n]{1,40})</reward>[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found in a completion."""

    observation: Observation | None
    """None: nothing to score."""
    body: str = ""
    """What stands between the tags, as written."""
    failure: Failure | None = None
    flags: tuple[Flag, ...] = ()
    reasoning: str | None = None
    """Never shown to a judge or a rubric."""
    state_change: tuple[str, ...] | None = None
    """Lines of the last `<state_change>` before the block, sorted; None: there is none."""
    reward: float | None = None
    """Of the last `<reward>` before the block; None: there is none, or it is no number."""


def read_answer(text: str, domain: Domain, world: WorldSpec, *, thinking: bool | None = None) -> Answer:
    """Read a completion.

    Args:
        text: As the policy wrote it, without the prompt.
        domain: Whose answers are read.
        world: Of the turn.
        thinking: Whether the prompt ended inside `<think>`: then reasoning that is never closed is no answer, whatever
            blocks were drafted in it. None or False: a completion without `</think>` has no reasoning.
    """
    if not text.strip():
        return Answer(None, failure="no completion")
    if thinking and "</think>" not in text:
        return Answer(None, failure="reasoning not closed", reasoning=text)
    reasoning, told = split_reasoning(text)
    openers = list(_OPEN_LINE.finditer(told))
    if not openers:
        return Answer(None, failure="no block", reasoning=reasoning)
    start = openers[-1].end()
    flags: list[Flag] = ["several blocks"] if len(openers) > 1 else []
    closer = _CLOSE_LINE.search(told, start)
    if closer is not None:
        body, rest = told[start : closer.start()], told[closer.end() :]
    else:
        end = told.rfind(CLOSE_TAG, start)
        if end < 0:
            return Answer(None, failure="block not closed", reasoning=reasoning)
        body, rest = told[start:end], told[end + len(CLOSE_TAG) :]
        if body:
            flags.append("closing tag inside a line")
    before = told[: openers[0].start()]
    states, rewards = _STATE.findall(before), _REWARD.findall(before)
    if _REWARD.sub("", _STATE.sub("", before)).strip():
        flags.append("text before the block")
    if rest.strip():
        flags.append("text after the block")
    if not body.strip():
        flags.append("empty")
    return Answer(
        domain.parse_answer(f"{OPEN_TAG}{body}{CLOSE_TAG}", world),
        body=body.removeprefix("\n"),
        flags=tuple(flags),
        reasoning=reasoning,
        state_change=tuple(read_back(states[-1])) if states else None,
        reward=_number(rewards[-1]) if rewards else None,
    )


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
