"""A database: an agent sends SQL and reads tables and errors."""

from __future__ import annotations

from worldline.domains.database.state import DatabaseState, TableSpec
from worldline.domains.tools import ToolDomain
from worldline.types import ToolSpec

__all__ = ["DATABASE", "DATABASE_TOOLS", "DatabaseState", "TableSpec"]


def _tool(name: str, description: str, **arguments: str) -> ToolSpec:
    properties = {argument: {"type": "string", "description": text} for argument, text in arguments.items()}
    schema = {"type": "object", "properties": properties, "required": list(arguments), "additionalProperties": False}
    return ToolSpec(name=name, description=description, parameters=schema)


DATABASE_TOOLS = (
    _tool("execute_sql", "Run one or more SQL statements and show what they give.", sql="The statements"),
    _tool("list_tables", "List the names of all tables and views."),
    _tool("describe_table", "Show the columns of a table or view.", table="Its name"),
)
"""Tools of a world that names none."""

DATABASE = ToolDomain(
    name="database",
    state=DatabaseState,
    package="worldline.domains.database",
    default_tools=DATABASE_TOOLS,
    text_argument=("execute_sql", "sql"),
    error_pattern=r"(?:[\s\S]*\n\n)?Error: ",
)
"""The domain with its built-in prompts."""
