"""Commits as text: the named formats and `--format` strings."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.objects import Commit
from worldline.kernels.git.people import show_date, take_apart

__all__ = ["Pretty", "decorations"]

_NAMED = ("oneline", "short", "medium", "full", "fuller", "raw", "reference", "email")


def decorations(git: Git, *, full: bool = False) -> dict[str, list[str]]:
    """What refs point to a commit, as `--decorate` names them, by commit."""
    repo = git.repo
    found: dict[str, list[str]] = {}
    branch = repo.symbolic() if repo.head else None
    names = repo.refs()
    order = sorted(names.items(), reverse=True)
    for name, sha in order:
        shown = name if full else re.sub(r"^refs/(?:heads|remotes|tags)/", "", name)
        target = repo.objects.peel(sha)
        if name.startswith("refs/tags/"):
            shown = f"tag: {shown}"
        if name != branch:
            found.setdefault(target, []).append(shown)
    head = repo.head
    if head is not None:
        word = "HEAD"
        if branch is not None:
            word += " -> " + (branch if full else branch.removeprefix("refs/heads/"))
        found.setdefault(head, []).insert(0, word)
    return found


@dataclass(slots=True)
class Pretty:
    """How commits are shown."""

    git: Git
    name: str = "medium"
    template: str | None = None
    """A `--format` string; then `name` is `format` (newlines between) or `tformat` (after each)."""
    abbreviate: bool = False
    date: str = "default"
    decorate: str = ""
    """`short`, `full` or nothing."""
    length: int = 7
    parents: bool = False
    indent_body: bool = True
    _marks: dict[str, list[str]] = field(default_factory=dict)

    def choose(self, text: str) -> None:
        """Take the value of `--format` or `--pretty`.

        Raises:
            Failure: There is no such format.
        """
        alias = self.git.settings.get(f"pretty.{text}")
        text = alias if alias is not None else text
        if text.startswith(("format:", "tformat:")):
            self.name, _, self.template = text.partition(":")
        elif "%" in text or not text:
            self.name, self.template = "tformat", text
        elif text in _NAMED:
            self.name, self.template = text, None
        else:
            near = [name for name in _NAMED if name.startswith(text)]
            if len(near) != 1:
                raise Failure(f"invalid --pretty format: {text}")
            self.name, self.template = near[0], None
        if self.name == "email":
            self.git.call.unknown("the format email")

    @property
    def separates(self) -> bool:
        """Whether a blank line or newline comes between commits rather than after each."""
        return self.name not in ("oneline", "tformat", "reference")

    def marks(self, sha: str, *, full: bool = False) -> list[str]:
        """Names of refs at a commit."""
        if not self._marks:
            self._marks = decorations(self.git, full=full) or {"": []}
        return self._marks.get(sha, [])

    def _sha(self, sha: str) -> str:
        return self.git.repo.objects.short(sha, self.length) if self.abbreviate else sha

    def _decorated(self, sha: str) -> str:
        if not self.decorate:
            return ""
        names = self.marks(sha, full=self.decorate == "full")
        return f" ({', '.join(names)})" if names else ""

    def _date(self, line: str, style: str) -> str:
        shown = show_date(take_apart(line)[2], style, self.git.call.now, self.git.zone)
        return shown if shown is not None else self.git.call.unknown(f"the date style {style}")

    def text(self, commit: Commit) -> str:
        """The commit as text, without a last newline."""
        if self.template is not None:
            return self.expand(self.template, commit)
        head = self._sha(commit.sha)
        if self.parents:
            head += "".join(" " + self._sha(parent) for parent in commit.parents)
        head += self._decorated(commit.sha)
        if self.name == "oneline":
            return f"{head} {commit.subject}"
        if self.name == "reference":
            short = self.git.repo.objects.short(commit.sha)
            style = "short" if self.date == "default" else self.date
            return f"{short} ({commit.subject}, {self._date(commit.author, style)})"
        return "\n".join([f"commit {head}", *self._header(commit), *self._message(commit)])

    def _header(self, commit: Commit) -> list[str]:
        author, committer = (" <".join(take_apart(line)[:2]) + ">" for line in (commit.author, commit.committer))
        if self.name == "raw":
            parents = [f"parent {parent}" for parent in commit.parents]
            return [f"tree {commit.tree}", *parents, f"author {commit.author}", f"committer {commit.committer}"]
        lines = []
        if len(commit.parents) > 1:
            lines.append("Merge: " + " ".join(self.git.repo.objects.short(parent) for parent in commit.parents))
        if self.name == "fuller":
            dates = [self._date(line, self.date) for line in (commit.author, commit.committer)]
            return [
                *lines,
                f"Author:     {author}",
                f"AuthorDate: {dates[0]}",
                f"Commit:     {committer}",
                f"CommitDate: {dates[1]}",
            ]
        lines.append(f"Author: {author}")
        if self.name == "full":
            lines.append(f"Commit: {committer}")
        if self.name == "medium":
            lines.append(f"Date:   {self._date(commit.author, self.date)}")
        return lines

    def _message(self, commit: Commit) -> list[str]:
        message = commit.message.strip("\n").rstrip()
        if self.name == "short":
            message = commit.subject
        if not message:
            return []
        return ["", *(f"    {_expand_tabs(line.rstrip())}" if line.strip() else "    " for line in message.split("\n"))]

    def expand(self, template: str, commit: Commit) -> str:
        """Fill a `--format` string."""
        pattern = (
            r"%(%|n|x[0-9a-fA-F]{2}|[+-]?(?:[ac](?:[nNeElLdDrtiIsh])|[HhTtPpsfbBdDSeN]|g[dDsnNeE]|m)"
            r"|C(?:\([^)]*\)|red|green|blue|reset)|[w<>G].?|.)?"
        )
        out, at = [], 0
        for match in re.finditer(pattern, template, re.DOTALL):
            out.append(template[at : match.start()])
            at = match.end()
            code = match[1] or ""
            sign = code[0] if code[:1] in "+-" and len(code) > 1 else ""
            value = self._placeholder(code[1:] if sign else code, commit)
            if sign == "+" and value:
                value = "\n" + value
            elif sign == "-" and not value and out and out[-1].endswith("\n"):
                out[-1] = out[-1].rstrip("\n")
            out.append(value)
        return "".join([*out, template[at:]])

    def _placeholder(self, code: str, commit: Commit) -> str:
        objects = self.git.repo.objects
        if code in ("%", "n"):
            return "%" if code == "%" else "\n"
        if code.startswith("x"):
            return chr(int(code[1:], 16))
        if re.fullmatch(r"[ac]\w", code):
            return self._person(commit.author if code[0] == "a" else commit.committer, code[1])
        plain: dict[str, Callable[[], str]] = {
            "H": lambda: commit.sha, "h": lambda: objects.short(commit.sha), "T": lambda: commit.tree,
            "t": lambda: objects.short(commit.tree), "P": lambda: " ".join(commit.parents),
            "p": lambda: " ".join(objects.short(sha) for sha in commit.parents), "s": lambda: commit.subject,
            "b": lambda: commit.body, "B": lambda: commit.message, "e": lambda: "", "N": lambda: "",
            "f": lambda: re.sub(r"\.+$|^-|-$", "", re.sub(r"[^A-Za-z0-9._]+", "-", commit.subject)),
            "D": lambda: ", ".join(self.marks(commit.sha)),
            "d": lambda: f" ({', '.join(self.marks(commit.sha))})" if self.marks(commit.sha) else "",
        }  # fmt: skip
        if code in plain:
            return plain[code]()
        if code.startswith("C"):
            return self.git.call.unknown("colours") if "always" in code else ""
        return self.git.call.unknown(f"the placeholder %{code}")

    def _person(self, line: str, letter: str) -> str:
        name, email, _ = take_apart(line)
        if letter in "nN":
            return name
        if letter in "eE":
            return email
        if letter in "lL":
            return email.partition("@")[0]
        style = {"d": self.date, "D": "rfc", "r": "relative", "t": "unix", "i": "iso", "I": "iso-strict", "s": "short"}
        return self._date(line, style[letter]) if letter in style else self.git.call.unknown(f"%a{letter}")


def _expand_tabs(line: str) -> str:
    return line.expandtabs(8) if "\t" in line else line
