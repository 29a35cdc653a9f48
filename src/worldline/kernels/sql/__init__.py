"""The SQL kernel: databases computed by SQLite or DuckDB themselves, in memory."""

from __future__ import annotations

from worldline.kernels.sql.kernel import SqlKernel

__all__ = ["SqlKernel"]
