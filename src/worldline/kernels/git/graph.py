"""`git log --graph`: lines of history drawn beside the commits."""

from __future__ import annotations

from worldline.kernels.git.context import Git
from worldline.kernels.git.diffing import DiffOptions
from worldline.kernels.git.objects import Commit
from worldline.kernels.git.pretty import Pretty
from worldline.kernels.git.selecting import Selection

__all__ = ["Graph"]


class Graph:
    """Draws history; of merges, those with two parents whose lines are drawn side by side.

    Args:
        git: The invocation.
        pretty: How commits are shown.
        found: The selection.
        options: Which differences are shown.
    """

    def __init__(self, git: Git, pretty: Pretty, found: Selection, options: DiffOptions) -> None:
        self.git, self.pretty, self.found, self.options = git, pretty, found, options

    def show(self, commits: list[Commit]) -> int:
        """Draw commits, given in topological order."""
        if self.options.outputs or self.found.paths or self.pretty.name == "format" or self.found.reverse:
            self.git.call.unknown("--graph with differences, paths or an order")
        if any(len(commit.parents) > 1 for commit in commits):
            self.git.call.unknown("--graph with merges")
        for number, commit in enumerate(commits):
            follows = number + 1 < len(commits) and commit.parents[:1] == (commits[number + 1].sha,)
            if number + 1 < len(commits) and not follows:
                self.git.call.unknown("--graph with side lines")
            lines = self.pretty.text(commit).split("\n")
            bar = "| " if follows else "  "
            self.git.say(f"* {lines[0]}\n" + "".join(f"{bar}{line}\n" for line in lines[1:]))
            if self.pretty.separates and follows:
                self.git.say("| \n")
        return 0
