"""Ending a run for whoever may see it: one of this process, of another one, or one that nobody drives."""

import asyncio
from typing import TYPE_CHECKING, Final

from gerbang.server.run_history import own_run
from gerbang.values import Principal
from gerbang.values.record import RunRow

if TYPE_CHECKING:
    from gerbang.server.service import Service

_WAIT_S: Final = 10.0


async def cancel_run(service: "Service", run_id: str, who: Principal) -> RunRow | None:
    """End a run of the caller's tenant and return it as it is then; None when there is no such run.

    One that has not ended after ten seconds is returned as it is; the request stands.
    """
    live = service.runs.find(run_id, who.tenant)
    row = await own_run(service.store, run_id, who.tenant)
    if row is not None:
        row = await service.toolsets.of(who.tenant).gateway.cancel_run(
            row.run_id, by=who, wait_s=_WAIT_S, known=service.authenticator.principals
        )
        if live is not None and live.task is not None and not live.over:
            await asyncio.wait((live.task,), timeout=_WAIT_S)
        return row
    if live is None:
        return None
    await service.runs.cancel(live)  # its first record is still to come
    return await own_run(service.store, run_id, who.tenant)
