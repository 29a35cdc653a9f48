"""Software engineering: an agent reads, edits, searches and tests a repository through tools."""

from __future__ import annotations

from worldline.domains.swe.state import SweState
from worldline.domains.tools import ToolDomain

__all__ = ["SWE", "SweState"]

SWE = ToolDomain(name="swe", state=SweState, package="worldline.domains.swe")
"""The domain with its built-in prompts."""
