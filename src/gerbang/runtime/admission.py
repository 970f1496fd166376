"""Layers 1 to 5 for one proposal, in order: the first that fails answers, with all its findings.

What has to be looked up is looked up here, and nowhere else, before anything is decided; most calls need
nothing of the kind and are admitted without waiting.
"""

import asyncio
import inspect
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from gerbang.contract.authorise import authorised, named_resources
from gerbang.contract.catalogue import Entry
from gerbang.contract.check import check, unknown_tool
from gerbang.contract.risk_facts import WorkingHours, risk_facts
from gerbang.contract.semantic import ReadAsked, SemanticFacts, unavailable
from gerbang.ledger.keys import Fingerprints, caller_key, effect_key, runtime_key
from gerbang.policy.floors import floored
from gerbang.policy.input import NO_BUDGET, PolicyInput
from gerbang.policy.tool_facts import UNAPPROVED
from gerbang.ports import Clock, Policy
from gerbang.runtime import refusals
from gerbang.runtime.body import driven
from gerbang.runtime.deadlines import Deadlines
from gerbang.runtime.listening import sources
from gerbang.runtime.lookups import Found, Lookups, Unknown
from gerbang.runtime.plan import Plan, Plans
from gerbang.runtime.policy_facts import budget_facts, resource_facts
from gerbang.runtime.session import RunSession
from gerbang.runtime.stops import Stops
from gerbang.runtime.ticket import Refusal, Ticket
from gerbang.values import CallError, Decision, Proposal, ValidCall
from gerbang.values.canonical import copied
from gerbang.values.decision import recordable

_DECISION_S = 60.0  # of a policy that does not bound its decisions itself
_VERDICTS = frozenset({"allow", "ask", "deny"})
_TURNED_AWAY = "FLOOR_RATE_LIMITED"
_NOTHING: Mapping[Any, Any] = {}


class Admission:
    """Takes proposals to tickets or refusals. Runs and records nothing."""

    def __init__(
        self,
        *,
        policy: Policy,
        clock: Clock,
        fingerprints: Fingerprints,
        plans: Plans,
        lookups: Lookups,
        hours: WorkingHours | None,
    ) -> None:
        self._policy = policy
        self._clock = clock
        self._fingerprints = fingerprints
        self._plans = plans
        self._lookups = lookups
        self._hours = hours
        self._deadlines = Deadlines()
        self.stops = Stops()
        self._waits = inspect.iscoroutinefunction(getattr(policy, "decide_async", None))
        self._bounded = getattr(policy, "bounded", False) is True
        self._needs: Any = getattr(policy, "needs", None)
        asks = getattr(policy, "asks", None)
        self._floored = asks is not None  # rules apply the floors themselves
        if asks is not None and "facts" not in asks:
            self._needs = None
        self.asks_history = asks is None or "history" in asks
        self.asks_taint = asks is None or "taint" in asks
        self._asks_budget = asks is None or "budget" in asks

    @property
    def version(self) -> str:
        """The version of the policy that decides now."""
        return self._policy.version

    def now(self, session: RunSession, proposal: Proposal, key: str | None) -> Ticket | Refusal | None:
        """Admit what needs no waiting. None: `admit` has to be asked."""
        checked = self.checked(session, proposal, key)
        if type(checked) is Refusal:
            return checked
        assert type(checked) is Ticket  # noqa: S101 - the other one
        plan = checked.plan
        if self.stops.on and self._killed(session, checked):
            return None  # by now it may be off
        if self._waits or plan.semantics.reads or plan.owned:
            return None
        if self._needs is not None and self._needs(plan.contract.name):
            return None
        if not plan.bare:
            error = self._sound(session, checked, Found())
            if error is not None:
                return Refusal(error, None, checked.call)
        return self._decided(session, checked, self._decide(self._document(session, checked, None)))

    async def admit(self, session: RunSession, proposal: Proposal, key: str | None) -> Ticket | Refusal:
        """Admit a proposal, looking up what is needed."""
        checked = self.checked(session, proposal, key)
        if isinstance(checked, Refusal):
            return checked
        if self.stops.on and await self._stopped(session, checked):
            return Refusal(refusals.killed(), None, checked.call)
        return await self._weighed_up(session, checked)

    async def _weighed_up(self, session: RunSession, ticket: Ticket) -> Ticket | Refusal:
        """Take a valid call through layers 2 to 5, looking up what they need; every look-up is on record."""
        found = ticket.found = Found()
        error = await self._look(session, ticket, found)
        if error is not None:
            return Refusal(error, None, ticket.call)
        for name in self._asked(ticket.plan):
            try:
                found.facts[name], recorded = await self._lookups.ask(
                    self._lookups.facts, name, copied(ticket.call.arguments), session.principal
                )
                found.records.append(recorded)
            except Unknown:  # the policy says no to a fact that it needs and has not
                continue
        decision = await self._decide_async(self._document(session, ticket, found))
        return self._decided(session, ticket, decision)

    def blocking(self, session: RunSession, proposal: Proposal) -> Ticket | Refusal:
        """Admit without waiting: what would have to wait counts as unknown, which is a no."""
        checked = self.checked(session, proposal, None)
        if isinstance(checked, Refusal):
            return checked
        if self.stops.after_turns((*checked.plan.stops, session.stop)):
            return Refusal(refusals.killed())
        found, who, asks = Found(), session.principal, self._lookups
        error = None
        try:
            for asked in checked.plan.semantics.reads:
                found.reads[asked], _ = asks.ask_now(
                    asks.readers, asked.reader, _subject(checked, asked), who
                )
        except Unknown as unknown:
            error = unavailable(unknown.name)
        error = error or self._meaningful(session, checked, found)
        if error is None:
            for argument, kind, name in named_resources(checked.call.contract, checked.call.arguments):
                if kind in checked.plan.owned:
                    try:
                        owner, _ = asks.ask_now(asks.owners, kind, {"name": name, "argument": argument}, who)
                    except Unknown:
                        owner = None
                    found.owners[kind, name] = _owner(owner)
            error = self._permitted(session, checked, found)
        if error is not None:
            return Refusal(error)
        for fact in self._asked(checked.plan):
            try:
                found.facts[fact], _ = asks.ask_now(asks.facts, fact, copied(checked.call.arguments), who)
            except Unknown:
                continue
        return self._decided(session, checked, self._decide(self._document(session, checked, found)))

    async def again(self, session: RunSession, ticket: Ticket) -> Ticket | Refusal:
        """Take a ticket through layers 2 to 5 once more, as when its approval is used or it is sent again."""
        fresh = Ticket(ticket.call, ticket.entry, ticket.plan, ticket.key, ticket.fingerprint)
        if self.stops.on and await self._stopped(session, fresh):
            return Refusal(refusals.killed())
        return await self._weighed_up(session, fresh)

    async def same(self, session: RunSession, ticket: Ticket) -> bool:
        """Tell whether layers 2 to 5 still say of a ticket that has waited what it holds."""
        again = await self.again(session, ticket)
        if isinstance(again, Refusal):
            return False
        now, then = again.decision, ticket.decision
        return (now.policy_version, now.obligations) == (then.policy_version, then.obligations) and (
            now.decision in ("allow", then.decision)
        )

    async def settled(self, session: RunSession, ticket: Ticket) -> Refusal | None:
        """Decide once more when calls of the run began since the decision: they count for this one too.

        To be asked just before the call itself begins. The ticket's decision may have become `ask`.
        """
        while ticket.past != session.memory.history.total:
            document = self._document(session, ticket, ticket.found)
            decision = await self._decide_async(document)
            if decision.decision == "deny":
                ticket.decision = decision
                return Refusal(refusals.denied(decision), decision, ticket.call, document)
            if decision.decision == "ask" and ticket.decision.decision == "allow":
                ticket.decision = decision
        return None

    # layer 1

    def checked(self, session: RunSession, proposal: Proposal, key: str | None) -> Ticket | Refusal:
        """Return the call that a proposal asks for, with the names it goes by, or why it is none."""
        entry = session.catalogue.find(proposal.name)
        if entry is None:
            return Refusal(proposal.fault or unknown_tool(session.catalogue, proposal.name))
        call = check(entry, proposal)
        if isinstance(call, CallError):
            return Refusal(call)
        ticket = self.ticket(session, entry, call, key)
        if ticket.plan.needs_key and key is None:
            return Refusal(refusals.key_needed(call.contract.name), None, call)
        return ticket

    def ticket(self, session: RunSession, entry: Entry, call: ValidCall, key: str | None) -> Ticket:
        """Return the names that a valid call goes by."""
        contract, proposal, tenant = call.contract, call.proposal, session.principal.tenant
        if key is not None:
            name = caller_key(tenant, session.principal.user, key)
        elif contract.natural_key:
            name = effect_key(tenant, contract, call.arguments)
        else:
            name = runtime_key(tenant, session.run_id, proposal.step_id, proposal.ordinal)
        mark = self._fingerprints.of(contract.name, call.canonical)
        return Ticket(call, entry, self._plans.of(contract), name, mark)

    def _killed(self, session: RunSession, ticket: Ticket) -> bool:
        return self.stops.of((*ticket.plan.stops, session.stop))

    async def _stopped(self, session: RunSession, ticket: Ticket) -> bool:
        """Tell whether a switch stops the call. One that was on is looked up: another process may have
        turned it off.
        """
        if not self._killed(session, ticket):
            return False
        await self.stops.renew()
        return self._killed(session, ticket)

    # layers 2 and 3

    async def _look(self, session: RunSession, ticket: Ticket, found: Found) -> CallError | None:
        """Look up what layers 2 and 3 need, and check them."""
        plan, who, asks = ticket.plan, session.principal, self._lookups
        try:
            for asked in plan.semantics.reads:
                found.reads[asked], recorded = await asks.ask(
                    asks.readers, asked.reader, _subject(ticket, asked), who
                )
                found.records.append(recorded)
        except Unknown as unknown:
            return unavailable(unknown.name)
        error = self._meaningful(session, ticket, found)
        if error is not None:
            return error
        for argument, kind, name in named_resources(ticket.call.contract, ticket.call.arguments):
            if kind not in plan.owned or (kind, name) in found.owners:
                continue
            try:
                owner, recorded = await asks.ask(asks.owners, kind, {"name": name, "argument": argument}, who)
                found.records.append(recorded)
            except Unknown:
                owner = None
            found.owners[kind, name] = _owner(owner)
        return self._permitted(session, ticket, found)

    def _sound(self, session: RunSession, ticket: Ticket, found: Found) -> CallError | None:
        return self._meaningful(session, ticket, found) or self._permitted(session, ticket, found)

    def _meaningful(self, session: RunSession, ticket: Ticket, found: Found) -> CallError | None:
        if not ticket.plan.semantics.bound:
            return None
        facts = SemanticFacts(
            ticket.call.arguments,
            session.principal,
            self._clock.now(),
            session.purpose,
            session.intent,
            found.reads,
            session.memory.seen,
        )
        try:
            error = ticket.plan.semantics.check(facts)
            return None if error is None else refusals.senseless(error)
        except KeyboardInterrupt:
            raise
        except BaseException:  # a validator that fails, whatever it raises, has not found the call sound
            return unavailable("The check of this call failed: something")

    def _permitted(self, session: RunSession, ticket: Ticket, found: Found) -> CallError | None:
        contract = ticket.call.contract
        if ticket.plan.open:
            return None
        return authorised(contract, ticket.call.arguments, session.principal, found.owners)

    # layers 4 and 5

    def _asked(self, plan: Plan) -> tuple[str, ...]:
        if self._needs is None:
            return ()
        needed: tuple[str, ...] = self._needs(plan.contract.name)
        return needed

    def _document(self, session: RunSession, ticket: Ticket, found: Found | None) -> PolicyInput:
        call, plan, budget, memory = ticket.call, ticket.plan, session.budget, session.memory
        contract, proposal, now = call.contract, call.proposal, self._clock.now()
        ticket.past = memory.history.total
        noticed = risk_facts(
            plan.info.risk_facts,
            contract.risk,
            call.arguments,
            now,
            self._hours,
            proposal.repaired,
            plan.info.defined_by != UNAPPROVED,
        )
        # in the order of the fields: for so many of them names cost a microsecond, at every call
        seen = ticket.seen = PolicyInput(
            contract.name,
            contract.risk,
            call.arguments,
            session.principal,
            session.purpose,
            session.intent,
            session.run_id,
            proposal.repaired,
            bool(call.coerced),
            memory.tainted,
            budget.calls,
            budget.calls_of(contract.name),
            now,
            proposal.step_id,
            plan.info,
            () if not contract.resources else resource_facts(session, ticket, found),
            _NOTHING if found is None else found.facts,
            noticed,
            memory.history,
            NO_BUDGET if not self._asks_budget else budget_facts(session, self._clock.monotonic()),
            _NOTHING if not self.asks_taint else sources(session.memory, ticket),
        )
        return seen

    def _decide(self, document: PolicyInput) -> Decision:
        try:
            return self._weighed(self._policy.decide(document), document)
        except KeyboardInterrupt:
            raise
        except BaseException:  # a policy that fails, whatever it raises, is a policy that says no
            return self._policy_failed()

    async def _decide_async(self, document: PolicyInput) -> Decision:
        if not self._waits:
            return self._decide(document)
        decide: Any = self._policy
        try:  # a stranger is driven as a tool is: what hangs or swallows its cancellation is left behind
            asked = decide.decide_async(document)
            given = await (asked if self._bounded else driven(asked, self._deadlines, _DECISION_S))
            return self._weighed(given, document)
        except (asyncio.CancelledError, KeyboardInterrupt):
            raise
        except BaseException:  # as above
            return self._policy_failed()

    def _weighed(self, given: Any, document: PolicyInput) -> Decision:
        if type(given) is Decision and given.decision in _VERDICTS and given.reasons:
            if self._floored:
                return given
            if recordable(given):
                return floored(given, document)
        if inspect.iscoroutine(given):
            given.close()
        return self._policy_failed()

    def _policy_failed(self) -> Decision:
        return Decision("deny", ("POLICY_ERROR",), None, self._policy.version)

    @staticmethod
    def _decided(session: RunSession, ticket: Ticket, decision: Decision) -> Ticket | Refusal:
        if decision.decision == "deny":
            return Refusal(refusals.denied(decision), decision, ticket.call, ticket.seen)
        if session.budget.turned_away(ticket.fingerprint) and decision.decision == "allow":
            decision = replace(decision, decision="ask", reasons=(_TURNED_AWAY, *decision.reasons))
        ticket.decision = decision
        return ticket


def _subject(ticket: Ticket, asked: ReadAsked) -> dict[str, Any]:
    arguments = ticket.call.arguments
    asks: dict[str, Any] = copied({name: arguments.get(name) for name in asked.subject})
    return asks


def _owner(answer: Any) -> str:
    """Return the tenant that a look-up found; whatever is no name is nobody that could be asked about."""
    return answer if isinstance(answer, str) else ""
