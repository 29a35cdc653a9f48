"""The kernel of search worlds: it gives again what it gave, ranks declared pages and keeps the notes."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldline.errors import KernelError
from worldline.formats import read_trajectories
from worldline.kernels import build_kernel
from worldline.recordings import path
from worldline.types import Action, Observation, Turn, WorldSpec

PARTS = [f"Part {n} about {'cats' if n == 7 else 'x'}. " * 12 for n in range(20)]
PAGES = [
    {"url": "https://a.test/cat", "title": "Cat", "text": "A cat is a small animal. It purrs."},
    {"url": "https://a.test/dog", "title": "Dog", "text": "A dog is an animal that barks."},
    {
        "url": "https://a.test/long",
        "title": "Long",
        "text": "\n\n".join(f"Part {n} about {'cats' if n == 7 else 'x'}. " * 12 for n in range(20)),
    },
]


def call(name, **arguments):
    return Action(name=name, arguments=arguments)


def kernel(**state):
    return build_kernel(WorldSpec(domain="search", initial_state=state))


def took(mine, action):
    proposal = mine.propose(action)
    mine.absorb(Turn(action=action, observation=proposal.observation))
    return proposal


def test_recorded_sessions_are_answered_where_they_are_determined():
    checked = 0
    for trajectory in list(read_trajectories(path("search", "train")))[:24]:
        mine = build_kernel(trajectory.world)
        for turn in trajectory.turns:
            proposal = mine.propose(turn.action)
            if proposal.known:
                assert proposal.observation.text == turn.observation.text
                assert proposal.observation.is_error == turn.observation.is_error
                checked += 1
            assert proposal.known or not turn.determined or turn.observation.is_error
            mine.absorb(turn)
    assert checked > 150


def test_declared_pages_are_ranked_and_opened_where_there_are_no_others():
    mine = kernel(documents=PAGES, closed=True)
    found = took(mine, call("web_search", queries=["purring cats", "barking"]))
    assert found.known and found.observation.text.startswith("```\n[1] https://a.test/cat\nTitle: Cat\n")
    assert "[2] " in found.observation.text and found.observation.text.endswith("\nDate: N/A\n```")
    page = took(mine, call("web_extractor", url="https://a.test/cat", goal="noise"))
    assert page.observation.text == (
        "The useful information in https://a.test/cat for user goal noise as follows:\n\n"
        "Evidence in page:\nA cat is a small animal. It purrs.\n\nSummary:\nCat: A cat is a small animal. It purrs."
    )
    gone = took(mine, call("web_extractor", url="https://a.test/bird"))
    assert gone.known and gone.observation.is_error
    assert took(mine, call("web_search", query="zzz")).observation.text == "No results found for 'zzz'."


def test_of_a_long_page_the_parts_that_serve_the_goal_are_given():
    text = took(
        kernel(documents=PAGES, closed=True), call("web_extractor", url="https://a.test/long", goal="cats")
    ).observation.text
    assert "Part 7 about cats" in text and "[...]" in text and len(text) < 4000


def test_what_was_never_seen_is_unknown_and_known_once_it_was():
    mine = kernel(corpus="dictionaries")
    search = call("web_search", query="cats")
    assert not mine.propose(search).known
    shown = "```\n[1] https://b.test/c\nTitle: C\nSnippet: c is\nDate: N/A\n```"
    mine.absorb(Turn(action=search, observation=Observation(text=shown, is_error=False)))
    again = mine.propose(search)
    assert again.known and again.observation.text == shown
    batch = mine.propose(call("web_search", queries=["cats", "cats"]))
    assert batch.known and batch.observation.text.count("https://b.test/c") == 2 and "[2] " in batch.observation.text
    opened = mine.propose(call("web_extractor", url="https://b.test/c", goal="g"))
    assert not opened.known and "c is" in opened.observation.text, "a guess agrees with the snippet"


def test_a_page_seen_whole_serves_any_goal():
    mine = kernel()
    text = (
        "The useful information in https://b.test/c for user goal g as follows:\n\n"
        "Evidence in page:\nC is a letter. It is round.\n\nSummary:\nC: C is a letter. It is round."
    )
    mine.absorb(
        Turn(action=call("web_extractor", url="https://b.test/c", goal="g"), observation=Observation(text=text))
    )
    other = mine.propose(call("web_extractor", url="https://b.test/c", goal="h"))
    assert other.known and other.observation.text == text.replace("goal g as", "goal h as")


def test_notes_after_an_unforeseen_answer_are_doubted_until_all_are_shown():
    mine = kernel()
    strange = Observation(text="Saved, more or less.")
    mine.absorb(Turn(action=call("dict_memory", operation="add", items={"a": "1"}), observation=strange))
    assert not mine.propose(call("dict_memory", operation="retrieve", keys=["a"])).known
    mine.absorb(Turn(action=call("dict_memory", operation="retrieve_all"), observation=Observation(text="a: 2\nb: 3")))
    assert mine.propose(call("dict_memory", operation="retrieve", keys=["b"])).observation.text == "b: 3"


KEYS = st.sampled_from(["a", "b", "c"])
OPERATIONS = st.one_of(
    st.builds(lambda key, value: {"operation": "add", "items": {key: value}}, KEYS, st.text(max_size=5)),
    st.builds(lambda key, value: {"operation": "update", "items": {key: value}}, KEYS, st.text(max_size=5)),
    st.builds(lambda key: {"operation": "remove", "keys": [key]}, KEYS),
    st.just({"operation": "remove_all"}),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(OPERATIONS, max_size=12))
def test_the_notebook_is_a_mapping(operations):
    mine, model = kernel(), dict[str, str]()
    for arguments in operations:
        text = took(mine, call("dict_memory", **arguments)).observation.text
        items, keys = arguments.get("items", {}), arguments.get("keys", [])
        operation = arguments["operation"]
        if operation == "remove_all":
            model.clear()
        elif (operation == "add" and not set(items) & set(model)) or (
            operation == "update" and set(items) <= set(model)
        ):
            model.update(items)
        elif operation == "remove" and set(keys) <= set(model):
            model.pop(keys[0])
        else:
            assert text.startswith("Error: ")
    for key in "abc":
        told = mine.propose(call("dict_memory", operation="retrieve", keys=[key])).observation
        assert told.text == (f"{key}: {model[key]}" if key in model else f"Error: Key not found: {key}")


def test_forks_and_dumps_go_their_own_way():
    mine = kernel(memory={"a": "1"})
    twin = mine.fork()
    took(mine, call("dict_memory", operation="remove", keys=["a"]))
    assert twin.propose(call("dict_memory", operation="retrieve", keys=["a"])).observation.text == "a: 1"
    third = kernel()
    third.load(twin.dump())
    assert third.describe() == twin.describe()
    for damaged in (b"", b"{}", b"[]", json.dumps({"format": 9}).encode()):
        with pytest.raises(KernelError):
            third.load(damaged)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["web_search", "web_extractor", "dict_memory", "other"]),
    st.dictionaries(st.sampled_from(["query", "queries", "url", "goal", "operation", "items", "keys", "x"]), JSON),
    st.text(max_size=60),
)
def test_any_call_and_any_answer_is_borne(name, arguments, text):
    mine = kernel(documents=PAGES[:2], closed=True)
    action = Action(name=name, arguments=arguments)
    assert isinstance(mine.propose(action).observation.text, str)
    mine.absorb(Turn(action=action, observation=Observation(text=text)))
    assert isinstance(mine.propose(action).observation.text, str)
    mine.load(mine.dump())
