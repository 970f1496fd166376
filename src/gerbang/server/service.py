"""The service behind the routes: tools, runs, identity, limits and figures, opened and closed together."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

from gerbang.adapters.tools.http_file import TIMEOUT_S
from gerbang.compose.agent import Agent
from gerbang.compose.gateway import Gateway
from gerbang.errors import ConfigError
from gerbang.ports import Model, Speaker, Store
from gerbang.server.ended_keys import EndedKeys
from gerbang.server.identity import Authenticator, Caller
from gerbang.server.limiter import Limiter
from gerbang.server.metrics import Metrics
from gerbang.server.recovering import Recovering
from gerbang.server.run_registry import RunRegistry
from gerbang.server.settings import ServerSettings
from gerbang.server.shared_store import shared
from gerbang.server.toolsets import Source, Toolsets


class Service:
    """What the routes stand on. Use `await open()` before the first request, `await close()` at the end.

    `tools` are there for every tenant; `definitions` came from the start-up file and are what `/api/tools`
    replaces. `gateway` makes a gateway of tools and a store, `agent` an agent of a gateway. `model` is
    closed at the end; None when the model is off. `policy` is closed as well, if one is given. `egress`
    lists the places that posted definitions may reach (None: the one that each names), `tool_timeout_s` is
    the time of their calls. `speaker` makes sound for clients that ask for it; None: there is none.
    """

    def __init__(
        self,
        *,
        settings: ServerSettings,
        store: Store,
        authenticator: Authenticator,
        gateway: Callable[[Sequence[Any], Store], Gateway],
        agent: Callable[[Gateway], Agent] | None,
        model: Model | None,
        tools: Sequence[Any] = (),
        definitions: Sequence[Any] = (),
        egress: Sequence[str] | None = None,
        tool_timeout_s: float = TIMEOUT_S,
        policy: Any = None,
        speaker: Speaker | None = None,
    ) -> None:
        self.settings = settings
        self.authenticator = authenticator
        self.model = model
        self.speaker = speaker
        self.egress = egress
        self.tool_timeout_s = tool_timeout_s
        self.metrics = Metrics()
        self.store = shared(store, self.metrics.observe)
        self.runs = RunRegistry(settings, self.metrics.spent)
        self.toolsets = Toolsets(
            tools,
            lambda offered: gateway(offered, self.store),
            (lambda opened: None) if agent is None else agent,
        )
        self.limiter = Limiter(settings.rate_per_s, settings.burst, time.monotonic)
        self.failed = Limiter(settings.failed_per_s, max(10, int(settings.failed_per_s * 10)), time.monotonic)
        self.ready = False
        self.stopping = asyncio.Event()
        self.followers = 0
        self._recovering = Recovering(self)
        self._ended_keys = EndedKeys(self)
        self._definitions = tuple(definitions)
        self._owned_store = store
        self._owned_policy = policy

    async def open(self) -> None:
        """Open the store and the tools. Raises StoreError, ContractError."""
        await self._owned_store.open()
        source: Source = "file" if self._definitions else "none"
        await self.toolsets.open(self._definitions, source)
        self.metrics.watch(self)
        self.ready = True
        self._recovering.start()
        self._ended_keys.start()

    def still(self, caller: Caller, right: str) -> Caller | None:
        """Return who a caller that was let in before is now; None when they may no longer do that, and when
        nobody can tell.
        """
        try:
            found = self.authenticator.returning(caller.key_id)
        except ConfigError:
            return None
        return found if found is not None and found.may(right) else None

    async def drain(self) -> None:
        """Take nothing new, let runs end or cancel them, and tell followers that the server stops."""
        self.ready = False
        await self._recovering.aclose()
        await self._ended_keys.aclose()
        self.runs.draining = True
        self.stopping.set()
        await self.runs.drain(self.settings.drain_s)

    async def close(self) -> None:
        """Close everything; every call has its record when this returns."""
        await self.drain()
        await self.toolsets.aclose()
        if self._owned_policy is not None:
            await self._owned_policy.aclose()  # of Rego and servers: workers, connections
        if self.model is not None:
            await self.model.aclose()
        await self._owned_store.close()
