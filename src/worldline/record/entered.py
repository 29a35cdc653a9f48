"""What starts where a `with` block begins and is closed where that ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

__all__ = ["Entered"]


class Entered(ABC):
    """A context manager made of `start` and `close`."""

    @abstractmethod
    def start(self) -> None:
        """Set everything up."""

    @abstractmethod
    def close(self) -> None:
        """End everything that was started; may be called at any time."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
