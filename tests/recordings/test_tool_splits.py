"""Which split the families of a tool world's recordings stand in."""

import json

import pytest

from worldline.record.card import split_families, split_plans
from worldline.record.environment import planned
from worldline.record.plan import ToolPlan
from worldline.recordings import path
from worldline.types import WorldSpec

FAMILIES = [f"sort/{number}" for number in range(10)]


def plan(family, split=None):
    return ToolPlan(family=family, world=WorldSpec(domain="search"), split=split)


def test_a_declared_split_moves_no_other_family():
    drawn = split_families(FAMILIES, 1)
    added = [plan("sort/x", "train"), plan("other", "dev")]
    assert split_plans([*map(plan, FAMILIES), *added], 1) == {**drawn, "sort/x": "train", "other": "dev"}


def test_a_family_of_two_splits_is_refused():
    with pytest.raises(ValueError, match="sort/1"):
        split_plans([plan("sort/1", "train"), plan("sort/1", "dev")], 1)
    with pytest.raises(ValueError, match="sort/1"):
        split_plans([plan("sort/1"), plan("sort/1", "train")], 1)


def test_a_declared_split_is_part_of_a_plan_and_none_changes_nothing():
    assert plan("a").id == ToolPlan(family="a", world=WorldSpec(domain="search")).id != plan("a", "train").id


def test_the_frozen_splits_of_databases_are_those_of_the_plans():
    told = json.loads(path("database", "train").with_name("SPLITS.json").read_text())
    plans = list(planned("database", told["seed"]))
    assert split_plans(plans, told["seed"]) == told["families"] and len(plans) == told["sessions"]
