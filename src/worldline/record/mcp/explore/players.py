"""Who acts on which kind of server."""

from __future__ import annotations

from worldline.record.mcp.explore.base import Player
from worldline.record.mcp.explore.files import FilesystemPlayer
from worldline.record.mcp.explore.graphs import MemoryPlayer
from worldline.record.mcp.explore.pages import FetchPlayer
from worldline.record.mcp.explore.repositories import GitPlayer
from worldline.record.mcp.explore.small import EverythingPlayer, ThinkingPlayer, TimePlayer
from worldline.record.mcp.explore.tables import DuckdbPlayer, SqlitePlayer

__all__ = ["PLAYERS"]

PLAYERS: dict[str, type[Player]] = {
    "filesystem": FilesystemPlayer,
    "memory": MemoryPlayer,
    "git": GitPlayer,
    "time": TimePlayer,
    "sqlite": SqlitePlayer,
    "duckdb": DuckdbPlayer,
    "everything": EverythingPlayer,
    "sequentialthinking": ThinkingPlayer,
    "fetch": FetchPlayer,
}
"""By kind; any other kind is explored by its tools' schemas alone."""
