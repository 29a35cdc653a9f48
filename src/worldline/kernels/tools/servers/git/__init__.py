"""The git server: a handful of git's commands, run by the git of the kernels on the host's files."""

from __future__ import annotations

from worldline.kernels.tools.servers.git.kernel import GitKernel

__all__ = ["GitKernel"]
