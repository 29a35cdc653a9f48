"""Golden: recorded real sessions of the train split, followed turn by turn."""

from functools import cache

import pytest

from worldline.domains.comparing import compare
from worldline.formats import read_trajectories
from worldline.kernels import build_kernel
from worldline.recordings import path
from worldline.types import Trajectory

EVERY = 6
"""Of the train split, one session in so many."""
FILE_TOOLS = {"Read", "Write", "Edit", "Glob", "Grep", "read_file", "write_file", "edit", "glob", "list_directory"}
FILE_TOOLS |= {"search_file_content"}


@cache
def sessions() -> tuple[Trajectory, ...]:
    return tuple(read_trajectories(path("swe", "train")))[::EVERY]


@pytest.mark.parametrize("number", range(12))
def test_what_the_kernel_knows_is_what_happened(number: int):
    trajectory = sessions()[number]
    kernel = build_kernel(trajectory.world)
    exact = 0
    for turn in trajectory.turns:
        proposal = kernel.propose(turn.action)
        right = compare(proposal.observation, turn.observation).exact
        if turn.action.name in FILE_TOOLS:
            assert right, turn.action.render()
        if proposal.known and turn.determined:
            assert right, turn.action.render()
        if not proposal.known:
            assert " passed" not in proposal.observation.text
        exact += right
        kernel.absorb(turn)
    assert exact >= 0.6 * len(trajectory.turns)
    kernel.close()


def test_reads_edits_and_searches_are_a_good_part():
    names = [turn.action.name for trajectory in sessions() for turn in trajectory.turns]
    assert sum(name in FILE_TOOLS for name in names) > 0.4 * len(names)
