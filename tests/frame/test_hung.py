"""A test that hangs fails the run, in one process or several, instead of holding it up."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HUNG = "import time\n\n\ndef test_good():\n    pass\n\n\ndef test_hung():\n    time.sleep(300)\n"


@pytest.mark.parametrize("several", [False, True])
def test_a_hung_test_ends_the_run_and_is_named(tmp_path, several):
    (tmp_path / "test_hanging.py").write_text(HUNG)
    # as the Makefile runs the suite, with less patience
    made = (ROOT / "Makefile").read_text()
    options = re.search(r"pytest -m 'not full' (.+)", made)[1].replace("-n auto", "-n 1").split() if several else []
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), *options]
    quick = ["-o", "faulthandler_timeout=3", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run([*command, *quick], capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert "Timeout (0:00:03)!" in done.stderr and "in test_hung" in done.stderr
    if several:
        assert "1 failed, 1 passed" in done.stdout and "test_hanging.py::test_hung" in done.stdout
