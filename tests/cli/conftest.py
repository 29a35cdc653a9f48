import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "models")]

from chat_server import ChatServer  # noqa: E402


@pytest.fixture
def serve() -> Iterator[Callable[..., ChatServer]]:
    """Start chat servers in threads of their own; `serve(reply, ...)` returns one that listens."""
    stops: list[Callable[[], None]] = []

    def start(*replies, **options) -> ChatServer:
        server, ready = ChatServer(*replies, **options), threading.Event()
        handles: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

        async def live() -> None:
            over = asyncio.Event()
            handles.append((asyncio.get_running_loop(), over))
            async with server:
                ready.set()
                await over.wait()

        thread = threading.Thread(target=lambda: asyncio.run(live()))
        thread.start()
        assert ready.wait(10)

        def stop() -> None:
            loop, over = handles[0]
            loop.call_soon_threadsafe(over.set)
            thread.join(10)

        stops.append(stop)
        return server

    yield start
    for stop in stops:
        stop()


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of sessions recorded from real bash."""
    from real_sessions import record

    path = tmp_path_factory.mktemp("recorded") / "small.jsonl"
    record(path)
    return path
