"""Repositories: files, edits, searches, git and a shell, as the tools of a coding assistant use them."""

from __future__ import annotations

from worldline.kernels.repository.kernel import RepositoryKernel

__all__ = ["RepositoryKernel"]
