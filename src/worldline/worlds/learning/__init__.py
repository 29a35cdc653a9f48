"""Making a tool world without code: from tool definitions alone, or learned from traces."""

from worldline.worlds.learning.guessing import new_world
from worldline.worlds.learning.learning import learn_collections, learn_world
from worldline.worlds.learning.tools import read_tools, tools_of

__all__ = ["learn_collections", "learn_world", "new_world", "read_tools", "tools_of"]
