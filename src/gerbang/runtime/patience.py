"""Telling the rest of a batch that a call waits for a person, once it really does."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Final

_TURNS: Final = 5


class Patience:
    """Calls `tell`, once, when what is done inside of `with` takes more than a few turns of the event loop.

    An approver that is a program may answer at once. Then nobody was waited for, and what stands behind the
    call in the answer sees what it did.
    """

    def __init__(self, tell: Callable[[], None] | None) -> None:
        self._tell = tell
        self._handle: asyncio.Handle | None = None

    def __enter__(self) -> None:
        self._turn(_TURNS)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is not None:
            self._handle.cancel()

    def _turn(self, left: int) -> None:
        if self._tell is None:
            return
        if left:
            self._handle = asyncio.get_running_loop().call_soon(self._turn, left - 1)
            return
        tell, self._tell = self._tell, None
        tell()
