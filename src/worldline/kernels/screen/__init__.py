"""The screen kernel: keystrokes in, screens out, from the same state as the shell kernel."""

from __future__ import annotations

from worldline.kernels.screen.kernel import ScreenKernel, terminal_kernel

__all__ = ["ScreenKernel", "terminal_kernel"]
