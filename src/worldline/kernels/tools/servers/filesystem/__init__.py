"""The filesystem server: reads and writes files below its allowed directories."""

from __future__ import annotations

from worldline.kernels.tools.servers.filesystem.kernel import FilesystemKernel

__all__ = ["FilesystemKernel"]
