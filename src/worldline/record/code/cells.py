"""Cells to record: chains of cells with blanks, read from the files in `resources`, and what fills the blanks."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

__all__ = ["SUBJECTS", "TOPICS", "blanks", "chains", "fill", "table_text"]

TOPICS = (
    "algorithms",
    "classes",
    "collections",
    "files",
    "functions",
    "mistakes",
    "numbers",
    "state",
    "syntax",
    "system",
    "tables",
    "text",
    "times",
)
"""Files of cells."""

SUBJECTS: dict[str, str] = {
    "garden": "rose fern tulip moss ivy cedar basil thyme willow clover",
    "harbor": "anchor crane ferry buoy pier cargo rope tide gull mast",
    "kitchen": "ladle oven whisk saucer kettle flour pepper honey apron tray",
    "museum": "vase statue ticket curator fresco medal canvas amulet scroll gallery",
    "orchestra": "violin oboe timpani score bow reed tempo chord stage viola",
    "railway": "signal track wagon depot whistle buffer switch tunnel platform coach",
    "library": "novel shelf index atlas folio spine margin ledger essay catalog",
    "weather": "cloud frost gust thunder drizzle haze breeze sleet rainbow dew",
}
"""Vocabularies, by name."""

_BLANK = re.compile(r"@(\w+?)@")


@cache
def chains(topic: str) -> tuple[tuple[str, ...], ...]:
    """Chains of cells of a topic; the cells of a chain belong together, in order."""
    text = (files("worldline.record.code") / "resources" / f"{topic}.cells").read_text(encoding="utf-8")
    return tuple(tuple(cell.strip("\n") for cell in chain.split("\n---\n")) for chain in text.split("\n===\n"))


def blanks(subject: str, dice: random.Random) -> dict[str, str]:
    """Draw what fills the blanks of one chain."""
    words = dice.sample(SUBJECTS[subject].split(), 6)
    n, m, k = dice.randint(3, 40), dice.randint(2, 30), dice.randint(3, 7)
    texts = [" ".join(dice.choices(SUBJECTS[subject].split(), k=dice.randint(5, 9))) for _ in range(2)]
    rows = [
        {"name": word, "kind": dice.choice(("small", "large", "odd")), "amount": dice.randint(1, 60)}
        for word in words[:5]
    ]
    return {
        "name": f"{words[0]}_{dice.choice(('list', 'data', 'info', 'value', 'count'))}",
        "Class": words[1].title(),
        "word": words[0],
        "word2": words[1],
        "word3": words[2],
        "WORD": words[3].upper(),
        "Text": texts[0].title(),
        "text": texts[0],
        "text2": texts[1],
        "abc": words[4][: dice.randint(3, 4)],
        "file": subject,
        "n": str(n),
        "m": str(m),
        "k": str(k),
        "w": str(dice.randint(18, 40)),
        "big": str(dice.randint(400, 3000)),
        "x": f"{dice.uniform(1, 20):.2f}",
        "y": f"{dice.uniform(1, 20):.3f}",
        "month": str(dice.randint(1, 12)),
        "month2": f"{dice.randint(1, 12):02}",
        "day": str(dice.randint(1, 28)),
        "rows": repr(rows),
    }


def fill(cell: str, values: Mapping[str, str]) -> str:
    """Fill the blanks of a cell; what is no blank stays."""
    return _BLANK.sub(lambda blank: values.get(blank[1], blank[0]), cell)


def table_text(subject: str, dice: random.Random) -> str:
    """Draw a table as CSV text."""
    words = SUBJECTS[subject].split()
    lines = ["name,kind,amount,score"]
    for word in dice.sample(words, dice.randint(5, 9)):
        kind = dice.choice(("small", "large", "odd"))
        lines.append(f"{word},{kind},{dice.randint(1, 60)},{dice.uniform(0, 10):.2f}")
    return "\n".join(lines) + "\n"
