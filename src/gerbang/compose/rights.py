"""Whose rights count when something goes on without a request of theirs: never more than they had then.

What somebody had is on record with their calls: with what a decision was made on, and with the sending of a
call. What they have now is known only to whoever knows people; a store alone does not.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gerbang.policy.basis import read
from gerbang.ports import Store
from gerbang.runtime.probing import is_probe
from gerbang.values import Principal
from gerbang.values.record import CallRow, RunRow

Known = Callable[[str, str], Sequence[Principal]]
"""Gives what the user of a tenant may do now, one for each way in that they have; none: nothing."""
_LOOKED_AT: Final = 20


class _Sent(Struct, frozen=True):
    """What is looked up of the record of an attempt."""

    call_id: str = ""
    step_id: str = ""
    user: str = ""
    agent_id: str | None = None
    team: str | None = None
    roles: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    delegated_by: tuple[str, ...] = ()


_DECODER: Final = msgspec.json.Decoder(_Sent)


async def sent_as(store: Store, run: RunRow, row: CallRow) -> Principal | None:
    """Return who sent a call first, with the rights that they had. None: it was not sent, or by a version
    that did not record that, or by another user than the run's. Raises StoreError.
    """
    async for event in store.stream(run.run_id):
        if event.kind != "call.dispatched":
            continue
        try:
            said = _DECODER.decode(event.body)
        except msgspec.MsgspecError:
            continue  # not one of ours; `audit verify` says so
        if (said.call_id, said.step_id) == (row.call_id, row.step_id):
            if said.user != run.user:
                return None
            return Principal(
                run.user, run.tenant, said.scopes, said.roles, said.agent_id, said.team, said.delegated_by
            )
    return None


async def decided_as(store: Store, run: RunRow) -> Principal | None:
    """Return for whom the run's newest decision on record was made; None when there is none.

    Raises StoreError.
    """
    for row in reversed(await store.calls(run.run_id, newest=_LOOKED_AT)):
        found = None if is_probe(row) else read(row.policy_input)
        if found is not None:
            return Principal(run.user, run.tenant, found.scopes, found.roles, found.agent)
    return None


def still_theirs(then: Principal, now: Iterable[Principal]) -> Principal:
    """Return who had these rights with those that one of their ways in gives still; none when none does.

    A user may have a narrow way in for an agent and a wide one for themselves: what the one began does not
    go on with the other.
    """
    left = [narrowed(then, one) for one in now if one.agent == then.agent]
    return max(left, key=_width, default=Principal(then.user, then.tenant))


def narrowed(who: Principal, other: Principal) -> Principal:
    """Return `who` with those rights that the other one has too."""
    return replace(
        who,
        scopes=frozenset(who.scopes).intersection(other.scopes),
        roles=frozenset(who.roles).intersection(other.roles),
    )


def _width(who: Principal) -> int:
    return len(frozenset(who.scopes)) + len(frozenset(who.roles))
