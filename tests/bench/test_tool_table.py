"""The table of a run by tool, and scoring only some tools' calls."""

import io

from rich.console import Console

from worldline.bench.metrics import TurnScore
from worldline.bench.suite import Suite, measure
from worldline.bench.table import tool_table
from worldline.memory import Memory
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec


def _score(tool: str, exact: bool) -> TurnScore:
    return TurnScore(
        trajectory="t", turn=0, cluster="c", exact=exact, error_agrees=True, structured=exact, rouge_l=float(exact),
        confidence=0.5, abstained=False, origin="computed", determined=None, knowable=True, silent=False, seconds=0.0,
        tool=tool,
    )  # fmt: skip


def test_each_tool_has_a_row():
    out = io.StringIO()
    table = tool_table([_score("Read", True), _score("Read", True), _score("Bash", False)])
    Console(file=out, width=100).print(table)
    rows = [line.split("│")[1:-1] for line in out.getvalue().splitlines() if "│" in line]
    cells = [[cell.strip() for cell in row] for row in rows]
    assert cells == [
        ["Read", "2", "100.0", "100.0", "0.0"],
        ["Bash", "1", "0.0", "100.0", "0.0"],
        ["all", "3", "66.7", "100.0", "0.0"],
    ]


def test_only_some_tools_are_scored():
    world = WorldSpec(domain="swe", initial_state={"cwd": "/home/user/p", "files": {"a.txt": "x\n"}, "commit": None})
    read = Action(name="Read", arguments={"file_path": "/home/user/p/a.txt"})
    clock = Action(name="Bash", arguments={"command": "date"})
    turns = (
        Turn(action=clock, observation=Observation.from_text("today", is_error=False)),
        Turn(action=read, observation=Observation.from_text("     1→x", is_error=False)),
    )
    suite = Suite("swe", "own", (Trajectory(source=Source.OBSERVED, world=world, turns=turns),))
    (everything,), _ = measure(suite, ["kernel"], memory=Memory())
    (reads,), scores = measure(suite, ["kernel"], memory=Memory(), tools=frozenset({"Read"}))
    assert (everything.n, everything.exact) == (2, 0.5)
    assert (reads.n, reads.exact) == (1, 1.0)
    assert [score.tool for score in scores["kernel"]] == ["Read"]
