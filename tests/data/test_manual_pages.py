"""Manual pages as a corpus: what is asked for is the page that is shown."""

import pytest

from worldline.data.building import BuildReport
from worldline.data.corpora import manual_rows
from worldline.errors import ConfigError

MAN = """#!/bin/sh
case "$3" in *slow*) exec sleep 30 ;; esac
cat "$3"
"""


@pytest.fixture
def pages(tmp_path, monkeypatch):
    """A small tree of pages, and a `man` that shows them as they are."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "man").write_text(MAN)
    (programs / "man").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    for name in (
        *("man1/python3.11.1.gz", "man1/pydoc3.11.1", "man1/ciphers.1ssl.gz", "man1/index.db", "man1/short.1"),
        *("man5/crontab.5.gz", "man8/mount.8.gz", "man3/Algorithm::Diff.3pm.gz", "man2/open.2.gz", "man9/none.9.gz"),
    ):
        page = tmp_path / "man" / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"the page {name}\n" + ("" if "short" in name else "What it does. " * 40))
    return tmp_path / "man"


def test_each_page_is_asked_for_by_the_command_that_shows_it(pages):
    report = BuildReport()
    rows = list(manual_rows(99, report, pages))
    asked = {row.messages[1].content: row.messages[2].content.split("\n")[0] for row in rows}
    assert asked == {
        "man ciphers": "the page man1/ciphers.1ssl.gz",
        "man pydoc3.11": "the page man1/pydoc3.11.1",
        "man python3.11": "the page man1/python3.11.1.gz",
        "man 5 crontab": "the page man5/crontab.5.gz",
        "man 8 mount": "the page man8/mount.8.gz",
        "man 2 open": "the page man2/open.2.gz",
        "man 3 Algorithm::Diff": "the page man3/Algorithm::Diff.3pm.gz",
    }
    assert report.rows == len(rows) and report.left_out == {"a manual page that is too short or long": 1}
    assert all(row.messages[2].weight == 1 and row.stage == "cpt" for row in rows)
    assert [row.messages[1].content for row in manual_rows(2, BuildReport(), pages)] == ["man ciphers", "man pydoc3.11"]


def test_a_page_that_takes_too_long_is_left_out(pages):
    (pages / "man1" / "aslow.1").write_text("x" * 500)
    report = BuildReport()
    rows = list(manual_rows(1, report, pages, seconds=1.0))
    assert [row.messages[1].content for row in rows] == ["man ciphers"]
    assert report.left_out == {"a manual page that takes too long": 1}


def test_without_man_there_are_no_pages(pages, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="no program man"):
        next(manual_rows(1, BuildReport(), pages))
