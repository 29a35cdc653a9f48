"""RL rows of recorded turns, and ways to write answers to them."""

from functools import cache

from worldline.data.building import BuildReport, DataOptions, build_rows
from worldline.data.rows import TrainingRow
from worldline.domains import get_domain
from worldline.formats import read_trajectories
from worldline.recordings import paths
from worldline.train.rewards import read_moment
from worldline.types import Observation

DOMAINS = ("terminal", "mcp", "database", "search", "swe", "code")


@cache
def recorded_rows(domain: str, count: int = 12) -> tuple[TrainingRow, ...]:
    """RL rows of the first train recordings of each kind of a domain."""
    found: list[TrainingRow] = []
    for path in paths(domain, "train"):
        some = (t for _, t in zip(range(count), read_trajectories(path), strict=False))
        found += build_rows(some, DataOptions(stage="rl", pool="all"), BuildReport())
    return tuple(found)


def written(row: TrainingRow, text: str | None = None, **more) -> str:
    """The truth of a row, or another observation, as a model writes it."""
    moment = read_moment(row)
    observation = moment.truth if text is None and not more else None
    if observation is None:
        base = moment.truth
        if base.merged:
            observation = Observation(text=text or "", **more)
        else:
            status = more.get("exit_code", base.exit_code)
            observation = Observation(text=text or "", stdout=text or "", stderr="", exit_code=status)
    return get_domain(row.domain).write_answer(observation, moment.world)
