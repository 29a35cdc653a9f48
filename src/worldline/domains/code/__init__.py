"""A Python session: an agent sends cells of code and reads what they print."""

from __future__ import annotations

from worldline.domains.code.state import CodeState
from worldline.domains.tools import ToolDomain

__all__ = ["CODE", "CodeState"]

CODE = ToolDomain(name="code", state=CodeState, package="worldline.domains.code")
"""The domain with its built-in prompts."""
