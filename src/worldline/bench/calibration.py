"""Measuring trust: how often each kind of answer is exactly right, counted on the dev split (design section 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from scipy import stats

from worldline.bench.near import NearAnswer, near_answers
from worldline.domains import get_domain
from worldline.engines.calibration import UNSEEN, Calibration, Kind, Trust
from worldline.kernels import Kernel, build_kernel
from worldline.memory import Memory
from worldline.memory.transition import footing, session_values
from worldline.types import JsonDict, Trajectory

__all__ = ["Counts", "calibrate", "count", "count_printing", "lower_bound", "trust_table"]

QUANTILE = 0.1
"""The bound is exceeded with 90% posterior probability."""
PRIOR_WEIGHT = 4.0
"""How many answers the broader class is worth in a narrower one's estimate."""
SEEN = 5
"""How often a class must have been recorded for its own share of answers that say something."""
DOUBT = 0.5
"""Wrong answers every class starts with (Jeffreys' share): what was seen seldom is never quite sure."""


@dataclass
class Counts:
    """Exact answers and answers, by kind and class."""

    n: dict[tuple[Kind, str], int] = field(default_factory=dict)
    exact: dict[tuple[Kind, str], int] = field(default_factory=dict)

    def add(self, kind: Kind, classes: Iterable[str], right: bool) -> None:
        """Count one answer for its classes, for their programs, and for its kind as a whole."""
        names = {"*"}
        for name in classes:
            names |= {name, name.split(" ", 1)[0]}
        for name in names:
            self.n[kind, name] = self.n.get((kind, name), 0) + 1
            self.exact[kind, name] = self.exact.get((kind, name), 0) + right


def calibrate(
    domain: str,
    trajectories: Sequence[Trajectory],
    memory: Memory,
    data: JsonDict,
    on_done: Callable[[Trajectory], None] | None = None,
    near: Iterable[NearAnswer] = (),
    recorded: Iterable[Trajectory] = (),
) -> Calibration:
    """Measure the trust of kernel and memory on recorded trajectories.

    Args:
        domain: Which domain.
        trajectories: The dev split; nothing in it may be in `memory`.
        memory: The train split.
        data: What the counts come from, stored with them.
        on_done: Called after each trajectory, for progress.
        near: More near answers to count, of other recordings than `trajectories`.
        recorded: Sessions, none of `trajectories`, to count in how often actions say anything.
    """
    counts = Counts()
    for answer in near:
        counts.add("near", (answer.trust_class,), answer.exact)
    for trajectory in recorded:
        count_printing(trajectory, build_kernel(trajectory.world), counts)
    for trajectory in trajectories:
        count(trajectory, build_kernel(trajectory.world), memory, counts)
        if on_done is not None:
            on_done(trajectory)
    return Calibration(domain=domain, data=data, trust=trust_table(counts))


def count(trajectory: Trajectory, kernel: Kernel, memory: Memory, counts: Counts) -> None:
    """Follow one trajectory and count what kernel and memory would have answered."""
    compare = get_domain(trajectory.world.domain).compare
    values, stood = session_values(trajectory.world), []
    try:
        for turn in trajectory.turns:
            hit = None
            stood.append(footing(kernel, turn.action, values))
            if memory.knows(trajectory.world.domain, turn.action):
                hit = memory.recall(trajectory.world, turn.action, stood[-1].footprint)
            if hit is not None:
                right = compare(hit.transition.observation, turn.observation).exact
                counts.add(hit.kind, (), right)
            proposal = kernel.propose(turn.action)
            right = compare(proposal.observation, turn.observation).exact
            counts.add("kernel" if proposal.known else "guess", proposal.classes, right)
            kernel.absorb(turn)
    finally:
        kernel.close()
    for answer in near_answers(trajectory, stood, memory):
        counts.add("near", (answer.trust_class,), answer.exact)


def count_printing(trajectory: Trajectory, kernel: Kernel, counts: Counts) -> None:
    """Follow one recorded session and count, by class of action, which answers say anything.

    Where answers are screens, they always do, so nothing is counted.
    """
    try:
        for turn in trajectory.turns if trajectory.world.initial_state.get("screen") is None else ():
            counts.add("prints", kernel.propose(turn.action).classes, bool(turn.observation.text))
            kernel.absorb(turn)
    finally:
        kernel.close()


def lower_bound(n: int, exact: int, prior: float) -> float:
    """Lower confidence bound of an exact rate: the `QUANTILE` of its Beta posterior.

    Args:
        n: Answers counted.
        exact: Exact ones among them.
        prior: Rate of the broader class, worth `PRIOR_WEIGHT` answers.
    """
    right = exact + PRIOR_WEIGHT * prior
    wrong = n - exact + PRIOR_WEIGHT * (1 - prior) + DOUBT
    return float(stats.beta.ppf(QUANTILE, max(right, 1e-6), wrong))


def trust_table(counts: Counts) -> dict[Kind, dict[str, Trust]]:
    """Turn counts into trust by kind and class."""
    table: dict[Kind, dict[str, Trust]] = {}
    for kind, name in sorted(counts.n):
        n, exact = counts.n[kind, name], counts.exact[kind, name]
        if kind == "prints" and " " in name and n < SEEN:
            continue  # its program speaks for it
        kinds = table.setdefault(kind, {})
        kinds[name] = _trust(n, exact, _prior(counts, kind, name))
        if " " not in name:
            unseen = UNSEEN if name == "*" else f"{name} {UNSEEN}"
            kinds[unseen] = _trust(0, 0, exact / n)
    return table


def _trust(n: int, exact: int, prior: float) -> Trust:
    return Trust(n=n, exact=exact, lower=round(lower_bound(n, exact, prior), 4))


def _prior(counts: Counts, kind: Kind, name: str) -> float:
    """Exact rate of the next broader class; one half for a kind as a whole."""
    if name == "*":
        return 0.5
    broader = name.split(" ", 1)[0] if " " in name else "*"
    n = counts.n[kind, broader]
    return counts.exact[kind, broader] / n if n else 0.5
