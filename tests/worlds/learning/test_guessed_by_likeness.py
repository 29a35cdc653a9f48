"""What cannot be told is guessed from the recorded call most like it, where that was the better guess in the traces."""

from __future__ import annotations

import pytest
from traces import trace

from worldline.kernels import build_kernel
from worldline.kernels.tools.collections.nearest import Told, carried_over, nearest
from worldline.types import Action, Trajectory
from worldline.worlds.learning import learn_collections, learn_world

SAID = (
    ("INSERT INTO {} VALUES ({})", "1 row", False),
    ("DROP TABLE {} -- {}", "gone", False),
    ("SELEC {} {}", "syntax", True),
)


def runs(family: str) -> Trajectory:
    return trace(
        family,
        [("run", {"sql": words.format(family * 4, n)}, text, error) for n, (words, text, error) in enumerate(SAID)],
    )


@pytest.mark.parametrize(
    ("sql", "text", "error"), [("INSERT INTO qqqq VALUES (7)", "1 row", False), ("SELEC qqqq 7", "syntax", True)]
)
def test_the_most_similar_call_is_the_guess_and_marked_as_one(sql: str, text: str, error: bool) -> None:
    world = learn_world([runs(family) for family in "abcd"])
    kernel = build_kernel(world)
    proposal = kernel.propose(Action(name="run", arguments={"sql": sql}))
    kernel.close()
    assert (proposal.observation.text, proposal.observation.is_error, proposal.known) == (text, error, False)


def test_where_the_last_answer_stays_true_it_is_the_guess() -> None:
    sessions = [
        trace(family, [("poll", {"round": f"{family}{n}"}, f"level {family}", False) for n in range(4)])
        for family in "abcd"
    ]
    assert not learn_collections(sessions).tools["poll"].alike


def test_arguments_that_an_answer_quotes_are_carried_over() -> None:
    told = [Told("no page /a/b", True, {"url": "/a/b"}), Told("welcome", False, {"url": "/"})]
    assert nearest(told, {"url": "/a/c"}) == Told("no page /a/c", True, {"url": "/a/c"})
    assert nearest([], {}) is None


def test_swapped_arguments_are_carried_over_at_once() -> None:
    assert carried_over("ann to bob", {"a": "ann", "b": "bob"}, {"a": "bob", "b": "ann"}) == "bob to ann"
    assert carried_over("annex of ann", {"a": "ann"}, {"a": "eve"}) == "annex of eve"
