"""Rows are found by place, told apart by content, and read again unchanged."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from awb_data import recorded_rows, row, save

from worldline.bench.agentworld.records import EvalRow
from worldline.bench.agentworld.rows import HUB_NAME, data_folder, index_rows
from worldline.errors import ConfigError, FormatError, InputError, MissingExtraError
from worldline.formats import is_evaluation_only, read_trajectories


def test_recorded_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    made = recorded_rows(40)
    index = index_rows(save(tmp_path, made))
    assert len(index.refs) == len(made) == 40 and not index.bad
    assert index.counts() == {"terminal": 40}
    for ref, written in zip(index.refs, made, strict=True):
        read = index.read(ref)
        assert isinstance(read, EvalRow)
        assert read.truth == written["response"][-1]
        assert read.action == written["current_prompt"]
        assert list(read.prompts) == written["prompt"]
        assert list(read.responses) == written["response"][:-1]
        assert read.system == written["system_str"]
        assert (read.turn, read.total_turns, read.key) == (written["turn_idx"], written["total_turns"], ref.key)
    sessions = {written["id"] for written in made}
    assert len({ref.trajectory for ref in index.refs}) == len(sessions)


def test_a_line_ends_at_a_newline_and_nowhere_else(tmp_path: Path) -> None:
    odd = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\rh"
    save(tmp_path, [row(answer=odd), row(id=8)])
    text = (tmp_path / "terminal_test.jsonl").read_text(encoding="utf-8")
    assert "\u2028" in text
    index = index_rows(tmp_path)
    assert len(index.refs) == 2 and not index.bad
    assert odd in index.read(index.refs[0]).truth


def test_trajectories_that_share_an_id_are_told_apart_and_rows_of_one_are_joined(tmp_path: Path) -> None:
    rows = [row(7, 3), row(7, 3, answer="other"), row(7, 1), row(7, 2, answer="other"), row(8, 1)]
    refs = index_rows(save(tmp_path, rows)).refs
    first, second, start, more, another = (ref.trajectory for ref in refs)
    assert first == start and second == more
    assert len({first, second, another}) == 3


def test_histories_that_part_after_a_common_beginning_are_two(tmp_path: Path) -> None:
    other = row(7, 3)
    other["response"] = [*other["response"][:2], "something else"]
    refs = index_rows(save(tmp_path, [row(7, 3), other, row(7, 2)])).refs
    assert refs[0].trajectory != refs[1].trajectory
    assert refs[1].trajectory == f"{refs[0].trajectory}~2"
    assert refs[2].trajectory == refs[0].trajectory


def test_equal_rows_are_one_and_counted(tmp_path: Path) -> None:
    refs = index_rows(save(tmp_path, [row(), row(id=8), row()])).refs
    assert [ref.copies for ref in refs] == [2, 1]


def test_bad_rows_are_counted_with_their_reason(tmp_path: Path) -> None:
    rows = [row(turn_idx=...), row(turn_idx=5), row(id=1), row(response="text"), row(task=...)]
    save(tmp_path, rows)
    with (tmp_path / "terminal_test.jsonl").open("ab") as file:
        file.write(b'{"task": "terminal", \xff\n{"torn": ')
    index = index_rows(tmp_path)
    assert [ref.id for ref in index.refs] == ["1"]
    assert [bad.line for bad in index.bad] == [1, 2, 4, 5, 6, 7]
    assert "turn_idx: missing" in index.bad[0].reason
    assert "turn_idx is 5" in index.bad[1].reason


def test_an_unknown_domain_is_an_error_with_its_place(tmp_path: Path) -> None:
    save(tmp_path, [row(), row(task="bench/cooking")])
    with pytest.raises(FormatError, match=r"terminal_test.jsonl:2: the domain 'cooking'") as told:
        index_rows(tmp_path)
    assert told.value.line == 2
    with pytest.raises(FormatError, match="no such file"):
        index_rows(tmp_path / "missing")
    with pytest.raises(FormatError, match="holds no"):
        index_rows(save(tmp_path / "empty", [], name="readme.txt"))


def test_the_part_after_the_last_slash_is_the_domain(tmp_path: Path) -> None:
    assert index_rows(save(tmp_path, [row(task="a/b/swe")])).refs[0].domain == "swe"


def test_a_compressed_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "terminal_test.jsonl").write_bytes(b"\x28\xb5\x2f\xfd123456789")
    with pytest.raises(FormatError, match="compressed"):
        index_rows(tmp_path)


def test_a_file_that_changed_is_noticed(tmp_path: Path) -> None:
    index = index_rows(save(tmp_path, [row(), row(id=8)]))
    save(tmp_path, [row(answer="new"), row(id=8)])
    with pytest.raises(FormatError, match="has changed"):
        index.read(index.refs[0])


def test_a_larger_limit_keeps_what_a_smaller_one_chose(tmp_path: Path) -> None:
    save(tmp_path, [row(n, turn) for n in range(10) for turn in (1, 2)])
    save(tmp_path, [row(n, 1, task="swe") for n in range(4)], name="swe_test.jsonl")
    index = index_rows(tmp_path)
    previous: set[str] = set()
    for limit in range(1, 25):
        chosen = index.select(limit=limit, seed=3)
        keys = {ref.key for ref in chosen}
        assert len(keys) == min(limit, 24) and previous <= keys
        previous = keys
    of_eight = index.select(limit=8, seed=3)
    assert sum(ref.domain == "swe" for ref in of_eight) == 4
    assert {ref.key for ref in index.select(limit=8, seed=4)} != {ref.key for ref in of_eight}
    whole = index.select(seed=3)
    places = [ref.trajectory for ref in whole]
    assert all(places.index(key) + places.count(key) - 1 == len(places) - 1 - places[::-1].index(key) for key in places)


def test_domains_are_chosen_by_name(tmp_path: Path) -> None:
    index = index_rows(save(tmp_path, [row(), row(task="swe")]))
    assert [ref.domain for ref in index.select(domains=("swe",))] == ["swe"]
    with pytest.raises(ConfigError, match="unknown domain 'terminl'"):
        index.select(domains=("terminl",))
    with pytest.raises(ConfigError, match="no row of web"):
        index.select(domains=("web",))


def test_a_row_without_current_prompt_shows_its_action_without_our_suffix(tmp_path: Path) -> None:
    (made,) = recorded_rows(1)
    action = made.pop("current_prompt")
    index = index_rows(save(tmp_path, [made]))
    assert index.read(index.refs[0]).action == action


def test_lone_surrogates_become_marks(tmp_path: Path) -> None:
    save(tmp_path, [row()])
    path = tmp_path / "terminal_test.jsonl"
    path.write_text(path.read_text().replace("out 2", "out \\ud800"))
    index = index_rows(path)
    assert "out \ufffd" in index.read(index.refs[0]).truth


def test_the_published_set_comes_through_the_hub_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, [row()])
    asked: list[object] = []

    def snapshot_download(name: str, **options: object) -> str:
        asked.append((name, options))
        return str(tmp_path)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=snapshot_download))
    assert len(index_rows(HUB_NAME).refs) == 1
    assert asked == [("Qwen/AgentWorldBench", {"repo_type": "dataset", "allow_patterns": "*_test.jsonl"})]

    def offline(name: str, **options: object) -> str:
        raise OSError("no route")

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=offline))
    with pytest.raises(InputError, match="no route"):
        data_folder(HUB_NAME)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match="huggingface_hub"):
        data_folder(HUB_NAME)


def test_the_same_files_read_as_trajectories_are_for_evaluation_only(tmp_path: Path) -> None:
    save(tmp_path, recorded_rows(5))
    assert all(is_evaluation_only(found) for found in read_trajectories(tmp_path / "terminal_test.jsonl"))
    assert json.loads((tmp_path / "terminal_test.jsonl").read_text().split("\n")[0])["turn_idx"] == 1
