"""The rubric without a judge: five dimensions computed from the truth.

Each is a number from 1 to 5, and the rubric's reward is five times their mean, 5..25 (Qwen-AgentWorld, section on RL);
an answer that cannot be read gets 0. The true answer, up to volatile stretches, gets 25.

==============  ====================================================================================================
format          the answer's form: one block and nothing around it; a status, JSON or a screen where the truth is one
factuality      facts in common with the truth beyond the words of the action; half of it where error and status differ
consistency     the outcome, the change of an executed state that follows from the answer, and the names that the truth
                takes from world and history
realism         looks: characters and order of words, and the same with all numbers and words taken for equal
quality         completeness and conciseness: their harmonic mean
==============  ====================================================================================================

An answer that repeats the action or the previous observation, and is nearer to that than to the truth, gets nothing for
its content. Where the truth repeats lines of the previous observation (a screen, a listing), three quarters of each
share are about the lines that came anew. Nothing is ever looked at but the block.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from rapidfuzz.distance import Indel

from worldline.bench.agentworld.records import DIMENSIONS
from worldline.data.transitions import read_back
from worldline.domains.comparing import as_json, is_error
from worldline.errors import WorldlineError
from worldline.train.rewards.answer import Answer
from worldline.train.rewards.moment import Grounds, Moment
from worldline.train.rewards.similarity import (
    agreement,
    alike,
    beyond,
    completeness,
    masked,
    shape_alike,
    words,
)
from worldline.types import Observation, WorldSpec, canonical_json

__all__ = ["DIMENSIONS", "HIGHEST", "UNANSWERED", "Rubric", "executed_rubric", "form_faults", "told_share"]

HIGHEST = 25.0
"""Reward of the truth."""
UNANSWERED = "the judge did not answer"
"""Failure of a rubric that a judge was to fill in and did not: nothing is known about the answer."""
_NEARLY = 0.95
"""Highest share for content that is not the truth."""
_FLAG_COSTS = {
    "several blocks": 0.5,
    "text before the block": 0.25,
    "text after the block": 0.5,
    "closing tag inside a line": 0.0,
    "empty": 0.0,
}
_FAULT_COST = 0.5
_COPIED = 0.9
_NEW = 0.75
"""Share that the lines which came anew have in facts, looks and quality."""
_CAP = 6000
_SCREEN = (40, 120)


@dataclass(frozen=True, slots=True)
class Rubric:
    """Scores of one answer."""

    scores: dict[str, float]
    """The five dimensions, each 1..5; empty where there is nothing to score."""
    exact: bool = False
    copied: bool = False
    """It repeats the action or the previous observation."""
    told: float | None = None
    """How right the state change and the reward beside the observation are; None where none were asked for."""
    failure: str | None = None
    unjudged: bool = False
    """Computed because a judge gave no answer."""

    @property
    def reward(self) -> float:
        """Five times the mean of the scores, 5..25; 0 where there is nothing to score."""
        return 5 * sum(self.scores.values()) / len(self.scores) if self.scores else 0.0


def executed_rubric(moment: Moment, answer: Answer, grounds: Grounds | None = None) -> Rubric:
    """Score an answer by the truth, and by an executed state where there is one."""
    observation = answer.observation
    if observation is None:
        return Rubric({}, failure=answer.failure)
    compared = moment.domain.compare(observation, moment.truth)
    if "empty" in answer.flags and not compared.exact:
        return Rubric({}, failure="empty")
    faults = form_faults(moment.world, observation, moment.truth)
    costs = sum(_FLAG_COSTS[flag] for flag in answer.flags) + _FAULT_COST * len(faults)
    told = told_share(moment, answer)
    form = max(0.0, 1.0 - costs)
    if compared.exact:
        shares = {"format": form, "factuality": 1.0, "consistency": 1.0, "realism": 1.0, "quality": 1.0}
        copied = False
    else:
        copied = _is_copy(moment, observation)
        shares = {"format": form, **_content(moment, observation, grounds, compared.structured, copied=copied)}
    if told is not None:
        shares["consistency"] *= told
    return Rubric({name: 1 + 4 * shares[name] for name in DIMENSIONS}, compared.exact, copied, told)


def form_faults(world: WorldSpec, observation: Observation, truth: Observation) -> list[str]:
    """Say what an answer of this kind must have and this one does not."""
    faults = []
    if truth.exit_code is not None and observation.exit_code is None:
        faults.append("no status")
    if as_json(truth.text) is not None and as_json(observation.text) is None:
        faults.append("no JSON")
    screen = world.initial_state.get("screen")
    if isinstance(screen, dict):
        said, true = observation.text.split("\n"), truth.text.split("\n")
        # what is answered under a screen stands there too, so the truth may have more rows than the screen
        most = max(len(true), screen.get("lines", _SCREEN[0]))
        widest = max(max(map(len, true)), screen.get("columns", _SCREEN[1]))
        if len(said) > most or max(map(len, said)) > widest:
            faults.append("larger than the screen")
    return faults


def told_share(moment: Moment, answer: Answer) -> float | None:
    """How right the told state change and reward are, 0..1; None where the row asks for neither."""
    target, shares = moment.target, []
    if target is None:
        return None
    if "state_change" in target:
        right = Counter(read_back("\n".join(target["state_change"])))
        said = None if answer.state_change is None else Counter(answer.state_change)
        shares.append(0.0 if said is None else _overlap(said, right))
    if target.get("reward") is not None:
        shares.append(float(answer.reward is not None and abs(answer.reward - target["reward"]) < 1e-6))
    return sum(shares) / len(shares) if shares else None


def _content(
    moment: Moment, observation: Observation, grounds: Grounds | None, structured: bool, *, copied: bool
) -> dict[str, float]:
    """Shares of the four dimensions that are about content, of an answer that is not the truth."""
    if copied:
        return dict.fromkeys(DIMENSIONS[1:], 0.0)
    outcome = _outcome(observation, moment.truth)
    told, truth = masked(observation.text, moment.truth)
    fact, looks, quality = (1.0, 1.0, 1.0) if structured else _nearness(moment, told, truth)
    previous = moment.previous()
    if previous and not structured:
        new = beyond(truth, previous)
        if new != truth and new.strip():
            # most of a screen or a listing stood there before, and to repeat that is no prediction
            anew = _nearness(moment, beyond(told, previous), new)
            whole = (fact, looks, quality)
            fact, looks, quality = ((1 - _NEW) * old + _NEW * new for old, new in zip(whole, anew, strict=True))
    state = _state_share(moment, observation, grounds)
    names = _names_share(moment, told, truth, fact)
    shares = {
        "factuality": fact * (0.5 + 0.5 * outcome),
        "consistency": outcome * state * (0.25 + 0.75 * names),
        "realism": looks,
        "quality": quality,
    }
    return {name: min(_NEARLY, share) for name, share in shares.items()}


def _nearness(moment: Moment, told: str, truth: str) -> tuple[float, float, float]:
    """Facts, looks and completeness of a text, each 0..1."""
    given = words(f"{moment.action.render()}\n{canonical_json(moment.action.arguments)}")
    full, short = completeness(told, truth)
    quality = 2 * full * short / (full + short) if full + short else 0.0
    return agreement(told, truth, given), (alike(told, truth) + shape_alike(told, truth)) / 2, quality


def _outcome(observation: Observation, truth: Observation) -> float:
    if truth.exit_code is None and truth.is_error is None:
        return 1.0
    if is_error(observation) != is_error(truth):
        return 0.0
    return 1.0 if truth.exit_code is None or observation.exit_code == truth.exit_code else 0.5


def _state_share(moment: Moment, observation: Observation, grounds: Grounds | None) -> float:
    """How far the state that follows from the answer is the one that follows from the truth."""
    if grounds is None:
        return 1.0
    try:
        after = grounds.after(moment, observation, len(grounds.truth.followed))
    except WorldlineError:
        return 0.0
    return _overlap(Counter(after.changed), Counter(grounds.truth.changed))


def _names_share(moment: Moment, told: str, truth: str, fact: float) -> float:
    """Of the truth's words that stand in world or history, the share that was said; without any, the facts count."""
    known = {word for message in moment.messages[:-1] for word in words(message.content)}
    held = Counter({w: n for w, n in words(truth).items() if w in known and any(map(str.isalnum, w))})
    if not held:
        return fact
    return min((held & words(told)).total() / held.total(), 2 * fact)


def _overlap(said: Counter[str], right: Counter[str]) -> float:
    total = said.total() + right.total()
    return 2 * (said & right).total() / total if total else 1.0


def _is_copy(moment: Moment, observation: Observation) -> bool:
    told, truth = _plain(observation.text), _plain(moment.truth.text)
    if not told:
        return False
    action, previous = moment.action, moment.previous()
    if previous and not beyond(observation.text, previous).strip() and beyond(moment.truth.text, previous).strip():
        return True  # nothing is said that was not there, though something came anew
    sources = [action.render(), action.text, action.command, canonical_json(action.arguments)]
    sources += [value for value in action.arguments.values() if isinstance(value, str)]
    if previous and Indel.normalized_similarity(_plain(previous), truth) < _COPIED:
        sources.append(previous)
    to_truth = Indel.normalized_similarity(told, truth)
    for source in sources:
        if source:
            near = Indel.normalized_similarity(told, _plain(source))
            if near >= _COPIED and near > to_truth:
                return True
    return bool(previous) and told == _plain(previous or "")


def _plain(text: str) -> str:
    return " ".join(text[:_CAP].split()).casefold()
