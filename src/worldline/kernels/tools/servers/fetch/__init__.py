"""The fetch server: reads pages of the web server that a world declares on the loopback."""

from __future__ import annotations

from worldline.kernels.tools.servers.fetch.kernel import FetchKernel

__all__ = ["FetchKernel"]
