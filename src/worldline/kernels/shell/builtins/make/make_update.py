"""Brings targets up to date: which are out of date, in which order, and what make says about it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from worldline.kernels.shell.builtins.make.make_implicit import find_implicit
from worldline.kernels.shell.builtins.make.make_parts import MakeError, Recipe, Target
from worldline.kernels.shell.builtins.make.make_recipes import RecipeRunner
from worldline.kernels.shell.builtins.make.make_session import Session

__all__ = ["Updater"]

Status = Literal["ok", "failed", "question"]


class Updater:
    """Makes goals.

    Args:
        session: With all makefiles read.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._flags = session.options.flags
        self._phony = frozenset(session.special.get(".PHONY", ()))
        self._done: dict[str, Status] = {}
        self._making: set[str] = set()
        self._remade: set[str] = set()
        """Targets whose time is taken to be now, since their recipe ran or would run."""
        self._runner = RecipeRunner(session, self._phony)
        self.remade = 0

    def goals(self, names: list[str]) -> int:
        """Make goals one after the other; returns the exit status."""
        session = self._session
        worst = 0
        for name in names:
            before = session.started
            status = self._update(name, None)
            if status == "question":
                worst = max(worst, 1)
                if "k" not in self._flags:
                    return worst
            elif status == "failed":
                worst = 2
                target = session.targets.get(name)
                if "k" not in self._flags:
                    return worst
                if target is not None and self._blocked(name):
                    session.err(f"{session.name}: Target '{name}' not remade because of errors.\n")
            elif session.started == before and not self._flags & {"s", "q"}:
                self._nothing(name)
        return worst

    def _nothing(self, name: str) -> None:
        target = self._session.targets.get(name)
        bare = target is None or (target.recipe is None and not target.double)
        if name in self._phony or bare:
            self._session.tell(f"Nothing to be done for '{name}'.")
        else:
            self._session.tell(f"'{name}' is up to date.")

    def _blocked(self, name: str) -> bool:
        """Whether a target failed because of a prerequisite."""
        target = self._session.targets[name]
        rules = target.double or [target]
        return any(
            self._done.get(word) == "failed" for rule in rules for word in (*rule.prerequisites, *rule.order_only)
        )

    @property
    def noisy(self) -> bool:
        """Whether recipes wrote something themselves, or are longer than a line."""
        return self._runner.noisy > 0

    # --- one target

    def _update(self, name: str, needed_by: str | None) -> Status:
        if name in self._done:
            return self._done[name]
        self._making.add(name)
        try:
            status = self._make(name, needed_by)
        finally:
            self._making.discard(name)
        self._done[name] = status
        return status

    def _make(self, name: str, needed_by: str | None) -> Status:
        session = self._session
        target = session.targets.get(name)
        if target is None:
            target = session.targets[name] = Target(name)
        if target.double is not None:
            for rule in target.double:
                status = self._bring(rule, needed_by, double=True)
                if status != "ok":
                    return status
            return "ok"
        if target.recipe is None and name not in self._phony:
            found = find_implicit(session, target)
            if found is not None:
                target.recipe, target.stem, more, order = found
                target.prerequisites = more + target.prerequisites
                target.order_only = order + target.order_only
        return self._bring(target, needed_by, double=False)

    def _bring(self, target: Target, needed_by: str | None, *, double: bool) -> Status:
        session, name = self._session, target.name
        own = self._time(name)
        must = own is None or name in self._phony or (double and not target.prerequisites)
        changed: list[str] = []
        deps_changed, failed = False, False
        for word, order in [(w, False) for w in target.prerequisites] + [(w, True) for w in target.order_only]:
            if word in self._making:
                session.err(f"{session.name}: Circular {name} <- {word} dependency dropped.\n")
                continue
            before = self._time(word)
            with self._runner.scope(target):
                status = self._update(word, name)
            if status == "question":
                return status
            if status == "failed":
                failed = True
                if "k" not in self._flags:
                    return status
            if order or failed:
                continue
            now = self._time(word)
            moved = now != before or word in self._phony or word in self._remade
            deps_changed |= moved
            newer = now is None or (own is not None and now > own) or word in self._remade or word in self._phony
            must |= newer
            if moved or own is None or newer:
                changed.append(word)
        if failed:
            return "failed"
        if not must and not deps_changed and target.recipe is None and target.is_target:
            return "ok"
        if not must and target.recipe is not None and "B" in self._flags:
            must = True
        if not must:
            return "ok"
        return self._remake(target, needed_by, changed)

    def _time(self, name: str) -> datetime | None:
        return self._session.mtime(name)

    def _remake(self, target: Target, needed_by: str | None, changed: list[str]) -> Status:
        session, name = self._session, target.name
        recipe: Recipe | None = target.recipe
        if recipe is None:
            if name in self._phony or target.is_target or self._time(name) is not None:
                return "ok"
            wanted = f", needed by '{needed_by}'" if needed_by is not None else ""
            if "k" in self._flags:
                session.err(f"{session.name}: *** No rule to make target '{name}'{wanted}.\n")
                return "failed"
            raise MakeError(f"No rule to make target '{name}'{wanted}")
        if "t" in self._flags:
            return self._touch(name)
        self.remade += 1
        before = self._time(name)
        status = self._runner.run(target, recipe, changed)
        if status == "ok" and name not in self._phony and "n" in self._flags:
            self._remade.add(name)
        if status == "failed":
            self._after_failure(name, before)
        return status

    def _touch(self, name: str) -> Status:
        session = self._session
        if name in self._phony:
            return "ok"
        if "s" not in self._flags:
            session.out(f"touch {name}\n")
        session.started += 1
        if "n" in self._flags:
            return "ok"
        files, path = session.call.files, session.path(name)
        try:
            if files.exists(path):
                files.utime(path, session.call.now)
            else:
                files.write(path, b"")
        except OSError as error:
            session.unknown(f"touching {name}: {error}")
        return "ok"

    def _after_failure(self, name: str, before: datetime | None) -> None:
        session = self._session
        if ".DELETE_ON_ERROR" not in session.special or name in self._phony:
            return
        after = self._time(name)
        if after is not None and after != before:
            session.complain(f"Deleting file '{name}'")
            session.call.files.remove(session.path(name))
        elif after is not None and after == session.call.now:
            session.unknown("whether the file was written to")
