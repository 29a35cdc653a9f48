"""Kernels: executable state, one folder or file per kind of state."""

from worldline.kernels.base import Kernel, Proposal

__all__ = ["Kernel", "Proposal"]
