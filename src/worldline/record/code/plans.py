"""What is recorded of Python sessions: topics of cells on subjects that give them words, numbers and files."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator

from worldline.record.code.cells import SUBJECTS, TOPICS, blanks, chains, fill, table_text
from worldline.record.plan import ToolPlan
from worldline.types import Action, JsonDict, WorldSpec, content_id

__all__ = ["cell", "plans"]

_SUBJECTS_PER_TOPIC, _SESSIONS = 6, 3


def plans(seed: int) -> Iterable[ToolPlan]:
    """Yield the sessions to record: every topic on some subjects, and open worlds that an explorer looks into."""
    names = sorted(SUBJECTS)
    for number, topic in enumerate((*TOPICS, "open")):
        for offset in range(_SUBJECTS_PER_TOPIC):
            subject = names[(number + offset) % len(names)]
            for session in range(_SESSIONS if topic != "open" else 2):
                dice = random.Random(content_id([seed, topic, subject, session]))
                yield _plan(topic, subject, dice)


def _plan(topic: str, subject: str, dice: random.Random) -> ToolPlan:
    turns = dice.randint(10, 15)
    actions = () if topic == "open" else tuple(_actions(topic, subject, turns, dice))
    world = _world(topic, subject, dice)
    family = f"{topic}/{subject}"
    return ToolPlan(family=family, world=world, seed=dice.randrange(1 << 30), turns=turns, actions=actions)


def _actions(topic: str, subject: str, turns: int, dice: random.Random) -> Iterator[Action]:
    """Chains of the topic, now and then one of another, until there are turns enough."""
    done, used = 0, set[tuple[str, ...]]()
    while done < turns:
        chosen = topic if done == 0 or dice.random() < 0.72 else dice.choice(TOPICS[:-4])
        chain = dice.choice([chain for chain in chains(chosen) if chain not in used] or chains(chosen))
        used.add(chain)
        values = blanks(subject, dice)
        cells = chain if len(chain) < 12 else tuple(dice.sample(chain, 7))
        for text in cells:
            if done < turns:
                yield cell(fill(text, values))
                done += 1
        if dice.random() < 0.06:
            yield dice.choice(_WRONG_CALLS)
            done += 1


_WRONG_CALLS = (
    Action(name="python", arguments={}),
    Action(name="python", arguments={"source": "1 + 1"}),
    Action(name="python", arguments={"code": 5}),
    Action(name="bash", arguments={"command": "ls"}),
    Action(name="python", arguments={"code": "1 + 1", "timeout": 5}),
)


def cell(code: str) -> Action:
    """The call that runs a cell."""
    return Action(name="python", arguments={"code": code})


def _world(topic: str, subject: str, dice: random.Random) -> WorldSpec:
    words = SUBJECTS[subject].split()
    config = {"limits": {word: dice.randint(1, 99) for word in words}, "tags": dice.sample(words, 2)}
    state: JsonDict = {
        "files": {f"{subject}.csv": table_text(subject, dice), "config.json": json.dumps(config)},
        "timeout": 2.0 if topic == "system" else 10.0,
    }
    if dice.random() < 0.75:
        state["clock"] = f"2025-{dice.randint(1, 12):02}-{dice.randint(1, 28):02}T{dice.randint(0, 23):02}:15:00Z"
    if topic == "open":
        state["complete"] = False
    task = f"Work with the {subject} data in Python."
    return WorldSpec(domain="code", name=f"{subject}-{topic}", task=task, initial_state=state)
