"""Exploring the fetch server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from worldline.domains.mcp.state import FetchServer
from worldline.record.mcp.explore.base import Move, Player, Scene, Weighted

__all__ = ["FetchPlayer"]


class FetchPlayer(Player):
    """Reads pages whole, raw and in parts, follows what they mention, and asks for what is not there."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        server = cast(FetchServer, scene.state.servers[scene.server])
        self._base = f"http://localhost:{server.port}"
        self._paths = list(server.pages) or ["/"]

    def moves(self) -> Sequence[Weighted]:
        """Right and wrong ones."""
        return [
            (3.0, self._read),
            (2.0, self._in_parts),
            (1.0, self._raw),
            (1.0, self._follow),
            (1.0, self._missing),
            (1.0, self._wrong),
        ]

    def _url(self) -> str:
        return f"{self._base}{self.scene.pick(self._paths)}"

    def _read(self) -> Move:
        url = self._url()
        yield self.scene.call("fetch", url=url)
        if self.scene.chance(0.15):
            yield self.scene.call("fetch", url=url)

    def _in_parts(self) -> Move:
        scene, url = self.scene, self._url()
        size = scene.random.randint(20, 160)
        turn = yield scene.call("fetch", url=url, max_length=size)
        start = re.search(r"start_index of (\d+)", turn.observation.text)
        if start is not None:
            yield scene.call("fetch", url=url, max_length=size, start_index=int(start[1]))
        elif scene.chance(0.5):
            yield scene.call("fetch", url=url, start_index=scene.random.randint(0, 9000))

    def _raw(self) -> Move:
        yield self.scene.call("fetch", url=self._url(), raw=True)

    def _follow(self) -> Move:
        turn = yield self.scene.call("fetch", url=f"{self._base}/", raw=True)
        links = re.findall(r'href="(/[^"]*)"', turn.observation.text)
        if links:
            yield self.scene.call("fetch", url=f"{self._base}{self.scene.pick(links)}")

    def _missing(self) -> Move:
        scene = self.scene
        yield scene.call("fetch", url=f"{self._base}/{scene.pick(scene.theme.things)}/{scene.random.randint(1, 99)}")

    def _wrong(self) -> Move:
        scene, url = self.scene, self._url()
        yield scene.pick(
            (
                scene.call("fetch", url=url, max_length=scene.pick((0, -5, 1_000_000))),
                scene.call("fetch", url=url, start_index=-1),
                scene.call("fetch", url=scene.pick(scene.theme.things)),
                scene.call("fetch", url=url, raw="yes"),
                scene.call("fetch", url=url, max_length="100"),
                scene.call("fetch", url=f"http://localhost:{scene.random.randint(2000, 7000)}/"),
                scene.call("fetch", url=f"http://{scene.pick(scene.theme.things)}.example/"),
                scene.call("fetch", url=f"ftp://localhost/{scene.pick(scene.theme.things)}"),
            )
        )
