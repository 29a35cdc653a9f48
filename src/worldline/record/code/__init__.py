"""Recording Python sessions: a real interpreter in a sandbox, who explores it, and what is recorded."""

from __future__ import annotations

from worldline.record.code.bound import reads_back
from worldline.record.code.environment import CodeEnvironment
from worldline.record.code.explorer import CodeExplorer
from worldline.record.code.plans import plans

__all__ = ["environment", "explorer", "plans", "reads_back"]

environment = CodeEnvironment
explorer = CodeExplorer
