"""Software engineering: an agent reads, edits, searches and tests a repository through tools."""

from __future__ import annotations

from worldline.domains.swe.state import SweState
from worldline.domains.swe.tools import EDITOR_TOOLS, PLAIN_COMMAND
from worldline.domains.tools import ToolDomain

__all__ = ["SWE", "SweState"]

SWE = ToolDomain(
    name="swe",
    state=SweState,
    package="worldline.domains.swe",
    default_tools=EDITOR_TOOLS,
    text_argument=(PLAIN_COMMAND, "command"),
    error_pattern=(
        r"\s*<tool_use_error>|Exit code [1-9]|Command timed out after |Tool \"[^\"\n]*\" not found|params[ /]"
        r"|File not found|Failed to edit|Directory not found|Path (?:is|does not)|(?:File )?[Pp]ath must be|Error\b"
        r"|(?ms:Command: .*^Exit Code: (?!0$))"
    ),
    arguments_as_text=True,
)
"""The domain with its built-in prompts."""
