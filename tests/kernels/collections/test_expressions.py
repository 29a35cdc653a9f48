"""Templates: values, the unknown, what is not there, and what nobody may do in them."""

from __future__ import annotations

import time
from typing import Any

import pytest

from worldline.domains.tools.collections import CollectionsSpec
from worldline.errors import KernelError
from worldline.kernels.tools.collections import CollectionServer
from worldline.kernels.tools.collections.expressions import (
    BrokenError,
    Missing,
    Unknown,
    UnknownError,
    arithmetic,
    holds,
    literal,
    render,
)

NAMES: dict[str, Any] = {
    "args": {"n": 3, "items": [{"x": 1}, {"x": 5}], "keys": "odd", "text": "a"},
    "seen": Unknown("never seen"),
    "gone": Missing(name="gone"),
}


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("plain", "plain"),
        ("{{ args.n }}", 3),
        ("{{ args.n }}!", "3!"),
        ("{{ args.items }}", [{"x": 1}, {"x": 5}]),
        ("{{ args.keys }}", "odd"),
        ("{{ args['keys'] ~ args.n }}", "odd3"),
        ({"a": "{{ args.n }}", "b": "{{ gone }}"}, {"a": 3}),
        ({"$base": "{{ args }}", "n": 4}, {**NAMES["args"], "n": 4}),
        ({"$each": "{{ args.items }}", "$value": "{{ item.x * 2 }}"}, [2, 10]),
        ({"$each": "{{ args.items }}", "$as": "i", "$if": "{{ i.x > args.n }}"}, [{"x": 5}]),
        ({"$each": "{{ args.items }}", "$let": {"y": "{{ item.x }}"}, "$value": "{{ y + 1 }}"}, [2, 6]),
        ("{{ args.items | sum(attribute='x') }}", 6),
        ("{{ args.items | map(attribute='x') }}", [1, 5]),
        ("{{ 'a' in args.text and 'b' not in args.text }}", True),
        ("{{ args.n not in [1, 2] and 'n' in args }}", True),
        ("{{ arithmetic('2 * (3 - 1)') }}", 4.0),
        ("{{ 'yes' if gone is defined else 'no' }}", "no"),
    ],
)
def test_templates_have_the_values_they_say(template: Any, value: Any) -> None:
    assert render(template, NAMES) == value


@pytest.mark.parametrize(
    "template",
    ["{{ seen }}", "{{ seen.x }}", "x{{ seen }}", "{{ seen == 1 }}", "{{ 1 if seen else 2 }}", "{{ seen is defined }}",
     "{{ [seen] | length + seen }}", {"a": "{{ seen }}"}, {"$each": "{{ seen }}"}, {"$base": "{{ seen }}"}],
)  # fmt: skip
def test_what_rests_on_something_unknown_is_unknown(template: Any) -> None:
    with pytest.raises(UnknownError):
        render(template, NAMES)


def test_what_is_not_needed_may_be_unknown() -> None:
    assert render("{{ 1 if true else seen }}", NAMES) == 1
    assert holds("{{ args.n == 4 and seen }}", NAMES) is False
    assert holds("{{ gone.x.y == 1 }}", NAMES) is False
    assert holds("{{ gone.x > 1 }}", NAMES) is False


@pytest.mark.parametrize(
    "template",
    [
        "{{ args.__class__ }}x",
        "{{ args.items.append(1) }}",
        "{{ ''.__class__.__mro__ }}x",
        "{{ 'a' * 10000000000 }}",
        "{{ ('%1000000000d' % 1) }}",
        "{{ 9 ** 9999999 }}",
        "{{ 'a'.ljust(1000000000) }}",
        "{{ 'a' | center(1000000000) }}",
        "{{ range(10) }}",
        "{{ args.n + 'a' }}",
        "{% for x in args %}{% endfor %}",
        "{{ args.n",
        "{{ arithmetic('__import__(1)') }}",
        "{{ arithmetic('9**9**9') }}",
    ],
)
def test_nothing_but_bounded_values_can_be_made(template: str) -> None:
    started = time.perf_counter()
    with pytest.raises(BrokenError):
        value = render(template, NAMES)
        if isinstance(value, Missing):
            raise BrokenError("not there")
        pytest.fail(f"{template} gave {value!r}"[:200])
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize("text", ["", "plain", "{{ x }}", "{% if %}", "{# c #}", 'q"{{', "ü{{\n"])
def test_a_literal_stands_for_itself(text: str) -> None:
    assert render(literal(text), {}) == text


@pytest.mark.parametrize("text", ["", "1 +", "a", "1; 2", "1/0", "(" * 500, "1e400 - 1e400", 3, "'a' * 3"])
def test_arithmetic_is_of_numbers_only(text: Any) -> None:
    with pytest.raises(BrokenError):
        value = arithmetic(text)
        if value != value:
            raise BrokenError("no number")


def test_a_misspelt_name_is_found_before_anybody_plays() -> None:
    spec = CollectionsSpec.model_validate(
        {
            "stores": {"notes": {}},
            "tools": {"get": {"operation": "read", "store": "notes", "missing": "no {{ arg.id }}"}},
        }
    )
    with pytest.raises(KernelError, match=r"uses arg, which is no name here"):
        CollectionServer(spec)


@pytest.mark.parametrize(
    ("declared", "place"),
    [
        ({"terminal": {}, "tools": {"t": {"operation": "shell", "command": "ls {{ arg.path | quote }}"}}}, "tool t"),
        ({"terminal": {}, "tools": {"t": {"operation": "shell", "command": "ls {{ args.path"}}}, "tool t"),
        ({"messages": {"wrong_type": "{{ nmae }} is wrong"}}, "messages.wrong_type"),
        ({"messages": {"missing_record": {"error": "no {{ kye }}"}}}, "messages.missing_record"),
        ({"messages": {"unknown_argument": "no {{ expected }}"}}, "messages.unknown_argument"),
    ],
)
def test_commands_and_messages_are_checked_too(declared: dict[str, Any], place: str) -> None:
    with pytest.raises(KernelError, match=rf"^{place}: "):
        CollectionServer(CollectionsSpec.model_validate(declared))


def test_a_message_may_use_what_a_rule_names() -> None:
    declared = {"tools": {"t": {"let": {"who": "x"}}}, "messages": {"missing_record": "no {{ key }} of {{ who }}"}}
    CollectionServer(CollectionsSpec.model_validate(declared))


@pytest.mark.parametrize(
    "declared",
    [
        {"tools": {"t": {"operation": "read", "store": "nowhere"}}},
        {"tools": {"t": {"operation": "read"}}},
        {"tools": {"t": {"operation": "shell", "command": "ls"}}},
        {"stores": {"s": {"key": []}}},
        {"stores": {"s": {"records": [{"name": "no id"}]}}},
        {"stores": {"s": {"key": ["a", "b"], "keyed": [{"key": ["x"], "record": {}}]}}},
        {"tools": {"t": {"cases": [{"effects": [{"store": "nowhere"}]}]}}},
        {"unknown": 1},
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused(declared: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        CollectionsSpec.model_validate(declared)
