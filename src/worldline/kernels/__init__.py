"""Kernels: executable state, one folder or file per kind of state."""

from __future__ import annotations

from typing import cast

from worldline.kernels.base import Kernel, Proposal
from worldline.registry import Registry
from worldline.types import WorldSpec

__all__ = ["KERNELS", "Kernel", "Proposal", "build_kernel"]

KERNELS = Registry(
    "kernel",
    "worldline.kernels",
    {
        "code": "worldline.kernels.notebook:NotebookKernel",
        "database": "worldline.kernels.sql:SqlKernel",
        "mcp": "worldline.kernels.tools.kernel:mcp_kernel",
        "search": "worldline.kernels.search:SearchKernel",
        "swe": "worldline.kernels.repository:RepositoryKernel",
        "terminal": "worldline.kernels.screen:terminal_kernel",
    },
)
"""What builds a kernel, by domain; each is called with a world."""


def build_kernel(world: WorldSpec) -> Kernel:
    """Build the kernel of a world's domain, in the world's initial state.

    Raises:
        ConfigError: The domain has no kernel.
        KernelError: The initial state cannot be set up.
    """
    return cast(Kernel, KERNELS.load(world.domain)(world))
