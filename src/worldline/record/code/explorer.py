"""Who explores a Python session: looks for files, reads them, writes others, computes, and makes mistakes."""

from __future__ import annotations

import ast
import random
from collections.abc import Sequence

from worldline.record.code.cells import SUBJECTS, TOPICS, blanks, chains, fill
from worldline.record.code.plans import cell
from worldline.types import Action, Turn, WorldSpec

__all__ = ["CodeExplorer"]

_LOOK = "import os\nsorted(os.path.join(r, f) for r, _, fs in os.walk('.') for f in fs)"
_READS = (
    "open({path!r}).read()",
    "len(open({path!r}).readlines())",
    "with open({path!r}) as handle:\n    first = handle.readline().strip()\nfirst",
    "from pathlib import Path\nPath({path!r}).read_text()[:40]",
    "import os\nos.path.exists({path!r}), os.path.getsize({path!r})",
    "lines = open({path!r}).read().splitlines()\nsorted(lines)[:2]",
)
_WRITES = (
    "with open({path!r}, 'a') as handle:\n    handle.write('{word} {number}\\n')",
    "open('copy_{number}.txt', 'w').write(open({path!r}).read().upper())",
    "import os\nos.rename({path!r}, {path!r} + '.bak')",
    "import os\nos.remove({path!r})",
)


class CodeExplorer:
    """Satisfies :class:`worldline.record.environment.Explorer`: it goes by the files that answers show.

    Args:
        world: A world of the domain `code`.
        seed: Decides what it tries.
    """

    def __init__(self, world: WorldSpec, seed: int) -> None:
        self._dice = random.Random(seed)
        self._files: list[str] = []
        self._subject = self._dice.choice(sorted(SUBJECTS))
        self._todo: list[str] = [_LOOK]

    def next(self, turns: Sequence[Turn]) -> Action | None:
        """Learn from the last answer, then run a cell."""
        if turns:
            self._learn(turns[-1])
        if self._todo:
            return cell(self._todo.pop(0))
        dice, roll = self._dice, self._dice.random()
        values = {
            "path": self._path(),
            "word": dice.choice(SUBJECTS[self._subject].split()),
            "number": dice.randrange(99),
        }
        if roll < 0.35:
            return cell(dice.choice(_READS).format(**values))
        if roll < 0.55:
            self._todo = [dice.choice(_READS).format(**values)]
            if dice.random() < 0.5:
                self._todo.append(_LOOK)
            return cell(dice.choice(_WRITES).format(**values))
        chain = dice.choice(chains(dice.choice(TOPICS)))
        filled = blanks(self._subject, dice)
        first, *rest = (fill(text, filled) for text in chain[:3])
        self._todo = rest
        return cell(first)

    def _path(self) -> str:
        if not self._files or self._dice.random() < 0.1:
            return self._dice.choice(("notes.txt", "data/input.csv", "missing.json"))
        return self._dice.choice(self._files)

    def _learn(self, turn: Turn) -> None:
        if turn.action.arguments.get("code") != _LOOK or turn.observation.is_error:
            return
        try:
            shown = ast.literal_eval(turn.observation.text.strip())
        except (ValueError, SyntaxError):
            return
        self._files = [path.removeprefix("./") for path in shown if isinstance(path, str)]
