"""What is to be recorded, and the explorer's own parts, without a box."""

import random
from collections import Counter

import pytest

from worldline.domains.swe import SweState
from worldline.kernels.repository.archives import package_files, packages
from worldline.record.card import split_families
from worldline.record.swe.plans import PACKAGES, plans, release_tasks
from worldline.record.swe.sources import Sources, changes_between

PLANS = list(plans(1))


def test_there_are_enough_of_each():
    families = {plan.family for plan in PLANS}
    assert len(PLANS) >= 110 and len(families) >= 30
    assert Counter(plan.world.initial_state["family"] for plan in PLANS).keys() == {"editor", "envelope"}
    assert set(split_families([plan.family for plan in PLANS], 1).values()) == {"train", "dev", "test"}
    assert [plan.id for plan in plans(1)] == [plan.id for plan in PLANS]
    assert len({plan.id for plan in PLANS}) == len(PLANS)


def test_no_family_shares_its_folder():
    folders: dict[str, set[str]] = {}
    for plan in PLANS:
        folders.setdefault(plan.world.initial_state["cwd"], set()).add(plan.family)
    assert all(len(names) == 1 for names in folders.values())


def test_every_package_that_ships_is_used_and_has_its_licence():
    used = set(PACKAGES) | {task[key] for task in release_tasks() for key in ("old", "new")}
    assert used == set(packages())
    for name in packages():
        assert any(path.upper().startswith(("LICEN", "COPYING")) for path in package_files(name)), name


@pytest.mark.parametrize("task", release_tasks(), ids=lambda task: task["new"])
def test_the_changes_of_a_task_lead_to_the_next_release(task: dict[str, list[str]]):
    old, new = package_files(str(task["old"])), package_files(str(task["new"]))
    for path in task["sources"]:
        text, after = str(old[path].content), str(new[path].content)
        for change in changes_between(path, text, after):
            assert text.count(change.old) == 1
            text = text.replace(change.old, change.new)
        assert text == after


def test_sources_are_what_the_world_declares():
    state = SweState.model_validate(
        {"repository": "tinydb-4.8.1", "taken": {"tests/test_utils.py": "tinydb-4.8.2"}, "removed": ["README.rst"]}
    )
    texts = Sources.of(state, random.Random(0)).texts
    assert texts["tests/test_utils.py"] == package_files("tinydb-4.8.2")["tests/test_utils.py"].content
    assert texts["tinydb/table.py"] == package_files("tinydb-4.8.1")["tinydb/table.py"].content
    assert "README.rst" not in texts
