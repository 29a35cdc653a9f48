"""Sessions about notes: the agent that keeps a notebook, and the families that stand in the train split alone."""

import pytest

from worldline.domains.search import DocumentSpec
from worldline.formats import read_trajectories
from worldline.record.environment import build_environment, build_explorer
from worldline.record.search import NotebookExplorer, SearchExplorer, explorer, reads_back
from worldline.record.search.plans import NOTEBOOK, notebooks, topics
from worldline.recordings import path
from worldline.types import Trajectory, Turn, WorldSpec

PAGES = [
    DocumentSpec(url=f"https://bees.test/{word}", title=word.title(), text=f"A {word} of bees.").model_dump()
    for word in ("hive", "swarm", "honeycomb")
]


def world(task):
    return WorldSpec(domain="search", task=task, initial_state={"closed": True, "documents": PAGES})


def session(seed, turns=16):
    told = world(f"{NOTEBOOK} on bees: hive, swarm, honeycomb.")
    keeper, found = build_explorer(told, seed), []
    with build_environment(told) as real:
        for _ in range(turns):
            action = keeper.next(found)
            found.append(Turn(action=action, observation=real.step(action)))
    return Trajectory(source="observed", world=told, turns=tuple(found))


def test_the_task_says_who_explores():
    assert isinstance(explorer(world(f"{NOTEBOOK} on bees: hive."), 1), NotebookExplorer)
    plain = explorer(world("Find out what matters about bees: hive. Keep notes."), 1)
    assert isinstance(plain, SearchExplorer) and not isinstance(plain, NotebookExplorer)


@pytest.mark.parametrize("seed", range(8))
def test_a_notebook_is_written_and_read_between_searches(seed):
    found = session(seed)
    assert reads_back(found) and found == session(seed)
    assert {"dict_memory", "web_search"} <= {turn.action.name for turn in found.turns}


def test_notes_are_read_after_every_kind_of_write():
    turns = [turn for seed in range(40) for turn in session(seed).turns if turn.action.name == "dict_memory"]
    done = {(turn.action.arguments.get("operation"), turn.observation.is_error) for turn in turns}
    assert {(name, wrong) for name in ("add", "update", "remove", "retrieve") for wrong in (True, False)} <= done
    assert ("remove_all", False) in done
    texts = [turn.observation.text for turn in turns]
    assert "Memory is empty." in texts and any(text.startswith("Error: Key already in memory") for text in texts)


def test_words_of_notebooks_are_those_of_no_other_topic():
    words = {word.lower() for words in topics().values() for word in words}
    assert not words & {word.lower() for words in notebooks().values() for word in words}
    assert not topics().keys() & notebooks().keys()


def test_notebooks_were_recorded_for_the_train_split_alone():
    found = [item for item in read_trajectories(path("search", "train")) if item.family.startswith("notebook/")]
    assert {item.family for item in found} == {f"notebook/{topic}" for topic in notebooks()}
    assert all(map(reads_back, found))
    assert not any(item.family.startswith("notebook/") for item in read_trajectories(path("search", "dev")))
