"""All contracts of a gateway, found by canonical name or by wire name in one look-up."""

import difflib
import heapq
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from gerbang.contract.schema import Validator, compile_schema
from gerbang.contract.wire import wire_name
from gerbang.errors import ContractError
from gerbang.values import Contract
from gerbang.values.model import ToolSpec

_NEAREST_POOL = 400
_MAX_SUBSETS = 1000


class Entry(Struct, frozen=True):
    """A contract, compiled. `spec` is what a model is shown."""

    contract: Contract
    validator: Validator
    returns: Validator | None
    spec: ToolSpec


class Catalogue:
    """An immutable set of contracts. A name that two definitions claim is refused, with both origins."""

    def __init__(self, contracts: Iterable[Contract]) -> None:
        self._by_name: dict[str, Entry] = {}
        self._by_any: dict[str, Entry] = {}
        self._specs: tuple[ToolSpec, ...] | None = None
        self._schemas: list[dict[str, Any]] | None = None
        self._spec_bytes: int | None = None
        self._subsets: dict[str | None, Catalogue] = {}
        for contract in contracts:
            self._add(contract)

    def _add(self, contract: Contract) -> None:
        spec = ToolSpec(
            name=contract.name,
            wire_name=wire_name(contract.name),
            description=contract.description,
            parameters=contract.parameters,
        )
        for name in (spec.name, spec.wire_name):
            other = self._by_any.get(name)
            if other is not None:
                raise ContractError(
                    f"Two tools are called {name!r}: one from {other.contract.origin}, one from "
                    f"{contract.origin}. Rename one of them or give it another version."
                )
        entry = Entry(
            contract=contract,
            validator=compile_schema(contract.parameters, contract.origin),
            returns=None if contract.returns is None else compile_schema(contract.returns, contract.origin),
            spec=spec,
        )
        self._by_name[spec.name] = entry
        self._by_any[spec.wire_name] = entry
        self._by_any[spec.name] = entry

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._by_name.values())

    def find(self, name: str) -> Entry | None:
        """Return the entry of a canonical or wire name, or None."""
        return self._by_any.get(name)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What a model is shown, in the order of definition. Made once."""
        if self._specs is None:
            self._specs = tuple(entry.spec for entry in self)
        return self._specs

    @property
    def schemas(self) -> list[dict[str, Any]]:
        """What a parser needs to know of the tools, by wire and by canonical name. Made once."""
        if self._schemas is None:
            names = {name: entry.spec for entry in self for name in (entry.spec.wire_name, entry.spec.name)}
            self._schemas = [{"name": name, "parameters": spec.parameters} for name, spec in names.items()]
        return self._schemas

    @property
    def spec_bytes(self) -> int:
        """Size of all specs as JSON, in bytes. Measured once."""
        if self._spec_bytes is None:
            self._spec_bytes = sum(len(msgspec.json.encode(spec)) for spec in self.specs)
        return self._spec_bytes

    def for_intent(self, intent: str | None) -> "Catalogue":
        """Return the catalogue that a run with this intent may know of; itself when nothing is hidden.

        A tool outside it is unknown to the run, also when the model guesses its name.
        """
        found = self._subsets.get(intent)
        if found is None:
            kept = [entry for entry in self if not entry.contract.intents or intent in entry.contract.intents]
            found = self if len(kept) == len(self) else Catalogue(entry.contract for entry in kept)
            if len(self._subsets) < _MAX_SUBSETS:
                self._subsets[intent] = found
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """Canonical names in the order of definition."""
        return tuple(self._by_name)

    def nearest(self, name: str) -> tuple[str, ...]:
        """Return up to three known names that look like `name`, best first."""
        pool = list(self._by_name)
        wanted = name[:80].lower().replace("__", ".")
        if len(pool) > _NEAREST_POOL:
            pairs = _pairs(wanted)
            pool = heapq.nlargest(_NEAREST_POOL, pool, key=lambda known: len(pairs & _pairs(known.lower())))
        by_lower = {known.lower(): known for known in pool}
        found = difflib.get_close_matches(wanted, by_lower, n=3, cutoff=0.5)
        tails = [low for low in by_lower if wanted and (wanted in low.split(".") or wanted in low)]
        return tuple(by_lower[low] for low in dict.fromkeys([*found, *sorted(tails, key=len)]))[:3]


@lru_cache(maxsize=16_384)
def _pairs(name: str) -> frozenset[str]:
    """Return the letter pairs of a name: a cheap first look before the exact comparison."""
    return frozenset(name[index : index + 2] for index in range(len(name) - 1))
