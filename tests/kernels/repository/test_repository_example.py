"""The example world is solved in the simulation, and its verifier pays when the work is committed."""

from pathlib import Path

from worldline import World

EXAMPLE = Path(__file__).parents[3] / "examples/swe.world.yaml"
SOURCE = "/home/user/slugs/src/slugs.py"


async def test_the_example_is_paid_once_the_fix_is_committed():
    rewards = []
    async with World.load(EXAMPLE).session(engine="grounded") as session:
        for action in (
            {"name": "Grep", "arguments": {"pattern": "def test_digits", "output_mode": "content", "-A": 1}},
            {"name": "Read", "arguments": {"file_path": SOURCE}},
            {"name": "Edit", "arguments": {"file_path": SOURCE, "old_string": "[a-z]+", "new_string": "[a-z0-9]+"}},
            {"name": "Bash", "arguments": {"command": "git commit -am 'Keep digits'"}},
            {"name": "Bash", "arguments": {"command": "git log --oneline"}},
        ):
            step = await session.step(action)
            assert not step.abstained and not step.prediction.observation.is_error, step.observation
            rewards.append(step.reward)
    assert rewards == [0, 0, 0, 1, 1]
    assert step.observation.splitlines()[0].endswith(" Keep digits")
