"""What a run that waits for approval waits for now: a person, or to be gone on with.

Its state stays `pending_approval` until it goes on, for that is what is on record of it: a decision runs
nothing and ends nothing by itself.
"""

from typing import Final, Literal

from msgspec import Struct

from gerbang.approval.machine import ApprovalState
from gerbang.ports import Store
from gerbang.runtime.ballot import opened
from gerbang.values.record import ApprovalRow, RunRow, RunState

_PAGE: Final = 100
RESUMED_STEP: Final = "step_001"
"""The step of the one call of a run that `gerbang runs resume` can make again."""


class Waits(Struct, frozen=True):
    """What a run waits for.

    `person`: somebody has to decide on `approvals`, which are pending and in time. `resume`: all is decided,
    or too late, and the run can be gone on with. `caller`: so it is, but it goes on when whoever made its
    call makes it again.
    """

    what: Literal["person", "resume", "caller"]
    approvals: tuple[str, ...] = ()


async def waits_for(store: Store, run: RunRow, now: float) -> Waits | None:
    """Return what the run waits for at the store's time `now`; None when it waits for no approval.

    Raises StoreError.
    """
    if run.state != RunState.PENDING_APPROVAL:
        return None
    open_ = await store.approvals(run_id=run.run_id, state=ApprovalState.PENDING, limit=_PAGE)
    asked = tuple(row.approval_id for row in open_ if now < row.expires_at)
    if asked:
        return Waits("person", asked)
    if run.prompt or run.model:
        return Waits("resume")
    newest = await store.approvals(run_id=run.run_id, limit=1)
    return Waits("resume" if newest and can_be_resumed(newest[0]) else "caller")


def can_be_resumed(row: ApprovalRow) -> bool:
    """Tell whether the one call of a run, that this was asked for, can be made again by the run's name."""
    ballot = opened(row)
    return ballot is not None and ballot.terms.run == row.run_id and ballot.terms.step_id == RESUMED_STEP
