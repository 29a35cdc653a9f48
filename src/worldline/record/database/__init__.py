"""Recording databases: real engines in a sandbox, who explores them, and what is recorded."""

from __future__ import annotations

from worldline.record.database.environment import DatabaseEnvironment

__all__ = ["environment"]

environment = DatabaseEnvironment
