"""tau-bench's historical trajectories: a list of episodes with chat messages, reward and trial (read only).

The tool calls and results inside `traj` are turns; the conversation with the user stays in the layout. The
instruction the user was given is hidden state: the agent was not told it. A result is an error where it begins with
`Error`: so the benchmark's tools, and what calls them, word every refusal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from worldline.formats.base import each_record
from worldline.formats.openai_chat import read_chat
from worldline.formats.skeleton import mapping_of, number_of, world_of
from worldline.formats.source import InputFile, SkippedRecord
from worldline.types import Source, Trajectory, Turn

__all__ = ["TAU_BENCH", "TauBench"]


class TauBench:
    """The `historical_trajectories/*.json` files of tau-bench."""

    name = "tau_bench"
    suffixes = (".json",)

    def sniff(self, value: Any) -> str | None:
        """Recognise episodes by `traj` beside `task_id` or `reward`."""
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, dict) and ("task_id" in value or "reward" in value) and ("traj" in value):
            return "episodes with `traj` and `reward`"
        # The head of a big file may end inside the first episode, before its `traj`.
        if isinstance(value, dict) and "task_id" in value and "info" in value and "reward" in value:
            return "episodes with `task_id`, `reward` and `info`"
        return None

    def read(self, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield one trajectory for each episode."""
        return each_record(file, _trajectory, source)


def _trajectory(episode: Any, source: Source, file: str) -> Trajectory:
    if not isinstance(episode, dict) or not isinstance(episode.get("traj"), list):
        raise ValueError("an episode with a `traj` list of messages was expected")
    chat = read_chat(episode["traj"])
    turns = [_judged(turn) for turn in chat.turns]
    reward = number_of(episode.get("reward"))
    if turns and reward is not None:
        turns[-1] = turns[-1].model_copy(update={"reward": reward, "done": True})
    task = mapping_of(mapping_of(episode.get("info")).get("task"))
    instruction = task.get("instruction")
    world = world_of(turns, task=chat.task).model_copy(
        update={"hidden_state": instruction if isinstance(instruction, str) else None}
    )
    rest = {key: value for key, value in episode.items() if key != "traj"}
    return Trajectory(
        source=source,
        world=world,
        turns=tuple(turns),
        family=f"tau_bench-{episode.get('task_id')}",
        origin={"format": "tau_bench", "file": file},
        extra={"tau_bench": rest, "openai": {"messages": chat.layout}},
    )


def _judged(turn: Turn) -> Turn:
    seen = turn.observation
    if seen.is_error is not None:
        return turn
    observation = seen.model_copy(update={"is_error": seen.text.startswith("Error")})
    return turn.model_copy(update={"observation": observation})


TAU_BENCH = TauBench()
