"""All contracts of a gateway, found by canonical name or by wire name in one look-up.

A catalogue is never changed. `subset` gives what one run may know of; it shares everything with the whole,
so that ten thousand tools cost a run nothing but the names that are hidden from it.
"""

import difflib
import heapq
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Struct

from gerbang.contract.exposure import Viewer, Words, words_of
from gerbang.contract.schema import Validator, compile_schema
from gerbang.contract.shown import full_spec, plain_spec
from gerbang.contract.versions import versioned
from gerbang.errors import ContractError
from gerbang.values import Contract, RiskClass
from gerbang.values.model import ToolSpec

_NEAREST_POOL = 400
_MAX_HIDDEN: Final = 1_000_000
_MIN_SUBSETS: Final = 64


class Entry(Struct, frozen=True):
    """A contract, compiled. `spec` is what a model is shown, without the advice of the contract."""

    contract: Contract
    validator: Validator
    returns: Validator | None
    spec: ToolSpec


class Missing(NamedTuple):
    """A tool that a run may know of and cannot call. `successor` is the tool to use instead."""

    entry: Entry
    why: Literal["retired", "changed"]
    successor: str | None


class Catalogue:
    """An immutable set of contracts. A name that two definitions claim is refused, with both origins."""

    def __init__(self, contracts: Iterable[Contract]) -> None:
        names: dict[str, Entry] = {}
        entries = tuple([_added(contract, names) for contract in contracts])
        self._index = _Index(
            entries,
            names,
            tuple(entry for entry in entries if _is_limited(entry.contract)),
            words_of(entry.contract for entry in entries),
        )
        self._begin(
            frozenset(), frozenset(entry.contract.name for entry in entries if entry.contract.retired)
        )

    def _begin(self, hidden: frozenset[str], gone: frozenset[str]) -> None:
        self._hidden = hidden
        self._gone = gone
        self._out = hidden | gone
        self._entries: tuple[Entry, ...] | None = None
        self._specs: dict[str, tuple[ToolSpec, ...]] = {}
        self._schemas: list[dict[str, Any]] | None = None
        self._spec_bytes: int | None = None
        self._groups: dict[str, tuple[str, ...]] | None = None
        self._subsets: dict[Viewer, Catalogue] = {}

    def _like(self, hidden: frozenset[str], gone: frozenset[str]) -> "Catalogue":
        other = Catalogue.__new__(Catalogue)
        other._index = self._index
        other._begin(hidden, gone)
        return other

    def __len__(self) -> int:
        return len(self._index.entries) - len(self._out)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._shown())

    def _shown(self) -> tuple[Entry, ...]:
        if self._entries is None:
            out = self._out
            self._entries = (
                tuple(entry for entry in self._index.entries if entry.contract.name not in out)
                if out
                else self._index.entries
            )
        return self._entries

    def find(self, name: str) -> Entry | None:
        """Return the entry of a canonical or wire name, or None."""
        entry = self._index.names.get(name)
        return None if entry is None or entry.contract.name in self._out else entry

    def name_of(self, name: str) -> str:
        """Return the canonical name of a tool that is known by its wire name; any other name as it is."""
        entry = self._index.names.get(name)
        return name if entry is None or entry.contract.name in self._out else entry.contract.name

    def recorded(self, name: str) -> Entry | None:
        """Return the entry of a name whether or not it may be called or known of: for what is on record."""
        return self._index.names.get(name)

    def missing(self, name: str) -> Missing | None:
        """Return what is the matter with a tool that the run may know of and `find` does not give."""
        entry = self._index.names.get(name)
        if entry is None or entry.contract.name not in self._gone or entry.contract.name in self._hidden:
            return None
        why: Literal["retired", "changed"] = "retired" if entry.contract.retired else "changed"
        return Missing(entry, why, self._successor(entry.contract))

    def _successor(self, contract: Contract) -> str | None:
        """Return the first tool in the chain of `replaced_by` that can be called."""
        seen = {contract.name}
        name = contract.replaced_by
        while name is not None and name not in seen:
            seen.add(name)
            if self.find(name) is not None:
                return name
            entry = self._index.names.get(name)
            name = None if entry is None else entry.contract.replaced_by
        return None

    def without(self, changed: Iterable[str]) -> "Catalogue":
        """Return the catalogue in which these tools, by canonical name, and retired ones cannot be called."""
        retired = (entry.contract.name for entry in self._index.entries if entry.contract.retired)
        known = (name for name in changed if name in self._index.names)
        return self._like(self._hidden, frozenset((*retired, *known)))

    def subset(
        self,
        *,
        intent: str | None = None,
        state: str | None = None,
        tenant: str | None = None,
        roles: Iterable[str] = (),
        scopes: Iterable[str] = (),
        max_risk: RiskClass | None = None,
    ) -> "Catalogue":
        """Return the catalogue that such a run may know of; itself when nothing is hidden.

        A tool outside it is unknown to the run, also when the model guesses its name. Found again in one
        look-up when such a run was seen before; otherwise linear in the number of limited tools.
        """
        index = self._index
        if not index.limited and max_risk is None:
            return self
        viewer = index.words.of(Viewer(intent, state, tenant, frozenset(roles), frozenset(scopes), max_risk))
        found = self._subsets.get(viewer)
        if found is None:
            pool = index.limited if max_risk is None else index.entries
            hidden = self._hidden.union(
                entry.contract.name for entry in pool if not viewer.sees(entry.contract)
            )
            found = self if hidden == self._hidden else self._like(hidden, self._gone)
            if len(self._subsets) >= max(_MIN_SUBSETS, _MAX_HIDDEN // (len(index.entries) + 1)):
                del self._subsets[next(iter(self._subsets))]
            self._subsets[viewer] = found
        return found

    def extended(self, entries: Iterable[Entry]) -> "Catalogue":
        """Return the catalogue with further tools. Raises ContractError for a name that is known already.

        A name of a tool that is hidden from the run is free.
        """
        further, names = tuple(entries), dict(self._index.names)
        for entry in further:
            for name in (entry.spec.name, entry.spec.wire_name):
                if self.find(name) is not None or self.missing(name) is not None:
                    raise ContractError(f"There is a tool called {name!r} already. Give yours another name.")
                names[name] = entry
        other = self._like(self._hidden, self._gone)
        index = self._index
        other._index = _Index((*index.entries, *further), names, index.limited, index.words)
        return other

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What a model is shown, in English and in the order of definition. Made once."""
        return self.specs_in("en")

    def specs_in(self, lang: str) -> tuple[ToolSpec, ...]:
        """What a model is shown, with the labels of a language (`en`, `id`). Made once."""
        found = self._specs.get(lang)
        if found is None:
            found = tuple(full_spec(entry.spec, entry.contract, self.find, lang) for entry in self)
            self._specs[lang] = found
        return found

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

    @property
    def names(self) -> tuple[str, ...]:
        """Canonical names in the order of definition."""
        return tuple(entry.contract.name for entry in self)

    @property
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Canonical names by capability, groups and names in the order of definition. Made once."""
        if self._groups is None:
            found: dict[str, list[str]] = {}
            for entry in self:
                found.setdefault(entry.contract.group, []).append(entry.contract.name)
            self._groups = {group: tuple(names) for group, names in found.items()}
        return self._groups

    def versions(self, name: str) -> tuple[str, ...]:
        """Return the canonical names of all versions of a tool that can be called, the oldest first."""
        base = versioned(name).base
        found = [known for known in self.names if versioned(known).base == base]
        return tuple(sorted(found, key=lambda known: versioned(known).version or 0))

    def nearest(self, name: str) -> tuple[str, ...]:
        """Return up to three known names that look like `name`, best first."""
        pool = list(self.names)
        wanted = name[:80].lower().replace("__", ".")
        if len(pool) > _NEAREST_POOL:
            pairs = _pairs(wanted)
            pool = heapq.nlargest(_NEAREST_POOL, pool, key=lambda known: len(pairs & _pairs(known.lower())))
        by_lower = {known.lower(): known for known in pool}
        found = difflib.get_close_matches(wanted, by_lower, n=3, cutoff=0.5)
        tails = [low for low in by_lower if wanted and (wanted in low.split(".") or wanted in low)]
        return tuple(by_lower[low] for low in dict.fromkeys([*found, *sorted(tails, key=len)]))[:3]


class _Index(NamedTuple):
    """What all subsets of a catalogue share."""

    entries: tuple[Entry, ...]
    names: Mapping[str, Entry]
    limited: tuple[Entry, ...]
    words: Words


def _added(contract: Contract, names: dict[str, Entry]) -> Entry:
    """Put a contract under its names, and return its entry."""
    spec = plain_spec(contract)
    for name in (spec.name, spec.wire_name):
        other = names.get(name)
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
    names[spec.wire_name] = entry
    names[spec.name] = entry
    return entry


def _is_limited(contract: Contract) -> bool:
    limits = contract.expose
    return bool(limits.intents or limits.states or limits.tenants or limits.roles or limits.scopes)


@lru_cache(maxsize=16_384)
def _pairs(name: str) -> frozenset[str]:
    """Return the letter pairs of a name: a cheap first look before the exact comparison."""
    return frozenset(name[index : index + 2] for index in range(len(name) - 1))
