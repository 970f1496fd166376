"""What the gate has to do for calls of one contract, worked out once."""

from collections.abc import Container, Iterable, Mapping
from typing import Final

from msgspec import Struct

from gerbang.contract.authorise import CLEARANCE
from gerbang.contract.client_tools import CLIENT, is_clients
from gerbang.contract.semantic import Semantics, SemanticValidator, bind
from gerbang.contract.validators import wrong_options
from gerbang.errors import ContractError
from gerbang.policy.tool_facts import ToolFacts, tool_facts
from gerbang.taint.provenance import field_names
from gerbang.values import Contract, Principal
from gerbang.values.canonical import digest
from gerbang.values.limit import Limit, Limits
from gerbang.values.record import Spend, Take

KILL_ALL: Final = "all"
_MAX_CLIENT_PLANS: Final = 1_024


class Plan(Struct, frozen=True):
    """The work for one contract.

    `semantics` are its validators, `owned` the kinds of resources whose owner has to be looked up. `bare` is
    true when nothing has to be looked up, checked for meaning or for permission, `open` when every actor may
    call it. `stops` are the kill
    switches that stop it, the tenant's apart. `limits` are those that count its calls. `fields` are the names
    that its schema of arguments speaks of.
    """

    contract: Contract
    info: ToolFacts
    semantics: Semantics
    owned: frozenset[str]
    bare: bool
    open: bool
    stops: tuple[str, ...]
    limits: tuple[Limit, ...]
    rate: Take | None
    needs_key: bool
    fields: frozenset[str] = frozenset()


def draws(plan: Plan, who: Principal, run_id: str) -> tuple[tuple[Take, ...], tuple[Spend, ...]]:
    """Return what one call takes from the limits that count it."""
    takes, spends = [], []
    if plan.rate is not None:
        key = "tool.rate:" + digest([who.tenant, plan.contract.name])[7:39]
        takes.append(Take(key, plan.rate.period_s, plan.rate.burst))
    for limit in plan.limits:
        drawn = limit.draw(plan.contract, who, run_id)
        if isinstance(drawn, Take):
            takes.append(drawn)
        elif drawn is not None:
            spends.append(drawn)
    return tuple(takes), tuple(spends)


class _Every:
    """Contains everything."""

    def __contains__(self, name: object) -> bool:
        return True


class Plans:
    """Plans by contract. Made when a contract is first called, checked when the gateway is made.

    `places` says of tools by name where they are defined, for policy (`file`, `request`); else it is `code`.
    """

    def __init__(
        self,
        validators: Mapping[str, SemanticValidator],
        owners: Iterable[str],
        readers: Iterable[str],
        limits: Limits,
        places: Mapping[str, str] | None = None,
    ) -> None:
        self._validators = dict(validators)
        self._owners = frozenset(owners)
        self._readers = frozenset(readers)
        self._limits = limits
        self._places = dict(places or {})
        self._made: dict[str, Plan] = {}
        self._clients: dict[str, Plan] = {}

    def of(self, contract: Contract) -> Plan:
        """Return the contract's plan."""
        plan = self._made.get(contract.digest)
        if plan is not None and plan.contract is contract:
            return plan
        made = self._clients if is_clients(contract) else self._made
        plan = made.get(contract.digest)
        if plan is None or plan.contract is not contract:
            plan = made[contract.digest] = self._make(contract)
            if len(self._clients) > _MAX_CLIENT_PLANS:  # their number is the clients' to say
                del self._clients[next(iter(self._clients))]
        return plan

    def check(self, contract: Contract) -> None:
        """Raise ContractError when the contract asks for something that this gateway cannot do."""
        where = f"{contract.origin}: {contract.name}"
        for one in contract.validators:
            if one.name not in self._validators:
                known = ", ".join(sorted(self._validators))
                raise ContractError(f"{where}: no validator {one.name!r}. Known: {known}.")
            wrong = wrong_options(one.name, one.options, contract.parameters.get("properties", {}))
            if wrong:
                raise ContractError(f"{where}: the validator {one.name!r} {wrong}.")
        if contract.validators:
            for asked in bind(contract.validators, self._validators).reads:
                if asked.reader not in self._readers:
                    raise ContractError(
                        f"{where}: nothing reads {asked.reader!r}. "
                        f"Give Gateway(readers={{{asked.reader!r}: function}})."
                    )
        for argument, ref in contract.resources.items():
            if ref.tenant_prefix is None and ref.kind not in self._owners:
                raise ContractError(
                    f"{where}: nothing tells whose a {ref.kind!r} ({argument}) is. "
                    f"Give the resource a tenant_prefix, or Gateway(owners={{{ref.kind!r}: function}})."
                )

    def watched(self, contracts: Iterable[Contract]) -> Container[str]:
        """Return the tools whose successes validators ask about."""
        names: set[str] = set()
        for contract in contracts:
            if contract.validators:
                names |= self.of(contract).semantics.watches
        return _Every() if "*" in names else frozenset(names)

    def _make(self, contract: Contract) -> Plan:
        semantics = bind(contract.validators, self._validators)
        owned = frozenset(ref.kind for ref in contract.resources.values() if ref.kind in self._owners)
        effects = contract.side_effects
        needs_key = effects is not None and effects.idempotency_required and not contract.natural_key
        is_open = not (contract.resources or contract.scopes or contract.data_class in CLEARANCE)
        group = (f"group:{contract.group}",) if contract.group else ()
        rate = contract.rate
        return Plan(
            contract,
            tool_facts(contract, CLIENT if is_clients(contract) else self._places.get(contract.name, "code")),
            semantics,
            owned,
            is_open and not (contract.validators or needs_key),
            is_open,
            (KILL_ALL, f"tool:{contract.name}", *group),
            self._limits.of(contract),
            None if rate is None else Take("", rate.per_s / rate.calls, rate.burst or rate.calls),
            needs_key,
            field_names(contract.parameters),
        )
