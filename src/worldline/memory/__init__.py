"""Memory: recorded transitions, recalled where action and state match, re-grounded or nearest ones otherwise."""

from worldline.memory.index import Memory, Recall, Transition
from worldline.memory.mask import mask_foreign
from worldline.memory.near import Near

__all__ = ["Memory", "Near", "Recall", "Transition", "mask_foreign"]
