"""Which run, approval or key a person means by an id, or by the beginning of one."""

from collections.abc import Sequence
from typing import Final

from gerbang.cli.safe_text import one_line
from gerbang.cli.texts import say
from gerbang.errors import UsageError
from gerbang.ports import Store
from gerbang.values.record import RunRow

_SHOWN: Final = 3


def the_one(given: str, beginning: Sequence[str]) -> str:
    """Return the id that is meant, of those that begin so; what was given when there is none.

    Raises UsageError when there are several, and names some.
    """
    if not beginning or given in beginning:
        return given
    if len(beginning) > 1:
        some = ", ".join(one_line(name, 80) for name in beginning[:_SHOWN])
        more = ", …" if len(beginning) > _SHOWN else ""
        raise UsageError(say("many_ids", start=one_line(given, 80), some=some + more))
    return beginning[0]


async def run_id_of(store: Store, given: str) -> str:
    """Return the id of the run that is meant; what was given when no run begins so. Raises UsageError."""
    if not given or await store.run(given) is not None:
        return given
    return the_one(given, await store.named("run", given, _SHOWN + 1))


async def run_of(store: Store, given: str) -> RunRow:
    """Return the run that is meant. Raises UsageError."""
    row = await store.run(await run_id_of(store, given))
    if row is None:
        raise UsageError(say("run_unknown", run=one_line(given, 80)))
    return row


async def approval_id_of(store: Store, given: str) -> str:
    """Return the id of the approval that is meant; what was given when none begins so. Raises UsageError."""
    if not given or await store.approval(given) is not None:
        return given
    return the_one(given, await store.named("approval", given, _SHOWN + 1))
