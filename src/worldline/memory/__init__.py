"""Memory: recorded transitions, recalled where action and state match, nearest ones otherwise."""

from worldline.memory.index import Memory, Recall, Transition
from worldline.memory.mask import mask_foreign

__all__ = ["Memory", "Recall", "Transition", "mask_foreign"]
