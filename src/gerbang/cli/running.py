"""Running a command's coroutine so that Ctrl-C always ends it, at once and cleanly."""

import asyncio
import contextlib
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end and return the result. Raises KeyboardInterrupt after Ctrl-C, when all is recorded.

    `asyncio.run` alone can miss a signal that comes just before the event loop goes to sleep; a handler of
    the loop's own wakes it.
    """

    async def main() -> tuple[bool, T | None]:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        interrupted: list[bool] = []

        def stop() -> None:
            interrupted.append(True)
            if task is not None:
                task.cancel()

        with contextlib.suppress(NotImplementedError, RuntimeError):  # no signals here: asyncio's own way
            loop.add_signal_handler(signal.SIGINT, stop)
        try:
            return True, await work
        except asyncio.CancelledError:
            if not interrupted:
                raise
            return False, None
        finally:
            with contextlib.suppress(NotImplementedError, RuntimeError):
                loop.remove_signal_handler(signal.SIGINT)

    finished, value = asyncio.run(main())
    if not finished:
        raise KeyboardInterrupt
    return value  # type: ignore[return-value]  # set whenever it finished
