"""Which turns of a trajectory are evaluated, and which rows are kept of all.

Text domains follow the paper (section 4.1): the first turn, the last one and three drawn uniformly from between, then a
uniform half of all rows. For GUI domains the paper says only that harder turns were taken and easy ones such as typing
were not; :func:`is_hard` is our rule. Draws depend on the seed and the trajectory's content alone, so neither the order
of the input nor other trajectories change what is drawn.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from worldline.types import Action, Trajectory, Turn, content_id

__all__ = ["GUI_DOMAINS", "changed_lines", "is_hard", "selected_turns", "subsample"]

GUI_DOMAINS = frozenset({"android", "web", "os"})

_TYPING = re.compile(r"type|input_?text|write|press|key|hotkey|fill|answer|status|wait|screenshot|done|finish|fail")
"""Names of actions that leave a screen as it was, but for what they put into the acted node."""
_TARGETS = ("index", "element_id", "element", "ref", "bid", "id", "node", "selector", "coordinate", "x", "y")


def selected_turns(
    trajectory: Trajectory, *, seed: int = 0, middle: int = 3, min_changed: int = 2
) -> tuple[list[int], int]:
    """Choose the turns of a trajectory that are evaluated.

    Args:
        trajectory: What happened.
        seed: Of the draw.
        middle: Text domains: turns drawn between the first and the last. GUI domains: `middle + 2` hard turns.
        min_changed: GUI domains: see :func:`is_hard`.

    Returns:
        Numbers of turns, from 1, in order; and how many turns of a GUI trajectory were too easy.
    """
    count = len(trajectory.turns)
    draw = random.Random(f"{seed} {trajectory.id}")
    if trajectory.world.domain in GUI_DOMAINS:
        hard = [n for n, turn in enumerate(trajectory.turns, 1) if is_hard(turn, min_changed)]
        chosen = sorted(draw.sample(hard, min(middle + 2, len(hard))))
        return chosen, count - len(hard)
    between = range(2, count)
    ends = {1, count} if count else set()
    return sorted({*ends, *draw.sample(between, min(middle, len(between)))}), 0


def is_hard(turn: Turn, min_changed: int = 2) -> bool:
    """Whether a GUI turn's answer cannot be had by copying the screen and editing the acted node.

    A turn is hard where its action is not typing, a key, a wait or a remark, and at least `min_changed` lines come or
    go between the screen before and after that do not name the acted node. Lines that only moved, or changed in
    blanks, do not count. A turn without a screen before it is hard where its action is.
    """
    if _TYPING.match(turn.action.name.lower().removeprefix("action_")):
        return False
    if turn.state_before is None:
        return True
    return len(changed_lines(turn)) >= min_changed


def changed_lines(turn: Turn) -> list[str]:
    """Return the lines that a turn brings or takes away and that do not name the node it acted on."""
    texts = (turn.state_before or "", turn.observation.text)
    before, after = ([line.strip() for line in text.split("\n")] for text in texts)
    came, went = Counter(after), Counter(before)
    differing = [*(came - went).elements(), *(went - came).elements()]
    names = _acted(turn.action, before)
    return [line for line in differing if line and not any(name.search(line) for name in names)]


def _acted(action: Action, before: Sequence[str]) -> list[re.Pattern[str]]:
    """Return patterns of what names the acted node: its number or id as a word of its own, and its label.

    The label is the quoted text of the line that the number stands in, so that the node is also known after it was
    given another number.
    """
    targets = [action.arguments[name] for name in _TARGETS if name in action.arguments]
    words = [str(value) for value in targets if isinstance(value, str | int) and not isinstance(value, bool)]
    patterns = [re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])") for word in words if word]
    heads = [re.compile(rf"^\W*(?:\w+\s+)?\W*{re.escape(word)}(?![\w-])") for word in words if word]
    labels = {label for line in before if any(h.search(line) for h in heads) for label in _labels(line)}
    return patterns + [re.compile(re.escape(label)) for label in sorted(labels)]


def _labels(line: str) -> list[str]:
    return [text for text in re.findall(r"[\"']([^\"']{3,})[\"']", line) if not text.isdigit()]


def subsample(rows: Iterable[tuple[str, int]], share: float, seed: int) -> set[tuple[str, int]]:
    """Draw a share of rows uniformly, without replacement.

    Args:
        rows: Pairs of trajectory id and turn.
        share: 0..1; at least one row is kept of any.
        seed: Of the draw.
    """
    order = sorted(rows, key=lambda row: content_id([seed, *row]))
    return set(order[: max(1, round(share * len(order)))]) if order else set()
