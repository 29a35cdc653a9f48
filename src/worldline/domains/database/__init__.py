"""A database: an agent sends SQL and reads tables and errors."""

from __future__ import annotations

from worldline.domains.database.state import DatabaseState
from worldline.domains.tools import ToolDomain

__all__ = ["DATABASE", "DatabaseState"]

DATABASE = ToolDomain(name="database", state=DatabaseState, package="worldline.domains.database")
"""The domain with its built-in prompts."""
