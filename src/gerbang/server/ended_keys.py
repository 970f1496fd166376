"""Runs whose key was revoked, or has run out, while they go on: they are asked to end."""

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from gerbang.errors import ConfigError, StoreError, UsageError
from gerbang.runtime.background import end
from gerbang.server.live import LiveRun

if TYPE_CHECKING:
    from gerbang.server.service import Service

_LOG: Final = logging.getLogger("gerbang.server")
_LOOK_S: Final = 0.5
_WHY: Final = "the key that began it opens nothing any more"


class EndedKeys:
    """Looks at the keys of the runs that this process drives. Where they cannot be read, runs go on."""

    def __init__(self, service: "Service") -> None:
        self._service = service
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.create_task(self._look(), name="gerbang ended keys")

    async def aclose(self) -> None:
        """Look no more."""
        task, self._task = self._task, None
        await end(task)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            for live in self._service.runs.with_keys():
                if not self._is_open(live):
                    await self._end(live)

    def _is_open(self, live: LiveRun) -> bool:
        try:
            found = self._service.authenticator.returning(live.key_id or "")
        except ConfigError:
            return True
        return found is not None and found.may("runs")

    async def _end(self, live: LiveRun) -> None:
        gateway = self._service.toolsets.of(live.principal.tenant).gateway
        try:
            await gateway.cancel_run(live.run_id, by=live.principal, reason=_WHY, wait_s=0)
        except UsageError:  # its first record is still to come
            await self._service.runs.cancel(live)
        except StoreError as error:  # away for now: the next look asks again
            _LOG.warning("a run could not be ended", extra={"run_id": live.run_id, "error": str(error)})
            return
        _LOG.info("run ended with its key", extra={"run_id": live.run_id, "key": live.key_id})
