"""Whom a run acts for when it goes on without a request of theirs: never with more than it had."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gerbang.compose.rights import decided_as, narrowed, still_theirs
from gerbang.values import Principal
from gerbang.values.record import RunRow

if TYPE_CHECKING:
    from gerbang.server.service import Service


async def owner_of(service: "Service", run: RunRow) -> Principal:
    """Return the run's user with the rights that the run had and that one of their keys has still.

    A user may have a narrow key for an agent and a wide one for themselves: what the one began does not go on
    with the other. Of a run that has decided nothing yet it is not known which it was: then only what all
    the keys have counts. No key at all: no rights.
    """
    theirs = service.authenticator.principals(run.user, run.tenant)
    if not theirs:
        return Principal(run.user, run.tenant)
    then = await decided_as(service.store, run)
    return _shared(theirs) if then is None else still_theirs(then, theirs)


def _shared(theirs: Iterable[Principal]) -> Principal:
    first, *others = theirs
    for one in others:
        agent = first.agent if first.agent is not None else one.agent
        first = replace(narrowed(first, one), agent=agent)
    return first
