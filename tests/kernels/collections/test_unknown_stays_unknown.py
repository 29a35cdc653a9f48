"""Whatever is done with something unknown, the outcome is unknown: never a value, never "not there"."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.domains.tools.collections import CollectionsSpec
from worldline.kernels.tools.collections import CollectionServer
from worldline.kernels.tools.collections.expressions import _ENVIRONMENT, Missing, Unknown, UnknownError, render
from worldline.kernels.tools.collections.stores import Store, StoreView

SPEC = CollectionsSpec.model_validate({"stores": {"users": {"key": ["a", "b"], "closed": True}}})
NAMES: dict[str, Any] = {
    "u": Unknown("never seen"),
    "gone": Missing(name="gone"),
    "users": StoreView(Store.of("users", SPEC.stores["users"])),
    "args": {"n": 3, "text": "a", "items": [1, 2], "row": {"x": 1}},
}
_VALUES = ("2", "0", "1.5", "'a'", "[1]", "{'x': 1}", "true", "none", "gone", "args.n", "args.text", "args.items")
_BINARY = ("+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=")
_FILTERS = sorted(set(_ENVIRONMENT.filters) - {"default", "d"})
_TESTS = sorted(name for name in _ENVIRONMENT.tests if name.isidentifier() and name != "told")


def _is_unknown(template: Any) -> None:
    with pytest.raises(UnknownError):
        value = render(template, NAMES)
        pytest.fail(f"{template} gave {type(value).__name__}")


@pytest.mark.parametrize("sign", _BINARY)
@pytest.mark.parametrize("value", _VALUES)
def test_operators(sign: str, value: str) -> None:
    _is_unknown(f"{{{{ u {sign} {value} }}}}")
    if (sign, value) != ("~", "gone"):  # without the first text there is none, whatever the second is
        _is_unknown(f"{{{{ {value} {sign} u }}}}")


@pytest.mark.parametrize("name", _FILTERS)
def test_filters(name: str) -> None:
    call = {"map": "map('upper')", "replace": "replace('a', 'b')", "selectattr": "selectattr('x')"}.get(name, name)
    call = {"rejectattr": "rejectattr('x')"}.get(name, call)
    _is_unknown(f"{{{{ u | {call} }}}}")


@pytest.mark.parametrize("name", _TESTS)
def test_tests(name: str) -> None:
    compares = name in ("divisibleby", "sameas", "in") or _ENVIRONMENT.tests[name].__module__ == "_operator"
    call = f"{name}(2)" if compares else name
    _is_unknown(f"{{{{ u is {call} }}}}")


@pytest.mark.parametrize(
    "expression",
    ["-u", "+u", "not u", "u.x", "u[0]", "u[1:]", "args.text[u:]", "args.text[u]", "args.row[u]", "u()", "1 in u",
     "u in args.items", "u in users", "[u, 1] in users", "users[u]", "users[[u, 1]]", "u in args.text",
     "u not in args.text", "1 if u else 2",
     "arithmetic(u)", "args.text.startswith(u)", "args.text.find(u)", "args.text.split(u)", "args.text.count(u)",
     "2.5 | round(u)", "args.items | join(u)", "args.items | sum(start=u)", "gone | default(u)", "u | default(1)",
     "args.items | select('equalto', u) | list", "[u] | map('string') | list", "[u] | select('none') | list",
     "[u] | tojson", "[u] | string", "[u] ~ ''", "{'x': u} | tojson", "{u: 1}", "[u, 1] | sort", "[u] | sum",
     "dict(x=u).x", "[u] | first", "'x' if u is string else 'y'"],
)  # fmt: skip
def test_expressions(expression: str) -> None:
    _is_unknown(f"{{{{ {expression} }}}}")
    _is_unknown({"$each": [1], "$value": f"{{{{ {expression} }}}}"})
    _is_unknown(f"text {{{{ {expression} }}}}")


@pytest.mark.parametrize(
    "step", [abs, round, int, float, str, repr, bool, len, list, hash, reversed, operator.index, operator.pos]
)
def test_python_functions(step: Callable[[Any], Any]) -> None:
    with pytest.raises(UnknownError):
        step(NAMES["u"])


@given(
    st.recursive(
        st.just("u"),
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(_BINARY), st.sampled_from(_VALUES)).map(
                lambda t: f"({t[0]} {t[1]} {t[2]})"
            ),
            st.tuples(inner, st.sampled_from(["abs", "round", "int", "string", "tojson", "length", "first"])).map(
                lambda t: f"({t[0]} | {t[1]})"
            ),
            inner.map(lambda text: f"(not {text})"),
            inner.map(lambda text: f"({text} is none)"),
        ),
        max_leaves=4,
    )
)
def test_any_depth(expression: str) -> None:
    _is_unknown(f"{{{{ {expression} }}}}")


def test_a_condition_on_what_was_worked_out_of_something_unknown_is_not_told() -> None:
    spec = CollectionsSpec.model_validate(
        {
            "stores": {"users": {}},
            "tools": {
                "check": {
                    "let": {"u": "{{ users[args.id].n }}", "odd": "{{ u % 2 }}"},
                    "cases": [{"when": "{{ odd == 1 }}", "error": True, "answer": "odd"}, {"answer": "even"}],
                }
            },
        }
    )
    assert not CollectionServer(spec).call("check", {"id": "a"}).known
