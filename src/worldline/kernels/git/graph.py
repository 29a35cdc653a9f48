"""`git log --graph`: lines of history drawn beside the commits, laid out as git does."""

from __future__ import annotations

from collections.abc import Callable

from worldline.kernels.git.context import Git
from worldline.kernels.git.diffing import DiffOptions
from worldline.kernels.git.objects import Commit
from worldline.kernels.git.pretty import Pretty
from worldline.kernels.git.revisions import ancestors
from worldline.kernels.git.selecting import Selection

__all__ = ["Graph", "Lines"]

_PADDING, _COMMIT, _POST_MERGE, _COLLAPSING = range(4)


class Lines:
    """The drawing: a machine that gives one line after the other for the present commit.

    Each line of history is a column. `mapping` says, for each position on the screen, to which column the line
    there leads; lines that are not at their column yet collapse to the left, one step per row.
    """

    def __init__(self) -> None:
        self.commit = ""
        self.columns: list[str] = []
        self.fresh: list[str] = []
        self.mapping: list[int] = []
        self.before: list[int] = []
        self.size = self.width = self.index = self.last_index = 0
        self.added = self.last_added = 0
        self.layout = -1
        self.state = self.last_state = _PADDING
        self.parents: list[str] = []

    # --- the next commit

    def update(self, commit: str, parents: list[str]) -> None:
        """Go on to the next commit."""
        self.commit, self.parents = commit, parents
        self.last_index = self.index
        self._layout()
        self.state = _COMMIT

    def _layout(self) -> None:
        self.columns, self.fresh = self.fresh, []
        limit = 2 * (len(self.columns) + len(self.parents)) + 2
        self.mapping, self.before = [-1] * limit, (self.before + [-1] * limit)[: max(limit, len(self.before))]
        self.width, self.last_added, self.added = 0, self.added, 0
        self.size = limit - 2
        seen = False
        for place in range(len(self.columns) + 1):
            if place == len(self.columns) and seen:
                break
            column = self.commit if place == len(self.columns) else self.columns[place]
            if column == self.commit:
                seen, self.index, self.layout = True, place, -1
                for parent in self.parents:
                    self._insert(parent, place)
                if not self.parents:
                    self.width += 2
            else:
                self._insert(column, -1)
        while self.size > 1 and self.mapping[self.size - 1] < 0:
            self.size -= 1

    def _insert(self, commit: str, place: int) -> None:
        if commit not in self.fresh:
            self.fresh.append(commit)
        column = self.fresh.index(commit)
        if len(self.parents) > 1 and place > -1 and self.layout == -1:
            distance = place - column
            shift = 2 * distance - 3 if distance > 1 else 1
            self.layout = 0 if distance > 0 else 1
            self.added = len(self.parents) + self.layout - 2
            target = self.width + (self.layout - 1) * shift
            self.width += 2 * self.layout
        elif self.added > 0 and column == self.mapping[self.width - 2]:
            target = self.width - 2
            self.added = -1
        else:
            target = self.width
            self.width += 2
        self.mapping[target] = column

    # --- lines

    @property
    def finished(self) -> bool:
        """Whether the present commit needs no more lines."""
        return self.state == _PADDING

    def _go(self, state: int) -> None:
        self.last_state, self.state = self.state, state

    def _settled(self) -> bool:
        return all(target < 0 or target == place // 2 for place, target in enumerate(self.mapping[: self.size]))

    def next(self) -> tuple[str, bool]:
        """The next line, and whether it is that of the commit itself."""
        shows = self.state == _COMMIT
        text = (self._padding, self._commit, self._post_merge, self._collapse)[self.state]()
        return text.ljust(self.width), shows

    def pad(self) -> str:
        """A line between commits."""
        if self.state != _COMMIT:
            return self.next()[0]
        self.last_state = _PADDING
        return ("| " * len(self.columns)).ljust(self.width)

    def _padding(self) -> str:
        return "| " * len(self.fresh)

    def _each(self) -> list[tuple[int, str]]:
        found = list(enumerate(self.columns))
        return found if self.commit in self.columns else [*found, (len(self.columns), self.commit)]

    def _commit(self) -> str:
        text, seen = "", False
        for place, column in self._each():
            if column == self.commit:
                seen = True
                text += "* "
            elif seen and self.added > 1:
                text += "\\ "
            elif seen and self.added == 1:
                leans = self.last_state == _POST_MERGE and self.last_added > 0 and self.last_index < place
                text += "\\ " if leans else "| "
            elif (
                self.last_state == _COLLAPSING
                and self.before[2 * place + 1 : 2 * place + 2] == [place]
                and self.mapping[2 * place] < place
            ):
                text += "/ "
            else:
                text += "| "
        self._go(_POST_MERGE if len(self.parents) > 1 else _PADDING if self._settled() else _COLLAPSING)
        return text

    def _post_merge(self) -> str:
        text, seen, crossed = "", False, False
        for place, column in self._each():
            if column == self.commit:
                seen, sign = True, self.layout
                for number in range(len(self.parents)):
                    text += "/|\\"[sign]
                    if sign == 2:
                        text += " " * (self.added > 0 or number < len(self.parents) - 1)
                    else:
                        sign += 1
                text += " " * (self.added == 0)
            elif seen:
                text += "\\ " if self.added > 0 else "| "
            else:
                text += "|"
                if self.layout != 0 or place != self.index - 1:
                    text += "_" if crossed else " "
            crossed = crossed or column == self.parents[0]
        self._go(_PADDING if self._settled() else _COLLAPSING)
        return text

    def _collapse(self) -> str:
        edge = edge_target = -1
        crossed = False
        self.mapping, self.before = [-1] * len(self.mapping), self.mapping
        for place in range(self.size):
            target = self.before[place]
            if target < 0:
                continue
            if target * 2 == place:
                self.mapping[place] = target
            elif self.mapping[place - 1] < 0:
                self.mapping[place - 1] = target
                if edge == -1:
                    edge, edge_target = place, target
                    for other in range(target * 2 + 3, place - 2, 2):
                        self.mapping[other] = target
            elif self.mapping[place - 1] != target:
                self.mapping[place - 2] = target
                if edge == -1:
                    edge, edge_target = place - 1, target
                    for other in range(target * 2 + 3, place - 2, 2):
                        self.mapping[other] = target
        self.before = list(self.mapping)
        if self.mapping[self.size - 1] < 0:
            self.size -= 1
        text = ""
        for place in range(self.size):
            target = self.mapping[place]
            if target < 0:
                text += " "
            elif target * 2 == place:
                text += "|"
            elif target == edge_target and place != edge - 1:
                if place != target * 2 + 3:
                    self.mapping[place] = -1
                crossed = True
                text += "_"
            else:
                if crossed and place < edge:
                    self.mapping[place] = -1
                text += "/"
        self._go(_PADDING if self._settled() else _COLLAPSING)
        return text


class Graph:
    """Draws history.

    Args:
        git: The invocation.
        pretty: How commits are shown.
        found: The selection.
        options: Which differences are shown.
        body: Gives the differences of a commit.
    """

    def __init__(
        self, git: Git, pretty: Pretty, found: Selection, options: DiffOptions, body: Callable[[Commit], bytes]
    ) -> None:
        self.git, self.pretty, self.found, self.options, self.body = git, pretty, found, options, body
        self.lines = Lines()

    def show(self, commits: list[Commit]) -> int:
        """Draw commits, given in topological order."""
        found = self.found
        limits = found.paths or found.authors or found.grep or found.since or found.until or found.merges is not None
        if limits or found.skip or self.pretty.name == "format" or found.reverse:
            self.git.call.unknown("--graph with differences, limits or an order")
        if any(len(commit.parents) > 2 for commit in commits):
            self.git.call.unknown("--graph with a merge of three")
        hidden = ancestors(self.git.repo, found.exclude)
        for number, commit in enumerate(commits):
            parents = [parent for parent in commit.parents if parent not in hidden]
            self.lines.update(commit.sha, parents[:1] if found.first_parent else parents)
            self._one(commit, number == 0)
        return 0

    def _one(self, commit: Commit, first: bool) -> None:
        ended = self.pretty.separates
        if ended and not first:
            self.git.say(self.lines.pad() + "\n")
        shown = False
        while not shown:
            text, shown = self.lines.next()
            self.git.say(text if shown else text + "\n")
        rows = self.pretty.text(commit).split("\n")
        for number, row in enumerate(rows):
            if number:
                self.git.say("\n" + self.lines.next()[0])
            self.git.say(row)
        while not self.lines.finished:
            self.git.say("\n" + self.lines.next()[0])
        self.git.say("\n")
        body = self.body(commit)
        if body and self.pretty.name != "oneline":
            self.git.say(self.lines.pad() + "\n")
        for line in body.splitlines(keepends=True):
            self.git.say(self.lines.pad().encode() + line)
