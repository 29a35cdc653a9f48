"""Rules of the whole suite."""

import os

import pytest


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """In CI a skipped test is a missing system package that nobody would notice: it fails the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter is not None else []
    if os.environ.get("CI") == "true" and skipped and exitstatus == pytest.ExitCode.OK:
        for report in skipped:
            reporter.write_line(f"skipped in CI: {report.nodeid}: {report.longrepr[2]}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
