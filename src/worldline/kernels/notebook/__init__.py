"""The notebook kernel: cells of Python code, computed by the Python kernel's interpreter on simulated files."""

from __future__ import annotations

from worldline.kernels.notebook.kernel import NotebookKernel

__all__ = ["NotebookKernel"]
