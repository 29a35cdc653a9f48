"""Recording the search engine: the collection, the agent, and what another collection shows."""

import gzip
import json
import sys

import pytest

from worldline.domains.search import DocumentSpec
from worldline.errors import ConfigError, SandboxError
from worldline.formats import read_trajectories
from worldline.kernels import build_kernel
from worldline.kernels.search.tools import answer, read_hits
from worldline.record.environment import build_environment
from worldline.record.plan import ToolPlan
from worldline.record.recording import record_session
from worldline.record.sandbox import Surroundings
from worldline.record.search import SearchEnvironment, reads_back, sources
from worldline.record.search import corpus as corpora
from worldline.record.search.corpus import Corpus, build_corpus
from worldline.recordings import SPLITS, path
from worldline.types import Action, WorldSpec


@pytest.fixture
def dictionary(tmp_path, monkeypatch):
    """A small DICT database, and a collection made of it."""
    entries = {"apple": "apple\n   A fruit. It is\n   round.\n\n   (2003-05-17)\n", "bolt": "bolt\n   A screw.\n"}
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    data, index = b"", ""
    for word, text in entries.items():
        index += f"{word}\t{digits[len(data) // 64]}{digits[len(data) % 64]}\t{digits[0]}{digits[len(text)]}\n"
        data += text.encode()
    folder = tmp_path / "dictd"
    folder.mkdir()
    (folder / "foldoc.dict.dz").write_bytes(gzip.compress(data))
    (folder / "foldoc.index").write_text(index)
    monkeypatch.setattr(sources, "_DICTIONARIES", folder)
    return build_corpus(tmp_path / "corpus", ["foldoc"])


def test_dictionary_entries_become_pages(dictionary):
    [hit] = dictionary.search("round apples", 5)
    assert (hit.url, hit.title, hit.date) == ("https://foldoc.test/apple-1", "apple", "May 17, 2003")
    page = dictionary.page(hit.url)
    assert page.text == "apple A fruit. It is round.\n\n(2003-05-17)"
    assert dictionary.page("https://foldoc.test/none") is None


def test_the_collection_is_indexed_once_and_anew_where_that_broke_off(dictionary, tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "read_source", lambda name: pytest.fail("read again"))
    assert build_corpus(tmp_path / "corpus", ["foldoc"]).search("screw", 1)
    (tmp_path / "corpus" / "complete.json").write_text('{"wanted": null}')  # as where indexing broke off
    monkeypatch.setattr(
        corpora, "read_source", lambda name: iter([DocumentSpec(url="https://x.test/a", title="a", text="other")])
    )
    again = build_corpus(tmp_path / "corpus", ["foldoc"])
    assert again.search("other", 1) and not again.search("screw", 1)


def test_a_missing_dictionary_names_its_package(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_DICTIONARIES", tmp_path / "none")
    with pytest.raises(SandboxError) as caught:
        build_corpus(tmp_path / "corpus", ["jargon"])
    assert caught.value.hint == "apt-get install dict-jargon"


def test_a_session_is_recorded_and_what_it_determines_is_told(dictionary, monkeypatch):
    engine = sys.modules["worldline.record.search.environment"]  # the package's function has the same name
    monkeypatch.setattr(engine, "open_corpus", lambda other=None: Corpus(dictionary, other))
    search = Action(name="web_search", arguments={"query": "apple"})
    note = Action(name="dict_memory", arguments={"operation": "add", "items": {"fruit": "apple"}})
    plan = ToolPlan(
        family="fruit", world=WorldSpec(domain="search"), actions=(search, note, search, Action(name="web_search"))
    )
    trajectory = record_session(plan)
    assert [turn.determined for turn in trajectory.turns] == [False, True, True, True]
    assert [turn.observation.is_error for turn in trajectory.turns] == [False, False, False, True]
    assert read_hits(trajectory.turns[0].observation.text)[0].title == "apple"
    assert trajectory.origin["programs"].keys() == {"tantivy"}


def test_the_shipped_recordings_hold_what_they_promise():
    families: dict[str, set[str]] = {}
    sessions, turns, errors, chains = 0, 0, 0, 0
    for split in SPLITS:
        found = list(read_trajectories(path("search", split)))
        families[split] = {trajectory.family for trajectory in found}
        sessions += len(found)
        turns += sum(len(trajectory.turns) for trajectory in found)
        errors += sum(bool(turn.observation.is_error) for trajectory in found for turn in trajectory.turns)
        chains += sum(map(reads_back, found))
    assert sessions >= 200 and turns >= 2000
    assert errors >= turns / 5 and chains >= 0.55 * sessions
    assert not families["train"] & families["test"] and not families["dev"] & families["test"]


@pytest.mark.parametrize(
    "text", ["", "```\n```", "```\n[2] u\nTitle: t\nSnippet: s\nDate: d\n```", "[1] u", json.dumps({})]
)
def test_other_texts_are_no_results(text):
    assert read_hits(text) is None


def test_calls_without_what_they_need_are_refused():
    for arguments in ({}, {"query": 3}, {"queries": []}, {"queries": ["a"] * 11}, {"query": "a", "x": 1}):
        assert answer(Action(name="web_search", arguments=arguments), None, {}).is_error


@pytest.mark.parametrize("name", ["letter.txt", "index/letter.txt", "complete.json"])
def test_a_folder_of_something_else_is_left_alone(tmp_path, name):
    place = tmp_path / name
    place.parent.mkdir(exist_ok=True)
    place.write_text("precious")
    with pytest.raises(ConfigError, match="something else"):
        build_corpus(tmp_path, ["foldoc"])
    assert place.read_text() == "precious" and list(tmp_path.iterdir()) == [tmp_path / name.split("/")[0]]


def test_what_lies_beside_an_old_index_is_left_alone(dictionary, tmp_path):
    (tmp_path / "corpus" / "complete.json").write_text('{"wanted": {"version": 0}}')
    (tmp_path / "corpus" / "letter.txt").write_text("precious")
    assert build_corpus(tmp_path / "corpus", ["foldoc"]).search("screw", 1)
    assert (tmp_path / "corpus" / "letter.txt").read_text() == "precious"


@pytest.mark.parametrize("around", [Surroundings(), Surroundings(other_machine=True, order_seed=3)])
def test_declared_pages_of_an_open_world_are_there_for_real(dictionary, monkeypatch, around):
    opened = lambda other: Corpus(dictionary, other)  # noqa: E731
    monkeypatch.setitem(SearchEnvironment.start.__globals__, "open_corpus", opened)
    pages = [
        {"url": "https://own.test/1", "title": "Our apples", "text": "The round ones are ours."},
        {"url": "https://foldoc.test/bolt-2", "title": "Bolt", "text": "Declared anew."},
    ]
    world = WorldSpec(domain="search", initial_state={"documents": pages})
    kernel = build_kernel(world)
    with build_environment(world, around) as real:
        for page in pages:
            action = Action(name="web_extractor", arguments={"url": page["url"]})
            seen, told = real.step(action), kernel.propose(action)
            assert page["text"] in seen.text
            assert told.known and (told.observation.text, told.observation.is_error) == (seen.text, seen.is_error)
        found = real.step(Action(name="web_search", arguments={"query": "round apples"})).text
        assert found.index("own.test/1") >= 0
        assert "Declared anew" in real.step(Action(name="web_search", arguments={"query": "bolt"})).text
    kernel.close()


def test_a_collection_that_is_not_there_is_refused():
    world = WorldSpec(domain="search", initial_state={"corpus": "newspapers"})
    with pytest.raises(ConfigError, match="newspapers"), build_environment(world):
        pass
