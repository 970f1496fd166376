"""Which tools a run may know of: by intent, state, tenant, the actor's roles and scopes, and risk."""

from collections.abc import Iterable

from msgspec import Struct

from gerbang.values import Contract, RiskClass


class Viewer(Struct, frozen=True):
    """A run, as far as exposure goes. `max_risk` hides every class with a larger blast radius."""

    intent: str | None = None
    state: str | None = None
    tenant: str | None = None
    roles: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
    max_risk: RiskClass | None = None

    def sees(self, contract: Contract) -> bool:
        """Tell whether the run may know of the tool."""
        if self.max_risk is not None and contract.risk.rank > self.max_risk.rank:
            return False
        limits = contract.expose
        return (
            (not limits.intents or self.intent in limits.intents)
            and (not limits.states or self.state in limits.states)
            and (not limits.tenants or self.tenant in limits.tenants)
            and (not limits.roles or not limits.roles.isdisjoint(self.roles))
            and (not limits.scopes or not limits.scopes.isdisjoint(self.scopes))
        )


class Words(Struct, frozen=True):
    """The words that the limits of some contracts speak of. All others make no difference to exposure."""

    intents: frozenset[str]
    states: frozenset[str]
    tenants: frozenset[str]
    roles: frozenset[str]
    scopes: frozenset[str]

    def of(self, viewer: Viewer) -> Viewer:
        """Return the viewer without what makes no difference: runs that see the same become equal."""
        return Viewer(
            intent=viewer.intent if viewer.intent in self.intents else None,
            state=viewer.state if viewer.state in self.states else None,
            tenant=viewer.tenant if viewer.tenant in self.tenants else None,
            roles=self.roles & viewer.roles,
            scopes=self.scopes & viewer.scopes,
            max_risk=viewer.max_risk,
        )


def words_of(contracts: Iterable[Contract]) -> Words:
    """Return the words of the contracts' limits."""
    limits = [contract.expose for contract in contracts]
    return Words(
        intents=frozenset().union(*(one.intents for one in limits)),
        states=frozenset().union(*(one.states for one in limits)),
        tenants=frozenset().union(*(one.tenants for one in limits)),
        roles=frozenset().union(*(one.roles for one in limits)),
        scopes=frozenset().union(*(one.scopes for one in limits)),
    )
