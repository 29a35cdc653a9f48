"""Which attributes a script may read and write, and operations that would take too long or too much memory."""

from __future__ import annotations

import datetime
import re
import string
import types
from collections.abc import Callable
from typing import Any

from .frames import abstain

__all__ = [
    "check_width",
    "checked_repeat",
    "clock",
    "delete",
    "is_plain",
    "load",
    "missing_builtin",
    "set_clock",
    "store",
]

_FRAMES = frozenset(
    [
        "gi_frame",
        "gi_code",
        "gi_yieldfrom",
        "cr_frame",
        "cr_code",
        "cr_await",
        "cr_origin",
        "ag_frame",
        "ag_code",
        "ag_await",
        "f_back",
        "f_builtins",
        "f_code",
        "f_globals",
        "f_locals",
        "f_lasti",
        "f_lineno",
        "tb_frame",
        "tb_next",
        "tb_lasti",
        "tb_lineno",
        "func_globals",
        "func_code",
        "mro",
        "co_code",
        "co_consts",
    ]
)
_SPECIAL = frozenset(["now", "today", "utcnow", "format", "format_map", "fromtimestamp", "localtime", "gmtime"])
_DUNDERS = frozenset(
    [
        "__name__",
        "__qualname__",
        "__doc__",
        "__class__",
        "__dict__",
        "__init__",
        "__new__",
        "__str__",
        "__repr__",
        "__format__",
        "__hash__",
        "__eq__",
        "__ne__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
        "__bool__",
        "__len__",
        "__iter__",
        "__next__",
        "__reversed__",
        "__contains__",
        "__getitem__",
        "__setitem__",
        "__delitem__",
        "__missing__",
        "__call__",
        "__enter__",
        "__exit__",
        "__add__",
        "__sub__",
        "__mul__",
        "__truediv__",
        "__floordiv__",
        "__mod__",
        "__pow__",
        "__radd__",
        "__rsub__",
        "__rmul__",
        "__iadd__",
        "__isub__",
        "__neg__",
        "__abs__",
        "__int__",
        "__float__",
        "__index__",
        "__and__",
        "__or__",
        "__xor__",
        "__invert__",
        "__module__",
        "__mro__",
        "__bases__",
        "__base__",
        "__annotations__",
        "__cause__",
        "__context__",
        "__suppress_context__",
        "__notes__",
        "__getattr__",
        "__setattr__",
        "__delattr__",
        "__get__",
        "__set__",
        "__set_name__",
        "__init_subclass__",
        "__post_init__",
        "__members__",
        "__slots__",
        "__wrapped__",
        "__dataclass_fields__",
        "__match_args__",
        "__file__",
        "__version__",
        "__author__",
        "__all__",
        "__copy__",
        "__deepcopy__",
        "__round__",
        "__fields__",
        "__abstractmethods__",
        "__defaults__",
        "__kwdefaults__",
        "__self__",
        "__func__",
        "__args__",
        "__origin__",
        "__sizeof__",
        "__traceback__",
        "__contains__",
        "__rtruediv__",
        "__ior__",
        "__iand__",
        "__divmod__",
        "__floor__",
        "__ceil__",
        "__trunc__",
        "__complex__",
        "__bytes__",
        "__dir__",
        "__class_getitem__",
        "__prepare__",
        "__instancecheck__",
        "__subclasscheck__",
        "__del__",
        "__optional_keys__",
        "__required_keys__",
        "__total__",
        "__name__",
    ]
)
_NAMEDTUPLE = frozenset({"_asdict", "_replace", "_make", "_fields", "_field_defaults"})
_ENUM = frozenset({"_missing_", "_generate_next_value_", "_value_", "_name_", "_ignore_", "_order_"})
_LARGEST = 50_000_000


class _Traceback:
    """What a script gets for a traceback: something to hand on to the module `traceback`."""

    def __getattr__(self, name: str) -> Any:
        abstain(f"the attribute {name} of a traceback")


TRACEBACK = _Traceback()

_now = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)  # noqa: UP017
read_clock: list[bool] = []


def set_clock(moment: datetime.datetime) -> None:
    """Set the virtual time, aware and in UTC."""
    global _now
    _now = moment


def clock() -> datetime.datetime:
    """The virtual time."""
    read_clock.append(True)
    return _now


def is_plain(name: str) -> bool:
    """Whether an attribute of this name needs no check."""
    return not name.startswith("_") and name not in _SPECIAL and name not in _FRAMES


def load(owner: Any, name: str) -> Any:
    """Read an attribute, where the script may."""
    if name in _SPECIAL:
        return _load_special(owner, name)
    if name in _FRAMES:
        if _is_guest(owner) or name == "mro":
            return getattr(owner, name)
        abstain(f"attribute {name}")
    if not name.startswith("_"):
        return getattr(owner, name)
    if name.startswith("__") and name.endswith("__"):
        return _load_dunder(owner, name)
    if name in _NAMEDTUPLE or name in _ENUM or _is_guest(owner) or not hasattr(owner, name):
        return getattr(owner, name)
    abstain(f"private attribute {name} of a library object")


def _load_dunder(owner: Any, name: str) -> Any:
    if name not in _DUNDERS and not _declares(owner, name):
        if not hasattr(owner, name):
            return getattr(owner, name)
        abstain(f"attribute {name}")
    if name == "__dict__" and not _is_guest(owner):
        abstain("__dict__ of a library object")
    if name == "__traceback__" and isinstance(owner, BaseException):
        return TRACEBACK
    if name in ("__self__", "__func__") and not _is_guest(owner):
        abstain(f"attribute {name}")
    if name in ("__defaults__", "__kwdefaults__"):
        from .functions import signature_of

        signature = signature_of(owner)
        if signature is None:
            return getattr(owner, name)
        return (signature.defaults or None) if name == "__defaults__" else (signature.keyword_defaults or None)
    return getattr(owner, name)


def _declares(owner: Any, name: str) -> bool:
    kind = owner if isinstance(owner, type) else type(owner)
    if any(name in vars(base) for base in kind.__mro__ if is_guest_module(base.__module__)):
        return True
    return _is_guest(owner) and name in getattr(owner, "__dict__", {})


_guest_modules = {"__main__"}


def add_guest_module(name: str) -> None:
    """Count the module of this name as the script's own."""
    _guest_modules.add(name)


def is_guest_module(name: Any) -> bool:
    """Whether a class or function with this `__module__` belongs to the script."""
    return name in _guest_modules


def _is_guest(owner: Any) -> bool:
    if isinstance(owner, (type, types.FunctionType)):
        return is_guest_module(owner.__module__)
    if isinstance(owner, types.MethodType):
        return _is_guest(owner.__func__)
    if isinstance(owner, types.ModuleType):
        return is_guest_module(owner.__name__)
    if isinstance(owner, types.SimpleNamespace):
        return True
    kind = type(owner)
    return is_guest_module(kind.__module__) or kind.__module__ == "argparse"


def _load_special(owner: Any, name: str) -> Any:
    if name in ("format", "format_map"):
        return _checked_format(owner) if isinstance(owner, str) and name == "format" else getattr(owner, name)
    kind = owner if isinstance(owner, type) else type(owner)
    if not issubclass(kind, datetime.date):
        return getattr(owner, name)
    if name == "today" and not issubclass(kind, datetime.datetime):
        return lambda: kind(clock().year, clock().month, clock().day)
    if name in ("now", "today", "utcnow"):
        return _now_method(kind, name)
    return getattr(owner, name)


def _now_method(kind: type[datetime.date], name: str) -> Callable[..., Any]:
    make: Callable[..., Any] = kind

    def method(tz: Any = None) -> Any:
        moment = clock()
        moment = moment.replace(tzinfo=None) if tz is None else moment.astimezone(tz)
        parts = (moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second, moment.microsecond)
        return make(*parts, moment.tzinfo)

    method.__name__ = name
    return method


def _checked_format(template: str) -> Callable[..., str]:
    def formatted(*args: Any, **kwargs: Any) -> str:
        for _, field, spec, _ in string.Formatter().parse(template):
            if field and re.search(r"\._|\[_", field):
                abstain("private attributes in a format string")
            check_width(spec or "")
        return template.format(*args, **kwargs)

    return formatted


def check_width(spec: str) -> None:
    """Refuse a format specification whose result would fill the memory."""
    if len(spec) > 5 and any(int(number) > 10_000_000 for number in re.findall(r"\d+", spec)):
        abstain("a format too wide to compute here")


def checked_repeat(left: Any, right: Any) -> Any:
    """`left * right`, refusing what would fill the memory."""
    if isinstance(right, int) and not isinstance(left, (int, float)):
        size = len(left) if isinstance(left, (str, bytes, list, tuple, bytearray)) else 0
        if size * right > _LARGEST:
            abstain("a sequence too large to build here")
    return left * right


def store(owner: Any, name: str, value: Any) -> None:
    """Set an attribute, where the script may."""
    if name.startswith("__") and name.endswith("__"):
        from .functions import signature_of

        allowed = _is_guest(owner) or signature_of(owner) is not None or name in ("__cause__", "__context__")
        if not allowed or name in ("__class__", "__code__", "__globals__", "__defaults__", "__bases__"):
            abstain(f"setting {name}")
    elif isinstance(owner, types.ModuleType) and not is_guest_module(owner.__name__):
        setter = getattr(owner, "set_from_script", None)
        if setter is None:
            abstain(f"setting an attribute of the module {owner.__name__}")
        setter(name, value)
        return
    elif isinstance(owner, type) and not is_guest_module(owner.__module__) and owner.__flags__ & 0x200:
        abstain("setting an attribute of a library class")
    setattr(owner, name, value)


def delete(owner: Any, name: str) -> None:
    """Delete an attribute, where the script may."""
    if isinstance(owner, (types.ModuleType, type)) and not _is_guest(owner):
        abstain("deleting an attribute of a library object")
    delattr(owner, name)


def missing_builtin(name: str) -> None:
    """Give up where real Python has a builtin that the kernel lacks."""
    import builtins

    if hasattr(builtins, name) or name in ("__builtins__", "__loader__", "__spec__", "__cached__", "__package__"):
        abstain(f"the builtin {name} is not supported")
