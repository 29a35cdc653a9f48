"""Repositories as a world declares them, made by the same steps as the recorder's."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from datetime import timedelta

from worldline.domains.mcp.state import FIRST_COMMIT, HOME, Repository
from worldline.errors import KernelError
from worldline.kernels.shell.builtins.base import Unknown
from worldline.kernels.tools.servers.git.running import run_git
from worldline.kernels.tools.servers.host import Host
from worldline.kernels.tools.servers.tree import Node

__all__ = ["GIT_CONFIG", "make_repository"]

GIT_CONFIG = "[user]\n\tname = User\n\temail = user@example.com\n[init]\n\tdefaultBranch = main\n"
"""The user's own settings."""


def make_repository(host: Host, path: str, declared: Repository) -> None:
    """Make a repository in the host's files.

    Raises:
        KernelError: Git refuses one of the steps, or what it would do is not known.
    """
    _git(host, HOME, "init", "-q", "-b", declared.branch, path)
    branches, branch = {declared.branch}, declared.branch
    for number, commit in enumerate(declared.commits):
        wanted = commit.branch or branch
        if wanted != branch:
            _git(host, path, "checkout", "-q", *(() if wanted in branches else ("-b",)), wanted)
            branches.add(wanted)
            branch = wanted
        date = (commit.date or FIRST_COMMIT + timedelta(hours=number)).strftime("%Y-%m-%dT%H:%M:%S%z")
        name, _, mail = commit.author.rstrip(">").partition(" <")
        values = {"NAME": name, "EMAIL": mail, "DATE": date}
        env = {f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in values.items()}
        _write(host, path, commit.files)
        _git(host, path, "add", "-A")
        _git(host, path, "commit", "-q", "--allow-empty", "-m", commit.message, env=env)
    if declared.checkout is not None and declared.checkout != branch:
        _git(host, path, "checkout", "-q", *(() if declared.checkout in branches else ("-b",)), declared.checkout)
    if declared.staged:
        _write(host, path, declared.staged)
        _git(host, path, "add", "-A")
    _write(host, path, declared.working)


def _git(host: Host, directory: str, *words: str, env: Mapping[str, str] | None = None) -> None:
    try:
        result = run_git(host, directory, *words, env=env)
    except Unknown as unknown:
        raise KernelError(f"a declared repository cannot be made: {unknown}") from unknown
    if result.status:
        raise KernelError(f"a declared repository cannot be made: {result.stderr.strip()}")


def _write(host: Host, path: str, files: Mapping[str, str | None]) -> None:
    for name, content in files.items():
        place = posixpath.normpath(posixpath.join(path, name))
        if content is not None:
            host.tree.declare(place, Node("file", content.encode(), 0o644, host.clock))
        elif host.tree.exists(place):
            host.tree.remove(place)
