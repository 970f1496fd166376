"""Whom a run acts for when it goes on without a request of theirs: never with more than it had."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gerbang.policy.basis import Basis, read
from gerbang.values import Principal
from gerbang.values.record import RunRow

if TYPE_CHECKING:
    from gerbang.server.service import Service

_LOOKED_AT: Final = 20


async def owner_of(service: "Service", run: RunRow) -> Principal:
    """Return the run's user with the rights that the run had and that one of their keys has still.

    A user may have a narrow key for an agent and a wide one for themselves: what the one began does not go on
    with the other. Of a run that has decided nothing yet it is not known which it was: then only what all
    the keys have counts. No key at all: no rights.
    """
    theirs = service.authenticator.principals(run.user, run.tenant)
    nobody = Principal(run.user, run.tenant)
    if not theirs:
        return nobody
    then = await _then(service, run)
    if then is None:
        return _shared(theirs)
    left = [_narrowed(one, then) for one in theirs if one.agent == then.agent]
    return max(left, key=_width, default=nobody)


async def _then(service: "Service", run: RunRow) -> Basis | None:
    """Return what the last decision of a run was made on; None when there is none."""
    for row in reversed(await service.store.calls(run.run_id, newest=_LOOKED_AT)):
        found = read(row.policy_input)
        if found is not None:
            return found
    return None


def _width(who: Principal) -> int:
    return len(frozenset(who.scopes)) + len(frozenset(who.roles))


def _narrowed(now: Principal, then: Basis) -> Principal:
    return _both(now, then.scopes, then.roles)


def _shared(theirs: Iterable[Principal]) -> Principal:
    first, *others = theirs
    for one in others:
        agent = first.agent if first.agent is not None else one.agent
        first = replace(_both(first, one.scopes, one.roles), agent=agent)
    return first


def _both(who: Principal, scopes: Iterable[str], roles: Iterable[str]) -> Principal:
    return replace(
        who,
        scopes=frozenset(who.scopes).intersection(scopes),
        roles=frozenset(who.roles).intersection(roles),
    )
