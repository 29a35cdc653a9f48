"""What answers of the git server tell of a repository, where the kernel would have answered otherwise."""

from __future__ import annotations

from typing import Any

from worldline.kernels.git.failures import Failure
from worldline.kernels.shell.builtins.base import Unknown
from worldline.kernels.tools.servers.git.running import context, run_git
from worldline.kernels.tools.servers.host import Host

__all__ = ["follow"]


def follow(host: Host, place: str, tool: str, value: Any, text: str) -> bool:
    """Apply a change that went well in reality; False where what it did cannot be told."""
    try:
        if tool == "git_add":
            words = ["."] if value.files == ["."] else ["--", *value.files]
            return run_git(host, place, "add", *words).status == 0
        if tool == "git_checkout":
            return run_git(host, place, "checkout", value.branch_name).status == 0
        if tool == "git_create_branch":
            base = value.base_branch or context(host, place).repo.branch or "HEAD"
            return run_git(host, place, "branch", value.branch_name, base).status == 0
    except (Unknown, Failure):
        return False
    return False
