"""The shell kernel: a terminal whose files, variables and commands are computed."""

from worldline.kernels.shell.kernel import ShellKernel

__all__ = ["ShellKernel"]
