"""Templates of collection worlds: Jinja expressions in a sandbox, in which the unknown stays unknown.

An expression that rests on something that was neither declared nor observed raises :class:`UnknownError`, wherever
in it that stands; what cannot be computed at all raises :class:`BrokenError`.
"""

from __future__ import annotations

import ast
import json
import operator
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, wraps
from typing import Any

from jinja2 import StrictUndefined, TemplateError, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import UndefinedError
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment

__all__ = [
    "ABSENT",
    "BrokenError",
    "Missing",
    "Unknown",
    "UnknownError",
    "arithmetic",
    "holds",
    "is_template",
    "literal",
    "names_in",
    "plain",
    "render",
    "with_lets",
]

_MAX_LENGTH = 1_000_000
"""Characters of a text, or items of a list, that an expression may make."""
_FILTERS = (
    *("abs", "length", "count", "sum", "max", "min", "map", "select", "reject", "selectattr", "rejectattr", "list"),
    *("join", "first", "last", "sort", "unique", "round", "int", "float", "string", "upper", "lower", "trim"),
    *("replace", "default", "d", "items", "tojson", "title", "capitalize", "reverse", "dictsort"),
)
_METHODS = (
    *("startswith", "endswith", "split", "strip", "lstrip", "rstrip", "lower", "upper", "title"),
    *("removeprefix", "removesuffix", "find", "count", "splitlines"),
)
_STEPS = ("$each", "$base", "$if")
_PASSES_ON = frozenset({"default", "d", "told", "defined", "undefined"})
"""Filters that give an unknown value on as it is, and tests that look at it themselves."""
_MOST_BITS = 10_000
"""Of a number in an answer; Python writes none of more than 4300 digits."""


class UnknownError(Exception):
    """Something the expression needs was neither declared nor observed; the message says what."""


class BrokenError(Exception):
    """The expression has no value here; the message says why."""


class Unknown:
    """A value that is not known: whoever looks at it learns no more than that."""

    __slots__ = ("what",)

    def __init__(self, what: str) -> None:
        self.what = what

    def _raise(self, *_: Any) -> Any:
        raise UnknownError(self.what)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __getitem__ = __iter__ = _raise
    __len__ = __bool__ = __str__ = __repr__ = __format__ = __call__ = __hash__ = __reversed__ = _raise
    __int__ = __float__ = __complex__ = __index__ = __abs__ = __round__ = __neg__ = __pos__ = __invert__ = _raise
    __trunc__ = __floor__ = __ceil__ = _raise
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _raise
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _raise


class Missing(StrictUndefined):
    """A record or field that is known not to be there.

    It equals nothing and is neither less nor more than anything that is known; any other use but `is defined` breaks.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:  # type: ignore[override]
        _known(other)
        return isinstance(other, StrictUndefined)

    def __ne__(self, other: object) -> bool:  # type: ignore[override]
        return not self == other

    def _never(self, other: object) -> bool:
        _known(other)
        return False

    __lt__ = __le__ = __gt__ = __ge__ = _never  # type: ignore[assignment]
    __hash__ = object.__hash__  # type: ignore[assignment]


def _known(*values: Any) -> None:
    """Raise where one of the values is unknown: only by looking at it could anything be told."""
    for value in values:
        if isinstance(value, Unknown):
            raise UnknownError(value.what)


ABSENT = Missing(name="record")
"""What a look-up gives for a key that does not exist."""


class _Text(str):
    """A text to the right of `in`."""

    __slots__ = ()

    def __contains__(self, value: object) -> bool:
        _known(value)
        return super().__contains__(value)  # type: ignore[operator] # what is no text breaks


class _Generator(CodeGenerator):
    """Lets the environment see what stands to the right of `in`: only a text cannot say by itself what is unknown."""

    def visit_Operand(self, node: nodes.Operand, frame: Frame) -> None:
        """Write the operator and what stands to its right."""
        if node.op not in ("in", "notin"):
            super().visit_Operand(node, frame)
            return
        self.write(" in environment.container(" if node.op == "in" else " not in environment.container(")
        self.visit(node.expr, frame)
        self.write(")")


class _Environment(ImmutableSandboxedEnvironment):
    code_generator_class = _Generator
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "**", "%"})

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Look a field up; objects have no attributes but some methods of texts."""
        if isinstance(obj, str) and attribute in _METHODS:
            return getattr(obj, attribute)
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Look a field, an item or a record up."""
        _known(obj)
        if isinstance(obj, StrictUndefined):
            return Missing(name=str(argument))
        _known(argument)
        if isinstance(obj, Mapping | str | Sequence) or hasattr(obj, "look_up"):
            try:
                return obj[argument]
            except (LookupError, TypeError):
                pass
        return Missing(name=str(argument))

    @staticmethod
    def container(value: Any) -> Any:
        """What `in` looks into."""
        return _Text(value) if isinstance(value, str) else value

    def is_safe_callable(self, obj: Any) -> bool:
        """Only methods of texts and our own functions may be called."""
        return obj in _FUNCTIONS.values() or getattr(obj, "__name__", "") in _METHODS

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a function; only `dict` may be given what is unknown, as it does not look at it."""
        if obj is not dict:
            _known(*args, *kwargs.values())
        return super().call(context, obj, *args, **kwargs)

    def call_binop(self, context: Any, operator_name: str, left: Any, right: Any) -> Any:
        """Compute within bounds."""
        _known(left, right)
        if operator_name == "%" and isinstance(left, str):
            raise BrokenError("texts have no remainder")
        if operator_name == "**" and (abs(left) > 10**6 or abs(right) > 64):
            raise BrokenError("the power is too large")
        if operator_name == "*":
            for one, other in ((left, right), (right, left)):
                if isinstance(one, Sequence) and isinstance(other, int) and len(one) * other > _MAX_LENGTH:
                    raise BrokenError("the product is too long")
        both = operator_name == "+" and isinstance(left, Sequence) and isinstance(right, Sequence)
        if both and len(left) + len(right) > _MAX_LENGTH:
            raise BrokenError("the sum is too long")
        return super().call_binop(context, operator_name, left, right)


def _is_defined(value: Any) -> bool:
    _known(value)
    return not isinstance(value, StrictUndefined)


def _is_told(value: Any) -> bool:
    return not isinstance(value, Unknown | StrictUndefined)


_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def arithmetic(text: Any) -> float:
    """Work out an arithmetic expression of numbers, `+ - * /` and brackets.

    Raises:
        BrokenError: It is none.
    """
    if not isinstance(text, str) or len(text) > 1000:
        raise BrokenError("no arithmetic expression")
    try:
        return float(_worked_out(ast.parse(text.strip(), mode="eval").body))
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError) as exc:
        raise BrokenError(f"no arithmetic expression: {exc}") from exc


def _worked_out(node: ast.AST) -> Any:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_worked_out(node.left), _worked_out(node.right))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_worked_out(node.operand))
    raise ValueError(type(node).__name__)


_FUNCTIONS: dict[str, Callable[..., Any]] = {"arithmetic": arithmetic, "dict": dict}


def _environment() -> _Environment:
    environment = _Environment(undefined=Missing, keep_trailing_newline=True, autoescape=False)
    environment.filters = {name: call for name, call in environment.filters.items() if name in _FILTERS}
    environment.filters["tojson"] = lambda value: json.dumps(plain(value), ensure_ascii=False)
    environment.filters["quote"] = lambda value: shlex.quote(str(value))
    environment.globals = dict(_FUNCTIONS)
    environment.tests["defined"] = _is_defined
    environment.tests["told"] = _is_told
    environment.tests["undefined"] = lambda value: not _is_defined(value)
    for calls in (environment.filters, environment.tests):
        calls.update({name: _guarded(call) for name, call in calls.items() if name not in _PASSES_ON})
    return environment


def _guarded(call: Any) -> Callable[..., Any]:
    """Make a filter or test of something unknown unknown: many look at types only, or take any failure for a no."""

    @wraps(call)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        _known(*args, *kwargs.values())
        return call(*args, **kwargs)

    return guarded


_ENVIRONMENT = _environment()
_BREAKS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, TemplateError, RecursionError)


def is_template(text: str) -> bool:
    """Whether a text holds an expression."""
    return "{{" in text or "{%" in text or "{#" in text


def literal(text: str) -> str:
    """Write a text so that, as a template, it stands for itself."""
    return "{{ " + json.dumps(text, ensure_ascii=True) + " }}" if is_template(text) else text


@lru_cache(maxsize=8192)
def _compiled(source: str) -> Callable[[Mapping[str, Any]], Any]:
    """Compile a text: one expression gives its value, anything else a text."""
    try:
        body = _ENVIRONMENT.parse(source).body
    except TemplateError as exc:
        raise BrokenError(f"{source!r}: {exc}") from exc
    parts = [part for node in body for part in (node.nodes if isinstance(node, nodes.Output) else [node])]
    if not all(isinstance(part, nodes.Expr) for part in parts):
        raise BrokenError(f"{source!r}: only expressions in {{{{ }}}} may stand in a template")
    try:
        if len(parts) == 1 and not isinstance(parts[0], nodes.TemplateData):
            whole = _ENVIRONMENT.compile_expression(source.strip()[2:-2].strip("-+"), undefined_to_none=False)
            return lambda names: whole(**names)
        template = _ENVIRONMENT.from_string(source)
        return lambda names: template.render(**names)
    except TemplateError as exc:
        raise BrokenError(f"{source!r}: {exc}") from exc


@lru_cache(maxsize=8192)
def names_in(source: str) -> frozenset[str]:
    """Return the names a text's expressions use.

    Raises:
        BrokenError: It is no template.
    """
    _compiled(source)
    return frozenset(find_undeclared_variables(_ENVIRONMENT.parse(source))) - set(_FUNCTIONS)


def _value(source: str, names: Mapping[str, Any]) -> Any:
    if not is_template(source):
        return source
    try:
        value = _compiled(source)(names)
        if isinstance(value, Iterator):
            value = list(value)
    except (UnknownError, BrokenError):
        raise
    except UndefinedError as exc:
        raise BrokenError(f"{source}: {exc}") from exc
    except _BREAKS as exc:
        raise BrokenError(f"{source}: {exc}") from exc
    _known(value)
    if isinstance(value, str | list) and len(value) > _MAX_LENGTH:
        raise BrokenError(f"{source}: the value is too long")
    return value


def holds(source: str, names: Mapping[str, Any]) -> bool:
    """Tell whether a condition holds; the empty one does.

    Raises:
        UnknownError: That is not known.
    """
    if not source:
        return True
    value = _value(source, names)
    return False if isinstance(value, StrictUndefined) else bool(value)


def render(template: Any, names: Mapping[str, Any]) -> Any:
    """Fill in a template: a text, or JSON data with texts in it.

    A mapping with `$each` makes a list: `$value` for each element, which `$as` names (by default `item`), only where
    `$if` holds; `$let` names more in between. A mapping with `$base` is that record with its other keys in place of
    the record's. Fields whose template gives something that is not there are left out.

    Raises:
        UnknownError: It rests on something unknown.
        BrokenError: It has no value.
    """
    if isinstance(template, str):
        return _value(template, names)
    if isinstance(template, list | tuple):
        return [_there(render(item, names)) for item in template]
    if not isinstance(template, dict):
        return template
    if "$each" in template:
        return _each(template, names)
    made: dict[str, Any] = {}
    if "$base" in template:
        base = _there(render(template["$base"], names))
        if not isinstance(base, Mapping):
            raise BrokenError("$base is no record")
        made.update(base)
    for key, item in template.items():
        if key in _STEPS:
            continue
        value = render(item, names)
        if not isinstance(value, StrictUndefined):
            made[key] = value
    return made


def plain(value: Any) -> Any:
    """Return what an expression gave as JSON data; a store is the list of its records.

    Raises:
        UnknownError: Something in it is unknown.
        BrokenError: Something in it is not there, or no JSON data.
    """
    _known(_there(value))
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise BrokenError("the number is too large")
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple) or hasattr(value, "look_up"):
        return [plain(item) for item in value]
    raise BrokenError(f"{type(value).__name__} is no JSON data")


def _there(value: Any) -> Any:
    if isinstance(value, StrictUndefined):
        raise BrokenError(f"{value._undefined_name} is not there")
    return value


def _each(template: dict[str, Any], names: Mapping[str, Any]) -> list[Any]:
    source = _there(render(template["$each"], names))
    if isinstance(source, str | Mapping) or not hasattr(source, "__iter__"):
        raise BrokenError("$each needs a list")
    name = str(template.get("$as", "item"))
    made = []
    for item in source:
        inner = with_lets({**names, name: item}, template.get("$let", {}))
        if holds(template.get("$if", ""), inner):
            made.append(_there(render(template.get("$value", "{{ " + name + " }}"), inner)))
        if len(made) > _MAX_LENGTH:
            raise BrokenError("$each makes too many items")
    return made


def with_lets(names: Mapping[str, Any], lets: Mapping[str, Any]) -> dict[str, Any]:
    """Add names, in order; one that is unknown or has no value harms only who uses it."""
    made = dict(names)
    for name, template in lets.items():
        try:
            made[name] = render(template, made)
        except UnknownError as exc:
            made[name] = Unknown(str(exc))
        except BrokenError:
            made[name] = Missing(name=name)
    return made
