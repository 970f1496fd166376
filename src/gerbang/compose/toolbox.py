"""The tools of a gateway: contracts, bodies, and the definitions that wait for a person's approval."""

from collections.abc import Iterable
from typing import Any
from weakref import WeakSet

from msgspec import Struct

from gerbang.adapters.tools.declared import with_bodies
from gerbang.contract.catalogue import Catalogue
from gerbang.contract.wire import check_name
from gerbang.errors import ContractError, UsageError
from gerbang.ports import Model, Secrets, Store, Tool
from gerbang.runtime.bodies import ToolApproved, event
from gerbang.runtime.guarded import GuardedTool
from gerbang.runtime.switches import SWITCH_RUN
from gerbang.runtime.threads import SyncPool
from gerbang.runtime.writing import write
from gerbang.values import Contract
from gerbang.values.binding import Bindings
from gerbang.values.record import Batch, Pin


class HeldTool(Struct, frozen=True):
    """A tool that cannot be called because its definition is not the one that was approved.

    `approved` is the digest that was approved, None when none ever was; `digest` that of the definition now.
    """

    name: str
    origin: str
    digest: str
    approved: str | None


class Toolbox:
    """Contracts and bodies by name. A tool with `pinned` set is not exposed before its digest is approved."""

    def __init__(
        self, tools: Iterable[Any], secrets: Secrets, pool: SyncPool, bindings: Bindings | None = None
    ) -> None:
        self.bodies: dict[str, Tool] = {}
        self.contracts: list[Contract] = []
        self.places: dict[str, str] = {}  # where tools are defined, as policy sees it
        self.file_hooks: dict[str, Any] = {}  # which files a call names
        self.models: WeakSet[Model] = WeakSet()  # that agents of the gateway have opened
        self._closers: list[Any] = []  # of tools that hold connections
        self._pinned: dict[str, Contract] = {}
        if not isinstance(tools, Iterable):
            raise UsageError("tools takes a list of tools, even of one: write tools=[...].")
        for tool in with_bodies(tools):
            contract = getattr(tool, "contract", None)
            if not isinstance(contract, Contract):
                raise ContractError(
                    f"{tool!r:.80} is not a tool: decorate the function with "
                    "@gerbang.tool(name=..., risk=...)."
                )
            check_name(contract.name, contract.origin)
            self.contracts.append(contract)
            self.places[contract.name] = getattr(tool, "defined_by", "code")
            self._closers += [tool.aclose] if hasattr(tool, "aclose") else []
            if callable(hook := getattr(tool, "named_files", None)):
                self.file_hooks[contract.name] = hook
            self.bodies[contract.name] = (
                GuardedTool(tool, contract, secrets, pool, bindings, _origin(tool))
                if contract.secrets
                else tool
            )
            if getattr(tool, "pinned", False):
                self._pinned[contract.name] = contract
        self._whole = Catalogue(self.contracts)
        self.held: tuple[HeldTool, ...] = ()
        self.catalogue = self._whole.without(self._pinned) if self._pinned else self._whole

    async def aclose(self) -> None:
        """Close the connections of tools, and the models that agents opened; a later call opens them anew."""
        for model in tuple(self.models):
            await model.aclose()
        for close in self._closers:
            await close()

    async def read_pins(self, store: Store) -> None:
        """Compare the definitions with what was approved. Raises StoreError."""
        if not self._pinned:
            return
        approved = {pin.name: pin.digest for pin in await store.pins()}
        self.held = tuple(
            HeldTool(name, contract.origin, contract.digest, approved.get(name))
            for name, contract in self._pinned.items()
            if approved.get(name) != contract.digest
        )
        self.catalogue = self._whole.without(tool.name for tool in self.held)

    async def approve(self, store: Store, name: str, by: str, at: float) -> None:
        """Approve a definition as it is now. Raises UsageError for a name that needs none, and StoreError."""
        contract = self._pinned.get(name)
        if contract is None:
            known = ", ".join(sorted(self._pinned)) or "none"
            raise UsageError(f"The tool {str(name)[:80]!r} needs no approval. Tools that do: {known}.")
        approved = ToolApproved(SWITCH_RUN, name, contract.digest, by, at)
        await write(
            store,
            Batch(
                pins=(Pin(name, contract.digest, by, at),),
                events=[event("tool.approved", SWITCH_RUN, approved)],
            ),
        )
        await self.read_pins(store)


def _origin(tool: Any) -> str | None:
    """Return the origin that a tool's own definition sends to, None for one that could send anywhere."""
    place = getattr(getattr(tool, "definition", None), "place", None)
    origin = getattr(place, "origin", None)
    return origin if isinstance(origin, str) else None
