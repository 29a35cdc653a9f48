"""The kernel of MCP worlds against the train split: what real servers answered."""

from collections import Counter

import pytest

from worldline.domains import get_domain
from worldline.formats import read_trajectories
from worldline.kernels import build_kernel
from worldline.recordings import paths
from worldline.types import Trajectory

SHARE = 4
"""Every so many sessions are followed, so that the test stays short."""


@pytest.fixture(scope="module")
def sessions() -> list[Trajectory]:
    found = [one for path in paths("mcp", "train") for one in read_trajectories(path)]
    assert len(found) > 100
    return found[::SHARE]


def test_what_the_kernel_knows_is_what_real_servers_said(sessions: list[Trajectory]) -> None:
    compare = get_domain("mcp").compare
    counts: Counter[str] = Counter()
    wrong = []
    for session in sessions:
        kernel = build_kernel(session.world)
        for number, turn in enumerate(session.turns):
            proposal = kernel.propose(turn.action)
            result = compare(proposal.observation, turn.observation)
            counts["turns"] += 1
            counts["known"] += proposal.known
            counts["errors agree"] += result.error_agrees is not False
            if turn.determined:
                counts["determined"] += 1
                counts["determined exact"] += result.exact
            if proposal.known and not result.exact:
                wrong.append(f"{session.family} {number}: {turn.action.render()[:200]}")
            kernel.absorb(turn)
        kernel.close()
    assert wrong == []
    assert counts["known"] > 0.85 * counts["turns"]
    assert counts["errors agree"] > 0.97 * counts["turns"]
    assert counts["determined exact"] > 0.97 * counts["determined"] > 0


def test_closed_loop_in_the_simulation(sessions: list[Trajectory]) -> None:
    """Without any look at reality the session goes on as it went there, where the world declares everything."""
    compare = get_domain("mcp").compare
    turns = exact = 0
    for session in sessions:
        servers = session.world.initial_state["servers"].values()
        if any(server.get("complete") is False for server in servers):
            continue
        kernel = build_kernel(session.world)
        for turn in session.turns:
            proposal = kernel.propose(turn.action)
            turns += 1
            exact += compare(proposal.observation, turn.observation).exact
            kernel.accept()
    assert exact >= 0.97 * turns > 0
