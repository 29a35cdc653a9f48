"""Recording software engineering: real packages with their tests in the box, and who works on them."""

from __future__ import annotations

from worldline.record.swe.environment import SweEnvironment
from worldline.record.swe.explorer import SweExplorer
from worldline.record.swe.plans import plans
from worldline.record.swe.written import reads_back

__all__ = ["environment", "explorer", "plans", "reads_back"]

environment = SweEnvironment
explorer = SweExplorer
