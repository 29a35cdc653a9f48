"""Playing the example of a search world from the command line."""

import json

from click.testing import CliRunner

from worldline.cli import cli

ACTIONS = [
    "quince paste",
    {"name": "web_extractor", "arguments": {"url": "https://garden.test/quince", "goal": "when to pick"}},
    {"name": "dict_memory", "arguments": {"operation": "add", "items": {"picked": "October"}}},
]


def test_the_example_is_played_by_its_file_and_pays_its_reward(tmp_path):
    lines = "".join(json.dumps(action) + "\n" for action in ACTIONS)
    command = ["play", "examples/search.world.yaml", "--actions", "-", "--json", "--store", str(tmp_path / "s.db")]
    done = CliRunner().invoke(cli, command, input=lines)
    assert done.exit_code == 0, done.output
    steps = [json.loads(line) for line in done.output.splitlines()]
    assert "[1] https://garden.test/quince-paste" in steps[0]["observation"]
    assert "picked in October" in steps[1]["observation"]
    assert [step["reward"] for step in steps] == [0.0, 0.0, 1.0] and steps[-1]["done"] is True
    assert all(step["origin"] == "computed" for step in steps)
