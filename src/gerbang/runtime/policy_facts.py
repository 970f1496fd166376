"""What the policy is told of a call beyond its arguments: whose its resources are, what the budget leaves."""

from collections.abc import Mapping

from gerbang.contract.authorise import named_resources, owner_of
from gerbang.policy.input import BudgetFacts, ResourceFacts
from gerbang.runtime.lookups import Found
from gerbang.runtime.session import RunSession
from gerbang.runtime.ticket import Ticket


def resource_facts(session: RunSession, ticket: Ticket, found: Found | None) -> tuple[ResourceFacts, ...]:
    """Return the things that a call names, each with its owner: looked up, or told by its name."""
    owners: Mapping[tuple[str, str], str] = {} if found is None else found.owners
    contract, who = ticket.call.contract, session.principal
    return tuple(
        ResourceFacts(
            kind, name, owners.get((kind, name)) or owner_of(contract, argument, name, who), argument
        )
        for argument, kind, name in named_resources(contract, ticket.call.arguments)
    )


def budget_facts(session: RunSession, now: float) -> BudgetFacts:
    """Return what the run has used and has left; `now` is the monotonic clock, in seconds."""
    budget = session.budget
    return BudgetFacts(
        budget.calls,
        None if budget.max_calls is None else budget.max_calls - budget.calls,
        budget.cost,
        None if budget.max_cost is None else budget.max_cost - budget.cost,
        budget.tokens,
        None if budget.max_tokens is None else budget.max_tokens - budget.tokens,
        budget.remaining(now),
    )
