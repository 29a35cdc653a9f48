"""The `match` statement."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .frames import Exit, Frame, abstain

if TYPE_CHECKING:
    from .targets import TargetCompiler as _Base
else:
    _Base = object

__all__ = ["PatternCompiler"]

Test = Callable[[Frame, Any], bool]
_SELF_MATCHING = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
_MISSING = object()


class PatternCompiler(_Base):
    """Adds `match`."""

    def _Match(self, node: ast.Match) -> Callable[[Frame], Exit | None]:
        subject = self.expression(node.subject)
        cases = [
            (
                self._pattern(case.pattern),
                self.expression(case.guard) if case.guard is not None else None,
                self.body(case.body),  # type: ignore[attr-defined]
            )
            for case in node.cases
        ]

        def run(f: Frame) -> Exit | None:
            value = subject(f)
            for matches, guard, body in cases:
                if matches(f, value) and (guard is None or guard(f)):
                    left: Exit | None = body(f)
                    return left
            return None

        return run

    def _pattern(self, node: ast.pattern) -> Test:
        method = getattr(self, f"_match_{type(node).__name__}", None)
        if method is None:
            abstain(f"{type(node).__name__} is not supported")
        compiled: Test = method(node)
        return compiled

    def _match_MatchValue(self, node: ast.MatchValue) -> Test:
        value = self.expression(node.value)
        return lambda f, subject: bool(subject == value(f))

    def _match_MatchSingleton(self, node: ast.MatchSingleton) -> Test:
        return lambda f, subject: subject is node.value

    def _match_MatchAs(self, node: ast.MatchAs) -> Test:
        inner = self._pattern(node.pattern) if node.pattern is not None else None
        store = self._store_name(node.name) if node.name is not None else None

        def test(f: Frame, subject: Any) -> bool:
            if inner is not None and not inner(f, subject):
                return False
            if store is not None:
                store(f, subject)
            return True

        return test

    def _match_MatchOr(self, node: ast.MatchOr) -> Test:
        parts = [self._pattern(part) for part in node.patterns]
        return lambda f, subject: any(part(f, subject) for part in parts)

    def _match_MatchSequence(self, node: ast.MatchSequence) -> Test:
        stars = [i for i, part in enumerate(node.patterns) if isinstance(part, ast.MatchStar)]
        parts = [None if isinstance(p, ast.MatchStar) else self._pattern(p) for p in node.patterns]
        star = node.patterns[stars[0]] if stars else None
        assert star is None or isinstance(star, ast.MatchStar)
        store = self._store_name(star.name) if star is not None and star.name else None

        def test(f: Frame, subject: Any) -> bool:
            if not isinstance(subject, Sequence) or isinstance(subject, (str, bytes, bytearray)):
                return False
            if not stars:
                return len(subject) == len(parts) and all(
                    part(f, item) for part, item in zip(parts, subject, strict=True) if part is not None
                )
            before, after = stars[0], len(parts) - stars[0] - 1
            if len(subject) < before + after:
                return False
            ends = [*zip(parts[:before], subject[:before], strict=True)]
            tail = len(subject) - after
            ends += zip(parts[before + 1 :], subject[tail:], strict=True)
            if not all(part(f, item) for part, item in ends if part is not None):
                return False
            if store is not None:
                store(f, list(subject[before:tail]))
            return True

        return test

    def _match_MatchMapping(self, node: ast.MatchMapping) -> Test:
        pairs = [(self.expression(k), self._pattern(p)) for k, p in zip(node.keys, node.patterns, strict=True)]
        store = self._store_name(node.rest) if node.rest else None

        def test(f: Frame, subject: Any) -> bool:
            if not isinstance(subject, Mapping):
                return False
            seen = []
            for key, part in pairs:
                name = key(f)
                seen.append(name)
                value = subject.get(name, _MISSING)
                if value is _MISSING or not part(f, value):
                    return False
            if store is not None:
                store(f, {k: v for k, v in subject.items() if k not in seen})
            return True

        return test

    def _match_MatchClass(self, node: ast.MatchClass) -> Test:
        kind = self.expression(node.cls)
        positional = [self._pattern(part) for part in node.patterns]
        named = [(n, self._pattern(p)) for n, p in zip(node.kwd_attrs, node.kwd_patterns, strict=True)]

        def test(f: Frame, subject: Any) -> bool:
            wanted = kind(f)
            if not isinstance(subject, wanted):
                return False
            if positional and issubclass(wanted, _SELF_MATCHING) and not hasattr(wanted, "__match_args__"):
                return positional[0](f, subject)
            names = getattr(wanted, "__match_args__", ())[: len(positional)]
            if len(names) < len(positional):
                abstain("too many positional patterns")
            every = [*zip(names, positional, strict=True), *named]
            for name, part in every:
                value = getattr(subject, name, _MISSING)
                if value is _MISSING or not part(f, value):
                    return False
            return True

        return test
