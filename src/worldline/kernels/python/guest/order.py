"""Set order: real Python orders sets of strings anew in each process, so what depends on it is not known."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from .frames import abstain

__all__ = ["call", "check_iteration", "check_text", "checked_mod"]

_STABLE = (int, float, complex, bool)
_SETS = (set, frozenset)
_INDIFFERENT = frozenset(
    f for f in (len, any, all, isinstance, issubclass, bool, type, set, frozenset, callable, hasattr, getattr, setattr)
)
_INDIFFERENT_METHODS = frozenset(
    [
        "union",
        "intersection",
        "difference",
        "symmetric_difference",
        "issubset",
        "issuperset",
        "isdisjoint",
        "update",
        "intersection_update",
        "difference_update",
        "symmetric_difference_update",
        "add",
        "discard",
        "remove",
        "append",
        "copy",
        "clear",
        "extend_never",
        "get",
        "setdefault",
        "put",
        "insert",
        "count",
        "index",
    ]
)
_WRITERS = frozenset({"write", "writelines", "writerow", "writerows", "dumps", "dump", "format", "pformat", "pprint"})


def _volatile(value: Any) -> bool:
    """Whether the order of this set differs between runs of real Python."""
    return len(value) > 1 and not all(type(item) in _STABLE for item in value)


def _give_up() -> None:
    abstain("the result depends on the order of a set of strings")


def check_iteration(value: Any) -> None:
    """Give up where iterating over `value` would show the order of such a set."""
    if isinstance(value, _SETS) and _volatile(value):
        _give_up()


def check_text(value: Any, depth: int = 4) -> None:
    """Give up where the text of `value` would show the order of such a set."""
    if isinstance(value, (str, int, float, bytes)) or value is None:
        return
    if isinstance(value, _SETS):
        if _volatile(value):
            _give_up()
        return
    if depth == 0:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            check_text(key, depth - 1)
            check_text(item, depth - 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            check_text(item, depth - 1)
    elif isinstance(value, BaseException):
        check_text(value.args, depth - 1)
    elif hasattr(value, "__dict__") and not isinstance(value, (type, types.FunctionType, types.ModuleType)):
        check_text(list(vars(value).values()), depth - 1)


def checked_mod(left: Any, right: Any) -> Any:
    """`left % right`, where a set among the operands of text formatting counts as shown."""
    if isinstance(left, (str, bytes)):
        check_text(right)
    return left % right


def call(function: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    """Call `function`, watching what becomes of sets that it is given or belongs to."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, _SETS):
        if function.__name__ in ("pop", "__iter__", "__repr__", "__str__") and _volatile(owner):
            _give_up()
        return function(*arguments, **named)
    from .functions import signature_of

    if signature_of(function) is not None or signature_of(getattr(function, "__func__", None)) is not None:
        return function(*arguments, **named)
    if isinstance(function, type) and issubclass(function, BaseException):
        return function(*arguments, **named)
    if function in (sorted, min, max, sum):
        return _ordered(function, arguments, named)
    name = getattr(function, "__name__", "")
    if function in (print, str, repr, format, ascii) or name in _WRITERS or name == "print":
        check_text(arguments)
    elif not _indifferent(function, name):
        for argument in arguments:
            check_iteration(argument)
        for argument in named.values():
            check_iteration(argument)
    return function(*arguments, **named)


def _indifferent(function: Any, name: str) -> bool:
    try:
        if function in _INDIFFERENT:
            return True
    except TypeError:
        return False
    if isinstance(function, type):
        return getattr(function, "__module__", "") == "__main__"
    return name in _INDIFFERENT_METHODS and getattr(function, "__self__", None) is not None


def _ordered(function: Callable[..., Any], arguments: list[Any], named: dict[str, Any]) -> Any:
    """Call `sorted`, `min`, `max` or `sum`; give up if the order of a set decides a tie."""
    result = function(*arguments, **named)
    if arguments and isinstance(arguments[0], _SETS) and _volatile(arguments[0]):
        turned = function(list(arguments[0])[::-1], *arguments[1:], **named)
        if turned != result:
            _give_up()
    return result
