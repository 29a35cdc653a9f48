"""The demo: a grounded terminal world runs a scripted session, and real bash's recorded answers stand beside it.

Run it with `make demo`. The actions are in demo.actions.jsonl, the world in notes.world.yaml; the answers of real
bash were recorded with

    worldline record terminal --script examples/demo.actions.jsonl --world examples/notes.world.yaml \
        --out examples/demo.recorded.jsonl
"""

import asyncio
import json
from pathlib import Path

from rich.console import Console

from worldline import World, read_trajectories
from worldline.cli.show import show_step
from worldline.domains import get_domain

HERE = Path(__file__).parent


async def main() -> None:
    console = Console(highlight=False)
    world = World.load(HERE / "notes.world.yaml")
    lines = (HERE / "demo.actions.jsonl").read_text(encoding="utf-8").splitlines()
    (recorded,) = read_trajectories(HERE / "demo.recorded.jsonl")
    compare = get_domain("terminal").compare
    same = sure = 0
    async with world.session(engine="grounded") as session:
        for line, real in zip(lines, recorded.turns, strict=True):
            result = await session.step(json.loads(line))
            show_step(console, result, prompt=f"{session.world.initial_state.get('user', 'user')}$ ")
            same += compare(result.prediction.observation, real.observation).exact
            sure += not result.abstained
    console.print()
    console.print(
        f"{same} of {len(lines)} answers equal real bash's to the byte; "
        f"{sure} were sure, {len(lines) - sure} only guessed."
    )


if __name__ == "__main__":
    asyncio.run(main())
