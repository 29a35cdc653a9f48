"""Recording databases: real engines in a sandbox, who explores them, and what is recorded."""

from __future__ import annotations

from worldline.record.database.environment import DatabaseEnvironment
from worldline.record.database.explorer import DatabaseExplorer, reads_back
from worldline.record.database.plans import plans

__all__ = ["environment", "explorer", "plans", "reads_back"]

environment = DatabaseEnvironment
explorer = DatabaseExplorer
