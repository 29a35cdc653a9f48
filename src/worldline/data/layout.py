"""How a trajectory becomes the chat that a model is trained on: the same messages as it is asked with later."""

from __future__ import annotations

from pathlib import Path

from worldline.data.rows import TrainingMessage
from worldline.domains import get_domain
from worldline.types import JsonDict, Observation, Trajectory, WorldSpec

__all__ = ["answer", "answer_message", "conversation", "prompt"]

_STATE_TAGS = ("<state_change>", "</state_change>")
_REWARD_TAGS = ("<reward>", "</reward>")


def conversation(
    trajectory: Trajectory, weights: dict[int, float], labels: dict[int, str], prompts: Path | None = None
) -> tuple[TrainingMessage, ...]:
    """Lay out a whole trajectory, its observations as assistant messages (CPT).

    The last turn is asked and answered as a model by itself is asked later, with the instruction and what the prompt
    tells of the world there. By the brief prompt every turn is asked so: its questions alone show what files hold, and
    an answer that cannot be known would teach to invent. What a grounded engine adds to its questions (state, guess,
    evidence) is in no row of CPT.

    Args:
        trajectory: All of its turns are shown.
        weights: Loss weight of the observation at each position; missing ones are context.
        labels: Class of each turn.
        prompts: Folder of templates in place of the domain's own.
    """
    domain = get_domain(trajectory.world.domain, prompts)
    last = trajectory.turns[-1]
    laid_out = domain.messages(trajectory.world, trajectory.turns[:-1], last.action)
    laid_out.append({"role": "assistant", "content": domain.write_answer(last.observation, trajectory.world)})
    chat = [TrainingMessage(role="system", content=laid_out[0]["content"])]
    brief = getattr(domain, "brief", False)
    for number, turn in enumerate(trajectory.turns):
        asked, seen = laid_out[1 + 2 * number], laid_out[2 + 2 * number]
        if brief:
            asked = domain.messages(trajectory.world, (), turn.action)[-1]
        chat.append(TrainingMessage(role="user", content=asked["content"]))
        weight, label = weights.get(number, 0.0), labels.get(number)
        chat.append(TrainingMessage(role="assistant", content=seen["content"], weight=weight, label=label))
    return tuple(chat)


def prompt(trajectory: Trajectory, turn: int, prompts: Path | None = None) -> tuple[TrainingMessage, ...]:
    """Lay out what a model is asked with at a turn (from 0), without its answer."""
    domain = get_domain(trajectory.world.domain, prompts)
    laid_out = domain.messages(trajectory.world, trajectory.turns[:turn], trajectory.turns[turn].action)
    return tuple(TrainingMessage.model_validate(message) for message in laid_out)


def answer(
    trajectory: Trajectory, turn: int, reasoning: str | None = None, target: JsonDict | None = None
) -> TrainingMessage:
    """Write the answer that a model should give at a turn: the true observation, with what else it should tell.

    Args:
        trajectory: Where the turn stands.
        turn: Its position, from 0.
        reasoning: What the model thinks before it answers.
        target: `state_change` (lines) and `reward` (a number), told in tags of their own before the observation.
    """
    return answer_message(trajectory.turns[turn].observation, trajectory.world, reasoning, target)


def answer_message(
    observation: Observation, world: WorldSpec, reasoning: str | None = None, target: JsonDict | None = None
) -> TrainingMessage:
    """Write an observation as the answer that a model should give; `reasoning` and `target` as in :func:`answer`."""
    told = get_domain(world.domain).write_answer(observation, world)
    return TrainingMessage(role="assistant", content=f"{_told(target)}{told}", reasoning=reasoning, weight=1.0)


def _told(target: JsonDict | None) -> str:
    text = ""
    if target and "state_change" in target:
        text += "\n".join([_STATE_TAGS[0], *target["state_change"], _STATE_TAGS[1], ""])
    if target and target.get("reward") is not None:
        text += f"{_REWARD_TAGS[0]}{target['reward']:g}{_REWARD_TAGS[1]}\n"
    return text
