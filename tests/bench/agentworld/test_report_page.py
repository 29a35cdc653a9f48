"""The report: one page that loads nothing, in which foreign text is text, whatever it holds."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from scored_run import SPECIAL, make_data, make_run

from worldline.bench.agentworld.published import PUBLISHED
from worldline.bench.agentworld.records import DIMENSIONS, Generation, Judgement
from worldline.bench.agentworld.report import ReportOptions, write_report
from worldline.bench.agentworld.report_rows import diff_lines, script_json, visible
from worldline.bench.agentworld.rows import RowIndex
from worldline.bench.agentworld.store import RunFolder, RunWriter
from worldline.cli import cli

HOSTILE = (
    "</script><script>document.title='owned'</script>",
    "<!--<script>",
    "]]><img src=x onerror=\"document.title='owned'\">",
    "\"'><svg onload=document.title='owned'>",
    "{{ 7 * 7 }} {% raw %} </pre></details><h2>Results</h2>",
    "\x00\x1b[2J\u202egnp.exe\u2028\ufeff&lt;b&gt;",
    "<a href='javascript:document.title=1'>x</a>",
)


class _Page(HTMLParser):
    """Elements, attributes and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = tag
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open == "script":
            attrs, text = self.scripts[-1]
            self.scripts[-1] = (attrs, text + data)

    def json_of(self, name: str) -> Any:
        return json.loads(next(text for attrs, text in self.scripts if attrs.get("id") == name))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> RowIndex:
    return make_data(tmp_path_factory.mktemp("rows"))


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory, index: RowIndex) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("runs")
    return make_run(folder / "good", index), make_run(folder / "bad", index, model=f"bad {HOSTILE[2]}", spoil=40)


@pytest.fixture(scope="module")
def page_text(tmp_path_factory: pytest.TempPathFactory, two_runs: tuple[Path, Path]) -> str:
    out = tmp_path_factory.mktemp("page") / "report.html"
    return write_report(two_runs, out).read_text(encoding="utf-8")


def _hostile_run(path: Path, index: RowIndex, texts: tuple[str, ...]) -> Path:
    """Write a run in which model, judge and everything they say are hostile."""
    with RunWriter(path) as writer:
        writer.put_settings({"data": str(index.folder)})
        writer.put_rows(index.refs[: len(texts)])
        for number, (ref, text) in enumerate(zip(index.refs, texts, strict=False)):
            known: dict[str, Any] = {"row": ref.key, "outcome": "ok", "sampling": {"x": text}, "finish_reason": text}
            writer.generations.append(Generation(key=f"g{number}", model=text, content=text, **known))
            known |= {"content": text, "strengths": (text,), "weaknesses": (text,), "prompt_version": texts[0]}
            scores = dict.fromkeys(DIMENSIONS, 3)
            writer.judgements.append(
                Judgement(key=f"j{number}", generation=f"g{number}", model="judge " + texts[0], scores=scores, **known)
            )
    return path


def test_the_page_loads_nothing_and_runs_its_one_script_alone(page_text: str) -> None:
    page = _Page(page_text)
    assert not {tag for tag, _ in page.tags} & {"link", "img", "iframe", "object", "embed", "base", "audio", "video"}
    for tag, attrs in page.tags:
        assert not any(name.startswith("on") or name in ("src", "srcdoc", "action") for name in attrs), tag
        for name in ("href", "xlink:href"):
            assert (attrs.get(name) or "#").startswith("#")
    assert not re.search(r"@import|url\((?!#)", page_text)
    policy = next(attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv"))
    running = [text for attrs, text in page.scripts if attrs.get("type") != "application/json"]
    assert policy is not None and len(running) == 1
    digest = base64.b64encode(hashlib.sha256(running[0].encode("utf-8")).digest()).decode("ascii")
    assert f"script-src 'sha256-{digest}'" in policy and "default-src 'none'" in policy


def test_it_shows_figures_by_domain_and_dimension_failures_and_the_published_table(page_text: str) -> None:
    for words in (
        "mean of domains",
        "mean of rows",
        "truncated without an answer",
        "Differences between runs",
        "A − B",
        "gpt-5.2-2025-12-11",
        "Without intervals".lower(),
        *(f">{name}<" for name in DIMENSIONS),
    ):
        assert words in page_text, words
    assert all(row.model in page_text for row in PUBLISHED)
    assert page_text.count("<svg") == 2


def test_each_row_can_be_looked_at_in_each_run(page_text: str, index: RowIndex) -> None:
    page = _Page(page_text)
    head = page.json_of("head")
    assert len(head["rows"]) == len(index.refs) == 60
    place = next(place for place, row in enumerate(head["rows"]) if row[3][0][1] == "" and row[3][1][0] < row[3][0][0])
    row = page.json_of(f"row-{place}")
    good, bad = row["runs"]
    assert good["judged"][0]["scores"] and good["judged"][0]["weaknesses"][0]["t"] == "the last line differs"
    assert any(mark == "-" for mark, _ in bad["diff"])
    assert row["row"]["action"]["t"].startswith("### Turn")
    failed = [row[3][0][1] for row in head["rows"] if row[3][0][1]]
    assert len(failed) == len(SPECIAL) - 1


def test_hostile_texts_stay_texts(tmp_path: Path, index: RowIndex) -> None:
    calm = tuple("calm" for _ in HOSTILE)
    pages = []
    for name, texts in (("calm", calm), ("hostile", HOSTILE)):
        out = write_report([_hostile_run(tmp_path / name, index, texts)], tmp_path / f"{name}.html")
        pages.append(_Page(out.read_text(encoding="utf-8")))
    quiet, loud = ([tag for tag, _ in page.tags if tag != "br"] for page in pages)
    assert loud == quiet  # the same elements in the same order: no text opened or closed one
    shown = [pages[1].json_of(f"row-{place}") for place in range(len(HOSTILE))]
    assert sorted(row["runs"][0]["judged"][0]["answer"]["t"] for row in shown) == sorted(map(visible, HOSTILE))


@given(st.text(alphabet=st.characters(), max_size=60) | st.sampled_from(HOSTILE))
def test_json_in_a_script_element_cannot_end_it_and_reads_back(text: str) -> None:
    written = script_json({"t": text})
    assert not set("<>&'\u2028\u2029") & set(written)
    assert json.loads(written) == {"t": text}
    written.encode("utf-8")


@given(st.lists(st.sampled_from(["a", "bc", "", "long line", "long lime", "\x1b[0m"])), st.lists(st.text(max_size=8)))
def test_a_comparison_holds_both_texts_whole(ours: list[str], theirs: list[str]) -> None:
    truth, prediction = "\n".join(ours), "\n".join([*ours[::2], *theirs])
    for mark, text in (("-", truth), ("+", prediction)):
        lines: list[str] = []
        for found, pieces in diff_lines(truth, prediction):
            if found == "=":
                assert isinstance(pieces, str)
                lines += pieces.split("\n")
            elif found == mark:
                assert isinstance(pieces, list)
                lines.append("".join(pieces))
        assert "\n".join(lines) == visible(text)


def test_changed_lines_mark_what_differs() -> None:
    assert diff_lines("a\nport 8080 open\n", "a\nport 8081 open\n") == [
        ["=", "a"],
        ["-", ["port 808", "0", " open"]],
        ["+", ["port 808", "1", " open"]],
        ["=", ""],
    ]
    assert diff_lines("x", "x\n") == [["=", "x"], ["+", [""]]]


def test_a_page_stays_within_its_size_and_says_what_is_cut(tmp_path: Path, index: RowIndex) -> None:
    texts = tuple("0123456789 wide line of output\n" * 3000 for _ in range(20))
    run = _hostile_run(tmp_path / "run", index, texts)
    small = write_report([run], tmp_path / "small.html", ReportOptions(max_bytes=600_000))
    assert small.stat().st_size < 600_000
    page = _Page(small.read_text(encoding="utf-8"))
    part = page.json_of("row-0")["runs"][0]
    assert part["prediction_n"] == len(texts[0]) and part["judged"][0]["answer"]["n"] == len(texts[0])
    assert "In 20 of them long texts are cut" in small.read_text(encoding="utf-8")
    bare = write_report([run], tmp_path / "bare.html", ReportOptions(rows=False))
    assert bare.stat().st_size < 150_000


def test_runs_that_other_judges_scored_are_called_incomparable(tmp_path: Path, index: RowIndex) -> None:
    one = _hostile_run(tmp_path / "one", index, ("x", "y"))
    two = _hostile_run(tmp_path / "two", index, ("z", "y"))
    text = write_report([one, two], tmp_path / "page.html").read_text(encoding="utf-8")
    assert "scored by different judges" in text and "different judges</span>" in text


def test_the_command_writes_the_page(two_runs: tuple[Path, Path], tmp_path: Path) -> None:
    for group in (["bench", "report"], ["bench", "agentworld", "report"]):
        done = CliRunner().invoke(cli, [*group, *map(str, two_runs), "--protocol", "official", "--no-rows"])
        assert done.exit_code == 0, done.output
        assert "Protocol <b>official</b>" in (two_runs[0] / "report.html").read_text(encoding="utf-8")
    assert RunFolder(two_runs[0]).refs()


@pytest.mark.full
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
def test_in_a_browser_rows_open_and_hostile_texts_do_nothing(tmp_path: Path, index: RowIndex) -> None:
    page = write_report([_hostile_run(tmp_path / "run", index, HOSTILE)], tmp_path / "page.html")
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    more = ["--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}"]
    command = ["chromium", *flags.split(), *more, "--virtual-time-budget=3000", "--dump-dom", f"{page.as_uri()}#row=0"]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert "Run A: 50.0" in dom and "owned</title>" not in dom
    assert dom.count("<script") == len(HOSTILE) + 2
