"""The kernel of search worlds: pages, rankings and notes."""

from __future__ import annotations

from worldline.kernels.search.kernel import SearchKernel

__all__ = ["SearchKernel"]
