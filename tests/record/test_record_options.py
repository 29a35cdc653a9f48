"""Options of `worldline record` that do not go together, and what a server's directory may hold."""

import os

import pytest
from click.testing import CliRunner

from worldline.cli.record_mcp import record_mcp
from worldline.cli.record_tools import record_tools
from worldline.errors import ConfigError
from worldline.record.mcp.named import _copied


@pytest.mark.parametrize("domain", ["code", "database", "search", "swe"])
def test_a_script_and_a_model_exclude_each_other(tmp_path, domain):
    (tmp_path / "w.yaml").write_text(f"domain: {domain}\n")
    (tmp_path / "s.jsonl").write_text("")
    words = ["--out", "o.jsonl", "--world", str(tmp_path / "w.yaml"), "--script", str(tmp_path / "s.jsonl")]
    done = CliRunner().invoke(record_tools(domain, "Record."), [*words, "--model", "http://localhost:1#m"])
    assert isinstance(done.exception, ConfigError) and "exclude each other" in str(done.exception)


@pytest.mark.parametrize("words", [["--env", "A=1"], ["--cwd", "/usr"]])
def test_what_starts_a_server_does_not_go_with_a_world(tmp_path, words):
    (tmp_path / "w.yaml").write_text("domain: mcp\ninitial_state:\n  servers:\n    clock: {kind: time}\n")
    done = CliRunner().invoke(record_mcp, ["--out", "o.jsonl", "--world", str(tmp_path / "w.yaml"), *words])
    assert isinstance(done.exception, ConfigError) and f"{words[0]} goes with --server" in str(done.exception)


def test_a_huge_file_is_refused_and_not_read(tmp_path):
    with (tmp_path / "huge").open("wb") as file:
        os.truncate(file.fileno(), 1 << 42)  # a hole: written out it is more than any memory holds
    with pytest.raises(ConfigError, match="holds more than 8 MiB"):
        _copied(tmp_path)


def test_many_small_files_are_counted_together(tmp_path):
    for number in range(9):
        (tmp_path / f"{number}.txt").write_bytes(b"x" * (1 << 20))
    with pytest.raises(ConfigError, match="holds more than 8 MiB"):
        _copied(tmp_path)
    (tmp_path / "0.txt").unlink()
    assert len(_copied(tmp_path)) == 9
