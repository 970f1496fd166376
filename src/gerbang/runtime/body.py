"""A coroutine tool, driven inside its call's own task: a second task for every call would double the cost.

Driving it by hand keeps what a task of its own gives: context variables that it sets stay its own, and what
swallows its cancellation is left behind.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextvars import copy_context
from types import coroutine
from typing import Any, Final

from gerbang.runtime.deadlines import Deadlines

GRACE_S: Final = 1.0
"""How long a coroutine has to clean up after its time is over, in seconds."""
_STUBBORN: set[Coroutine[Any, Any, Any]] = set()  # letting go of them would close them again, in vain


class TimeUp(Exception):
    """The tool was not done in time; it has been cancelled, or left."""


class CancelledInside(Exception):
    """The tool raised CancelledError, and nobody had cancelled it."""


@coroutine
def driven(
    body: Coroutine[Any, Any, Any], deadlines: Deadlines, timeout_s: float
) -> Generator[Any, Any, Any]:
    """Wait for a tool's coroutine. Returns what the tool returns, and raises what the tool raises.

    After the time-out, and when its task is cancelled, the tool gets a CancelledError and a second to clean
    up; then it is closed, and left if it does not even end by that. Raises TimeUp and CancelledInside; a
    cancellation from outside is always raised, whatever the tool makes of it. A tool that cancels its current
    task cancels the call.
    """
    run = copy_context().run
    try:
        waited = run(body.send, None)
    except StopIteration as done:  # it never had to wait
        return done.value
    except asyncio.CancelledError:  # nothing was waited for: nobody outside can have sent it
        raise CancelledInside from None
    return (yield from _Waiting(body, run, deadlines).to_its_end(waited, timeout_s))


class _Waiting:
    """A tool that has to wait. Cancellations are told apart as structured code does it, by counting
    (`asyncio.Task.cancelling`), so that a tool may use `asyncio.timeout` and task groups.
    """

    __slots__ = (
        "_before",
        "_coroutine",
        "_deadlines",
        "_expired",
        "_grace",
        "_groups",
        "_leave",
        "_owed",
        "_own",
        "_run",
        "_task",
    )

    def __init__(self, body: Coroutine[Any, Any, Any], run: Callable[..., Any], deadlines: Deadlines) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - only a task gets here
        self._coroutine = body
        self._run = run
        self._deadlines = deadlines
        self._task = task
        self._before = task.cancelling()
        self._own = self._owed = self._grace = 0
        self._groups: set[int] = set()
        self._expired = self._leave = False

    def to_its_end(self, waited: Any, timeout_s: float) -> Generator[Any, Any, Any]:
        """Go on from what the tool waits for."""
        run, send = self._run, self._coroutine.send
        alarm = self._deadlines.add(timeout_s, self._time_up)
        try:
            while True:
                try:
                    given = yield waited
                except asyncio.CancelledError as error:
                    if self._interrupted():
                        break
                    self._note_group()
                    waited = run(self._coroutine.throw, error)
                    self._begin_grace()
                except Exception as error:  # what the tool waited for has failed: that is the tool's to see
                    waited = run(self._coroutine.throw, error)
                else:
                    waited = run(send, given)
        except StopIteration as done:
            self._check_end()
            return done.value
        except asyncio.CancelledError:
            self._owed = 0  # it did not get over it
            self._check_end()
            raise CancelledInside from None
        except BaseException:
            self._check_end()
            raise
        finally:
            self._deadlines.remove(alarm)
            self._deadlines.remove(self._grace)
        self._close()
        self._check_end()
        raise TimeUp

    def _interrupted(self) -> bool:
        """Take back the cancellations that the alarms made; tell whether the tool is to be left."""
        while self._own:
            self._own -= 1
            self._task.uncancel()
        return self._leave

    def _note_group(self) -> None:
        """Allow for a cancellation that a task group made of its own task, for a child that failed.

        Before Python 3.13 a group that waits for its children never takes that one back.
        """
        groups = {id(group) for group in _groups(self._coroutine) if group._parent_cancel_requested}
        if not groups <= self._groups:
            self._groups |= groups
            self._owed += 1

    def _surplus(self) -> int:
        """Return how many cancellations are neither ours nor a task group's."""
        return self._task.cancelling() - self._before - self._owed

    def _begin_grace(self) -> None:
        if not self._grace and (self._expired or self._surplus() > 0):
            self._grace = self._deadlines.add(GRACE_S, self._grace_over)

    def _time_up(self) -> None:
        if not self._grace:
            self._expired = True
            self._wake()

    def _grace_over(self) -> None:
        self._grace = 0
        if self._expired or self._surplus() > 0:  # else it had cancelled itself only
            self._leave = True
            self._wake()

    def _wake(self) -> None:
        """Interrupt the wait. The only way is a cancellation; it is taken back when it arrives."""
        self._own += 1
        self._task.cancel()

    def _check_end(self) -> None:
        """Raise what counts more than whatever the tool ended with."""
        self._interrupted()
        if self._surplus() > 0:
            raise asyncio.CancelledError from None
        while self._task.cancelling() > self._before:
            self._task.uncancel()
        if self._expired:
            raise TimeUp from None

    def _close(self) -> None:
        try:
            self._run(self._coroutine.close)
        except BaseException:  # it goes on even now; whatever it says to that is its own
            _STUBBORN.add(self._coroutine)


def _groups(coroutine: Any) -> Iterator[Any]:
    """Yield the task groups that the coroutine waits inside of, outermost first."""
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None)
        if frame is not None:
            group = frame.f_locals.get("self")
            if isinstance(group, asyncio.TaskGroup):
                yield group
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "gi_yieldfrom", None)
