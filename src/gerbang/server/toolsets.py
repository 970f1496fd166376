"""Sets of tools in use: replaced from the next turn on, while a running turn keeps the one it began with."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Literal

from gerbang.compose.agent import Agent
from gerbang.compose.gateway import Gateway

Source = Literal["file", "request", "none"]
MakeGateway = Callable[[Sequence[Any]], Gateway]
MakeAgent = Callable[[Gateway], Agent | None]


class Toolset:
    """A gateway over one set of tools, and the agent that uses it (None when the model is off).

    `definitions` are the tools that came from a file or a request; `source` says which.
    """

    def __init__(
        self, gateway: Gateway, agent: Agent | None, definitions: Sequence[Any], source: Source
    ) -> None:
        self.gateway = gateway
        self.agent = agent
        self.definitions = tuple(definitions)
        self.source = source
        self._users = 0
        self._retired: Callable[[Toolset], None] | None = None

    @property
    def names(self) -> list[str]:
        """Return the names of the definitions, in their order."""
        return [tool.contract.name for tool in self.definitions]

    def hold(self) -> None:
        """Keep the set open until `release`: something uses it."""
        self._users += 1

    def release(self) -> None:
        """Say that one user needs the set no longer."""
        self._users -= 1
        if not self._users and self._retired is not None:
            self._retired(self)

    def retire(self, when_free: Callable[["Toolset"], None]) -> None:
        """Give the set up: `when_free` is called once nothing uses it."""
        self._retired = when_free
        if not self._users:
            when_free(self)

    async def aclose(self) -> None:
        """Close the gateway, and with it what the definitions hold, such as connections."""
        await self.gateway.aclose()


class Borrowed:
    """A tool that several gateways share: none of them may close it."""

    def __init__(self, tool: Any) -> None:
        self._tool = tool
        self.contract = tool.contract

    def __getattr__(self, name: str) -> Any:
        if name == "aclose":
            raise AttributeError(name)
        found = getattr(self._tool, name)
        self.__dict__[name] = found
        return found


class Toolsets:
    """The set that each tenant uses now: the one of the start, until the tenant replaces its definitions."""

    def __init__(self, base: Sequence[Any], gateway: MakeGateway, agent: MakeAgent) -> None:
        self._base_tools = tuple(base)
        self._borrowed = tuple(Borrowed(tool) if hasattr(tool, "aclose") else tool for tool in base)
        self._make_gateway = gateway
        self._make_agent = agent
        self._start: Toolset | None = None
        self._by_tenant: dict[str, Toolset] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._replacing = asyncio.Lock()

    @property
    def names(self) -> list[str]:
        """Return the names of the tools of the start."""
        definitions = () if self._start is None else self._start.definitions
        tools = [*self._base_tools, *definitions]
        return [tool.contract.name for tool in tools if hasattr(tool, "contract")]

    async def open(self, definitions: Sequence[Any], source: Source) -> None:
        """Open the set of the start. Raises what Gateway raises."""
        self._start = await self._opened(definitions, source)

    def of(self, tenant: str) -> Toolset:
        """Return the set that the tenant's next turn uses."""
        found = self._by_tenant.get(tenant)
        if found is not None:
            return found
        assert self._start is not None  # noqa: S101 - `open` comes before the first request
        return self._start

    async def replace(self, tenant: str, definitions: Sequence[Any]) -> Toolset:
        """Give the tenant other definitions. ContractError, when a name is taken, changes nothing."""
        async with self._replacing:
            made = await self._opened(definitions, "request")
            former = self._by_tenant.get(tenant)
            self._by_tenant[tenant] = made
            if former is not None:
                former.retire(self._close_later)
            return made

    async def aclose(self) -> None:
        """Close every set."""
        if self._closing:
            await asyncio.wait(self._closing)
        for toolset in [*self._by_tenant.values(), *([] if self._start is None else [self._start])]:
            await toolset.aclose()
        for tool in self._base_tools:
            close = getattr(tool, "aclose", None)
            if close is not None:
                await close()

    async def _opened(self, definitions: Sequence[Any], source: Source) -> Toolset:
        gateway = self._make_gateway([*self._borrowed, *definitions])
        await gateway.__aenter__()
        return Toolset(gateway, self._make_agent(gateway), definitions, source)

    def _close_later(self, toolset: Toolset) -> None:
        task = asyncio.ensure_future(toolset.aclose())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
