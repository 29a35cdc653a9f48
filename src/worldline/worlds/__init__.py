"""Worlds: reading, writing and running descriptions of environments."""

from worldline.worlds.file import dump_world, load_world_file, parse_world
from worldline.worlds.world import World

__all__ = ["World", "dump_world", "load_world_file", "parse_world"]
