"""Runs the recipes of make: automatic variables, prefixes `@ - +`, echo, errors."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from worldline.kernels.shell.builtins.base import Result
from worldline.kernels.shell.builtins.make.make_parts import Place, Recipe, RecipeLine, Target, Variable
from worldline.kernels.shell.builtins.make.make_session import Session
from worldline.kernels.shell.builtins.shared.recipe_shell import run_line
from worldline.kernels.shell.programs import presence

__all__ = ["RecipeRunner"]

_META = re.compile(r"[#;\"*?\[\]&|<>(){}$`^~!\\'\n=]")
_SHELL_WORDS = frozenset(
    """. : alias bg break case cd command continue eval exec exit export fc fg for getopts hash if jobs login logout
    read readonly return set shift test times trap type ulimit umask unalias unset wait while""".split()  # noqa: SIM905
)
"""Words that make gives to the shell, since they are its own."""
_LISTING = re.compile(r"(?:^|[;&|]\s*)(?:env|printenv)\s*(?:$|[;&|>])")
_RECURSIVE = re.compile(r"\$[({]MAKE[)}]")


class RecipeRunner:
    """Runs recipes of one session.

    Args:
        session: The run of make.
        phony: Names that are no files.
    """

    def __init__(self, session: Session, phony: frozenset[str]) -> None:
        self._session = session
        self._phony = phony
        self.noisy = 0
        """Lines that wrote something themselves, and lines beyond the first of their recipe."""

    @contextmanager
    def scope(self, target: Target) -> Iterator[None]:
        """Let a target's own variables hold, for it and what it needs."""
        expander = self._session.expander
        values: dict[str, Variable] = {}
        expander.scopes.append(values)
        try:
            for name, operator, value, place in target.variables:
                expander.place = place
                expander.define(name, operator, value, scope=values)
            yield
        finally:
            expander.scopes.remove(values)

    def run(self, target: Target, recipe: Recipe, changed: list[str]) -> Literal["ok", "failed", "question"]:
        """Run a recipe, or only show it.

        Args:
            target: What it makes.
            recipe: Its lines.
            changed: Prerequisites newer than the target.
        """
        session = self._session
        with self.scope(target):
            session.expander.scopes.append(_automatic(target, changed))
            try:
                lines = [(line, self._expand(line)) for line in self._joined(recipe)]
            finally:
                session.expander.scopes.pop()
            count = 0
            for line, text in lines:
                always = bool(_RECURSIVE.search(line.text)) or _prefix(line.text)[0].count("+") > 0
                for part in text.split("\n") if not _continued(line.text, text) else [text]:
                    status = self._line(target, line, part, always=always)
                    if status != "ok":
                        return status
                    count += 1
            self.noisy += max(0, count - 1)
        return "ok"

    def _joined(self, recipe: Recipe) -> list[RecipeLine]:
        if ".ONESHELL" not in self._session.special or not recipe.lines:
            return recipe.lines
        return [RecipeLine("\n".join(line.text for line in recipe.lines), recipe.place)]

    def _expand(self, line: RecipeLine) -> str:
        self._session.expander.place = line.place
        return self._session.expander.expand(line.text)

    def _line(
        self, target: Target, line: RecipeLine, text: str, *, always: bool
    ) -> Literal["ok", "failed", "question"]:
        session, flags = self._session, self._session.options.flags
        given, _ = _prefix(line.text)
        also, text = _prefix(text)
        marks = given + also
        always = always or "+" in also
        if not text.strip():
            return "ok"
        if "q" in flags and not always:
            return "question"
        session.started += 1
        silenced = session.special.get(".SILENT")
        silent = "@" in marks or "s" in flags or (silenced is not None and (not silenced or target.name in silenced))
        dry = "n" in flags and not always
        if dry or not silent:
            session.out(f"{text}\n")
        if dry:
            return "ok"
        result = self._run(text)
        if result.stdout or result.stderr:
            self.noisy += 1
        session.mixed |= bool(result.stdout and result.stderr)
        session.out(result.stdout)
        session.err(result.stderr)
        return self._judge(target, line.place, result.status, marks)

    def _judge(self, target: Target, place: Place, status: int, marks: str) -> Literal["ok", "failed"]:
        session = self._session
        if not status:
            return "ok"
        what = f"[{place}: {target.name}] Error {status}"
        ignored = session.special.get(".IGNORE")
        if (
            "-" in marks
            or "i" in session.options.flags
            or (ignored is not None and (not ignored or target.name in ignored))
        ):
            session.err(f"{session.name}: {what} (ignored)\n")
            return "ok"
        session.complain(what)
        return "failed"

    def _run(self, text: str) -> Result:
        """Run a line: directly where no shell is needed, as make does."""
        session = self._session
        call, shell = session.call, session.shell_path()
        if _LISTING.search(text):
            call.unknown("all variables in the environment of a recipe")
        env = session.environment()
        flags = session.expander.value(".SHELLFLAGS").split() or ["-c"]
        if shell == "/bin/sh" and flags == ["-c"]:
            words = text.split() if not _META.search(text) else _plain_words(text)
            if words and words[0] not in _SHELL_WORDS:
                missing = self._missing(words[0])
                if missing:
                    return Result(stderr=f"{session.name}: {words[0]}: {missing}\n", status=127)
                if session.cwd == call.cwd and words[0] != "make":
                    result = call.run(words, stdin=call.stdin, env=env)
                    if result.status == 127 and re.search(r": command not found\n\Z", result.stderr):
                        return Result(stderr=f"{session.name}: {words[0]}: No such file or directory\n", status=127)
                    return result
                if words[0] == "make":
                    return self._nested(words, env)
        return run_line(call, text, shell=shell, flags=flags, cwd=session.cwd, env=env, stdin=call.stdin)

    def _nested(self, words: list[str], env: dict[str, str]) -> Result:
        here = self._session.cwd
        words = words if here == self._session.call.cwd else ["make", "-C", here, "--no-print-directory", *words[1:]]
        if here != self._session.call.cwd:
            self._session.unknown("a make in another directory that runs make")
        return self._session.call.run(words, env=env)

    def _missing(self, name: str) -> str:
        """Why a program cannot be run, in make's words; "" where it can."""
        session = self._session
        if "/" in name:
            path = session.path(name)
            if name.startswith(("/bin/", "/usr/bin/")):
                name = name.rpartition("/")[2]
            elif not session.call.files.exists(path):
                return "No such file or directory"
            elif session.call.files.stat(path).kind == "directory" or not session.call.files.allowed(path, 1):
                return "Permission denied"
            else:
                return ""
        return "No such file or directory" if presence(session.call.world, name) == "absent" else ""


def _prefix(text: str) -> tuple[str, str]:
    """Part a line into its prefix characters and the command."""
    match = re.match(r"[ \t@+-]*", text)
    assert match is not None
    return match[0], text[match.end() :]


def _continued(source: str, text: str) -> bool:
    """Whether the newlines of an expanded line are those of its own continuation."""
    return text.count("\n") == source.count("\n") and "\n" in source


def _plain_words(text: str) -> list[str] | None:
    """Split a line whose only special characters are single quotes and backslashes; None where it needs a shell."""
    if set(_META.findall(re.sub(r"'[^']*'", "", text))) or "=" in text.split(" ")[0]:
        return None
    try:
        return shlex.split(text)
    except ValueError:
        return None


def _automatic(target: Target, changed: list[str]) -> dict[str, Variable]:
    every = list(dict.fromkeys(target.prerequisites))
    order = [word for word in dict.fromkeys(target.order_only) if word not in every]
    values = {
        "@": target.name,
        "<": target.prerequisites[0] if target.prerequisites else "",
        "^": " ".join(every),
        "+": " ".join(target.prerequisites),
        "?": " ".join(word for word in every if word in changed),
        "*": target.stem,
        "|": " ".join(order),
        "%": "",
    }
    found = {name: Variable(text, False, "automatic") for name, text in values.items()}
    for name, text in values.items():
        parts = text.split()
        folders = [word.rpartition("/")[0] or ("/" if word.startswith("/") else ".") for word in parts]
        found[f"{name}D"] = Variable(" ".join(folders), False, "automatic")
        found[f"{name}F"] = Variable(" ".join(word.rpartition("/")[2] for word in parts), False, "automatic")
    return found
