"""Every Python block in the documentation is a program that runs; every link leads somewhere."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
PROGRAMS = [
    pytest.param(
        match.group(1),
        id=f"{page.relative_to(ROOT)}:{page.read_text(encoding='utf-8')[: match.start()].count(chr(10)) + 1}",
    )
    for page in PAGES
    for match in BLOCK.finditer(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_python_blocks_run(program: str, tmp_path: Path):
    if "worldline.record" in program and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed: apt-get install bubblewrap")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_commands_in_the_documentation_exist():
    from worldline.cli import cli

    known = set(cli.list_commands(None))  # type: ignore[arg-type]
    for page in PAGES:
        for name in re.findall(
            r"^\$? ?(?:\.venv/bin/)?worldline ([a-z]+)", page.read_text(encoding="utf-8"), re.MULTILINE
        ):
            assert name in known, f"{page.name} speaks of `worldline {name}`"
