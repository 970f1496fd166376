"""Looking things up for a decision: readers of validators, owners of resources, facts of a policy.

Whatever fails, answers late or answers with something that is no JSON is unknown, and unknown is a no.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from msgspec import Struct

from gerbang.contract.semantic import ReadAsked
from gerbang.runtime.body import driven
from gerbang.runtime.deadlines import Deadlines
from gerbang.runtime.threads import SyncPool, TooManyLate
from gerbang.values import Principal
from gerbang.values.canonical import NotCanonical, canonical, digest

Lookup = Callable[[dict[str, Any], Principal], Any]
"""Gets the arguments that it is asked about and who asks; returns a JSON value, None for nothing there.
May be a coroutine function. Reads only: it runs before the call is allowed."""

_SECONDS: Final = 5.0


class Unknown(Exception):
    """It could not be looked up. `name` is the reader, the kind or the fact."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Recorded(Struct, frozen=True, gc=False):
    """A look-up as the record keeps it: what was asked, and digests of the question and the answer."""

    name: str
    subject: str
    answer: str


class Found:
    """What was looked up for one call."""

    __slots__ = ("facts", "owners", "reads", "records")

    def __init__(self) -> None:
        self.reads: dict[ReadAsked, Any] = {}
        self.owners: dict[tuple[str, str], str] = {}
        self.facts: dict[str, Any] = {}
        self.records: list[Recorded] = []


class Lookups:
    """The look-ups of one gateway, by what they are for and by name."""

    def __init__(
        self,
        readers: Mapping[str, Lookup],
        owners: Mapping[str, Lookup],
        facts: Mapping[str, Lookup],
        pool: SyncPool,
    ) -> None:
        self.readers = dict(readers)
        self.owners = dict(owners)
        self.facts = dict(facts)
        self._pool = pool
        self._deadlines = Deadlines()

    async def ask(
        self,
        table: Mapping[str, Lookup],
        name: str,
        subject: dict[str, Any],
        principal: Principal,
        seconds: float = _SECONDS,
    ) -> tuple[Any, Recorded]:
        """Return the answer and its record. Raises Unknown."""
        function = table.get(name)
        if function is None:
            raise Unknown(name)
        try:  # driven as a tool is: what swallows its cancellation is left behind
            answer = await driven(self._answer(function, subject, principal), self._deadlines, seconds)
        except (asyncio.CancelledError, KeyboardInterrupt):
            raise
        except BaseException:  # somebody else's code may raise anything; its text may hold a secret
            raise Unknown(name) from None
        return answer, _recorded(name, subject, answer)

    def ask_now(
        self, table: Mapping[str, Lookup], name: str, subject: dict[str, Any], principal: Principal
    ) -> tuple[Any, Recorded]:
        """Do the same for a caller who has no time to wait. Raises Unknown, for whatever would wait too."""
        function = table.get(name)
        if function is None:
            raise Unknown(name)
        try:
            answer = function(subject, principal)
            if inspect.isawaitable(answer):
                answer = _at_once(answer)
        except KeyboardInterrupt:
            raise
        except BaseException:  # as above; nobody can have cancelled what does not wait
            raise Unknown(name) from None
        return answer, _recorded(name, subject, answer)

    async def _answer(self, function: Lookup, subject: dict[str, Any], principal: Principal) -> Any:
        if inspect.iscoroutinefunction(function):
            return await function(subject, principal)
        answer = await self._in_thread(lambda: function(subject, principal))
        return await answer if inspect.isawaitable(answer) else answer

    async def _in_thread(self, function: Callable[[], Any]) -> Any:
        try:
            work = self._pool.submit(function)
        except TooManyLate:
            raise Unknown("") from None
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            self._pool.abandon(work)
            raise


def _at_once(answer: Awaitable[Any]) -> Any:
    """Return what a coroutine gives without having to wait. Raises RuntimeError when it has to."""
    steps = answer.__await__()
    try:
        next(steps)
    except StopIteration as done:
        return done.value
    close = getattr(answer, "close", None)
    if close is not None:
        close()
    raise RuntimeError("it would have to wait")


def _recorded(name: str, subject: dict[str, Any], answer: Any) -> Recorded:
    try:
        canonical(answer)
        return Recorded(name, digest(subject), digest(answer))
    except NotCanonical:
        raise Unknown(name) from None
