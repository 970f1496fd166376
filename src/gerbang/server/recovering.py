"""Runs that a server left when it died: looked for at the start and from then on, and gone on with."""

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final

from gerbang.errors import StoreError
from gerbang.runtime.background import end
from gerbang.server.owners import owner_of
from gerbang.server.problems import Problem
from gerbang.values.record import RunState

if TYPE_CHECKING:
    from gerbang.server.service import Service

_LOG: Final = logging.getLogger("gerbang.server")


class Recovering:
    """Goes on with an agent's runs, with their owners' rights of now, and ends what single calls left.

    A run is found once the lease of whoever drove it has run out. Runs of another model are left to whoever
    has that. A store in memory outlives no server: there is nothing to look for.
    """

    def __init__(self, service: "Service") -> None:
        self._service = service
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look."""
        if not self._service.store.immediate:
            self._task = asyncio.create_task(self._look(), name="gerbang recovering")

    async def aclose(self) -> None:
        """Look no more. What was taken up goes on."""
        task, self._task = self._task, None
        await end(task)

    async def _look(self) -> None:
        while True:
            try:
                await self._once()
            except StoreError as error:  # away for now: the next look may find it
                _LOG.warning("runs could not be looked for", extra={"error": str(error)})
            await asyncio.sleep(self._service.settings.recover_every_s)

    async def _once(self) -> None:
        service = self._service
        known = service.authenticator.principals
        for found in await service.toolsets.of("").gateway.recover(known=known):
            run = await service.store.run(found.run_id) if found.state == RunState.RUNNING else None
            if run is None:
                continue
            toolset = service.toolsets.of(run.tenant)
            agent = toolset.agent
            if agent is None or agent.model.name != run.model or not service.runs.can_resume(toolset):
                continue
            owner = await owner_of(service, run)
            with contextlib.suppress(Problem):  # it is driven here already, or there are too many
                service.runs.resume(toolset, run.run_id, owner, run.prompt)
                _LOG.info("run taken up", extra={"run_id": run.run_id})
