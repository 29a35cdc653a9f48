"""Installed servers: in CI all must be there, elsewhere a missing one is a visible skip."""

import os

import pytest

from worldline.errors import SandboxError
from worldline.record.mcp.settings import ServerSettings


@pytest.fixture
def installed() -> "Installed":
    return Installed()


class Installed:
    """Asks for servers by kind."""

    def __init__(self) -> None:
        self.settings = ServerSettings.from_environment()

    def need(self, *kinds: str) -> ServerSettings:
        try:
            for kind in kinds:
                self.settings.version(kind)
        except SandboxError as exc:
            if os.environ.get("CI") == "true":
                pytest.fail(str(exc))
            pytest.skip(str(exc))
        return self.settings
