"""Warnings: those of the compiler and those that a script issues, shown as real Python shows them."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from .frames import Frame, Source, abstain

__all__ = ["show_compiler_warnings", "warn"]

_shown: set[tuple[str, int, str]] = set()


def warn(f: Frame, message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **unusual: Any) -> None:
    """`warnings.warn` called in frame `f`."""
    if stacklevel != 1 or unusual:
        abstain("a warning that names another place")
    kind = type(message) if isinstance(message, Warning) else category or UserWarning
    text = str(message)
    line = f.pos.lineno
    name = f.top.get("__name__", "__main__")
    action = next(
        (
            action
            for action, pattern, wanted, module, place in warnings.filters
            if (pattern is None or pattern.match(text))
            and issubclass(kind, wanted)
            and (module is None or (module == name if isinstance(module, str) else module.match(name)))
            and (place in (0, line))
        ),
        "default",
    )
    if action == "ignore":
        return
    if action == "error":
        raise message if isinstance(message, Warning) else kind(message)
    if action not in ("default", "always"):
        abstain(f"the warning filter {action}")
    if warnings.showwarning is not _REAL:
        abstain("a replaced or recorded display of warnings")
    key = (text, line, kind.__name__)
    if action == "default" and key in _shown:
        return
    _shown.add(key)
    _show(f.code.source, line, kind, text)


_REAL = warnings.showwarning


def _show(source: Source, line: int, kind: type[Warning], text: str) -> None:
    shown = source.lines[line - 1].strip() if 0 < line <= len(source.lines) else ""
    after = f"  {shown}\n" if shown else ""
    sys.stderr.write(f"{source.filename}:{line}: {kind.__name__}: {text}\n{after}")


def show_compiler_warnings(found: list[warnings.WarningMessage], source: Source) -> None:
    """Show what the compiler warned about; deprecations of the language are not shown by default."""
    for item in found:
        if issubclass(item.category, SyntaxWarning):
            _show(source, item.lineno, item.category, str(item.message))
