"""Recording databases: real engines in a sandbox, who explores them, and what is recorded."""

from __future__ import annotations

from worldline.record.database.environment import DatabaseEnvironment
from worldline.record.database.explorer import DatabaseExplorer
from worldline.record.database.plans import plans
from worldline.record.database.tables import reads_back

__all__ = ["environment", "explorer", "plans", "reads_back"]

environment = DatabaseEnvironment
explorer = DatabaseExplorer
